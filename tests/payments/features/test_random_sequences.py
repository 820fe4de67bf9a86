"""Rows, rows sent again, late rows, labels, corrections, purges and files, in any order."""

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from payments.features.slow_history import (
    EVERY_KIND,
    SECOND,
    START,
    SlowHistory,
    assert_same,
)
from toprank.payments.features import History, LabelRisk
from toprank.payments.ledger import SOURCES, MemoryLedger

pytestmark = pytest.mark.kernel

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"
N_EXAMPLES = 120 if IS_COMPILED else 25
LABELS = (
    *EVERY_KIND,
    LabelRisk("count", "card", "6s", "4s"),
    LabelRisk("share", "terminal", None, "4s"),
    LabelRisk("count", ("card", "terminal"), None, "1s"),
)

moments = st.integers(0, 40).map(lambda second: second * SECOND)
ids = st.sampled_from([None, "", "a", "b", "c", "d", "e"])
flags = st.booleans()


def rows(**changes):
    return st.fixed_dictionaries(
        {
            "time": moments,
            "card": st.sampled_from(["A", "B", None]),
            "terminal": st.sampled_from([1, 2, None]),
            "amount": st.sampled_from([None, 0.1, 1.0, 900.0]),
            "label": st.sampled_from([None, None, False, True]),
            "known_at": st.one_of(st.none(), moments),
            "id": ids,
        }
        | changes
    )


tables = st.lists(rows(), min_size=1, max_size=6)
labels = st.lists(st.tuples(ids, flags, moments, st.sampled_from(SOURCES)), min_size=1, max_size=3)
steps = st.one_of(
    st.tuples(st.sampled_from(["batch", "look_batch"]), tables),
    st.tuples(st.sampled_from(["one", "look", "look and commit"]), rows()),
    st.tuples(st.sampled_from(["label", "label", "label without a time"]), labels),
    st.tuples(st.just("purge"), st.integers(0, 40)),
    st.tuples(st.just("file"), st.none()),
)


def moment(microseconds):
    return None if microseconds is None else START + np.timedelta64(microseconds, "us")


def as_given(row):
    return row | {name: moment(row[name]) for name in ("time", "known_at")}


def as_table(rows):
    given = [as_given(row) for row in rows]
    kinds = {
        "time": pa.timestamp("us"),
        "card": pa.string(),
        "terminal": pa.int64(),
        "amount": pa.float64(),
        "label": pa.bool_(),
        "known_at": pa.timestamp("us"),
        "id": pa.string(),
    }
    return pa.table(
        {name: pa.array([row[name] for row in given], kind) for name, kind in kinds.items()}
    )


def everything(history):
    """All that a history remembers."""
    saved = history._to_saved()
    arrays = {name: (array.shape, array.tobytes()) for name, array in saved.arrays.items()}
    return saved.state, arrays


class Both:
    """A history and its twin, each given the same."""

    def __init__(self, features, folder, counts_silence):
        self.fast = History(
            features, label="label", known_at="known_at", row_id="id",
            counts_silence=counts_silence,
        )  # fmt: skip
        self.slow = SlowHistory(features, counts_silence)
        self.path = folder / "history.toprank"

    def do(self, what, given):
        getattr(self, what.replace(" ", "_"))(given)
        assert self.fast.n_repeated == self.slow.n_repeated
        assert self.fast.n_too_late == self.slow.n_too_late

    def batch(self, rows):
        assert_same(self.fast.batch(as_table(rows)).to_pylist(), self.slow.batch(rows))

    def look_batch(self, rows):
        before = everything(self.fast)
        found = self.fast.look_batch(as_table(rows)).to_pylist()
        assert everything(self.fast) == before
        assert_same(found, self.slow.look_batch(rows))

    def one(self, row):
        assert_same([self.fast.one(as_given(row))], [self.slow.one(row)])

    def look(self, row):
        before = everything(self.fast)
        found = self.fast.look(as_given(row))
        assert everything(self.fast) == before
        assert_same([found], [self.slow.look(row)])

    def look_and_commit(self, row):
        self.look(row)
        n_seen = len(self.slow.seen)
        self.slow.commit(row)
        assert self.fast.commit(as_given(row)) == (len(self.slow.seen) > n_seen)

    def label(self, labels, has_time=True):
        row_ids, values, known, sources = zip(*labels, strict=True)
        known = known if has_time else [None] * len(known)
        found = self.fast.label(
            row_ids, values, [moment(at) for at in known] if has_time else None, sources
        )
        wanted = [
            self.slow.label(*each) for each in zip(row_ids, values, known, sources, strict=True)
        ]
        words = ("new", "corrected", "known", "unknown")
        assert found[:4] == tuple(map(wanted.count, words))
        assert found.n_overruled == wanted.count("overruled")
        assert found.unknown == tuple(i for i, each in enumerate(wanted) if each == "unknown")

    def label_without_a_time(self, labels):
        self.label(labels, has_time=False)

    def purge(self, second):
        self.fast.purge(moment(second * SECOND))
        self.slow.begin = max(self.slow.begin, second * SECOND)

    def file(self, _):
        before = everything(self.fast)
        self.fast.save(self.path)
        self.fast = History.load(self.path)
        assert everything(self.fast) == before


@examples(N_EXAMPLES)
@given(
    given_steps=st.lists(steps, min_size=1, max_size=12),
    probes=st.lists(rows(), max_size=6),
    counts_silence=flags,
)
def test_whatever_comes_features_are_what_looking_at_every_row_and_label_gives(
    tmp_path_factory, given_steps, probes, counts_silence
):
    both = Both(LABELS, tmp_path_factory.mktemp("saved"), counts_silence)
    for step in given_steps:
        both.do(*step)
    for probe in probes:
        both.do("look", probe)


# Few rows and many labels, so that most steps correct something

few_ids = st.sampled_from(["a", "b"])
many_labels = st.lists(
    st.tuples(few_ids, flags, moments, st.sampled_from(SOURCES)), min_size=1, max_size=4
)
label_steps = st.one_of(
    st.tuples(st.sampled_from(["label", "label", "label", "label without a time"]), many_labels),
    st.tuples(st.sampled_from(["one", "look"]), rows(id=st.none(), label=st.none())),
    st.tuples(st.just("purge"), st.integers(0, 25)),
    st.tuples(st.just("file"), st.none()),
)


@examples(N_EXAMPLES)
@given(
    first=rows(id=few_ids), given_steps=st.lists(label_steps, max_size=12), counts_silence=flags
)
def test_labels_hold_from_when_they_are_known_however_they_are_given(
    tmp_path_factory, first, given_steps, counts_silence
):
    both = Both(LABELS, tmp_path_factory.mktemp("saved"), counts_silence)
    both.do("batch", [first, first | {"id": "b", "time": 9 * SECOND}])
    for step in given_steps:
        both.do(*step)
    for second in range(0, 50, 3):
        both.do("look", first | {"id": None, "label": None, "time": second * SECOND})


@pytest.mark.parametrize("labels_before", [[True, False], [True, True], [False, True]])
def test_labels_from_before_a_purge_are_corrected_after_it(tmp_path, labels_before):
    both = Both(LABELS, tmp_path, counts_silence=True)
    row = {"card": "A", "terminal": 1, "amount": 1.0, "label": None, "known_at": None}
    both.do("one", row | {"time": 0, "id": "a"})
    for second, value in zip((5, 9), labels_before, strict=True):
        both.do("label", [("a", value, second * SECOND, "claim")])
    both.do("purge", 12)
    for value in (not labels_before[1], labels_before[1]):
        both.do("label", [("a", value, 14 * SECOND, "investigator")])
        for second in range(12, 30, 2):
            both.do("look", row | {"time": second * SECOND, "id": None})


@examples(N_EXAMPLES)
@given(tables, tables, labels, labels, st.one_of(st.none(), st.integers(0, 20)), flags)
def test_a_table_gives_what_its_rows_give_one_by_one_with_corrections_in_play(
    rows, more, some, others, second, counts_silence
):
    columns = {"label": "label", "known_at": "known_at", "row_id": "id"}
    by_table, by_row = (
        History(LABELS, **columns, counts_silence=counts_silence) for _ in range(2)
    )
    order = SlowHistory(LABELS)
    for table, labels_then in ((rows, some), (more, others)):
        found = by_table.batch(as_table(table)).to_pylist()
        one_by_one = [None] * len(table)
        for i in order.in_order(table):
            looked = by_row.look(as_given(table[i]))
            one_by_one[i] = by_row.one(as_given(table[i]))
            assert_same([looked], [one_by_one[i]], exactly=True)
        order.batch(table)
        assert_same(found, one_by_one, exactly=True)
        row_ids, values, known, sources = zip(*labels_then, strict=True)
        known = [moment(at) for at in known]
        together = by_table.label(row_ids, values, known, sources)
        apart = [by_row.label(*each) for each in zip(row_ids, values, known, sources, strict=True)]
        assert together[:4] == tuple(np.sum([each[:4] for each in apart], axis=0))
        if second is not None:
            by_table.purge(moment(second * SECOND))
            by_row.purge(moment(second * SECOND))
            order.begin = second * SECOND
    assert by_table.n_repeated == by_row.n_repeated
    assert by_table.n_remembered == by_row.n_remembered
    for probe in (*rows, *more):
        later = as_given(probe | {"time": probe["time"] + 7 * SECOND, "id": None})
        assert_same([by_table.look(later)], [by_row.look(later)], exactly=True)


@examples(N_EXAMPLES)
@given(
    st.lists(st.tuples(few_ids, flags, moments, st.sampled_from(SOURCES)), max_size=8),
    st.one_of(st.none(), st.integers(0, 40)),
)
def test_the_ledger_and_the_features_agree_on_every_rows_label_at_every_moment(given, second):
    features = [LabelRisk(what, "card", None, "0s") for what in ("count", "share")]
    history, ledger = History(features, row_id="id"), MemoryLedger()
    for name in ("a", "b"):  # a card each, so that a card's labels are those of one row
        history.commit({"time": moment(-SECOND), "card": name, "id": name})
    for i, (row_id, value, known, source) in enumerate(given):
        history.label(row_id, value, moment(known), source)
        ledger.append(row_id, value, known=moment(known), source=source)
        if second is not None and i == len(given) // 2:
            history.purge(moment(second * SECOND))
    for at in range((second or 0) * SECOND, 42 * SECOND, SECOND // 2):
        # the ledger counts labels known before a moment, the features those known by then
        known = ledger.as_known(moment(at + 1), ids=["a", "b"])
        seen = [list(history.look({"time": moment(at), "card": c}).values()) for c in "ab"]
        assert [each[0] == 1 for each in seen] == known.has_label.tolist()
        assert [each[1] == 1 for each in seen] == known.is_positive.tolist()

"""The label ledger: what was known when, the same in memory and in a file."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank import metrics
from toprank.data.tables.ids import id_text
from toprank.payments.ledger import (
    SOURCES,
    Entry,
    LedgerError,
    MemoryLedger,
    SqliteLedger,
    database,
    holds,
    mature,
)
from toprank.payments.ledger import ledgers as ledgers_module

DAY = np.timedelta64(1, "D")
START = np.datetime64("2025-01-01T00:00", "us")


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request, tmp_path):
    """An empty ledger of each kind: everything that takes it is a promise of both."""
    with MemoryLedger() if request.param == "memory" else SqliteLedger(tmp_path / "l.db") as each:
        yield each


def holding_entry(entries, moment):
    """The entry that holds at a moment, by the rules as they are written, or None."""
    known = [entry for entry in entries if entry["known"] < moment]
    spoken = [entry for entry in known if entry["source"] != "silence"] or known
    if not spoken:
        return None
    latest = [e for e in spoken if e["known"] == max(e["known"] for e in spoken)]
    strongest = min(SOURCES.index(entry["source"]) for entry in latest)
    return [entry for entry in latest if SOURCES.index(entry["source"]) == strongest][-1]


@st.composite
def labels(draw, ids):
    """A few batches of labels for a few rows, rich in labels known at the same time."""
    entry = st.fixed_dictionaries(
        {
            "id": ids,
            "is_positive": st.booleans(),
            "known": st.integers(0, 4).map(lambda day: START + day * DAY),
            "source": st.sampled_from(SOURCES),
            "confidence": st.sampled_from([0.0, 0.5, 1.0]),
            "who": st.sampled_from(["", "Ana", "desk 4"]),
        }
    )
    return draw(st.lists(st.lists(entry, max_size=6), max_size=4))


def add(ledger, batch):
    columns = {name: [entry[name] for entry in batch] for name in batch[0]} if batch else {}
    if columns:
        columns["known"] = np.array(columns["known"])
        ledger.append(columns.pop("id"), columns.pop("is_positive"), **columns)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@examples(60)
@given(
    st.one_of(
        labels(st.integers(-3, 3)),
        labels(st.sampled_from(["a", "b", "é", "007"])),
        labels(st.sampled_from(["a", 7, "7", 7.0, "007", 10**18, str(10**18), -(2**63), 2**70])),
    ),
    st.integers(0, 5),
    st.sampled_from(["few", "many"]),
)
def test_what_is_known_follows_the_rules_at_every_moment(
    kind, tmp_path_factory, batches, day, asked
):
    moment = START + day * DAY
    few_rows = {"few": 100, "many": 0}[asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers_module, "_FEW_ROWS", few_rows)
        check_what_is_known(kind, tmp_path_factory, batches, moment)


def check_what_is_known(kind, tmp_path_factory, batches, moment):
    fresh = (
        MemoryLedger()
        if kind == "memory"
        else SqliteLedger(tmp_path_factory.mktemp("ledger") / "l.db")
    )
    with fresh as ledger:
        for batch in batches:
            add(ledger, batch)
            ledger.as_known(moment)  # a view in between changes nothing
        entries = [entry for batch in batches for entry in batch]
        ids = sorted({entry["id"] for entry in entries}, key=str) * 2
        known = ledger.as_known(moment, ids)
        of_all = ledger.as_known(moment)

    assert len(known.ids) == len(ids)
    for i, row in enumerate(ids):
        of_row = [entry for entry in entries if id_text(entry["id"], "") == id_text(row, "")]
        expected = holding_entry(of_row, moment)
        assert known.has_label[i] == (expected is not None)
        if expected is None:
            assert (known.is_positive[i], known.source[i], known.confidence[i]) == (False, "", 0)
            assert np.isnat(known.known[i])
        else:
            assert known.is_positive[i] == expected["is_positive"]
            assert known.source[i] == expected["source"]
            assert known.confidence[i] == expected["confidence"]
            assert known.known[i] == expected["known"]
    labelled = {id_text(row, "") for row, has in zip(ids, known.has_label, strict=True) if has}
    assert sorted(of_all.ids.tolist()) == sorted(labelled)
    assert of_all.has_label.all()


@pytest.mark.parametrize(("first", "second"), list(product(SOURCES, SOURCES)))
def test_at_equal_times_investigator_precedes_claim_precedes_silence(ledger, first, second):
    ledger.append([1], [True], known="2025-01-05", source=first)
    ledger.append([1], [False], known="2025-01-05", source=second)
    known = ledger.as_known("2025-01-06", [1])

    assert known.source[0] == min(first, second, key=SOURCES.index)
    assert known.is_positive[0] == (SOURCES.index(first) < SOURCES.index(second))


def test_a_later_claim_overturns_an_investigator(ledger):
    ledger.append([1], [False], known="2025-01-05", source="investigator")
    ledger.append([1], [True], known="2025-02-05", source="claim")

    assert not ledger.as_known("2025-02-05", [1]).is_positive[0]
    assert ledger.as_known("2025-02-06", [1]).is_positive[0]


def test_silence_dated_later_overturns_no_other_label(ledger):
    ledger.append([1, 2], [True, False], known="2025-01-05", source=["claim", "silence"])
    ledger.append([1, 2], [False, True], known="2025-02-05", source=["silence", "claim"])

    assert ledger.as_known("2025-03-01", [1, 2]).is_positive.tolist() == [True, True]
    assert ledger.as_known("2025-01-06", [1, 2]).source.tolist() == ["claim", "silence"]


def test_a_label_is_not_known_at_the_very_moment_it_is_dated(ledger):
    ledger.append([1], [True], known="2025-01-05", source="claim")

    assert not ledger.as_known("2025-01-05", [1]).has_label[0]
    assert ledger.as_known("2025-01-05T00:00:00.000001", [1]).has_label[0]


def test_adding_labels_known_later_changes_no_earlier_view(ledger):
    ledger.append([1, 2], [True, False], known="2025-01-05", source="claim")
    before = ledger.as_known("2025-01-10", [1, 2, 3])
    ledger.append([1, 2, 3], [False, True, True], known="2025-01-10", source="investigator")
    after = ledger.as_known("2025-01-10", [1, 2, 3])

    for name in ("has_label", "is_positive", "source", "confidence"):
        assert np.array_equal(getattr(before, name), getattr(after, name))


def test_the_history_of_a_row_contains_all_its_labels(ledger):
    ledger.append(["a", "b"], [0, 1], known="2025-01-05", source="investigator", who="Ana")
    ledger.append("a", 1, known="2025-01-03", source="claim", confidence=0.75, who="desk 4")

    assert ledger.history("a") == [
        Entry("a", False, np.datetime64("2025-01-05", "us"), "investigator", 1.0, "Ana"),
        Entry("a", True, np.datetime64("2025-01-03", "us"), "claim", 0.75, "desk 4"),
    ]
    assert ledger.history("c") == []
    assert len(ledger) == 3


def test_an_empty_ledger_knows_nothing(ledger):
    assert ledger.append([], [], known="2025-01-01", source="claim") == 0
    known = ledger.as_known("2025-01-01", [1, 2])

    assert len(ledger) == 0
    assert ledger.history(1) == []
    assert known.maturity() == 0
    assert known.source.tolist() == ["", ""]
    assert ledger.as_known("2025-01-01").ids.size == 0


def test_rows_of_a_pandas_or_text_column_are_found(ledger):
    ids = np.array(["x1", "x2", "x3"])
    ledger.append(ids.astype(object), [1, 0, 1], known=np.repeat(START, 3), source="claim")

    for column in (ids, ids.astype(object), ids.tolist(), ids.astype(np.dtypes.StringDType())):
        known = ledger.as_known("2025-02-01", column)
        assert known.is_positive.tolist() == [True, False, True]


def test_without_a_verdict_a_row_counts_as_genuine_after_some_time(ledger):
    time = START + np.array([0, 0, 9, 10]) * DAY
    ledger.append([1], [True], known=START + 2 * DAY, source="claim")
    known = ledger.as_known(START + 40 * DAY, [1, 2, 3, 4])
    with_silence = known.silence(time, after="30d")

    assert with_silence.source.tolist() == ["claim", "silence", "silence", ""]
    assert with_silence.is_positive.tolist() == [True, False, False, False]
    assert with_silence.known[1] == START + 30 * DAY
    assert (known.maturity(), with_silence.maturity()) == (0.25, 0.75)
    assert with_silence.maturity(rows=[0, 3]) == 0.5
    assert with_silence.maturity(rows=np.array([True, False, False, False])) == 1


def test_a_claim_after_the_silence_still_counts(ledger):
    ledger.append([1], [True], known=START + 50 * DAY, source="claim")
    time = np.array([START])

    def label(day):
        known = ledger.as_known(START + day * DAY, [1]).silence(time)
        return known.source[0], bool(known.is_positive[0])

    assert label(30) == ("", False)
    assert label(31) == ("silence", False)
    assert label(51) == ("claim", True)


def test_a_metric_is_that_of_the_rows_with_a_label_and_has_their_share(ledger):
    rng = np.random.default_rng(0)
    y, suspicion = rng.random(200) < 0.3, rng.random(200)
    labelled = rng.random(200) < 0.6
    ids = np.arange(200)
    ledger.append(ids[labelled], y[labelled], known=START, source="investigator")
    matured = mature(metrics.average_precision, ledger.as_known(START + DAY, ids), suspicion)

    expected = metrics.average_precision(y[labelled], suspicion[labelled])
    assert matured.value == approx(expected)
    assert matured.maturity == approx(labelled.mean())
    assert (matured.n_labelled, matured.n_rows) == (labelled.sum(), 200)
    assert str(matured) == f"{expected:.3f} ({labelled.mean():.0%} of 200 labels known)"


def test_a_metric_with_cards_and_rows_of_its_own_is_cut_to_them(ledger):
    rng = np.random.default_rng(0)
    y, suspicion, ids = rng.random(100) < 0.4, rng.random(100), np.arange(100)
    card, day, labelled = ids % 7, ids % 3, ids % 4 > 0
    ledger.append(ids[labelled], y[labelled], known=START, source="claim")
    asked = ids >= 50
    matured = mature(
        metrics.card_precision_at_k, ledger.as_known(START + DAY, ids), suspicion, rows=asked,
        card=card, day=day, k=2,
    )  # fmt: skip

    used = labelled & asked
    expected = metrics.card_precision_at_k(y[used], suspicion[used], card[used], day[used], k=2)
    assert matured.value == approx(expected)
    assert matured.maturity == approx(labelled[asked].mean())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"ids": [1.5, 2]}, ValueError, r"ids must hold ids, text or whole numbers; got 1\.5"),
        ({"ids": [True, 2]}, ValueError, "ids must hold ids, .*; got True"),
        ({"ids": ["a", None]}, ValueError, "ids must not be missing; 1 of 2 are"),
        ({"ids": ["a", ""]}, ValueError, "ids must not be missing; 1 of 2 are"),
        ({"ids": np.array([[1, 2]])}, ValueError, "ids must have one dimension"),
        ({"known": "12000-01-01"}, ValueError, "known must be between the years 1 and 9999"),
        ({"is_positive": [0, 2]}, ValueError, r"bool, 0/1 or -1/1; got \[0, 2\]"),
        ({"is_positive": [1]}, ValueError, r"is_positive must have 2 values, one per id; got \(1"),
        ({"known": "soon"}, ValueError, "known must be a moment"),
        ({"known": [1, 2]}, TypeError, "known must hold moments of type datetime64"),
        ({"source": "rumour"}, ValueError, "source must be one of 'investigator', 'claim', 'sil"),
        ({"confidence": 1.5}, ValueError, "confidence must be between 0 and 1; got 1.5"),
        ({"confidence": [0.5, np.nan]}, ValueError, "confidence must be .* got nan"),
        ({"who": 4}, TypeError, "who must be text"),
    ],
)
def test_an_invalid_label_is_refused_and_nothing_is_added(ledger, change, error, message):
    label = {"ids": [1, 2], "is_positive": [1, 0], "known": START, "source": "claim"}
    with pytest.raises(error, match=message):
        ledger.append(**{**label, **change})
    assert len(ledger) == 0


def test_a_number_and_its_digits_are_one_row(ledger):
    ledger.append([7], [True], known=START, source="claim")
    ledger.append(["7", "007"], [False, True], known=START + DAY, source="claim")

    known = ledger.as_known("2025-02-01", [7, 8])
    assert known.is_positive.tolist() == [False, False]
    assert known.has_label.tolist() == [True, False]
    assert [entry.is_positive for entry in ledger.history(7.0)] == [True, False]
    assert ledger.as_known("2025-02-01", ["007"]).is_positive[0]
    with pytest.raises(ValueError, match="ids must not be missing"):
        ledger.history(None)


def test_views_refuse_values_that_do_not_match_their_rows(ledger):
    known = ledger.as_known("2025-02-01", [1, 2])

    with pytest.raises(ValueError, match="time must have 2 moments, one per row; got 1"):
        known.silence(np.array([START]))
    with pytest.raises(ValueError, match="at least one row; got none"):
        known.maturity(rows=np.array([False, False]))
    with pytest.raises(ValueError, match="suspicion must have 2 values; got 3"):
        mature(metrics.roc_auc, known, [1, 2, 3])
    with pytest.raises(ValueError, match="moment must be a moment"):
        ledger.as_known("tomorrow")


def test_a_file_holds_the_same_labels_when_opened_again(tmp_path):
    path = tmp_path / "labels.db"
    with SqliteLedger(path) as ledger:
        ledger.append([1, 2], [1, 0], known="2025-01-05T10:00:00.123456", source="claim", who="é")
        before = ledger.history(1)
    with SqliteLedger(str(path)) as ledger:
        assert ledger.history(1) == before
        assert len(ledger) == 2


def test_two_ledgers_on_one_file_see_what_the_other_adds(tmp_path):
    with SqliteLedger(tmp_path / "l.db") as one, SqliteLedger(tmp_path / "l.db") as other:
        one.append([1], [True], known=START, source="claim")
        assert other.as_known("2025-02-01", [1, 2]).maturity() == 0.5
        other.append([2], [True], known=START, source="claim")
        assert one.as_known("2025-02-01", [1, 2]).maturity() == 1


def test_the_file_itself_refuses_changes(tmp_path):
    with SqliteLedger(tmp_path / "l.db") as ledger:
        ledger.append([1], [True], known=START, source="claim")
    with sqlite3.connect(tmp_path / "l.db") as connection:
        for change in ("UPDATE labels SET is_positive = 0", "DELETE FROM labels"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                connection.execute(change)
    connection.close()


def run(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


WRITER = """
import sys
from toprank.payments.ledger import SqliteLedger
ledger = SqliteLedger(sys.argv[1])
for batch in range(10**6):
    ids = range(batch * 50, batch * 50 + 50)
    ledger.append(list(ids), [True] * 50, known="2025-01-05", source="claim")
    print(batch + 1, flush=True)
"""

READER = """
import json, sys
from toprank.payments.ledger import SqliteLedger
with SqliteLedger(sys.argv[1]) as ledger:
    print(json.dumps([len(ledger), ledger.as_known("2025-02-01", [0, 49]).maturity()]))
"""


@pytest.mark.slow
def test_another_process_reads_meanwhile_and_a_kill_loses_no_label(tmp_path):
    path = tmp_path / "labels.db"
    writer = run(WRITER, path)
    try:
        for _ in range(20):
            writer.stdout.readline()
        n_read, maturity = json.loads(run(READER, path).communicate(timeout=60)[0])
        assert n_read >= 20 * 50
        assert maturity == 1
    finally:
        writer.send_signal(signal.SIGKILL)
        n_acknowledged = 20 + len(writer.communicate()[0].split())

    with SqliteLedger(path) as ledger:
        assert len(ledger) % 50 == 0  # whole batches only
        assert n_acknowledged <= len(ledger) // 50 <= n_acknowledged + 1
        ledger.append([-1], [False], known=START, source="silence")
        assert ledger.as_known("2025-02-01", [-1]).has_label[0]


def test_files_of_something_else_are_refused_and_left_alone(tmp_path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("not a database, but long enough to be taken for the header of one" * 30)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE labels (x)")
    connection.close()
    before = text.read_bytes(), other.read_bytes()

    with pytest.raises(ValueError, match=r"notes.txt must be a label ledger that .* another file"):
        SqliteLedger(text)
    with pytest.raises(ValueError, match=r"other.db must be a label ledger; it is a database of"):
        SqliteLedger(other)
    assert (text.read_bytes(), other.read_bytes()) == before


def test_a_folder_and_a_damaged_page_are_reported_with_the_way_out(tmp_path):
    (tmp_path / "a.db").mkdir()
    with pytest.raises(LedgerError, match=r"a\.db .*; check that it is a file, not a folder"):
        SqliteLedger(tmp_path / "a.db")
    with SqliteLedger(tmp_path / "b.db") as ledger:
        ledger.append(list(range(500)), [True] * 500, known=START, source="claim")
    raw = bytearray((tmp_path / "b.db").read_bytes())
    raw[4096:8192] = b"\xff" * 4096
    (tmp_path / "b.db").write_bytes(raw)
    with (
        pytest.raises(LedgerError, match=r"b\.db .*; it is damaged: restore the folder"),
        SqliteLedger(tmp_path / "b.db") as ledger,
    ):
        ledger.entries_after(0)


def test_a_newer_format_and_a_missing_folder_are_refused(tmp_path):
    SqliteLedger(tmp_path / "l.db").close()
    with sqlite3.connect(tmp_path / "l.db") as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()

    with pytest.raises(ValueError, match=r"format 2 or older; got 3. Update toprank"):
        SqliteLedger(tmp_path / "l.db")
    with pytest.raises(ValueError, match=r"the folder of .*l.db must exist"):
        SqliteLedger(tmp_path / "nowhere" / "l.db")


# Which label holds, one by one


@given(st.data())
def test_of_two_labels_the_documented_rules_choose_the_one_that_holds(data):
    first, second = (
        {
            "known": START + data.draw(st.integers(0, 2)) * DAY,
            "source": data.draw(st.sampled_from(SOURCES)),
            "which": which,
        }
        for which in ("first", "second")
    )
    holding = holding_entry([first, second], START + 9 * DAY)
    numbers = [
        number
        for label in (second, first)
        for number in (label["known"].astype(np.int64), SOURCES.index(label["source"]))
    ]
    assert holds(*numbers) == (holding["which"] == "second")


# Recording: only what is not known yet


def twin_of_recording(entries, label):
    """What becomes of a label after those before it, by the documented rules."""
    just_after = label["known"] + np.timedelta64(1, "us")
    held = holding_entry([e for e in entries if e["id"] == label["id"]], just_after)
    if held is None:
        return "new"
    has_spoken = held["source"] != "silence"
    if label["source"] == "silence" and has_spoken:
        return "known"
    same = ("is_positive", "source", "confidence")
    if all(held[name] == label[name] for name in same):
        return "known"
    now = holding_entry([held, label], just_after)
    is_correction = now is label and held["is_positive"] != label["is_positive"] and has_spoken
    return "corrected" if is_correction else "new"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@examples(60)
@given(labels(st.sampled_from("ab")))
def test_recording_writes_what_is_not_known_and_returns_what_became_of_each(
    kind, tmp_path_factory, batches
):
    kept, place = [], tmp_path_factory.mktemp("ledger") / "l.db"
    with MemoryLedger() if kind == "memory" else SqliteLedger(place) as ledger:
        for batch in filter(None, batches):
            expected = []
            for label in batch:
                expected.append(twin_of_recording(kept, label))
                if expected[-1] != "known":
                    kept.append(label)
            columns = {name: [entry[name] for entry in batch] for name in batch[0]}
            columns["known"] = np.array(columns["known"])
            recorded = ledger.record(columns.pop("id"), columns.pop("is_positive"), **columns)
            assert recorded.outcome.tolist() == expected
            counts = recorded.n_new, recorded.n_known, recorded.n_corrected
            assert counts == tuple(map(expected.count, ("new", "known", "corrected")))
        for row in "ab":
            assert [
                (entry.is_positive, entry.known, entry.source, entry.confidence, entry.who)
                for entry in ledger.history(row)
            ] == [
                tuple(e[n] for n in ("is_positive", "known", "source", "confidence", "who"))
                for e in kept
                if e["id"] == row
            ]
        assert len(ledger) == ledger.position == len(kept)


def test_recording_the_same_file_again_writes_nothing(ledger):
    file = {"ids": [1, 2, 3], "is_positive": [1, 0, 1], "known": START, "source": "investigator"}
    assert ledger.record(**file)[:3] == (3, 0, 0)
    assert ledger.record(**{**file, "known": START + DAY, "who": "Ana"})[:3] == (0, 3, 0)
    assert len(ledger) == 3


def test_a_verdict_that_stays_after_a_claim_is_a_correction_of_the_claim(ledger):
    ledger.record([1], [True], known=START, source="investigator")
    assert ledger.record([1], [False], known=START + DAY, source="claim").n_corrected == 1
    again = ledger.record([1], [True], known=START + 2 * DAY, source="investigator")

    assert again.n_corrected == 1
    assert ledger.as_known(START + 3 * DAY, [1]).is_positive[0]


def test_nothing_is_recorded_if_one_label_is_invalid(ledger):
    with pytest.raises(ValueError, match="ids must not be missing"):
        ledger.record([1, None], [True, True], known=START, source="claim")
    assert ledger.record([], [], known=START, source="claim")[:3] == (0, 0, 0)
    assert len(ledger) == 0


# Following a ledger


def test_another_store_is_given_what_it_missed(ledger):
    ledger.append(["a", 7], [1, 0], known=START, source="claim", who="Ana")
    ledger.as_known(START + DAY)  # from columns, before anything is in the table
    first = ledger.entries_after(0, most=1)
    ledger.append(["a"], [0], known=START + DAY, source="investigator", confidence=0.5)
    rest = ledger.entries_after(int(first.numbers[-1]))

    assert first.ids.to_pylist() == ["a"]
    assert rest.ids.to_pylist() == ["7", "a"]
    assert rest.numbers.tolist() == [2, 3]
    assert rest.is_positive.tolist() == [False, False]
    assert [SOURCES[code] for code in rest.source_code] == ["claim", "investigator"]
    assert rest.known.tolist() == [START, START + DAY]
    assert rest.confidence.tolist() == [1.0, 0.5]
    assert rest.who.to_pylist() == ["Ana", ""]
    assert ledger.position == 3
    assert len(ledger.entries_after(3).ids) == 0


# Threads and processes


@pytest.mark.parametrize("how", ["append", "record"])
@examples(10)
@given(data=st.data())
def test_two_threads_give_the_result_of_their_labels(how, tmp_path_factory, data):
    """The order in which they were added is the ledger's own, and the rules hold for it."""
    work = [data.draw(labels(st.sampled_from("abc"))) for _ in range(2)]
    place = tmp_path_factory.mktemp("ledger") / "l.db"
    for kind in ("memory", "sqlite"):
        with MemoryLedger() if kind == "memory" else SqliteLedger(place) as ledger:
            with ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(add_and_look, ledger, how, each) for each in work]:
                    done.result()
            check_against_its_entries(ledger)
            if how == "append":
                assert len(ledger) == sum(len(batch) for each in work for batch in each)


def add_and_look(ledger, how, batches):
    for batch in filter(None, batches):
        columns = {name: [entry[name] for entry in batch] for name in batch[0]}
        columns["known"] = np.array(columns["known"])
        getattr(ledger, how)(columns.pop("id"), columns.pop("is_positive"), **columns)
        assert ledger.as_known(START + 9 * DAY, [batch[0]["id"]]).has_label[0]
        assert batch[0]["id"] in ledger.as_known(START + 9 * DAY).ids
        assert ledger.history(batch[0]["id"])


def check_against_its_entries(ledger):
    added = ledger.entries_after(0)
    entries = [
        {"id": row, "known": known, "source": SOURCES[code], "is_positive": bool(label)}
        for row, known, code, label in zip(
            added.ids.to_pylist(), added.known, added.source_code, added.is_positive, strict=True
        )
    ]
    for moment in START + np.arange(6) * DAY:
        known = ledger.as_known(moment, ["a", "b", "c"])
        for i, row in enumerate("abc"):
            held = holding_entry([e for e in entries if e["id"] == row], moment)
            assert known.has_label[i] == (held is not None)
            assert known.is_positive[i] == (held is not None and held["is_positive"])
        of_all = ledger.as_known(moment)
        known_of_all = dict(zip(of_all.ids, of_all.is_positive, strict=True))
        few = zip(known.ids, known.is_positive, known.has_label, strict=True)
        assert known_of_all == {row: label for row, label, has in few if has}


def test_many_threads_lose_no_label_and_count_none_twice(ledger):
    def work(thread):
        for i in range(25):
            ledger.append([f"{thread}-{i}"], [True], known=START, source="claim")
            ledger.record([f"shared-{i}"], [True], known=START, source="claim")
            assert ledger.as_known(START + DAY, [f"{thread}-{i}"]).has_label[0]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    numbers = ledger.entries_after(0).numbers.tolist()
    assert numbers == list(range(1, 8 * 25 + 25 + 1))
    assert ledger.as_known(START + DAY).ids.size == 8 * 25 + 25


RECORDER = """
import sys
from toprank.payments.ledger import SqliteLedger
with SqliteLedger(sys.argv[1]) as ledger:
    n_new = 0
    for i in range(100):
        n_new += ledger.record([i], [True], known="2025-01-05", source="claim").n_new
print(n_new)
"""


@pytest.mark.slow
def test_two_processes_that_make_a_ledger_at_once_record_each_label_once(tmp_path):
    path = tmp_path / "labels.db"
    both = [run(RECORDER, path) for _ in range(2)]
    written = [int(each.communicate(timeout=120)[0]) for each in both]

    assert sum(written) == 100
    with SqliteLedger(path) as ledger:
        assert len(ledger) == 100


def test_a_ledger_that_another_process_is_writing_is_reported_and_can_be_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(database, "WAIT_FOR_OTHERS", 0.05)
    with SqliteLedger(tmp_path / "l.db") as ledger:
        ledger.append([1], [True], known=START, source="claim")
        other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"l\.db must be free to be written; another proc"):
            ledger.append([2], [True], known=START, source="claim")
        assert ledger.as_known(START + DAY, [1, 2]).maturity() == 0.5
        other.execute("ROLLBACK")
        other.close()
        ledger.append([2], [True], known=START, source="claim")
        assert len(ledger) == 2


def test_a_closed_ledger_is_reported_and_closing_twice_does_nothing(tmp_path):
    ledger = SqliteLedger(tmp_path / "l.db")
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match=r"l\.db must be open to be used; it was closed"):
        ledger.history(1)


def test_a_forked_process_must_open_the_file_itself(tmp_path, monkeypatch):
    ledger = SqliteLedger(tmp_path / "l.db")
    with monkeypatch.context() as patch:
        patch.setattr(database.os, "getpid", lambda: -1)
        with pytest.raises(LedgerError, match=r"l\.db must be opened in the process that"):
            ledger.history(1)
    assert ledger.history(1) == []
    ledger.close()


# Files of earlier versions


@pytest.fixture
def older(tmp_path):
    """Copies of ledgers that the version before wrote, whose ids were numbers or texts."""
    folder = Path(__file__).parent / "ledger_files"
    return {
        kind: shutil.copy(folder / f"{kind}_format_1.db", tmp_path)
        for kind in ("numbers", "texts")
    }


def test_a_ledger_of_numbers_that_the_version_before_wrote_is_opened(older):
    for _ in range(2):  # renewed once, then opened as it is
        with SqliteLedger(older["numbers"]) as ledger:
            assert (len(ledger), ledger.position) == (7, 7)
            known = ledger.as_known("2025-04-01", [7, "8", 9, 10, -3, 11])
            assert known.is_positive.tolist() == [True, True, False, False, True, False]
            assert known.source.tolist() == [
                "investigator", "claim", "investigator", "silence", "claim", "",
            ]  # fmt: skip
            assert ledger.history(8)[1] == Entry(
                "8", True, np.datetime64("2025-02-01", "us"), "claim", 0.75, "desk 4"
            )
            assert ledger.history("-3")[0].who == "é"
            first = np.datetime64("2025-01-05T10:00:00.123456")
            assert ledger.entries_after(0).known[0] == first
    with SqliteLedger(older["numbers"]) as ledger:
        ledger.append(["7"], [False], known="2025-05-01", source="claim")
        assert ledger.position == 8
        assert not ledger.as_known("2025-06-01", [7]).is_positive[0]


def test_a_ledger_of_texts_that_the_version_before_wrote_is_opened_and_still_refuses_changes(
    older,
):
    with SqliteLedger(older["texts"]) as ledger:
        known = ledger.as_known("2025-04-01", [7, "007", "x é"])
        assert known.is_positive.tolist() == [True, True, False]
    with sqlite3.connect(older["texts"]) as connection:
        for change in ("UPDATE labels SET is_positive = 0", "DELETE FROM labels"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
                connection.execute(change)
    connection.close()


# Speed


def test_a_look_up_uses_the_index_of_ids_even_after_a_bulk(tmp_path):
    with SqliteLedger(tmp_path / "l.db") as ledger:
        ledger.append(np.arange(20_000), True, known=START, source="claim")
        ledger.append(["a"], True, known=START, source="claim")
    with sqlite3.connect(tmp_path / "l.db") as connection:
        for query, arguments in ((database._OF_ID, ("a",)), (database._LAST, ())):
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", arguments).fetchall()
            assert all("SCAN" not in step[3] for step in plan), plan
        (n_indexed,) = connection.execute(
            "SELECT count(*) FROM labels INDEXED BY labels_of_id WHERE id >= '0'"
        ).fetchone()
    connection.close()
    assert n_indexed == 20_001


@pytest.mark.slow
def test_one_label_takes_no_longer_in_a_large_ledger(tmp_path):
    def seconds(ledger):  # of work, not of waiting for the disk
        begin = process_time()
        for i in range(20):
            ledger.append([i], [True], known=START, source="claim")
            assert ledger.as_known(START + DAY, [i]).has_label[0]
            assert ledger.history(i)
        return (process_time() - begin) / 20

    with SqliteLedger(tmp_path / "l.db") as ledger:
        ledger.append(np.arange(100_000), True, known=START, source="claim")
        ledger.append([0], [True], known=START, source="claim")
        # a tenth of what the look-up of one row alone took before there was an index
        assert min(seconds(ledger) for _ in range(5)) < 0.01

"""Ids: rows that are sent again, looks that leave no trace, and the table that finds ids."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.payments.features import FirstTime, History, LabelRisk, Recent, SinceLast, Value
from toprank.payments.features.id_table import IdTable, RowIds

pytestmark = pytest.mark.kernel

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"
COUNTS = (Recent("count", "card", "1h"), SinceLast("card"), FirstTime("card"))


def history_of(features=COUNTS, **options):
    return History(features, **{"row_id": "tx"} | options)


def values(found):
    return [None if value != value else value for value in found.values()]


# Rows that are sent again


def test_a_payment_that_is_retried_counts_once():
    history = history_of()
    row = {"time": 100, "card": "A", "tx": "p1"}
    first = history.one(row)
    assert [values(history.one(row)) for _ in range(3)] == [values(first)] * 3
    assert not history.commit(row)
    assert (history.n_repeated, history.n_remembered) == (4, 1)
    assert values(history.one({"time": 160, "card": "A", "tx": "p2"})) == [2, 60, 0]


def test_a_table_that_is_sent_again_changes_nothing():
    history = history_of()
    table = pa.table({"time": [5, 1, 3], "card": ["A", "A", "B"], "tx": [1, 2, 3]})
    first = history.batch(table)
    arrays = history._past.to_arrays()
    assert history.batch(table).equals(first)
    assert history.n_repeated == 3
    assert all((arrays[name] == array).all() for name, array in history._past.to_arrays().items())


def test_a_row_that_comes_twice_in_one_table_counts_once():
    history = history_of()
    table = pa.table({"time": [9, 1, 9], "card": ["A"] * 3, "tx": ["x", "y", "x"]})
    assert history.batch(table)["card_count_1h"].to_pylist() == [2, 1, 2]
    assert (history.n_repeated, history.n_remembered) == (1, 2)


def test_a_row_sent_again_is_seen_where_it_is_among_rows_of_its_own_moment():
    history = history_of()
    rows = [{"time": 7, "card": "A", "tx": f"p{i}"} for i in range(4)]
    first = [values(history.one(row)) for row in rows]
    assert [each[0] for each in first] == [1, 2, 3, 4]
    history.commit({"time": 7, "card": "A"})
    assert [values(history.one(row)) for row in reversed(rows)] == first[::-1]
    table = pa.Table.from_pylist(rows[::-1])
    assert history.batch(table)["card_count_1h"].to_pylist() == [4, 3, 2, 1]


def test_a_row_sent_again_sees_late_rows_that_came_since():
    history = history_of()
    row = {"time": 100, "card": "A", "tx": "p"}
    assert values(history.one(row)) == [1, None, 1]
    history.commit({"time": 40, "card": "A"})
    assert values(history.one(row)) == [2, 60, 0]


def test_the_first_values_of_a_row_are_kept():
    history = history_of((*COUNTS, Value("amount"), Recent("sum", "card", "1h", of="amount")))
    row = {"time": 100, "card": "A", "amount": 5.0, "tx": "p"}
    history.commit(row)
    changed = history.one(row | {"time": 9000, "card": "B", "amount": 7.0})
    assert values(changed) == [1, None, 1, 7.0, 5.0]
    assert values(history.one({"time": 9000, "card": "B", "amount": 1.0, "tx": "q"}))[0] == 1


def test_rows_without_an_id_count_every_time():
    history = history_of()
    for row_id in (None, "", float("nan")):
        history.commit({"time": 1, "card": "A", "tx": row_id})
    assert history.commit({"time": 1, "card": "A"})
    history.batch(pa.table({"time": [1, 1], "card": ["A", "A"], "tx": ["", None]}))
    assert (history.n_repeated, history.n_remembered) == (0, 6)


@pytest.mark.parametrize(("first", "again"), [(7, "7"), (7.0, 7), ("7", 7.0), ("é/7", "é/7")])
def test_an_id_is_the_same_in_a_row_and_in_a_table(first, again):
    for one, other in ((first, again), (again, first)):
        history = history_of()
        assert history.commit({"time": 1, "card": "A", "tx": one})
        history.batch(pa.table({"time": [2], "card": ["A"], "tx": [other]}))
        assert not history.commit({"time": 1, "card": "A", "tx": other})
        assert (history.n_repeated, history.n_remembered) == (2, 1)


def test_ids_are_known_after_loading(tmp_path):
    history = history_of()
    rows = [{"time": i, "card": "A", "tx": f"p{i}"} for i in range(300)]
    for row in rows:
        history.commit(row)
        history.commit(row)
    history.save(tmp_path / "h.history")
    loaded = History.load(tmp_path / "h.history")
    assert loaded.n_repeated == 300
    assert not any(loaded.commit(row) for row in rows)
    assert loaded.n_remembered == 300


def test_a_row_older_than_the_last_purge_is_too_late_and_its_id_stays_free():
    history = history_of()
    history.purge(100)
    row = {"time": 50, "card": "A", "tx": "p"}
    assert not history.commit(row)
    assert (history.n_too_late, history.n_repeated) == (1, 0)
    assert history.commit(row | {"time": 150})


def test_ids_are_forgotten_when_they_no_longer_matter():
    row = {"time": 50, "card": "A", "tx": "p"}
    without_labels, with_labels = (
        history_of(),
        history_of((LabelRisk("count", "card", None, "1s"),)),
    )
    for history in (without_labels, with_labels):
        history.commit(row)
        history.purge(100)
    assert without_labels.label("p", True).n_unknown == 1
    assert with_labels.label("p", True).n_new == 1  # a label may come late
    assert not with_labels.commit(row)
    assert (with_labels.n_too_late, with_labels.n_repeated) == (0, 1)
    with_labels.purge(200, forget=100)
    assert with_labels.label("p", False).n_unknown == 1


def test_a_label_that_comes_with_a_row_sent_again_counts_if_there_was_none():
    history = history_of((LabelRisk("share", "card", None, "1s"),), label="fraud")
    row = {"time": 0, "card": "A", "tx": "p"}
    history.commit(row)
    history.commit(row | {"fraud": True})
    assert values(history.look({"time": 1, "card": "A"})) == [1.0]
    history.label("p", False)
    history.commit(row | {"fraud": True})  # a retry brings no correction back
    assert values(history.look({"time": 1, "card": "A"})) == [0.0]


# Looks


def test_a_look_at_a_new_card_leaves_no_trace():
    history = history_of(
        (*COUNTS, Recent("distinct", "card", "1h", of="shop"), FirstTime(("card", "shop")))
    )
    history.commit({"time": 0, "card": "A", "shop": 1, "tx": "p"})
    saved = history._to_saved()
    for i in range(100):
        history.look({"time": i, "card": f"new {i}", "shop": i, "tx": f"q{i}"})
    table = {"time": [3, 4], "card": ["X", "Y"], "shop": [8, 9], "tx": ["r", "s"]}
    history.look_batch(pa.table(table))
    after = history._to_saved()
    assert after.state == saved.state
    assert all((after.arrays[name] == array).all() for name, array in saved.arrays.items())
    assert [len(codes) for codes in (*history._past.keys, *history._past.values)] == [1, 1, 1]


def test_a_look_that_fails_leaves_no_trace():
    history = history_of((*COUNTS, Recent("sum", "shop", "1h", of="amount")))
    before = history._past.to_arrays()
    with pytest.raises(ValueError, match="amount"):
        history.look({"time": 0, "card": "A", "shop": 1, "amount": "much", "tx": 1})
    bad = pa.table({"time": [0], "card": ["A"], "shop": [b"1"], "amount": [1.0], "tx": [1]})
    with pytest.raises(ValueError, match="shop"):
        history.look_batch(bad)
    assert all(
        np.array_equal(before[name], array) for name, array in history._past.to_arrays().items()
    )
    assert history.commit({"time": 0, "card": "A", "shop": 1, "amount": 1.0, "tx": 1})


def test_rows_of_a_table_looked_at_see_earlier_rows_and_labels_of_the_same_table():
    features = (*COUNTS, LabelRisk("count", "card", None, "1s"))
    history = history_of(features, label="fraud")
    table = pa.table(
        {"time": [0, 5, 9], "card": ["A"] * 3, "fraud": [True, None, False], "tx": [1, 2, 2]}
    )
    looked = history.look_batch(table)
    assert looked["card_labels_all_delay_1s"].to_pylist() == [0, 1, 1]
    assert history.n_remembered == 0
    assert looked.equals(history.batch(table))


# The table of ids

some_ids = st.lists(st.text(alphabet="ab\x00é", max_size=3), max_size=30)


@examples(100)
@given(st.lists(some_ids, max_size=6), st.randoms(use_true_random=False))
def test_the_table_of_ids_is_a_dict_whose_last_entries_can_be_removed(batches, random):
    table, wanted = IdTable(), {}
    for ids in batches:
        may_add = [random.random() < 0.8 for _ in ids]
        number, was_there = table.enter(
            RowIds.of(ids), np.arange(len(ids)), np.array(may_add, dtype=bool)
        )
        for i, each in enumerate(ids):
            assert was_there[i] == (each in wanted)
            if each and may_add[i]:
                wanted.setdefault(each, len(wanted))
            assert number[i] == wanted.get(each, -1)
        if random.random() < 0.3:
            size = random.randint(0, len(table))
            table.take_back(size)
            wanted = dict(list(wanted.items())[:size])
        if random.random() < 0.3:
            is_kept = [random.random() < 0.5 for _ in wanted]
            table.keep(np.array(is_kept, dtype=bool))
            kept = [each for each, stays in zip(wanted, is_kept, strict=True) if stays]
            wanted = dict(zip(kept, range(len(kept)), strict=True))
        if random.random() < 0.3:
            table = IdTable.from_arrays(table.to_arrays())
        assert len(table) == len(wanted)
        everything = [*wanted, "", "never seen"]
        found = table.find(RowIds.of(pa.chunked_array([everything]))).tolist()
        assert found == [*wanted.values(), -1, -1]


def test_many_similar_ids_are_distinguished():
    n_ids = 200_000 if IS_COMPILED else 2_000
    ids = RowIds.of([f"payment-{i:09d}" for i in range(n_ids)])
    table = IdTable()
    number, was_there = table.enter(ids, np.arange(n_ids), np.ones(n_ids, dtype=bool))
    np.testing.assert_array_equal(number, np.arange(n_ids))
    assert not was_there.any()
    assert table.n_bytes < 60 * n_ids


def test_ids_of_a_slice_of_an_arrow_column_are_those_of_the_slice():
    column = pa.chunked_array([["a", None, "bc"], ["", "d"]])
    ids = RowIds.of(column.slice(1, 3))
    assert np.diff(ids.ends).tolist() == [0, 2, 0]
    table = IdTable()
    table.enter(ids, np.arange(3), np.ones(3, dtype=bool))
    assert table.find(RowIds.of(["bc", "a", "d", None])).tolist() == [0, -1, -1, -1]


# Files of earlier versions


def test_a_file_written_before_corrections_can_be_loaded(tmp_path):
    """Written with the rows t1 to t5, of which t1, t3 and t4 had labels, after a purge."""
    history = History.load(Path(__file__).with_name("written-before-corrections.history"))
    assert (history.n_too_late, history.n_repeated) == (1, 0)
    assert history.label(["t2", "t1", "late"], [False] * 3)[:5] == (1, 0, 0, 2, (1, 2))
    row = {"card": "A", "amount": 1.0}
    assert values(history.one(row | {"at": 9000, "terminal": 1, "tx": "n"})) == [
        4.0,
        12.5,
        2.0,
        2000.0,
        0.0,
        2 / 3,
        3.0,
    ]
    assert values(history.one(row | {"at": 9000, "terminal": 2})) == [5, 13.5, 2, 0, 0, 0, 1]
    again = {"at": 7000, "card": "A", "terminal": 2, "amount": 8.0, "tx": "t5"}
    assert values(history.one(again))[0] == 3
    assert history.n_repeated == 1
    history.save(tmp_path / "new.history")
    assert History.load(tmp_path / "new.history").n_remembered == history.n_remembered == 18

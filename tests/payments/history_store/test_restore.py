"""Undoing the last change of a history: rows or a purge, also across snapshots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from payments.history_store.payments_made import assert_same, fresh, names_in, payment, table
from toprank.payments.history_store import HistoryStore


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "payments.history"


def rows_known(store):
    return store.rows()["tx"].to_pylist() if store.n_rows else []


@examples(40)
@given(steps=st.lists(st.sampled_from(["remember", "one", "take in", "purge", "compact"])))
def test_restore_is_the_way_back_of_every_change_while_its_log_is_there(tmp_path_factory, steps):
    """After each change: undo it, compare with the state before, and make it again."""
    store = HistoryStore.create(tmp_path_factory.mktemp("x") / "payments.history", fresh())
    n_rows = 0

    def change(step):
        if step == "remember":
            with store.remembering() as remember:
                remember(table(n_rows, n_rows + 3))
                remember(table(n_rows + 3, n_rows + 5))
        elif step == "one":
            store.one(payment(n_rows))
        elif step == "take in":
            store.take_in(payment(n_rows))
            store.settle({"line": n_rows})
        else:
            store.purge(store.history.until)

    for step in steps:
        if step == "compact":
            store.compact()
            continue
        if step == "purge" and store.history.until is None:
            continue
        before = fresh()._from_saved(*_saved(store)), rows_known(store), store.note
        change(step)
        assert store.restore().kind == ("purge" if step == "purge" else "rows")
        assert_same(store.history, before[0])
        assert (rows_known(store), store.note) == before[1:]
        change(step)
        n_rows += {"remember": 5, "purge": 0}.get(step, 1)
    with HistoryStore.open(store.folder) as reader:
        assert_same(reader.history, store.history)
        assert rows_known(reader) == rows_known(store)
    store.close()


def _saved(store):
    saved = store.history._to_saved()
    return saved.parameters, saved


def test_changes_are_undone_one_after_the_other_and_across_a_snapshot(folder):
    with HistoryStore.create(folder, fresh(), table(0, 4)) as store:
        store.remember(table(4, 6))
        store.remember(table(6, 9))
        store.compact()
        store.remember(table(9, 10))
        for n_left in (9, 6, 4):
            store.restore()
            assert store.n_rows == n_left
        with pytest.raises(ValueError, match="has no change to undo"):
            store.restore()
    assert names_in(folder / "rows") == ["000000000000-000000004.parquet"]


def test_labels_stay_and_rows_with_a_label_are_not_undone(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 3))
        store.remember(table(3, 5))
        store.label(["p0"], [True])
        store.restore()
        assert store.history.held_labels(["p0"]).is_positive.tolist() == [True]
        with pytest.raises(ValueError, match=r"1 of the 3 last remembered in .* have"):
            store.restore()
        assert store.n_rows == 3
        assert len(store.ledger) == 1


def test_nothing_before_dropped_rows_can_be_undone(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 3))
        store.remember(table(3, 5))
        store.drop_rows(store.history.until)
        assert store.last_change() is None
        store.remember(table(5, 6))
        assert store.restore().n_rows == 1
        with pytest.raises(ValueError, match="none before rows were dropped"):
            store.restore()


def test_a_purge_is_undone_with_all_that_it_forgot(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 40))
        n_events = store.history.n_remembered
        store.purge(store.history.until)
        assert store.history.n_remembered < n_events
        store.restore()
        assert store.history.n_remembered == n_events
        assert store.history.since is None


def test_a_reader_can_say_what_would_be_undone_and_cannot_do_it(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 3))
    reader = HistoryStore.open(folder)
    change = reader.last_change()
    assert (change.kind, change.n_rows) == ("rows", 3)
    assert change.times(reader.history).size == 3
    with pytest.raises(ValueError, match="was opened to read"):
        reader.restore()

"""A history in a folder is what it would be in memory, whatever is done to it."""

import math
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from payments.history_store.payments_made import (
    START,
    assert_same,
    fresh,
    names_in,
    payment,
    payments,
    table,
)
from payments.history_store.writer_processes import add, hold, started
from toprank.data.tables import TableError
from toprank.files import ModelFileError
from toprank.payments.features import History, Recent
from toprank.payments.history_store import HistoryStore, StoreBusyError
from toprank.payments.history_store.row_payload import row_facts, row_of


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "payments.history"


def moment(minutes):
    return START + np.timedelta64(minutes, "m")


# The same as in memory

steps = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.integers(0, 12)),
        st.tuples(st.just("one"), st.just(0)),
        st.tuples(st.just("label"), st.lists(st.integers(0, 30), min_size=1, max_size=4)),
        st.tuples(st.just("purge"), st.integers(0, 400)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=14,
)


@examples(60)
@given(steps=steps, seed=st.integers(0, 3))
def test_a_store_is_bit_for_bit_a_history_in_memory(tmp_path_factory, steps, seed):
    folder = tmp_path_factory.mktemp("store") / "payments.history"
    twin, store = fresh(), HistoryStore.create(folder, fresh())
    n_rows = n_labels = 0
    recorded = set()
    for step, what in steps:
        if step == "remember":
            rows = table(n_rows, n_rows + what, seed)
            assert store.remember(rows).equals(twin.batch(rows))
            n_rows += what
        elif step == "one":
            row = payment(n_rows, seed)
            np.testing.assert_equal(store.one(row), twin.one(row))
            n_rows += 1
        elif step == "label":
            n_labels += 1
            labels = [(each + seed) % 2 == 0 for each in what]
            known = moment(n_rows * 37 + n_labels)
            said = {f"p{each}": label for each, label in zip(what, labels, strict=True)}
            counts = store.label(list(said), list(said.values()), known)
            is_known = dict(zip(said, twin.knows(list(said)).tolist(), strict=True))
            # what the ledger says already is not said again
            new = {each: said[each] for each in said if is_known[each] and each not in recorded}
            twin.label(list(new), list(new.values()), known)
            n_kept = counts.n_known + counts.n_overruled
            assert counts.n_new + counts.n_corrected + n_kept == sum(is_known.values())
            assert counts.n_unknown == len(said) - sum(is_known.values())
            recorded |= new.keys()
        elif step == "purge":
            store.purge(moment(what), forget=moment(what // 2))
            twin.purge(moment(what), forget=moment(what // 2))
        elif step == "compact":
            store.compact()
        else:
            store.close()
            store = HistoryStore.open(folder, mode="write")
        assert_same(store.history, twin)
    with HistoryStore.open(folder) as seen:  # while the writer has it
        assert_same(seen.history, twin)
        assert seen.rows().to_pylist() == payments(0, n_rows, seed)
    store.close()
    with HistoryStore.open(folder, mode="write") as again:
        assert_same(again.history, twin)
        assert again.history.id == store.history.id
        assert again.notes == []


def test_a_change_writes_only_what_changed(folder):
    history = fresh()
    history.batch(table(0, 3000))
    with HistoryStore.create(folder, history) as store:
        snapshot = folder / "snapshot-000001"
        before = snapshot.stat()
        store.remember(table(3000, 3010))
        store.label("p3001", True)

        grown = (folder / "log-000001").stat().st_size
        assert grown < 0.1 * before.st_size
        assert snapshot.stat().st_mtime_ns == before.st_mtime_ns


def test_a_long_log_is_replaced_by_a_snapshot_automatically(folder, monkeypatch):
    from toprank.payments.history_store import store_writer

    monkeypatch.setattr(store_writer, "_LEAST_LOG", 2_000)
    with HistoryStore.create(folder, fresh(), compact_share=0.1) as store:
        twin = fresh()
        for start in range(0, 100, 10):
            store.remember(table(start, start + 10))
            twin.batch(table(start, start + 10))
        for number in range(100, 160):
            store.one(payment(number))
            twin.one(payment(number))
    logs = [name for name in names_in(folder) if name.startswith("log")]
    assert len(logs) == 2  # the last and the one before
    assert logs != ["log-000001", "log-000002"]
    with HistoryStore.open(folder) as store:
        assert_same(store.history, twin)
        assert store.rows().to_pylist() == payments(0, 160)


def test_a_snapshot_that_cannot_be_written_does_not_undo_the_change(folder, monkeypatch):
    from toprank.payments.history_store import store_writer

    monkeypatch.setattr(store_writer, "_LEAST_LOG", 0)
    history = fresh()

    def full_disk(name):
        if name == "log created" and (folder / "rows").exists():
            raise OSError("No space left on device")

    with HistoryStore.create(folder, history, compact_share=0, on_step=full_disk) as store:
        store.remember(table(0, 5))
        assert "no new snapshot of" in store.notes[0]
        assert "No space left on device" in store.notes[0]
        store.remember(table(5, 9))
    with HistoryStore.open(folder, mode="write") as store:
        assert store.rows().to_pylist() == payments(0, 9)
        assert_same(store.history, history)
        store.compact()
    assert_same(HistoryStore.open(folder).history, history)


def test_a_forgotten_card_is_in_no_file(folder):
    card = b"4000-SECRET"
    with HistoryStore.create(folder, fresh(), rows=table(0, 3)) as store:
        store.remember(table(0, 3))
        store.one(payment(3) | {"card": card.decode()})
        store.label("p3", True)
        assert card in (folder / "log-000001").read_bytes()
        store.remember(table(4, 5))
        store.compact()
        assert card in (folder / "snapshot-000002").read_bytes()
        store.remember(table(1700, 2000))  # a key keeps its last event before the windows
        last = table(2000, 2100)
        store.remember(last)
        since = last["at"][0].as_py()
        store.purge(before=since, forget=since)
        store.drop_rows(before=since)
        store.compact()
        store.compact()
        kept = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert not [name for name, raw in kept.items() if card in raw]
        assert store.rows().to_pylist() == payments(1700, 2100)  # files go whole


def test_only_the_columns_of_features_are_in_the_log(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 30))

    log = (folder / "log-000001").read_bytes()
    assert b"terminal" in log
    assert b"country" not in log


@pytest.mark.parametrize("durability", ["process", "power"])
def test_both_durabilities_keep_the_same(folder, durability):
    with HistoryStore.create(folder, fresh(), durability=durability) as store:
        store.remember(table(0, 5))
        store.one(payment(5))
        history = store.history
    with HistoryStore.open(folder, mode="write", durability=durability) as store:
        assert_same(store.history, history)


def test_single_rows_come_back_exactly_whatever_their_values_are():
    row = {
        "a": 0.1 + 0.2,
        "nan": math.nan,
        "far": -math.inf,
        "big": 2**70,
        "text": 'é"\ud800',
        "none": None,
        "yes": True,
        "at": datetime(2025, 3, 30, 2, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2))),
        "day": date(2025, 1, 2),
        "money": Decimal("1.10"),
        "us": np.datetime64("2025-01-01T00:00:00.000001", "us"),
    }
    found = row_of(row_facts(row))
    assert found.pop("nan") != row.pop("nan")
    assert found == row

    others = {
        "f": np.float32(0.1),
        "i": np.int8(3),
        "b": np.bool_(False),
        "s": np.str_("A"),
        "na": pd.NA,
        "nat": pd.NaT,
        "ts": pd.Timestamp("2025-01-01 10:00:00.5", tz="UTC"),
        "nat64": np.datetime64("NaT"),
    }
    assert row_of(row_facts(others)) == {
        "f": float(np.float32(0.1)),
        "i": 3,
        "b": False,
        "s": "A",
        "na": None,
        "nat": None,
        "ts": datetime(2025, 1, 1, 10, 0, 0, 500000, tzinfo=UTC),
        "nat64": None,
    }
    with pytest.raises(TypeError, match=r"basket must be a number, text, .*; got \[1\]"):
        row_facts({"basket": [1]})


def test_tables_of_other_libraries_are_remembered(folder):
    with HistoryStore.create(folder, fresh()) as store:
        expected = fresh().batch(table(0, 9).to_pandas())
        assert store.remember(table(0, 9).to_pandas()).equals(expected)
    assert HistoryStore.open(folder).rows()["tx"].to_pylist() == [f"p{i}" for i in range(9)]


def test_rows_that_were_looked_at_before_are_committed(folder):
    with HistoryStore.create(folder, fresh()) as store:
        assert store.commit(payment(0)) is True
        assert store.history.until is not None
    twin = fresh()
    twin.one(payment(0))
    with HistoryStore.open(folder) as store:
        assert_same(store.history, twin)


# What is refused changes nothing


def test_rows_that_the_history_refuses_leave_no_trace(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 5))
        before = names_in(folder), (folder / "log-000001").stat().st_size
        wrong = table(5, 7).set_column(1, "at", pa.array(["yesterday", "today"]))
        with pytest.raises(TableError, match=r"column 'at' must hold times.*yesterday"):
            store.remember(wrong)
        with pytest.raises(TableError, match="column 'card' is not in the table"):
            store.remember(table(5, 7).drop_columns("card"))
        with pytest.raises(TableError, match="column names in the table must differ"):
            store.remember(table(5, 7).append_column("at", table(5, 7)["at"]))
        spans = pa.array([pa.MonthDayNano([1, 2, 3])] * 2)
        with pytest.raises(
            TableError, match=r"which cannot contain such values: .*; drop the column"
        ):
            store.remember(table(5, 7).append_column("span", spans))
        with pytest.raises(TableError, match="amount must be a finite number"):
            store.one(payment(5) | {"amount": "a lot"})
        with pytest.raises(TableError, match="row_id must hold ids"):
            store.label([3.5], [True])
        assert store.label([None, "", "nobody"], [True] * 3)[:5] == (0, 0, 0, 3, (0, 1, 2))
        assert (names_in(folder), (folder / "log-000001").stat().st_size) == before
        twin = fresh()
        twin.batch(table(0, 5))
        assert_same(store.history, twin)
        store.remember(table(5, 7))
    with HistoryStore.open(folder) as store:
        assert store.n_rows == 7


def test_a_note_kept_with_rows_survives_a_snapshot_and_other_rows(folder):
    with HistoryStore.create(folder, fresh()) as store:
        with store.remembering(note=lambda: {"line": 5}) as features_of:
            features_of(table(0, 5))
        with store.remembering() as features_of:  # notes nothing, and what was noted stays
            features_of(table(5, 7))
        assert store.note == {"line": 5}
    with HistoryStore.open(folder, mode="write") as store:
        assert store.note == {"line": 5}
        store.compact()
    with HistoryStore.open(folder) as store:
        assert store.note == {"line": 5}


def test_a_reader_leaves_no_file_behind(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 5))
        store.label("p1", True)
    before = names_in(folder)
    with HistoryStore.open(folder) as reader:
        assert len(reader.ledger) == 1
    assert names_in(folder) == before


def test_labels_that_a_history_has_are_in_the_ledger_of_its_new_folder(folder):
    from toprank.payments.ledger import MemoryLedger

    history, ledger = fresh(), MemoryLedger()
    history.batch(table(0, 5))
    history.label("p1", True, moment(900))
    ledger.append("p1", True, known=moment(900), source="claim")
    with HistoryStore.create(folder, history, table(0, 5), ledger.entries_after(0)) as store:
        assert len(store.ledger) == 1
        assert store.label("p1", True, moment(900))[:3] == (0, 0, 1)
    with HistoryStore.open(folder) as store:
        assert_same(store.history, history)


def test_a_reader_and_a_closed_store_change_nothing(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 5))
    with pytest.raises(ValueError, match="was closed; open it again"):
        store.remember(table(5, 6))
    with (
        HistoryStore.open(folder) as reader,
        pytest.raises(ValueError, match="opened to read; open it with mode='write'"),
    ):
        reader.label("p1", True)


def test_missing_and_existing_folders_are_reported(tmp_path, folder):
    for mode in ("read", "write"):
        with pytest.raises(FileNotFoundError, match=r"there is no history .*payments.history"):
            HistoryStore.open(folder, mode=mode)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        HistoryStore.create(tmp_path / "nowhere" / "a.history", fresh())
    with pytest.raises(ValueError, match="mode must be one of"):
        HistoryStore.open(folder, mode="append")
    HistoryStore.create(folder, fresh()).close()
    with pytest.raises(FileExistsError, match="exists already; open it"):
        HistoryStore.create(folder, fresh())
    (tmp_path / "empty").mkdir()
    for mode in ("read", "write"):
        with pytest.raises(ModelFileError, match="must contain a history's snapshots and logs"):
            HistoryStore.open(tmp_path / "empty", mode=mode)
    assert not list((tmp_path / "empty").iterdir())
    with pytest.raises(ValueError, match="durability must be one of"):
        HistoryStore.open(folder, mode="write", durability="for ever")
    HistoryStore.open(folder, mode="write", wait=0).close()


# Labels


def test_labels_without_a_time_are_known_from_the_latest_payment_on(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 20))
        until = store.history.until
        found = store.label(["p3", "p4"], [True, False])
        none = store.label([], [])
        assert found[:4] == (2, 0, 0, 0)
    twin = fresh()
    twin.batch(table(0, 20))
    assert found == twin.label(["p3", "p4"], [True, False], until)
    assert none == twin.label([], [])
    with HistoryStore.open(folder) as store:
        assert_same(store.history, twin)


def test_labels_that_others_added_to_the_ledger_reach_the_history(folder):
    from toprank.payments.ledger import SqliteLedger

    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 20))
        with SqliteLedger(folder / "labels.db") as ledger:
            ledger.append(["p1", "p2"], [True, True], known=moment(900), source="claim")
        store.label("p3", False, moment(901), source="investigator", who="ada")
        history = store.history
        with SqliteLedger(folder / "labels.db") as ledger:
            ledger.append(["p5"], [True], known=moment(902), source="claim")
    twin = fresh()
    twin.batch(table(0, 20))
    twin.label(["p1", "p2"], [True, True], moment(900))
    twin.label(["p3"], [False], moment(901), source="investigator")
    assert_same(history, twin)
    twin.label(["p5"], [True], moment(902))
    for mode in ("read", "write", "read"):
        with HistoryStore.open(folder, mode=mode) as store:
            assert_same(store.history, twin)
            assert [entry.who for entry in store.ledger.history("p3")] == ["ada"]


@pytest.mark.parametrize("is_compact", [False, True])
def test_a_ledger_that_has_lost_labels_is_an_error(folder, is_compact):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 5))
        store.label("p1", True)
        if is_compact:
            store.compact()
    (folder / "labels.db").unlink()

    with pytest.raises(ModelFileError, match=r"must have the 1 entries .* it has 0"):
        HistoryStore.open(folder)
    with pytest.raises(ModelFileError, match=r"must have the 1 entries .* it has 0"):
        HistoryStore.open(folder, mode="write")


# Rows


def test_rows_come_back_with_all_columns_in_the_order_they_came(folder):
    with HistoryStore.create(folder, fresh(), rows=table(0, 10)) as store:
        store.one(payment(10))
        store.remember(table(11, 15))
        store.one(payment(15))
        assert store.rows().to_pylist() == payments(0, 16)
        store.compact()
        store.one(payment(16))
    with HistoryStore.open(folder) as store:
        assert store.rows().to_pylist() == payments(0, 17)
        assert store.n_rows == 17
        since = payment(12)["at"]
        later = [row for row in payments(0, 17) if row["at"] >= since]
        assert store.rows(since=since).to_pylist() == later


def test_a_row_sent_twice_is_there_once(folder):
    with HistoryStore.create(folder, fresh()) as store:
        store.remember(table(0, 5))
        store.remember(table(3, 8))
        store.one(payment(4) | {"country": "another"})
        assert store.rows().to_pylist() == payments(0, 8)
        assert store.n_rows == 11
        for row_id in (None, "", None, ""):  # which are no ids
            store.one(payment(9) | {"tx": row_id})
        assert store.rows().num_rows == 12


def test_columns_that_changed_their_type_are_converted(folder):
    history = History([Recent("count", "card", "1d")], time="at")
    with HistoryStore.create(folder, history) as store:
        store.remember(pa.table({"at": ["2025-03-01 10:00"], "card": [7], "x": [1]}))
        store.remember(pa.table({"at": [START], "card": ["A"], "x": [1.5]}))
        store.one({"at": datetime(2025, 3, 2, tzinfo=UTC), "card": 12, "y": True})
        found = store.rows().to_pydict()
    assert found == {
        "at": [datetime(2025, 3, 1, 10), datetime(2025, 3, 1), datetime(2025, 3, 2)],
        "card": ["7", "A", "12"],
        "x": [1.0, 1.5, None],
        "y": [None, None, True],
    }


def test_old_rows_can_be_dropped_and_the_others_stay(folder):
    with HistoryStore.create(folder, fresh(), rows=table(0, 10)) as store:
        store.remember(table(10, 20))
        store.remember(table(20, 30))
        store.drop_rows(before=payment(14)["at"])
        assert store.rows().to_pylist() == payments(10, 30)
    with HistoryStore.open(folder, mode="write") as store:
        assert store.rows().to_pylist() == payments(10, 30)
        store.drop_rows(before="2026-01-01")
        assert store.rows().num_rows == 0
        store.remember(table(30, 31))
        store.compact()
    assert HistoryStore.open(folder).rows().to_pylist() == payments(30, 31)
    assert len(list((folder / "rows").iterdir())) == 1


def test_a_lost_file_of_rows_is_an_error(folder):
    with HistoryStore.create(folder, fresh(), rows=table(0, 10)) as store:
        store.remember(table(10, 20))
    (folder / "rows" / "000000000000-000000010.parquet").unlink()

    with pytest.raises(ModelFileError, match="has lost the file of rows 0 to 9"):
        HistoryStore.open(folder).rows()


# One writer, many readers


def test_a_second_writer_gets_a_sentence_that_names_the_first(folder):
    with (
        HistoryStore.create(folder, fresh()) as store,
        pytest.raises(
            StoreBusyError, match=r"payments.history is being written by process \d+ \("
        ),
    ):
        HistoryStore.open(folder, mode="write", wait=0.05)
    store = HistoryStore.open(folder, mode="write", wait=0)
    store.close()


def test_a_writer_waits_until_another_has_closed(folder):
    HistoryStore.create(folder, fresh()).close()
    other = HistoryStore.open(folder, mode="write")
    closing = threading.Timer(0.2, other.close)
    closing.start()
    with HistoryStore.open(folder, mode="write", wait=30) as store:
        store.remember(table(0, 3))
    closing.join()


@pytest.mark.slow
def test_a_writer_waits_for_another_process(folder):
    HistoryStore.create(folder, fresh()).close()
    other, connection = started(hold, folder)
    assert connection.recv() == "open"
    with pytest.raises(StoreBusyError, match=f"process {other.pid} .*; wait until it has ended"):
        HistoryStore.open(folder, mode="write", wait=0.1)
    with HistoryStore.open(folder) as reader:
        assert reader.n_rows == 0
    connection.send("close")
    with HistoryStore.open(folder, mode="write", wait=30) as store:
        store.remember(table(0, 3))
    other.join()
    assert (folder / "lock").exists()


@pytest.mark.slow
def test_two_processes_at_once_lose_nothing_and_readers_always_see_a_consistent_state(folder):
    HistoryStore.create(folder, fresh()).close()
    writers = [started(add, folder, first)[0] for first in (0, 100)]
    n_seen = 0
    while any(writer.is_alive() for writer in writers):
        with HistoryStore.open(folder) as reader:
            rows = reader.rows()
            assert rows.num_rows == reader.n_rows >= n_seen
            n_seen = reader.n_rows
    assert [writer.exitcode for writer in writers] == [0, 0]
    with HistoryStore.open(folder) as reader:
        ids = reader.rows()["tx"].to_pylist()
        twin = fresh()
        for each in ids:
            twin.one(payment(int(each[1:])))
        assert sorted(ids) == sorted(f"p{i}" for i in [*range(15), *range(100, 115)])
        assert_same(reader.history, twin)

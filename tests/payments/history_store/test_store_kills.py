"""A writer may be killed at any moment: what it had acknowledged is there, once."""

import itertools
import os
import random
import time

import pytest

from payments.history_store.payments_made import (
    START,
    assert_same,
    fresh,
    names_in,
    payment,
    payments,
    table,
)
from payments.history_store.writer_processes import (
    all_sent,
    create,
    exit_code,
    started,
    write_for_ever,
)
from toprank.files import ModelFileError
from toprank.payments.history_store import HistoryStore
from toprank.payments.history_store.record_log import records

KNOWN = START + 60 * 86_400_000_000


class Killed(BaseException):
    """Simulates the end of the process: no code of ours may catch it and repair anything."""


class After:
    """Stops after a number of steps on disk, and counts them."""

    def __init__(self, n_steps):
        self.left, self.names = n_steps, []

    def __call__(self, name):
        self.names.append(name)
        self.left -= 1
        if self.left == 0:
            raise Killed(name)


def a_day(store):
    """Everything that a store can do; says after each how far it has come."""
    store.remember(table(10, 20))
    yield
    store.one(payment(20))
    yield
    store.label(["p11", "p12"], [True, False], KNOWN)
    yield
    store.compact()
    yield
    store.one(payment(21))
    yield
    store.purge(payment(3)["at"], forget=payment(2)["at"])
    yield
    store.remember(table(22, 25))
    yield
    store.label("p21", True, KNOWN)
    yield
    store.compact()
    yield
    store.drop_rows(payment(14)["at"])
    yield
    store.remember(table(25, 27))
    yield
    store.compact()
    yield


class Unbroken:
    """The twin of a store, in memory."""

    def __init__(self):
        self.history = fresh()
        self.history.batch(table(0, 10))

    def remember(self, rows):
        self.history.batch(rows)

    def one(self, row):
        self.history.one(row)

    def label(self, row_id, is_positive, known_at):
        self.history.label(row_id, is_positive, known_at)

    def purge(self, before, forget):
        self.history.purge(before, forget)

    def compact(self):
        pass

    def drop_rows(self, before):
        pass


def state_after(n_done):
    twin = Unbroken()
    for _ in itertools.islice(a_day(twin), n_done):
        pass
    return twin.history


def made(folder):
    history = fresh()
    history.batch(table(0, 10))
    HistoryStore.create(folder, history, rows=table(0, 10)).close()


def same(one, other):
    try:
        assert_same(one, other)
    except AssertionError:
        return False
    return True


def n_steps_of_a_day(folder):
    made(folder)
    steps = After(-1)
    with HistoryStore.open(folder, mode="write", on_step=steps) as store:
        for _ in a_day(store):
            pass
    return steps.names


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_after_any_step_on_disk_loses_nothing_and_doubles_nothing(tmp_path, every):
    names = n_steps_of_a_day(tmp_path / "whole.history")
    assert set(names) == {
        "rows written",
        "log written",
        "ledger written",
        "log created",
        "snapshot written",
        "old files removed",
        "rows removed",
    }
    for n_steps in range(1, len(names) + 1, every):
        folder = tmp_path / f"{n_steps}.history"
        made(folder)
        store = HistoryStore.open(folder, mode="write", on_step=After(n_steps))
        n_done = 0
        with pytest.raises(Killed):
            for _ in a_day(store):
                n_done += 1
        with pytest.raises(ValueError, match="open it again"):
            store.one(payment(99))
        os.close(store._lock._descriptor)  # as the end of the process does
        check_whole(folder, n_done, names[n_steps - 1])


def check_whole(folder, n_done, where):
    """What was done is there; the one step in progress wholly or not at all."""
    with HistoryStore.open(folder) as reader:
        seen = reader.history
    with HistoryStore.open(folder, mode="write") as writer:
        is_done = same(writer.history, state_after(n_done))
        assert is_done or same(writer.history, state_after(n_done + 1)), where
        assert same(seen, writer.history), where
        ids = writer.rows()["tx"].to_pylist()
        first = 0 if "p0" in ids else 10
        assert ids == [f"p{i}" for i in range(first, first + len(ids))], where
        n_rows = writer.n_rows
        assert first + len(ids) == n_rows, where
        assert not [name for name in names_in(folder) if ".part-" in name], where
        writer.compact()  # and it works as before
        writer.remember(table(n_rows, n_rows + 3))
    with HistoryStore.open(folder) as reader:
        assert reader.rows().num_rows == len(ids) + 3, where
        assert same(reader.history, writer.history)


def test_a_torn_record_is_cut_off_with_a_note(tmp_path):
    folder = tmp_path / "payments.history"
    made(folder)
    log = folder / "log-000001"
    with HistoryStore.open(folder, mode="write") as store:
        store.one(payment(10))
        store.remember(table(11, 14))
    whole = log.read_bytes()
    acknowledged = list(records(log))[-1].start
    parts = {path: path.read_bytes() for path in (folder / "rows").iterdir()}
    for n_bytes in random.Random(0).sample(range(acknowledged + 1, len(whole)), 8):
        log.write_bytes(whole[:n_bytes])
        for path, raw in parts.items():
            path.write_bytes(raw)
        with HistoryStore.open(folder, mode="write") as store:
            (note,) = store.notes
            assert f"ended in {n_bytes - acknowledged} bytes that are no complete record" in note
            assert store.rows().to_pylist() == payments(0, 11)
            twin = fresh()
            twin.batch(table(0, 10))
            twin.one(payment(10))
            assert_same(store.history, twin)


def test_damage_in_the_middle_is_an_error_with_its_place(tmp_path):
    folder = tmp_path / "payments.history"
    made(folder)
    with HistoryStore.open(folder, mode="write") as store:
        store.remember(table(10, 20))
        store.remember(table(20, 30))
    log = folder / "log-000001"
    raw = bytearray(log.read_bytes())
    raw[200] ^= 1
    log.write_bytes(raw)

    for mode in ("read", "write"):
        with pytest.raises(ModelFileError, match=r"log-000001 is damaged at byte \d+, before"):
            HistoryStore.open(folder, mode=mode)


def test_a_damaged_snapshot_is_replaced_by_the_one_before(tmp_path):
    folder = tmp_path / "payments.history"
    made(folder)
    with HistoryStore.open(folder, mode="write") as store:
        store.remember(table(10, 20))
        store.label("p4", True, KNOWN)
        store.compact()
        store.one(payment(20))
        history = store.history
    snapshot = folder / "snapshot-000002"
    snapshot.write_bytes(snapshot.read_bytes()[:-100])

    with HistoryStore.open(folder) as store:
        assert_same(store.history, history)
    with HistoryStore.open(folder, mode="write") as store:
        assert "snapshot-000002 cannot be loaded" in store.notes[0]
        assert_same(store.history, history)
        store.compact()
    with HistoryStore.open(folder, mode="write") as store:
        assert store.notes == []
        assert_same(store.history, history)
        store.compact()
        (folder / "snapshot-000003").unlink()
        (folder / "snapshot-000004").write_bytes(b"PK")
    with pytest.raises(ModelFileError, match="snapshot-000004 cannot be loaded"):
        HistoryStore.open(folder)


@pytest.mark.parametrize("n_steps", range(1, 6))
def test_a_new_folder_is_complete_or_not_there(tmp_path, n_steps):
    folder = tmp_path / "payments.history"
    with pytest.raises(Killed):
        HistoryStore.create(folder, fresh(), table(0, 4), on_step=After(n_steps))
    assert folder.exists() == (n_steps == 5)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", range(1, 6))
def test_a_folder_of_a_killed_process_is_complete_or_not_there(tmp_path, n_steps):
    folder = tmp_path / "payments.history"
    assert exit_code(create, folder, n_steps) == 9
    assert folder.exists() == (n_steps == 5)
    if n_steps < 5:
        HistoryStore.create(folder, fresh(), rows=table(0, 4)).close()
        assert [path.name for path in tmp_path.iterdir()] == ["payments.history"]
    with HistoryStore.open(folder, mode="write") as store:
        assert store.rows().num_rows == 4


@pytest.mark.slow
def test_a_process_killed_under_load_at_random_moments_loses_nothing(tmp_path):
    folder = tmp_path / "payments.history"
    HistoryStore.create(folder, fresh()).close()
    rng, acknowledged = random.Random(1), 0
    for _ in range(6):
        writer, connection = started(write_for_ever, folder)
        first = connection.recv()  # kernels are loaded by then
        time.sleep(rng.uniform(0, 0.4))
        writer.kill()
        acknowledged = [first, *all_sent(connection)][-1]
        writer.join()
        with HistoryStore.open(folder) as reader:
            assert reader.n_rows >= acknowledged
            ids = [row["tx"] for row in reader.rows().to_pylist()]
            assert ids == [f"p{i}" for i in range(reader.n_rows)]
    assert acknowledged > 30
    assert_same_as_unbroken(folder)


def assert_same_as_unbroken(folder):
    """Do again, in one go, what the killed processes did: the order is in their numbers."""
    with HistoryStore.open(folder, mode="write") as store:
        twin, n = fresh(), 0
        labels = labels_in(folder)
        while n < store.n_rows:
            before = n
            if n % 7 == 0:
                twin.batch(table(n, n + 3))
                n += 3
            else:
                twin.one(payment(n))
                n += 1
            if labels and labels[0][0] == f"p{before}":
                twin.label([labels[0][0]], [labels[0][1]], payment(before)["at"])
                labels.pop(0)
        assert labels == []
        assert_same(store.history, twin)


def labels_in(folder):
    import sqlite3

    with sqlite3.connect(folder / "labels.db") as connection:
        rows = connection.execute("SELECT id, is_positive FROM labels ORDER BY entry").fetchall()
    return [(row_id, bool(label)) for row_id, label in rows]

"""The files of a store: who may read them, what is left over, and the single file of before."""

import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

import toprank
from payments.history_store.payments_made import (
    assert_same,
    fresh,
    names_in,
    payment,
    table,
)
from payments.history_store.writer_processes import convert, exit_code
from toprank.payments.features import History
from toprank.payments.history_store import HistoryStore

PREVIOUS = Path(__file__).parents[1] / "previous_version.history"
ROW = {"tx": 9, "at": "2025-03-05 10:00", "card": "A", "terminal": "S", "amount": 5.0}


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "payments.history"


@pytest.fixture
def old_file(folder):
    shutil.copy(PREVIOUS, folder)
    return folder


def test_only_the_owner_can_read_files_with_cards(folder):
    with HistoryStore.create(folder, fresh(), rows=table(0, 3)) as store:
        store.remember(table(3, 6))
        store.label("p3", True)
        store.compact()
        store.one(payment(6))
        assert {mode_of(path) for path in folder.rglob("*") if path.is_file()} == {0o600}
        assert mode_of(folder) == mode_of(folder / "rows") == 0o700


def test_a_mode_that_the_user_has_set_is_kept(folder):
    HistoryStore.create(folder, fresh()).close()
    (folder / "snapshot-000001").chmod(0o640)
    folder.chmod(0o750)
    with HistoryStore.open(folder, mode="write") as store:
        store.remember(table(0, 3))
        store.compact()
        store.compact()
    numbered = [path for path in folder.iterdir() if path.name.startswith(("snapshot", "log"))]
    assert len(numbered) == 4
    assert {mode_of(path) for path in [*numbered, *(folder / "rows").iterdir()]} == {0o640}
    assert mode_of(folder) == 0o750


def test_files_have_their_documented_names(folder):
    with HistoryStore.create(folder, fresh(), rows=table(0, 3)) as store:
        store.remember(table(3, 6))
        store.compact()
    assert names_in(folder) == [
        "labels.db",
        "lock",
        "log-000001",
        "log-000002",
        "rows/000000000000-000000003.parquet",
        "rows/000000000003-000000003.parquet",
        "snapshot-000001",
        "snapshot-000002",
    ]
    for name in ("snapshot-000001", "snapshot-000002"):
        assert isinstance(toprank.load(folder / name), History)


def test_a_file_of_the_previous_version_is_read_without_a_change(old_file):
    before = old_file.read_bytes()
    with HistoryStore.open(old_file) as store:
        assert_same(store.history, History.load(PREVIOUS))
        assert store.history.one(ROW)["card_count_1d"] == 1
        assert store.rows().num_rows == 0
        with pytest.raises(ValueError, match="mode='write'"):
            store.one(ROW)
    assert old_file.read_bytes() == before


def test_a_file_of_the_previous_version_becomes_a_folder_to_write(old_file):
    twin = History.load(PREVIOUS)
    with HistoryStore.open(old_file, mode="write") as store:
        assert store.one(ROW) == twin.one(ROW)
        known = np.datetime64("2025-03-06")
        assert store.label(4, True, known) == twin.label(4, True, known) == (1, 0, 0, 0, (), 0)
    kept = old_file.with_name("payments.history.bak")
    assert kept.read_bytes() == PREVIOUS.read_bytes()
    assert sorted(path.name for path in kept.parent.iterdir()) == [old_file.name, kept.name]
    with HistoryStore.open(old_file, mode="write") as store:
        assert_same(store.history, twin)
        assert store.history.id == History.load(PREVIOUS).id


@pytest.mark.parametrize(
    "n_steps", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 4, 5))]
)
def test_a_kill_while_a_file_becomes_a_folder_loses_nothing(old_file, n_steps):
    assert exit_code(convert, old_file, n_steps) == 9

    with HistoryStore.open(old_file) as store:
        assert_same(store.history, History.load(PREVIOUS))
    with HistoryStore.open(old_file, mode="write") as store:
        assert_same(store.history, History.load(PREVIOUS))
    kept = old_file.with_name("payments.history.bak")
    assert sorted(path.name for path in kept.parent.iterdir()) == [old_file.name, kept.name]


def test_an_error_while_a_file_becomes_a_folder_leaves_the_file(old_file):
    def stop(name):
        if name == "file renamed":
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        HistoryStore.open(old_file, mode="write", on_step=stop)

    assert [path.name for path in old_file.parent.iterdir()] == [old_file.name]
    assert old_file.is_file()


def test_an_older_copy_is_not_written_over(old_file):
    old_file.with_name("payments.history.bak").write_text("mine")

    with pytest.raises(FileExistsError, match=r"payments.history.bak; .* move it away first"):
        HistoryStore.open(old_file, mode="write")

    assert old_file.is_file()
    assert old_file.with_name("payments.history.bak").read_text() == "mine"


def test_a_history_alone_is_still_saved_and_loaded(tmp_path):
    history = fresh()
    history.batch(table(0, 20))
    history.save(tmp_path / "a.history")
    toprank.save(history, tmp_path / "b.history")
    for name in ("a.history", "b.history"):
        assert_same(toprank.load(tmp_path / name), history)
        assert_same(History.load(tmp_path / name), history)
    assert mode_of(tmp_path / "a.history") == 0o600

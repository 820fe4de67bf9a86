"""Files are written in one step: complete or not at all, with the same mode, leaving nothing."""

import os
import stat
import subprocess
import sys

import pytest

from toprank.data.atomic import atomic_path, remove_leftovers


def test_a_failed_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model.bin"
    path.write_text("old")

    with pytest.raises(RuntimeError), atomic_path(path) as new:
        new.write_text("half")
        raise RuntimeError

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "model.bin"
    path.write_text("old")

    with atomic_path(path) as new:
        new.write_text("new")
        assert new.parent == path.parent
        assert new.suffix == path.suffix
        assert path.read_text() == "old"

    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    missing = tmp_path / "none" / "a.csv"
    with (
        pytest.raises(FileNotFoundError, match=r"there is no folder .*none"),
        atomic_path(missing),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="it is a folder"), atomic_path(tmp_path):
        pass


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "cards.csv"
    path.write_text("old")
    path.chmod(0o640)

    with atomic_path(path, mode=0o600) as new:
        new.write_text("new")
        assert mode_of(new) == 0o640

    assert mode_of(path) == 0o640


def test_a_new_file_has_the_requested_mode_from_the_start(tmp_path):
    path = tmp_path / "cards.csv"

    with atomic_path(path, mode=0o600) as new:
        assert mode_of(new) == 0o600

    assert mode_of(path) == 0o600
    ordinary = tmp_path / "ordinary.csv"
    ordinary.touch()
    with atomic_path(tmp_path / "another.csv"):
        pass
    assert mode_of(tmp_path / "another.csv") == mode_of(ordinary)


def test_a_link_stays_and_the_file_it_names_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    link = tmp_path / "latest.csv"
    link.symlink_to(tmp_path / "store" / "a.csv")

    with atomic_path(link) as new:
        new.write_text("new")

    assert link.is_symlink()
    assert (tmp_path / "store" / "a.csv").read_text() == "new"


KILLED = """
import os, sys
from toprank.data.atomic import atomic_path
with atomic_path(sys.argv[1]) as new:
    new.write_text("half")
    os._exit(9)
"""


@pytest.mark.parametrize("name", ["a.csv", "b.csv"])
def test_the_next_writer_in_the_folder_removes_what_a_killed_one_left(tmp_path, name):
    """Also of a file of another name: those of a list that is called by its day."""
    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.csv"], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith("a.csv")

    with atomic_path(tmp_path / name) as new:
        new.write_text("whole")

    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_the_unfinished_file_of_another_writer_is_not_removed(tmp_path):
    path = tmp_path / "a.csv"

    with atomic_path(path) as first:
        first.write_text("first")
        with atomic_path(path) as second:
            second.write_text("second")
        remove_leftovers(tmp_path)
        assert path.read_text() == "second"

    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_temporary_names_differ_and_cannot_be_guessed(tmp_path):
    with atomic_path(tmp_path / "a.csv") as first, atomic_path(tmp_path / "a.csv") as second:
        assert first.name != second.name
        assert str(os.getpid()) not in (first.name, second.name)

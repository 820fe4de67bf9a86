"""A folder that appears complete, and one that replaces a single file.

Until it is complete, it has a temporary name next to the target, and its process locks it; what a
killed process left is removed by the next.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toprank.data.atomic import path_beside, paths_beside, sync, try_lock
from toprank.payments.features import History
from toprank.payments.history_store.generations import LOCK
from toprank.payments.history_store.replayed import StoreState
from toprank.payments.history_store.writer_lock import (
    StoreBusyError,
    WriterLock,
    check_system,
    locks,
)


def new_folder(
    folder: Path, fill: Callable[[Path], None], step: Callable[[str], None]
) -> WriterLock:
    """Make a folder that `fill` fills, in one step; return its lock, which is held."""
    if folder.exists():
        raise FileExistsError(
            f"{folder} exists already; open it, or choose another name for a new history."
        )
    if not folder.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {folder.parent} to make {folder.name} in.")
    return _appeared(folder, fill, step)


def folder_from_file(
    path: Path,
    fill: Callable[[Path, StoreState], None],
    wait: float,
    step: Callable[[str], None],
) -> None:
    """Turn the single file of an earlier version into a folder of its name, if there is one.

    The file is kept with `.bak` added. Between the two renames nothing is at `path`: see
    `file_to_read`.
    """
    file = file_to_read(path)
    if file is None:
        return
    with _locked(file, path, wait):
        if path.is_dir():
            return  # another process has done it in the meantime
        state = StoreState(History.load(file))

        def filled(unfinished: Path) -> None:
            fill(unfinished, state)
            if file == path:
                path.rename(_free_name(path))
                step("file renamed")

        try:
            _appeared(path, filled, step).release()
        except BaseException:
            if file == path and not path.exists():
                _kept(path).rename(path)
            raise


def file_to_read(path: Path) -> Path | None:
    """Return the single file with the history of this name; None if it is a folder.

    A writer that is killed while it turns the file into a folder may leave neither at `path`: the
    file is then the one it has renamed, and the unfinished folder is next to it.
    """
    if path.is_file():
        return path
    kept = _kept(path)
    if path.exists() or not kept.is_file():
        return None
    is_half_done = any(unfinished.is_dir() for unfinished in paths_beside(kept.parent, path.name))
    return kept if is_half_done else None


def _appeared(
    folder: Path, fill: Callable[[Path], None], step: Callable[[str], None]
) -> WriterLock:
    """Fill a folder under a temporary name, then rename it."""
    check_system()
    unfinished, lock = _new_unfinished(folder)
    try:
        fill(unfinished)
        unfinished.rename(folder)
        remove_unfinished(folder.absolute().parent, folder.name)
        sync(folder.absolute().parent)
        step("folder renamed")
    except BaseException:
        lock.release()
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return lock


def _new_unfinished(folder: Path) -> tuple[Path, WriterLock]:
    while True:
        unfinished = path_beside(folder)
        unfinished.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # taken for a leftover before it was locked
            return unfinished, WriterLock(unfinished / LOCK, folder, wait=0)


def remove_unfinished(parent: Path, name: str | None = None) -> None:
    """Remove the folders that killed processes did not finish: those to be called `name`, or all.

    Not all where single files are turned into folders: see `file_to_read`.
    """
    for unfinished in filter(Path.is_dir, paths_beside(parent, name)):
        try:
            descriptor = os.open(unfinished / LOCK, os.O_RDWR)
        except FileNotFoundError:
            with suppress(OSError):
                unfinished.rmdir()  # its process was killed before; or it is not one of ours
            continue
        try:
            if try_lock(descriptor):
                shutil.rmtree(unfinished, ignore_errors=True)
        finally:
            os.close(descriptor)


@contextmanager
def _locked(file: Path, path: Path, wait: float) -> Iterator[None]:
    """Keep other processes from turning the same file into a folder."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        if not locks(descriptor, wait):
            raise StoreBusyError(
                f"{path} is being turned into a folder by another process; wait until it has "
                "ended, and try again."
            )
        yield
    finally:
        os.close(descriptor)


def _free_name(path: Path) -> Path:
    kept = _kept(path)
    if kept.exists():
        raise FileExistsError(
            f"{path} is a history of an earlier version, to be turned into a folder and kept as "
            f"{kept.name}; that file exists already; move it away first."
        )
    return kept


def _kept(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")

"""Files that are either whole or not there, whatever happens while they are written.

What is written goes to a file next to its target, reaches the disk, and is then renamed over the
target. That file is locked as long as its writer lives, so that the next writer in the folder can
distinguish the leftover of a killed one from the work of another process, and removes it. Only the
standard library is used.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

try:
    import fcntl
except ImportError:  # Windows: leftovers are not recognised, and stay
    fcntl = None  # type: ignore[assignment]

PRIVATE = 0o600
"""The mode of new files that contain rows of the data: only their owner can read them."""

_BESIDE = re.compile(r"\.part-[0-9a-f]{16}-(.+)", re.DOTALL)


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[Path]:
    """Give an empty file next to `path` to write to; it takes its place when all went well.

    A link stays, and the file it names is replaced. The new file has the mode of the one it
    replaces; where there is none, `mode`, or what the process gives to new files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder, "note.txt")) as unfinished:
    ...         _ = unfinished.write_text("whole")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['note.txt']
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {Path(path).parent} to write {target.name} to."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{path} must name a file to write; it is a folder.")
    remove_leftovers(target.parent)
    with _held_beside(target, 0o666 if mode is None else mode) as beside:
        kept = _mode_of(target)
        if kept is not None:
            beside.chmod(kept)
        try:
            yield beside
            sync(beside)
        except OSError as error:  # of a full disk: the system does not say which file
            if error.filename is None and error.errno is not None:
                error.filename = os.fspath(path)
            raise
        beside.replace(target)
        sync(target.parent)


def path_beside(target: Path) -> Path:
    """Return a new name next to `target`, with its suffix, that nobody can foresee."""
    return target.with_name(f".part-{token_hex(8)}-{target.name}")


def paths_beside(folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
    """Return what has names of `path_beside` in a folder: those for the file `name`, or all."""
    found = ((path, _BESIDE.fullmatch(path.name)) for path in Path(folder).iterdir())
    return [path for path, match in found if match and name in (None, match[1])]


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove the files that killed writers left in a folder, whatever they were to be called."""
    for path in paths_beside(folder):
        if path.is_file() and not path.is_symlink():
            _remove_unless_held(path)


def sync(path: str | os.PathLike[str]) -> None:
    """Return once a file, or the names in a folder, have reached the disk."""
    is_folder = Path(path).is_dir()
    if is_folder and fcntl is None:
        return  # Windows does not open folders
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Return whether the open file is now locked by this process; False if another one has it.

    The lock ends when the file is closed, also by the end of the process. Where the system has
    no such locks, this is always True.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _held_beside(target: Path, mode: int) -> Iterator[Path]:
    """Give a new locked file next to `target`; unless it was renamed, it is removed at the end."""
    beside, descriptor = _made_beside(target, mode)
    try:
        if fcntl is None:
            os.close(descriptor)  # an open file cannot be renamed there
        yield beside
    finally:
        beside.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(descriptor)


def _made_beside(target: Path, mode: int) -> tuple[Path, int]:
    while True:
        beside = path_beside(target)
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if try_lock(descriptor) and os.fstat(descriptor).st_nlink:
            return beside, descriptor
        os.close(descriptor)  # taken for a leftover before it was locked


def _mode_of(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _remove_unless_held(path: Path) -> None:
    if fcntl is None:
        return
    with suppress(OSError):  # another process was faster, or the file is not ours to open
        descriptor = os.open(path, os.O_RDONLY)
        try:
            if try_lock(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)

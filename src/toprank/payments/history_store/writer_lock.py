"""One writer at a time: a file that is locked as long as a process writes.

The lock is that of the system (`flock`), so it ends with the process, however that ends. A file
that another process has removed in the meantime is locked for nothing; it is then made again.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toprank.data.atomic import try_lock

_PAUSE = 0.02  # seconds between two tries
_LONGEST_COMMAND = 200


class StoreBusyError(ValueError):
    """Another process is writing the folder; the message says which."""


class WriterLock:
    """The lock of a folder or file, held from construction to `release`.

    Waits up to `wait` seconds for the process that has it. The file at `path` stays afterwards,
    unless it `is_removed`. `what` is what the message says is being written.
    """

    def __init__(self, path: Path, what: Path, wait: float, *, is_removed: bool = False) -> None:
        self._path, self._is_removed = path, is_removed
        self._descriptor = _locked(path, what, wait)
        self._write(_this_process())

    def release(self) -> None:
        """Let others write."""
        if self._is_removed and os.name == "posix":
            self._path.unlink(missing_ok=True)  # while it is locked: nobody else can have it
        else:
            self._write({})
        os.close(self._descriptor)

    def _write(self, facts: dict[str, Any]) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(facts).encode(), 0)


def locks(descriptor: int, wait: float) -> bool:
    """Return whether an open file could be locked within `wait` seconds."""
    give_up = time.monotonic() + wait
    while not try_lock(descriptor):
        if time.monotonic() >= give_up:
            return False
        time.sleep(_PAUSE)
    return True


def _locked(path: Path, what: Path, wait: float) -> int:
    """Return the descriptor of the file at `path`, which is locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not locks(descriptor, wait):
            holder = _holder(descriptor)
            os.close(descriptor)
            raise StoreBusyError(
                f"{what} is being written by {holder}; nothing was changed; wait until it has "
                "ended, or end it, and try again."
            )
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last owner has removed it


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def is_locked(path: Path) -> bool:
    """Return whether another process has the lock of the file at `path`."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def check_system() -> None:
    """Raise where the system has no locks that end with the process."""
    if os.name != "posix":
        raise OSError(
            "a history's folder can be written only on Linux and macOS, where the system locks "
            "files for a process; here it can only be read."
        )


def _this_process() -> dict[str, Any]:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return {
        "pid": os.getpid(),
        "command": command[:_LONGEST_COMMAND],
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _holder(descriptor: int) -> str:
    try:
        facts = json.loads(os.pread(descriptor, 10_000, 0))
        return f"process {facts['pid']} ({facts['command']}), since {facts['since']}"
    except (ValueError, KeyError, TypeError):  # it has the lock and has not written its name yet
        return "another process"

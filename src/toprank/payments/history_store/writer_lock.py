"""One writer at a time: a file that is locked as long as a process writes.

The lock is that of the system (`flock`), so it ends with the process, however that ends. The file
itself is never removed: a process that waits for a removed file would lock one nobody else sees.
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
    """The lock of a folder, held from construction to `release`.

    Waits up to `wait` seconds for the process that has it.
    """

    def __init__(self, path: Path, folder: Path, wait: float) -> None:
        _check_system()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not locks(self._descriptor, wait):
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise StoreBusyError(
                f"{folder} is being written by {holder}; nothing was changed; wait until it has "
                "ended, or end it, and try again."
            )
        self._write(_this_process())

    def release(self) -> None:
        """Let others write."""
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


def _check_system() -> None:
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

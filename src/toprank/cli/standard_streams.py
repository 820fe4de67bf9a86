"""stdin, stdout, stderr and signals, made fit for use however the program was started."""

import errno
import io
import os
import signal
import sys
from typing import Any

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that ask a program to end: by Ctrl-C, by the system, by a terminal that is closed."""


def prepare() -> None:
    """Replace streams that are closed, and end on every signal as after Ctrl-C.

    A stream that cannot encode a character shows its code, rather than stop the program.
    """
    for descriptor in range(3):
        _fill(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or ClosedOutput()
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for number in not_ignored(STOPPING):
        signal.signal(number, _stop)


def stopped_code() -> int:
    """Return the exit code after a signal: 128 and its number, as shells have it."""
    return 128 + (_stopped_by or signal.SIGINT)


def not_ignored(numbers: tuple[Any, ...]) -> list[Any]:
    """Return the signals that are not ignored; `nohup` ignores that of a closed terminal."""
    return [each for each in numbers if signal.getsignal(each) is not signal.SIG_IGN]


_stopped_by: int | None = None


def _stop(number: int, _frame: Any) -> None:
    global _stopped_by
    _stopped_by = number
    raise KeyboardInterrupt


class ClosedOutput(io.TextIOBase):
    """Takes the place of a closed stdout: what would be lost is reported."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "it is closed, so the results cannot be printed", "stdout")


def _fill(descriptor: int) -> None:
    """Open a closed descriptor: a file opened later would get its number, and what is printed."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)

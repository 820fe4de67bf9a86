"""Structured logs: with `--log json`, one JSON object per line on stderr, and nothing else there.

Every object has `time`, `level`, `event` and `command`. A command is logged when it starts and
when it ends; between the two come its steps, remarks, warnings and errors. Results still go to
stdout.
Numbers of payment cards and passwords within addresses are replaced, wherever they occur.
"""

import io
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TextIO

FORMS = ("text", "json")

_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d.])")
_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]+(?=@)")
_LEVELS = {"note: ": "warning", "toprank: ": "error"}
"""How remarks begin that are more than information."""


class JsonLog:
    """The log of one command.

    What else is written to stderr, by a library for example, becomes an event per line.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.command: str | None = None
        self.facts: dict[str, Any] = {}
        self._begin = time.monotonic()

    def event(self, level: str, event: str, message: str = "", **facts: Any) -> None:
        """Write one line."""
        shown = {"time": _now(), "level": level, "event": event, "command": self.command}
        if message:
            shown["message"] = message
        cleaned = _cleaned({**shown, **facts})
        with suppress(OSError, ValueError):  # nobody may be left to read it
            print(json.dumps(cleaned, default=str), file=self.stream, flush=True)

    def remark(self, text: str) -> None:
        """Log a remark that people would read on stderr."""
        for beginning, level in _LEVELS.items():
            if text.startswith(beginning):
                event = "warning" if level == "warning" else "error"
                self.event(level, event, text.removeprefix(beginning))
                return
        self.event("info", "remark", text)

    def fault(self, fault: Exception) -> None:
        """Log an error that nobody expected, with where it came from."""
        shown = "".join(traceback.format_exception(fault))
        self.event("error", "fault", f"{type(fault).__name__}: {fault}", traceback=shown)

    def ended(self, exit_code: int) -> None:
        """Log the end of the command, with all that it has reported of itself."""
        seconds = round(time.monotonic() - self._begin, 3)
        level = "info" if exit_code == 0 else "error"
        self.event(level, "end", exit_code=exit_code, seconds=seconds, **self.facts)


_log: JsonLog | None = None


def current() -> JsonLog | None:
    """Return the log; None where messages are written for people."""
    return _log


def asked_for(words: Sequence[str]) -> str:
    """Return the form that a command line asks for, before it is known to be right.

    >>> asked_for(["fit", "a.csv", "--log", "json"]), asked_for(["--log=json"]), asked_for(["fit"])
    ('json', 'json', '')
    """
    asked = [after for word, after in pairwise(words) if word == "--log"]
    asked += [word.removeprefix("--log=") for word in words if word.startswith("--log=")]
    return asked[-1] if asked else os.environ.get("TOPRANK_LOG", "")


def begin(form: str) -> None:
    """Log as JSON from now on, if that is the form."""
    global _log
    if form != "json" or _log is not None:
        return
    _log = JsonLog(sys.stderr)
    sys.stderr = _OtherLines(_log)
    logging.getLogger().addHandler(_Handler(_log))


@contextmanager
def restored() -> Iterator[None]:
    """Leave stderr and logging as they were before."""
    global _log
    stderr, handlers = sys.stderr, list(logging.getLogger().handlers)
    try:
        yield
    finally:
        if _log is not None:
            sys.stderr.flush()
            sys.stderr, logging.getLogger().handlers[:] = stderr, handlers
            _log = None


class StepTimes:
    """Logs each step of long work when it is done, with the seconds it took."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._done: set[str] = set()

    def saw(self, what: str, done: int, total: int) -> None:
        """Take note of progress: `done` of `total` parts."""
        if _log is None or done < total or what in self._done:
            return
        self._done.add(what)
        now = time.monotonic()
        _log.event("info", "step", what, seconds=round(now - self._begin, 3))
        self._begin = now


def report(**facts: Any) -> None:
    """Add facts to the line that ends the log, such as `rows=1200`; without a log, do nothing."""
    if _log is not None:
        _log.facts.update(facts)


def without_secrets(text: str) -> str:
    """Return text without passwords of addresses and without numbers of payment cards.

    >>> without_secrets("postgresql://desk:secret@db/payments")
    'postgresql://desk:***@db/payments'
    >>> without_secrets("card 4111 1111 1111 1111 of 1234567890123 rows")
    'card [card number] of 1234567890123 rows'
    """
    return _DIGITS.sub(_if_card, _PASSWORD.sub(r"\1:***", text))


class _OtherLines(io.TextIOBase):
    """Takes the place of stderr: each line that is written becomes an event."""

    def __init__(self, log: JsonLog) -> None:
        self._log, self._line = log, ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._log.stream.fileno()

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in filter(str.strip, lines):
            self._log.event("warning", "stderr", line)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept but a line that is not finished."""


class _Handler(logging.Handler):
    """Logs what the library logs, such as the server of a live system."""

    def __init__(self, log: JsonLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            facts["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        self._log.event(record.levelname.lower(), "log", record.getMessage(), **facts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _if_card(found: re.Match[str]) -> str:
    digits = [int(each) for each in found[0] if each.isdigit()]
    doubled = [sum(divmod(2 * each, 10)) for each in digits[-2::-2]]
    return "[card number]" if (sum(doubled) + sum(digits[::-2])) % 10 == 0 else found[0]

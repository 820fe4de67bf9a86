"""The run of `toprank stream`: lines taken in one by one, checkpoints between them."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from toprank.cli import screen
from toprank.cli.stream_input import LONGEST_LINE, CsvEvents, Event, JsonEvents, Mark

_SHOWN_FAULTS = 5
_SECONDS_A_LOOK = 0.5


class Source(NamedTuple):
    """Where events come from, and from which mark on."""

    events: JsonEvents | CsvEvents
    lines: Iterator[tuple[bytes, Mark]]
    start: Mark
    is_live: bool


class Run:
    """Lines taken in one by one, with checkpoints between them."""

    def __init__(
        self,
        stream: Any,
        source: Source,
        output: "Output",
        save: Callable[[], None],
        checkpoint_every: int,
        is_verbose: bool,
    ) -> None:
        self._stream = stream
        self._source = source
        self._output = output
        self._save = save
        self._every = checkpoint_every
        self._is_verbose = is_verbose
        self._mark = source.start
        self._looks = _Looks(output.is_on_screen())
        self._begin = time.monotonic()
        self._before = _counts(stream)
        self._n_bad = 0

    def to_the_end(self, stopper: "Stopper", strict: bool) -> None:
        """Take in all lines, or those until a signal comes, and save what they made."""
        try:
            self._take_in_lines(stopper, strict)
        except KeyboardInterrupt:
            stopper.is_waiting = False  # it was for a line, so that none is half taken in
        finally:
            self._looks.clear()
        self._checkpoint()

    def summary(self) -> str:
        """Return what the run did, and how good the last scores were."""
        seconds = time.monotonic() - self._begin
        done = {name: count - self._before[name] for name, count in _counts(self._stream).items()}
        parts = [
            f"{done['n_scored']:,} rows scored in {seconds:,.1f} s "
            f"({done['n_scored'] / max(seconds, 1e-9):,.0f} a second)",
            f"{done['n_labelled']:,} {self._stream.what_labels_do}",
            f"{done['n_alerts']:,} alerts",
            f"{len(self._stream.pending):,} wait for their label",
            *(
                f"{count:,} {what}"
                for count, what in (
                    (done["n_unmatched"], "labels of unknown rows"),
                    (done["n_dropped"], "rows dropped unlabelled"),
                    (done["n_replaced"], "rows replaced by a newer one"),
                    (done["n_alarms"], "changes found"),
                    (self._n_bad, "bad lines"),
                )
                if count
            ),
        ]
        return "; ".join(parts) + ".\n" + _window_sentence(self._stream.window.summary())

    def _take_in_lines(self, stopper: "Stopper", strict: bool) -> None:
        n_lines = 0
        while (line := self._next_line(stopper)) is not None:
            raw, mark = line
            try:
                self._take_in(self._source.events.event(raw))
            except (ValueError, TypeError) as error:
                is_whole = raw.endswith(b"\n") or len(raw) > LONGEST_LINE
                if not is_whole and not self._source.is_live:
                    self._leave_unfinished(mark.n_lines)
                    return
                if strict:
                    self._checkpoint()
                    raise ValueError(f"line {mark.n_lines:,}: {error}") from error
                self._tell_fault(mark.n_lines, error)
            self._mark = mark
            n_lines += 1
            if n_lines % self._every == 0:
                self._checkpoint()
            self._looks.show(self._looked_at)

    def _leave_unfinished(self, line: int) -> None:
        """Leave a last line that is no event for the next run: its writer may be at it still."""
        self._looks.clear()
        screen.remark(f"line {line:,}, the last, is not finished; it is left for the next run.")

    def _next_line(self, stopper: "Stopper") -> tuple[bytes, Mark] | None:
        """Return the next line; None at the end, and once a signal has come."""
        stopper.is_waiting = True
        try:
            return None if stopper.signal else next(self._source.lines, None)
        finally:
            stopper.is_waiting = False

    def _take_in(self, event: Event | None) -> None:
        if event is None:
            return
        if event.is_late_label:
            self._stream.label(event.event_id, event.label)
            return
        if event.label is None:
            scored = self._stream.score(event.row, event.event_id)
        else:
            scored = self._stream.learn(event.row, event.label, event.event_id)
        self._output.write(_score_line(event.event_id, scored))

    def _checkpoint(self) -> None:
        written = self._output.on_disk()
        self._stream.position["input"] = list(self._mark)
        if written is not None:
            self._stream.position["output"] = list(written)
        self._save()
        if self._is_verbose:
            self._looks.clear()
            screen.remark(f"line {self._mark.n_lines:,}: saved; {self._looked_at()}")

    def _tell_fault(self, line: int, error: Exception) -> None:
        self._n_bad += 1
        if self._n_bad <= _SHOWN_FAULTS:
            self._looks.clear()
            screen.remark(f"line {line:,} is passed over: {error}")
        if self._n_bad == _SHOWN_FAULTS:
            screen.remark("further bad lines are counted only; --strict stops at the first.")

    def _looked_at(self) -> str:
        """Return how it goes, in one short line."""
        n_rows = self._stream.n_scored - self._before["n_scored"]
        seconds = max(time.monotonic() - self._begin, 1e-9)
        ap = self._stream.window.summary().average_precision
        return (
            f"{n_rows:,} rows, {n_rows / seconds:,.0f} a second, "
            f"AP {'-' if ap is None else f'{ap.value:.3f}'}, "
            f"{self._stream.n_alerts - self._before['n_alerts']:,} alerts, "
            f"{len(self._stream.pending):,} waiting"
        )


class Output:
    """Where scores go: a file that is marked, or stdout."""

    def __init__(self, file: BinaryIO | None, mark: Mark, is_live: bool) -> None:
        self._file = file
        self._mark = mark
        self._is_live = is_live

    def write(self, line: str) -> None:
        if self._file is None:
            sys.stdout.write(line)
        else:
            raw = line.encode()
            self._file.write(raw)
            self._mark = self._mark.after(raw)
        if self._is_live:
            (self._file or sys.stdout).flush()

    def is_on_screen(self) -> bool:
        """Return whether a person reads the scores as they come."""
        return self._file is None and screen.is_terminal()

    def on_disk(self) -> Mark | None:
        """Return how far the file is written, once all of it is on disk; None for stdout."""
        if self._file is None:
            sys.stdout.flush()
            return None
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._mark


class Stopper:
    """The signal that was sent to stop, which never breaks into the work on a line."""

    signal = 0
    is_waiting = False

    def note(self, number: int, _: Any) -> None:
        self.signal = number
        if self.is_waiting:  # for a line that may never come
            raise KeyboardInterrupt


@contextmanager
def stopped_between_lines() -> Iterator[Stopper]:
    stopper = Stopper()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stopper.note) for number in numbers]
    try:
        yield stopper
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _score_line(event_id: str | int | None, scored: Any) -> str:
    # put together by hand, in a third of the time that a dict would take to dump
    line = f'{{"id": {json.dumps(event_id)}, "suspicion": {scored.suspicion!r}, '
    line += f'"probability": {scored.probability!r}, "alert": {json.dumps(scored.is_alert)}'
    if scored.reasons:
        rounded = {name: round(effect, 3) for name, effect in scored.reasons.items()}
        line += f', "reasons": {json.dumps(rounded, ensure_ascii=False)}'
    return line + "}\n"


class _Looks:
    """One line on a terminal, written over about twice a second; none elsewhere or amid rows."""

    def __init__(self, is_amid_rows: bool) -> None:
        self._is_shown = sys.stderr.isatty() and not is_amid_rows
        self._next = 0.0
        self._length = 0

    def show(self, text_of: Callable[[], str]) -> None:
        if not self._is_shown or time.monotonic() < self._next:
            return
        text = text_of()
        sys.stderr.write(f"\r{text.ljust(self._length)}")
        sys.stderr.flush()
        self._length = len(text)
        self._next = time.monotonic() + _SECONDS_A_LOOK

    def clear(self) -> None:
        if self._length:
            sys.stderr.write(f"\r{' ' * self._length}\r")
            self._length = 0


def _counts(stream: Any) -> dict[str, int]:
    names = ("n_scored", "n_labelled", "n_alerts", "n_unmatched", "n_alarms", "n_dropped")
    return {name: getattr(stream, name) for name in (*names, "n_replaced")}


def _window_sentence(summary: Any) -> str:
    """Return how good the scores of the last labelled rows were."""
    if summary.average_precision is None:
        return "No AP yet: no positive among the last labelled rows."
    return (
        f"Of the last {summary.n_rows:,} labelled rows, {summary.n_positives:,} positive: "
        f"AP {_bounded(summary.average_precision)}; {_bounded(summary.precision_at_budget)} of "
        f"the {summary.n_alerts:,} most suspicious are positive, "
        f"{_bounded(summary.recall_at_budget)} of all positives."
    )


def _bounded(figure: Any) -> str:
    value, low, high = (f"{each:.3f}" for each in figure)
    return value if low == high else f"{value} ({low} to {high})"

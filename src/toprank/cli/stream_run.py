"""The run of `toprank stream`: lines are processed as they come, with checkpoints in between.

All lines that have come are processed together, up to a bound: never does a line wait for others.
"""

import gc
import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, BinaryIO, NamedTuple

from toprank.cli import screen
from toprank.cli.option_names import as_typed
from toprank.cli.standard_streams import STOPPING, not_ignored
from toprank.cli.stream_input import BadLineError, CsvEvents, JsonEvents, label_as_known
from toprank.cli.stream_lines import LineBatch, Lines, Position
from toprank.rankers.online.events import Event, LabelOutcome, Outcome
from toprank.rankers.online.pending import Scored

_SHOWN_BAD_LINES = 5
_MOST_REASONS = 1_000  # of bad lines, each with its count
_SECONDS_BETWEEN_UPDATES = 0.5
_MOST_LINES = 2_000  # at once
_OBJECTS_BETWEEN = 100_000  # of collections of garbage
_LEAST_LINES = 10_000  # between checkpoints, unless the user says how many,
_TIMES_BETWEEN = 20.0  # and as many times what the last one took


class Source(NamedTuple):
    """Where events come from."""

    events: JsonEvents | CsvEvents
    lines: Lines
    file: BinaryIO | None
    """The file that can be read again from any position; None for a pipe."""

    @property
    def is_live(self) -> bool:
        """Whether lines come one by one."""
        return self.file is None


class Names(NamedTuple):
    """What the stream calls an option or a field, and what the user calls it."""

    event_id: str
    label: str
    positive: Any = None
    """The label of --positive; None if it was not given."""

    def in_words_of_the_user(self, error: Exception) -> str:
        """Return the message of an error with the options that were typed."""
        named = re.sub(r"^(event_)?id(?= must)", f"field {self.event_id!r}", str(error))
        return as_typed(named)


class Run:
    """A run of the stream over its lines, with checkpoints in between."""

    def __init__(
        self,
        stream: Any,
        source: Source,
        output: "Output",
        save: Callable[[], None],
        names: Names,
        checkpoint_every: int | None,
        is_verbose: bool,
    ) -> None:
        self._stream = stream
        self._source = source
        self._output = output
        self._save = save
        self._names = names
        self._every = checkpoint_every
        self._is_verbose = is_verbose
        self._position = source.lines.position
        self._status = _StatusLine(output.is_on_screen())
        self._begin = time.monotonic()
        self._before = _counts(stream)
        self._next_checkpoint = 0.0
        self._bad = _BadLines()
        self._n_good = 0
        self._n_labels_with_fields = 0
        self._texts = source.events.texts

    def to_the_end(self, stopper: "Stopper", strict: bool) -> None:
        """Process all lines, or those until a signal comes, and save the result."""
        try:
            with _rarely_collecting():
                self._process_lines(stopper, strict)
        except KeyboardInterrupt:
            stopper.is_reading = False  # it came between lines, so none is half processed
        finally:
            self._status.clear()
        self._checkpoint()

    @property
    def n_scored(self) -> int:
        """How many rows were scored."""
        return self._done()["n_scored"]

    def summary(self) -> str:
        """Return what the run did, and how good the last scores were."""
        seconds = time.monotonic() - self._begin
        done = self._done()
        counts = [
            f"{done['n_scored']:,} rows scored in {seconds:,.1f} s "
            f"({done['n_scored'] / max(seconds, 1e-9):,.0f} per second)",
            f"{done['n_labelled']:,} {self._stream.what_labels_do}",
            f"{done['n_alerts']:,} alerts",
            f"{len(self._stream.pending):,} pending their label",
            *(
                f"{count:,} {what}"
                for count, what in (
                    (done["n_unmatched"], "labels of unknown rows"),
                    (done["n_dropped"], "rows dropped without a label"),
                    (done["n_replaced"], "rows replaced by a newer one with the same id"),
                    (done["n_alarms"], "changes detected"),
                    (self._bad.n_lines, "bad lines"),
                )
                if count
            ),
        ]
        return "; ".join(counts) + ".\n" + _window_sentence(self._stream.window.summary())

    def check_useful(self) -> None:
        """Raise if there were lines and nothing came of any of them."""
        done = self._done()
        if self._bad.n_lines and not self._n_good:
            raise ValueError(self._bad.sentence())
        if done["n_unmatched"] and not (done["n_scored"] or done["n_labelled"]):
            raise ValueError(
                f"none of the {done['n_unmatched']:,} labels belongs to a row that is pending; "
                "check that --id names the field that rows and labels share, and that rows come "
                "before their labels."
            )

    def _done(self) -> dict[str, int]:
        return {name: count - self._before[name] for name, count in _counts(self._stream).items()}

    def _process_lines(self, stopper: "Stopper", strict: bool) -> None:
        n_left = _LEAST_LINES if self._every is None else self._every
        while (batch := self._next_batch(stopper, min(n_left, _MOST_LINES))) is not None:
            if not self._process(batch, strict):
                return
            n_left -= len(batch.lines)
            if not n_left:
                n_left = _LEAST_LINES if self._every is None else self._every
                if self._every is not None or time.monotonic() >= self._next_checkpoint:
                    self._checkpoint()
            self._status.show(self._progress)

    def _next_batch(self, stopper: "Stopper", most: int) -> LineBatch | None:
        """Return the next lines; None at the end, and once a signal has come.

        Of a pipe, what has been read is processed before: it cannot be read again.
        """
        lines = self._source.lines
        stopper.is_reading = True
        try:
            while not lines.is_ready():
                if stopper.signal:
                    return None
                lines.read()
        finally:
            stopper.is_reading = False
        if stopper.signal and not self._source.is_live:
            return None
        return lines.take(most)

    def _process(self, batch: LineBatch, strict: bool) -> bool:
        """Process lines; return False if the last one is left for the next run."""
        parser = self._source.events
        before = parser.state()
        events = parser.events(batch.lines)
        scores: list[str] = []
        for number, (event, outcome) in enumerate(self._outcomes(events, strict)):
            if type(outcome) is Scored:
                scores.append(_score_line(event.event_id, outcome))
            elif isinstance(outcome, Exception):
                if not batch.is_whole and not self._source.is_live:
                    self._leave_unfinished(batch.end.n_lines)
                    return False
                reason = self._names.in_words_of_the_user(outcome)
                line = batch.start.n_lines + number + 1
                if strict:
                    self._output.write(scores)
                    parser.restore(before)
                    parser.events(batch.lines[:number])
                    self._position = batch.after(number)
                    self._checkpoint()
                    raise ValueError(f"line {line:,}: {reason}") from outcome
                self._report_bad(line, reason)
                continue
            elif isinstance(outcome, LabelOutcome) and outcome.notes:
                self._report_notes(batch.start.n_lines + number + 1, event, outcome)
            self._n_good += event is not None
        self._output.write(scores)
        self._position = batch.end
        return True

    def _outcomes(
        self, events: Sequence[Event | Exception | None], strict: bool
    ) -> Iterator[tuple[Any, Outcome | None]]:
        """Yield each event and what came of it; `strict` ends with the first error."""
        if strict:
            n_read = next(
                (n for n, event in enumerate(events) if isinstance(event, Exception)), len(events)
            )
            events = events[: n_read + 1]
        whole = [event for event in events if type(event) is Event]
        answers = iter(self._stream.take_in(whole, self._label, strict=strict))
        for event in events:
            outcome = next(answers) if type(event) is Event else event
            yield event, outcome  # type: ignore[misc]
            if strict and isinstance(outcome, Exception):
                return

    def _leave_unfinished(self, line: int) -> None:
        """Leave a last line that is incomplete for the next run: it may still be written."""
        self._status.clear()
        screen.remark(f"line {line:,}, the last, is not finished; it is left for the next run.")

    def _report_notes(self, line: int, event: Event, outcome: LabelOutcome) -> None:
        if not self._n_labels_with_fields:
            self._status.clear()
            screen.remark(
                f"note: line {line:,} has a label and fields that no row had "
                f"({', '.join(map(repr, outcome.notes[:3]))}); it is taken as the label of row "
                f"{event.event_id!r}, as are others like it; --drop excludes such fields."
            )
        self._n_labels_with_fields += 1

    def _label(self, label: Any) -> Any:
        """Return a label as the stream knows it; raise for a third one."""
        positive, known = self._names.positive, known_labels(self._stream)
        if label in known:
            return label
        label = label_as_known(label, [*([] if positive is None else [positive]), *known])
        others = [each for each in known if each != positive]
        if positive is not None and others and label not in (positive, *others):
            raise BadLineError(
                f"field {self._names.label!r} must be {positive!r} (--positive) or {others[0]!r}; "
                f"got {label!r:.80}."
            )
        return label

    def _checkpoint(self) -> None:
        """Save everything; but not when all lines were bad, so that they can be read again."""
        begin = time.monotonic()
        written = self._output.on_disk()
        if self._bad.n_lines and not self._n_good:
            return
        file = self._source.file
        position = self._position if file is None else self._position.in_file(file)
        self._stream.position["input"] = list(position)
        if written is not None:
            self._stream.position["output"] = list(written)
        texts, numbers = self._source.events.texts, self._source.events.numbers
        if isinstance(self._source.events, CsvEvents):
            self._stream.position["text columns"] = sorted(texts)
            self._report_codes(texts)
        else:
            self._stream.position["number columns"] = sorted(numbers)
        self._save()
        now = time.monotonic()
        self._next_checkpoint = now + _TIMES_BETWEEN * (now - begin)
        if self._is_verbose:
            self._status.clear()
            screen.remark(f"line {self._position.n_lines:,}: saved; {self._progress()}")

    def _report_codes(self, texts: frozenset[str]) -> None:
        for name in sorted(texts - self._texts):
            self._status.clear()
            screen.remark(
                f"note: column {name!r} is read as text, since numbers in it start with a zero."
            )
        self._texts = texts

    def _report_bad(self, line: int, reason: str) -> None:
        self._bad.add(line, reason)
        if self._bad.n_lines <= _SHOWN_BAD_LINES:
            self._status.clear()
            screen.remark(f"line {line:,} is skipped: {reason}")
        if self._bad.n_lines == _SHOWN_BAD_LINES:
            screen.remark("further bad lines are only counted; --strict stops at the first.")

    def _progress(self) -> str:
        """Return how far the run is, in one short line."""
        n_rows = self._stream.n_scored - self._before["n_scored"]
        seconds = max(time.monotonic() - self._begin, 1e-9)
        ap = self._stream.window.summary().average_precision
        return (
            f"{n_rows:,} rows, {n_rows / seconds:,.0f} per second, "
            f"AP {'-' if ap is None else f'{ap.value:.3f}'}, "
            f"{self._stream.n_alerts - self._before['n_alerts']:,} alerts, "
            f"{len(self._stream.pending):,} pending"
        )


def known_labels(stream: Any) -> Collection[Any]:
    """Return the labels that a stream knows: those of its model, or those it has learned from."""
    if hasattr(stream, "model"):
        return stream.model.classes_
    return stream.learner.model_.classes.places if hasattr(stream.learner, "model_") else ()


class _BadLines:
    """How many lines were bad, for which reasons, and where the first was."""

    def __init__(self) -> None:
        self.n_lines = 0
        self._reasons: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, line: int, reason: str) -> None:
        self.n_lines += 1
        if reason in self._reasons or len(self._reasons) < _MOST_REASONS:
            self._reasons[reason] += 1
            self._first.setdefault(reason, line)

    def sentence(self) -> str:
        """Return that all lines were bad, with the most frequent reason and its first line."""
        ((reason, count),) = self._reasons.most_common(1)
        lines = "the only line is" if self.n_lines == 1 else f"all {self.n_lines:,} lines are"
        often = "" if count == self.n_lines else f" ({count:,} lines)"
        return (
            f"{lines} bad, so nothing was scored or saved; the most frequent reason{often}, "
            f"first in line {self._first[reason]:,}: {reason}"
        )


class Output:
    """Where scores go: a file whose position is saved, or stdout."""

    def __init__(self, file: BinaryIO | None, position: Position, is_live: bool) -> None:
        self._file = file
        self._position = position
        self._is_live = is_live

    def write(self, lines: Sequence[str]) -> None:
        with self._named():
            if self._file is None:
                sys.stdout.write("".join(lines))
            else:
                raw = "".join(lines).encode()
                self._file.write(raw)
                self._position = self._position.after(raw, len(lines))
            if self._is_live:
                (self._file or sys.stdout).flush()

    def is_on_screen(self) -> bool:
        """Return whether a person reads the scores as they come."""
        return self._file is None and screen.is_terminal()

    def on_disk(self) -> Position | None:
        """Return how far the file is written, once all of it is on disk; None for stdout."""
        with self._named():
            if self._file is None:
                sys.stdout.flush()
                return None
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._position.in_file(self._file)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Add the name of the file to an error of the system, such as a full disk."""
        try:
            yield
        except OSError as error:
            error.filename = error.filename or getattr(self._file or sys.stdout, "name", None)
            raise


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Let Python look for cycles once in many batches: they make none, and it takes a while."""
    before = gc.get_threshold()
    gc.freeze()  # what is there already need not be looked at
    gc.set_threshold(_OBJECTS_BETWEEN, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Stopper:
    """The signal that was sent to stop; it never interrupts the processing of a line."""

    signal = 0
    is_reading = False

    def note(self, number: int, _: Any) -> None:
        self.signal = number
        if self.is_reading:  # the next line may never come
            raise KeyboardInterrupt


@contextmanager
def stopped_between_lines() -> Iterator[Stopper]:
    stopper = Stopper()
    numbers = not_ignored(STOPPING)
    before = [signal.signal(number, stopper.note) for number in numbers]
    try:
        yield stopper
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _score_line(event_id: str | int | None, scored: Scored) -> str:
    # formatted by hand: three times as fast as dumping a dict
    own = _quoted(event_id) if type(event_id) is str else json.dumps(event_id)
    alert = "true" if scored.is_alert else "false"
    line = (
        f'{{"id": {own}, "suspicion": {scored.suspicion!r}, '
        f'"probability": {scored.probability!r}, "alert": {alert}'
    )
    if scored.reasons:
        rounded = {name: round(effect, 3) for name, effect in scored.reasons.items()}
        line += f', "reasons": {json.dumps(rounded)}'
    return line + "}\n"


class _StatusLine:
    """One line on a terminal, updated about twice a second; none elsewhere or between rows."""

    def __init__(self, is_between_rows: bool) -> None:
        self._is_shown = sys.stderr.isatty() and not is_between_rows
        self._next = 0.0
        self._length = 0

    def show(self, text_of: Callable[[], str]) -> None:
        if not self._is_shown or time.monotonic() < self._next:
            return
        text = text_of()
        sys.stderr.write(f"\r{text.ljust(self._length)}")
        sys.stderr.flush()
        self._length = len(text)
        self._next = time.monotonic() + _SECONDS_BETWEEN_UPDATES

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

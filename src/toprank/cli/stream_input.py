"""The lines of an event stream: read one by one, turned into events, and found again later."""

import csv
import json
import math
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, Self
from zlib import crc32

LONGEST_LINE = 1_000_000  # bytes

_CHUNK = 2**20
_LONGEST_NAME = 256  # characters
_MOST_NAMES = 20_000  # that are remembered as sound
_NUMBER_STARTS = frozenset("0123456789+-.")
_NUMBERS = frozenset((int, float))
_PLAIN = _NUMBERS | {str, bool, type(None)}
_LARGEST = sys.float_info.max
_LOWEST = -_LARGEST


class BadLineError(ValueError):
    """A line that is no event."""


class Fields(NamedTuple):
    """The names of the fields that are no features."""

    event_id: str
    label: str
    ignored: tuple[str, ...]
    texts: frozenset[str] = frozenset()
    """Fields of ids: in CSV, 007 stays text."""


class Event(NamedTuple):
    """What a line says; `row` holds the features, None for those that are missing."""

    event_id: str | int | None
    label: bool | int | float | str | None
    row: dict[str, Any]
    is_late_label: bool
    """Whether the line brings the label of a row that came before, and no row."""


class Mark(NamedTuple):
    """How far a file or a pipe has been read or written, told by the bytes and not by a name."""

    n_bytes: int = 0
    n_lines: int = 0
    checksum: int = 0
    """CRC-32 of all the bytes."""

    def after(self, raw: bytes, n_lines: int = 1) -> "Mark":
        """Return the mark after some more bytes."""
        checksum = crc32(raw, self.checksum)
        return Mark(self.n_bytes + len(raw), self.n_lines + n_lines, checksum)

    @classmethod
    def noted(cls, note: Any) -> Self | None:
        """Return the mark in a checkpoint, where it is a list; None for what is no mark.

        A checkpoint may come from anyone.
        """
        if not isinstance(note, list) or len(note) != len(cls._fields):
            return None
        if not all(type(each) is int and 0 <= each < 2**62 for each in note):
            return None
        return cls(*note)

    def is_in(self, stream: BinaryIO) -> bool:
        """Return whether a file begins with the marked bytes; if so, it stands behind them."""
        stream.seek(0)
        found = Mark()
        while found.n_bytes < self.n_bytes:
            raw = stream.read(min(_CHUNK, self.n_bytes - found.n_bytes))
            if not raw:
                return False
            found = found.after(raw)
        return found.checksum == self.checksum


def lines_of(stream: BinaryIO, mark: Mark) -> Iterator[tuple[bytes, Mark]]:
    """Give each line and the mark behind it; of one that is too long, only the beginning."""
    while raw := stream.readline(LONGEST_LINE + 1):
        mark, end = mark.after(raw), raw
        while len(raw) > LONGEST_LINE and end and not end.endswith(b"\n"):
            end = stream.readline(_CHUNK)
            mark = mark.after(end, n_lines=0)
        yield raw, mark


def pass_over(lines: Iterator[tuple[bytes, Mark]], mark: Mark, seen: Mark) -> None:
    """Read on from a mark to behind what was seen before; raise where something else comes."""
    while mark.n_bytes < seen.n_bytes:
        _, mark = next(lines, (b"", Mark(n_bytes=seen.n_bytes)))
    if mark != seen:
        raise ValueError(
            "with --skip-seen the input must begin with what was read before; it does not; "
            "leave --skip-seen out where only new events are sent."
        )


class JsonEvents:
    """Events from lines of JSON, an object each."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._decode = json.JSONDecoder(parse_constant=_constant).decode
        self._names: set[str] = set()

    def event(self, raw: bytes) -> Event | None:
        """Return what a line says; None for an empty one."""
        text = _text(raw)
        if not text:
            return None
        try:
            row = self._decode(text)
        except (ValueError, RecursionError) as error:
            if isinstance(error, BadLineError):
                raise
            reason = str(error).split(":")[0].lower() or "too deep"
            raise BadLineError(f"a line must be JSON; {reason}.") from error
        if type(row) is not dict:
            raise BadLineError('a line must be a JSON object, such as {"amount": 9.5}.')
        _check_values(row)
        event_id = row.pop(self._fields.event_id, None)
        label = row.pop(self._fields.label, None)
        for name in self._fields.ignored:
            row.pop(name, None)
        if not row.keys() <= self._names:
            self._check_names(row)
        return _event(event_id, label_of(label), row, has_row=bool(row))

    def _check_names(self, row: dict[str, Any]) -> None:
        check_names(row)
        if len(self._names) < _MOST_NAMES:
            self._names.update(row)


class CsvEvents:
    """Events from lines of CSV, the first of which names the columns."""

    def __init__(self, fields: Fields, header: bytes) -> None:
        self._names = _cells(_text(header))
        check_names(self._names)
        twice = [name for name in self._names if self._names.count(name) > 1]
        if twice:
            raise ValueError(f"columns of a CSV must differ; {twice[0]!r} comes twice.")
        self._id = self._place(fields.event_id)
        self._label = self._place(fields.label)
        apart = {fields.event_id, fields.label, *fields.ignored}
        self._features = [
            (name, place, _text_or_none if name in fields.texts else _value)
            for place, name in enumerate(self._names)
            if name not in apart
        ]

    @property
    def names(self) -> list[str]:
        """The columns, in their order."""
        return self._names

    def event(self, raw: bytes) -> Event | None:
        """Return what a line says; None for an empty one."""
        text = _text(raw)
        if not text:
            return None
        cells = _cells(text)
        if len(cells) != len(self._names):
            raise BadLineError(f"a line must have {len(self._names)} cells; got {len(cells)}.")
        event_id = None if self._id is None else cells[self._id] or None
        label = None if self._label is None else label_of(cells[self._label])
        row = {name: read(cells[place], name) for name, place, read in self._features}
        return _event(event_id, label, row, has_row=any(cell is not None for cell in row.values()))

    def _place(self, name: str) -> int | None:
        return self._names.index(name) if name in self._names else None


def label_of(value: Any) -> Any:
    """Return a label as it is meant, since CSV and many a producer write all of them as text.

    >>> label_of("1"), label_of("True"), label_of("fraud"), label_of(""), label_of(0)
    (1, True, 'fraud', None, 0)
    """
    if type(value) is not str:
        return value
    text = value.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _value(text, "label")
    if type(number) is float:
        return int(number) if number.is_integer() else number
    if number is not None:
        check_names([number], "a label")
    return number


def check_names(names: Any, what: str = "a field's name") -> None:
    """Raise for names that a model file could not hold."""
    for name in names:
        if len(name) > _LONGEST_NAME:
            raise BadLineError(
                f"{what} must have at most {_LONGEST_NAME} characters; got {len(name)}."
            )
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise BadLineError(f"{what} must be Unicode text; got {name!r}.") from error


def _text(raw: bytes) -> str:
    if len(raw) > LONGEST_LINE:
        raise BadLineError(f"a line must have at most {LONGEST_LINE:,} bytes; it has more.")
    try:
        return raw.decode().strip("\r\n \ufeff")
    except UnicodeDecodeError as error:
        raise BadLineError("a line must be UTF-8; it is not.") from error


def _constant(name: str) -> None:
    """Return what NaN stands for, a missing value; the infinities stand for none."""
    if name != "NaN":
        raise BadLineError(f"numbers must be finite; got {name}.")


def _check_values(row: dict[str, Any]) -> None:
    for name, value in row.items():
        kind = type(value)
        if kind not in _PLAIN:
            found = "an object" if kind is dict else "a list"
            raise BadLineError(
                f"field {name!r:.80} must be a number, text, true, false or null; got {found}."
            )
        if kind in _NUMBERS and not _LOWEST <= value <= _LARGEST:
            raise BadLineError(f"field {name!r:.80} must be finite; it is too large.")


def _event(event_id: Any, label: Any, row: dict[str, Any], has_row: bool) -> Event:
    """Return the event of a line, which has all that it needs."""
    event_id = None if event_id == "" else event_id  # what else is an id, the stream knows
    is_late_label = label is not None and not has_row
    if is_late_label and event_id is None:
        raise BadLineError("a line with a label must have an id or other fields; it has none.")
    if not row and not is_late_label:
        raise BadLineError("a line must have fields beside id and label; it has none.")
    return Event(event_id, label, row, is_late_label)


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        raise BadLineError(f"a line must be CSV, a row a line; {error}.") from error


def _text_or_none(text: str, _: str) -> str | None:
    return text or None


def _value(text: str, name: str) -> Any:
    """Return a cell as a number where it is one, None where it is empty."""
    if not text:
        return None
    if text[0] not in _NUMBER_STARTS or "_" in text:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if math.isnan(number):
        return None
    if math.isinf(number):
        raise BadLineError(f"field {name!r:.80} must be finite; got {text:.80}.")
    return number

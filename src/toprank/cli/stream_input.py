"""The lines of an event stream: read one by one, turned into events, and found again later.

Numbers as people write them, "1,234.56" or "EUR 12.50", are read by `stream_cells`: as text they
would silently become categories.
"""

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, Self
from zlib import crc32

from toprank.cli.stream_cells import StreamCells

LONGEST_LINE = 1_000_000  # bytes

_CHUNK = 2**20
_OTHER_DELIMITERS = ";\t|"
_LONGEST_NAME = 256  # characters
_MOST_NAMES = 20_000  # checked once each
_NUMBER_STARTS = frozenset("0123456789+-.")
_FORMATTED_STARTS = frozenset("0123456789+-.,$€£¥")
_CODES = frozenset(("EUR", "USD", "GBP", "CHF", "JPY"))
_SYMBOL = rf"(?:[$€£¥]|{'|'.join(sorted(_CODES))})"
_CURRENCY = re.compile(rf"^([+-]?)\s*{_SYMBOL}\s*|\s*{_SYMBOL}$")
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_SEPARATED = re.compile(
    r"""
    [+-]?
    (?: \d{1,3} (?: ,\d{3} )+ (?: \.\d+ )?      # 1,234.56
      | \d{1,3} (?: [.\s]\d{3} )+ ,\d+          # 1.234,56
      | \d{1,3} (?: ['’]\d{3} )+ (?: [.,]\d+ )?  # 1'234.56
      | \d* ,\d+                                # 12,50
    )
    """,
    re.VERBOSE,
)
_NUMBERS = frozenset((int, float))
_PLAIN = _NUMBERS | {str, bool, type(None)}
_LARGEST = sys.float_info.max
_LOWEST = -_LARGEST


class BadLineError(ValueError):
    """A line that cannot be read as an event."""


class Fields(NamedTuple):
    """The names of the fields that are not features, and what is known of those that are."""

    event_id: str
    label: str
    dropped: tuple[str, ...]
    texts: frozenset[str] = frozenset()
    """Columns of a CSV that are read as text, even where they look like numbers."""
    numbers: frozenset[str] = frozenset()
    """Fields that have held numbers before."""
    reading: Any = None
    """How the file is written, as a `toprank.data.tables.Reading`."""
    is_fitted: bool = False
    """Whether a model of `toprank fit` requires its fields of `numbers` to be numbers."""
    time: str | None = None
    """The field of times that a model reads."""

    def cells(self) -> StreamCells:
        """Return what reads numbers and times."""
        from toprank.data.tables import Reading

        numbers = self.numbers if self.is_fitted else frozenset()
        return StreamCells(self.reading or Reading(), numbers, self.time)

    @property
    def encoding(self) -> str:
        """That of the lines."""
        return (self.reading and self.reading.encoding) or "utf-8"


class Event(NamedTuple):
    """The content of a line; `row` contains the features, None for those that are missing."""

    event_id: str | int | None
    label: bool | int | float | str | None
    row: dict[str, Any]
    is_late_label: bool
    """Whether the line contains the label of an earlier row, and no row."""


class Position(NamedTuple):
    """How far a file or a pipe has been read or written, known by its bytes, not its name."""

    n_bytes: int = 0
    n_lines: int = 0
    checksum: int = 0
    """CRC-32 of all the bytes."""

    def after(self, raw: bytes, n_lines: int = 1) -> "Position":
        """Return the position after some more bytes."""
        checksum = crc32(raw, self.checksum)
        return Position(self.n_bytes + len(raw), self.n_lines + n_lines, checksum)

    @classmethod
    def from_note(cls, note: Any) -> Self | None:
        """Return the position that a checkpoint contains as a list; None if it is not valid.

        A checkpoint may come from anyone.
        """
        if not isinstance(note, list) or len(note) != len(cls._fields):
            return None
        if not all(type(each) is int and 0 <= each < 2**62 for each in note):
            return None
        return cls(*note)

    def is_in(self, stream: BinaryIO) -> bool:
        """Return whether a file begins with these bytes; if so, reading continues after them."""
        stream.seek(0)
        found = Position()
        while found.n_bytes < self.n_bytes:
            raw = stream.read(min(_CHUNK, self.n_bytes - found.n_bytes))
            if not raw:
                return False
            found = found.after(raw)
        return found.checksum == self.checksum


def lines_of(stream: BinaryIO, position: Position) -> Iterator[tuple[bytes, Position]]:
    """Yield each line and the position after it; of a line that is too long, only its start."""
    while raw := stream.readline(LONGEST_LINE + 1):
        position, end = position.after(raw), raw
        while len(raw) > LONGEST_LINE and end and not end.endswith(b"\n"):
            end = stream.readline(_CHUNK)
            position = position.after(end, n_lines=0)
        yield raw, position


def skip_to(lines: Iterator[tuple[bytes, Position]], position: Position, seen: Position) -> None:
    """Read from a position to the end of what was seen before; raise if the bytes differ."""
    while position.n_bytes < seen.n_bytes:
        _, position = next(lines, (b"", Position(n_bytes=seen.n_bytes)))
    if position != seen:
        raise ValueError(
            "with --skip-seen the input must begin with what was read before; it does not; "
            "leave out --skip-seen if only new events are sent."
        )


class JsonEvents:
    """Events from lines of JSON, one object per line."""

    texts: frozenset[str] = frozenset()  # JSON itself distinguishes text from numbers

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._numbers = set(fields.numbers)
        self._cells = fields.cells()
        self._decode = json.JSONDecoder(parse_constant=_constant).decode
        self._names: set[str] = set()

    def event(self, raw: bytes) -> Event | None:
        """Return the event of a line; None for an empty line."""
        text = _text(raw, self._fields.encoding)
        if not text:
            return None
        try:
            row = self._decode(text)
        except (ValueError, RecursionError) as error:
            if isinstance(error, BadLineError):
                raise
            reason = str(error).split(":")[0].lower() or "too deep"
            hint = "" if text[0] in "{[" else "; for CSV, use --format csv"
            raise BadLineError(f"a line must be JSON; {reason}{hint}.") from error
        if type(row) is not dict:
            raise BadLineError('a line must be a JSON object, such as {"amount": 9.5}.')
        for name in self._fields.dropped:
            row.pop(name, None)
        _check_values(row)
        event_id = row.pop(self._fields.event_id, None)
        label = row.pop(self._fields.label, None)
        if not row.keys() <= self._names:
            self._check_names(row)
        self._read_cells(row)
        return _event(event_id, label_of(label), row)

    def _read_cells(self, row: dict[str, Any]) -> None:
        """Replace numbers that are text, with separators or where numbers were, and times."""
        numbers, cells = self._numbers, self._cells
        for name, value in row.items():
            if cells.is_time(name):
                row[name] = cells.time(value, name)
            elif type(value) is str:
                text = value.strip()
                is_number = cells.is_number(name) or is_formatted_number(text)
                if is_number or (name in numbers and type(_value(text, name)) is float):
                    row[name] = cells.number(text, name)
            elif name not in numbers and value is not None and len(numbers) < _MOST_NAMES:
                numbers.add(name)

    def _check_names(self, row: dict[str, Any]) -> None:
        check_names(row)
        if len(self._names) < _MOST_NAMES:
            self._names.update(row)


class CsvEvents:
    """Events from lines of CSV, the first of which names the columns.

    A column in which a number starts with a zero, as in 007, contains codes: it is read as text
    from that line on.
    """

    def __init__(self, fields: Fields, header: bytes) -> None:
        text = _text(header, fields.encoding)
        self._encoding = fields.encoding
        self._cells = fields.cells()
        self._delimiter = delimiter_of(text)
        self._names = [name.strip() for name in _cells(text, self._delimiter)]
        check_names(self._names)
        twice = [name for name in self._names if self._names.count(name) > 1]
        if twice:
            raise ValueError(f"columns of a CSV must differ; {twice[0]!r} comes twice.")
        self._id = self._place(fields.event_id)
        self._label = self._place(fields.label)
        others = {fields.event_id, fields.label, *fields.dropped}
        self._features = [
            (name, place) for place, name in enumerate(self._names) if name not in others
        ]
        self._texts = set(fields.texts)

    @property
    def names(self) -> list[str]:
        """The columns, in their order."""
        return self._names

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are read as text, although they look like numbers."""
        return frozenset(self._texts)

    def event(self, raw: bytes) -> Event | None:
        """Return the event of a line; None for an empty line."""
        text = _text(raw, self._encoding)
        if not text:
            return None
        cells = _cells(text, self._delimiter)
        if len(cells) != len(self._names):
            raise BadLineError(f"a line must have {len(self._names)} cells; got {len(cells)}.")
        event_id = None if self._id is None else cells[self._id] or None
        label = None if self._label is None else label_of(cells[self._label])
        row = {name: self._value(cells[place], name) for name, place in self._features}
        return _event(event_id, label, row)

    def _value(self, text: str, name: str) -> Any:
        """Return a cell as a number, a time or text; None where it is empty."""
        cells = self._cells
        if not text or name in self._texts:
            return text or None
        if cells.is_number(name):
            return cells.number(text, name)
        value = _value(text.strip() or text, name)  # a text keeps its spaces
        if cells.is_time(name):
            return cells.time(value, name)
        is_written = type(value) is float and not cells.is_plain(name) and not text.isdigit()
        if is_written or (type(value) is str and is_formatted_number(text)):
            return cells.number(text, name)
        if type(value) is str and _has_leading_zero(text):
            self._texts.add(name)
        return text if type(value) is str else value

    def _place(self, name: str) -> int | None:
        return self._names.index(name) if name in self._names else None


def delimiter_of(header: str) -> str:
    r"""Return what separates the columns of a CSV: a comma, unless only others are there.

    >>> delimiter_of("id,amount"), delimiter_of("id;amount"), delimiter_of("amount")
    (',', ';', ',')
    """
    others = [each for each in _OTHER_DELIMITERS if each in header]
    return "," if "," in header or not others else max(others, key=header.count)


def label_of(value: Any) -> Any:
    """Return a label as a number, a bool or text, since many sources write all labels as text.

    >>> label_of("1"), label_of("True"), label_of("fraud"), label_of("NA"), label_of(0)
    (1, True, 'fraud', None, 0)
    """
    if type(value) is not str:
        return value
    from toprank.data.tables.number_formats import MISSING

    text = value.strip()
    if text in MISSING:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _value(text, "label")
    if type(number) is float:
        return int(number) if number.is_integer() else number
    if number is not None:
        check_names([number], "a label")
    return number


def label_as_known(label: Any, known: Iterable[Any]) -> Any:
    """Return the known label that is the same but for its spelling; else the label itself.

    >>> label_as_known("YES", ["yes", "no"]), label_as_known("1", [1, 0]), label_as_known("x", [])
    ('yes', 1, 'x')
    """
    from toprank.data.tables.positive_class import same_label

    return next((each for each in known if same_label(each, label)), label)


def is_formatted_number(text: str) -> bool:
    """Return whether text is a number with separators between its digits, or with a currency.

    >>> [is_formatted_number(text) for text in ("1,234.56", "19.732,10", "12,5", "EUR 12.50")]
    [True, True, True, True]
    >>> [is_formatted_number(text) for text in ("12.5", "192.168.100.200", "2024-01-01", "A1")]
    [False, False, False, False]
    """
    if text[:1] not in _FORMATTED_STARTS and text[:3] not in _CODES:
        return False  # most texts, and fast
    bare = _CURRENCY.sub(r"\1", text)
    has_currency = bare != text
    return bool(_SEPARATED.fullmatch(bare) or (has_currency and _PLAIN_NUMBER.fullmatch(bare)))


def check_names(names: Any, what: str = "a field's name") -> None:
    """Raise for names that a model file cannot contain."""
    for name in names:
        if len(name) > _LONGEST_NAME:
            raise BadLineError(
                f"{what} must have at most {_LONGEST_NAME} characters; got {len(name)}."
            )
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise BadLineError(f"{what} must be Unicode text; got {name!r}.") from error


def _text(raw: bytes, encoding: str) -> str:
    if len(raw) > LONGEST_LINE:
        raise BadLineError(f"a line must have at most {LONGEST_LINE:,} bytes; it has more.")
    try:
        return raw.decode(encoding).strip("\r\n \ufeff")
    except UnicodeDecodeError as error:
        name = encoding.upper() if encoding == "utf-8" else encoding
        raise BadLineError(
            f"a line must be {name}; it is not; name its encoding with --encoding."
        ) from error


def _constant(name: str) -> None:
    """Return None, a missing value, for NaN; raise for the infinities."""
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


def _event(event_id: Any, label: Any, row: dict[str, Any]) -> Event:
    """Return the event of a line; raise if it has too little to be one."""
    event_id = None if event_id == "" else event_id  # the stream checks what else is an id
    is_late_label = label is not None and all(cell is None for cell in row.values())
    if is_late_label and event_id is None:
        raise BadLineError("a line with a label must have an id or other fields; it has none.")
    if not row and not is_late_label:
        raise BadLineError("a line must have fields in addition to id and label; it has none.")
    return Event(event_id, label, row, is_late_label)


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise BadLineError(f"a line must be one row of CSV; {error}.") from error


def _value(text: str, name: str) -> Any:
    """Return a cell as a number where it is one, None where it is empty."""
    if not text:
        return None
    first = text[0]
    if first not in _NUMBER_STARTS or "_" in text or (first == "0" and _has_leading_zero(text)):
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


def _has_leading_zero(text: str) -> bool:
    """Return whether text is a code such as 007, which would lose its zeros as a number."""
    return text[0] == "0" and len(text) > 1 and text.isdigit()

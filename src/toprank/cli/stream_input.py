"""The lines of an event stream, turned into events.

Lines are read together, column by column, where they are plain: one object or row per line, each
value of the kind that its column had. If anything about them is not, they are read one by one,
which is slower and gives each bad line its error; what plain lines say is the same either way.

Numbers as people write them, "1,234.56" or "EUR 12.50", are read by `stream_cells`: as text they
would silently become categories.
"""

import csv
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from toprank.cli.stream_cells import StreamCells
from toprank.cli.stream_lines import LONGEST_LINE
from toprank.rankers.online.events import Event
from toprank.rankers.online.stream_columns import columns_of_rows

_OTHER_DELIMITERS = ";\t|"
_LONGEST_NAME = 256  # characters
_MOST_NAMES = 20_000  # checked once each
_MOST_TEXTS = 100_000  # known to be no numbers
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
_COMPUTED = r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)?"  # or nothing
_COMPUTED_COLUMN = re.compile(rf"{_COMPUTED}(?:\n{_COMPUTED})*+", re.ASCII)
_NUMBERS = frozenset((int, float))
_PLAIN = _NUMBERS | {str, bool, type(None)}
_TEXT = frozenset((str, type(None)))
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


class _NotPlainError(ValueError):
    """Lines that must be read one by one."""


class EventReader:
    """Turns lines into events."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._cells = fields.cells()
        self._plain_texts: set[str | None] = {None}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are read as text, although they look like numbers."""
        return frozenset()  # JSON itself distinguishes text from numbers

    @property
    def numbers(self) -> frozenset[str]:
        """The fields that have held numbers."""
        return frozenset()  # of a CSV, each cell says whether it is one

    def events(self, lines: Sequence[bytes]) -> list[Event | Exception | None]:
        """Return the event of each line, None for an empty one, or why the line is bad."""
        before = self.state()
        try:
            return list(self._read_together(lines))
        except (ValueError, TypeError, RecursionError):
            self.restore(before)
        return [self._read_alone(line) for line in lines]

    def state(self) -> Any:
        """Return what reading lines changes, for `restore`."""
        return dict(self._cells.forms)

    def restore(self, state: Any) -> None:
        """Forget the lines that were read since `state` returned this."""
        self._cells.forms = state

    def _read_alone(self, line: bytes) -> Event | Exception | None:
        try:
            return self._event(line)
        except (ValueError, TypeError) as error:
            return error

    def _event(self, line: bytes) -> Event | None:
        """Return the event of a line; None for an empty line."""
        raise NotImplementedError

    def _read_together(self, lines: Sequence[bytes]) -> list[Event]:
        """Return the events of lines as `_event` does; raise where that is not certain."""
        raise NotImplementedError

    def _plain_lines(self, lines: Sequence[bytes]) -> list[str]:
        texts = [_text(line, self._fields.encoding) for line in lines]
        if "" in texts:
            raise _NotPlainError
        return texts

    def _are_plain_texts(self, texts: Sequence[str | None]) -> bool:
        """Return whether all texts are no numbers, whatever their column held before."""
        new = {text for text in set(texts) - self._plain_texts if text is not None}
        if not all(map(_is_plain_text, new)):
            return False
        if len(self._plain_texts) + len(new) > _MOST_TEXTS:
            self._plain_texts = {None}
        self._plain_texts.update(each for each in new if len(each) <= _LONGEST_NAME)
        return True


class JsonEvents(EventReader):
    """Events from lines of JSON, one object per line."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        self._numbers = set(fields.numbers)
        self._decode = json.JSONDecoder(parse_constant=_constant).decode
        self._names: set[str] = set()

    @property
    def numbers(self) -> frozenset[str]:
        """The fields that have held numbers."""
        return frozenset(self._numbers)

    def state(self) -> Any:
        """Return what reading lines changes, for `restore`."""
        return super().state(), set(self._numbers)

    def restore(self, state: Any) -> None:
        """Forget the lines that were read since `state` returned this."""
        forms, self._numbers = state
        super().restore(forms)

    def _event(self, line: bytes) -> Event | None:
        text = _text(line, self._fields.encoding)
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
        self._check_names(row)
        for name, value in row.items():
            row[name] = self._cell(value, name)
        return _event(event_id, label_of(label), row)

    def _read_together(self, lines: Sequence[bytes]) -> list[Event]:
        rows = self._objects(self._plain_lines(lines))
        fields = self._fields
        others = {fields.event_id, fields.label, *fields.dropped}
        kinds = [
            (names, chosen, list(columns)) for names, chosen, columns in columns_of_rows(rows)
        ]
        n_kinds = Counter(name for names, _, _ in kinds for name in names)
        for names, chosen, columns in kinds:
            self._check_names([name for name in names if name not in others])
            for name, cells in zip(names, columns, strict=True):
                _check_plain(cells)
                read = None if name in others else self._column(cells, name)
                if read is None:
                    continue
                if n_kinds[name] > 1:  # how a cell is read depends on those before it
                    raise _NotPlainError
                for number, value in zip(chosen, read, strict=True):
                    rows[number][name] = value
        for name in fields.dropped:
            for row in rows:
                row.pop(name, None)
        ids = [row.pop(fields.event_id, None) for row in rows]
        labels = [label_of(row.pop(fields.label, None)) for row in rows]
        return list(map(_event, ids, labels, rows))

    def _objects(self, texts: list[str]) -> list[dict[str, Any]]:
        """Return the objects of lines, one each.

        Text within an object cannot go on in the next line. So where each line begins with { and
        ends with }, and no object contains another, each line consists of whole objects; as many
        objects as lines are one per line.
        """
        joined = "\n,".join(texts)
        if joined[0] != "{" or joined[-1] != "}" or joined.count("}\n,{") != len(texts) - 1:
            raise _NotPlainError
        rows = self._decode(f"[{joined}]")
        if len(rows) != len(texts):
            raise _NotPlainError
        return rows

    def _column(self, cells: Sequence[Any], name: str) -> list[Any] | None:
        """Return the cells of a column, each as `_cell` reads it; None where all stay as they are.

        None is returned only where the order of the cells does not count.
        """
        if not self._cells.is_time(name):
            kinds = set(map(type, cells))
            if str not in kinds:
                if kinds != {type(None)}:
                    self._note_number(name)
                return None
            if kinds <= _TEXT and not self._cells.is_number(name) and self._are_plain_texts(cells):
                return None
        return [self._cell(value, name) for value in cells]

    def _cell(self, value: Any, name: str) -> Any:
        """Return a value; numbers in text, with separators or where numbers were, and times."""
        cells = self._cells
        if cells.is_time(name):
            return cells.time(value, name)
        if type(value) is str:
            text = value.strip()
            is_number = cells.is_number(name) or is_formatted_number(text)
            if is_number or (name in self._numbers and type(_value(text, name)) is float):
                return cells.number(text, name)
        elif value is not None:
            self._note_number(name)
        return value

    def _note_number(self, name: str) -> None:
        if len(self._numbers) < _MOST_NAMES:
            self._numbers.add(name)

    def _check_names(self, names: Collection[str]) -> None:
        if not self._names.issuperset(names):
            check_names(names)
            if len(self._names) < _MOST_NAMES:
                self._names.update(names)


class CsvEvents(EventReader):
    """Events from lines of CSV, the first of which names the columns.

    A column in which a number starts with a zero, as in 007, contains codes: it is read as text
    from that line on.
    """

    def __init__(self, fields: Fields, header: bytes) -> None:
        super().__init__(fields)
        text = _text(header, fields.encoding)
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

    def state(self) -> Any:
        """Return what reading lines changes, for `restore`."""
        return super().state(), set(self._texts)

    def restore(self, state: Any) -> None:
        """Forget the lines that were read since `state` returned this."""
        forms, self._texts = state
        super().restore(forms)

    def _event(self, line: bytes) -> Event | None:
        text = _text(line, self._fields.encoding)
        if not text:
            return None
        cells = _cells(text, self._delimiter)
        if len(cells) != len(self._names):
            raise BadLineError(f"a line must have {len(self._names)} cells; got {len(cells)}.")
        event_id = None if self._id is None else cells[self._id] or None
        label = None if self._label is None else label_of(cells[self._label])
        row = {name: self._value(cells[place], name) for name, place in self._features}
        return _event(event_id, label, row)

    def _read_together(self, lines: Sequence[bytes]) -> list[Event]:
        texts = self._plain_lines(lines)
        joined = "\n".join(texts)
        if '"' in joined or "\r" in joined:
            raise _NotPlainError
        cells = [text.split(self._delimiter) for text in texts]
        if set(map(len, cells)) != {len(self._names)}:
            raise _NotPlainError
        columns = list(zip(*cells, strict=True))
        nothing = [None] * len(lines)
        ids = nothing if self._id is None else [cell or None for cell in columns[self._id]]
        labels: list[Any] = nothing
        if self._label is not None:
            known = {cell: label_of(cell) for cell in set(columns[self._label])}
            labels = [known[cell] for cell in columns[self._label]]
        names = [name for name, _ in self._features]
        values = [self._column(columns[place], name) for name, place in self._features]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        return list(map(_event, ids, labels, rows or [{} for _ in lines]))

    def _column(self, cells: Sequence[str], name: str) -> list[Any]:
        """Return the cells of a column, each as `_value` reads it."""
        if name in self._texts:
            return [cell or None for cell in cells]
        if not (self._cells.is_number(name) or self._cells.is_time(name)):
            if self._cells.is_plain(name) and _COMPUTED_COLUMN.fullmatch("\n".join(cells)):
                numbers = [float(cell) if cell else None for cell in cells]
                if not {math.inf, -math.inf} & set(numbers):
                    return numbers
            elif self._are_plain_texts(cells):
                return [cell or None for cell in cells]
        return [self._value(cell, name) for cell in cells]

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
    if len(raw) >= LONGEST_LINE:
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


def _check_plain(cells: Sequence[Any]) -> None:
    """Raise unless each cell of a column has a value that `_check_values` takes."""
    kinds = set(map(type, cells))
    if not kinds <= _PLAIN:
        raise _NotPlainError
    if kinds & _NUMBERS:
        numbers = [each for each in cells if type(each) in _NUMBERS] if kinds - _NUMBERS else cells
        if not (min(numbers) >= _LOWEST and max(numbers) <= _LARGEST):
            raise _NotPlainError


def _is_plain_text(text: str) -> bool:
    """Return whether text is neither a number nor a code, whatever its column held before.

    >>> [_is_plain_text(text) for text in ("FR", "2024-01-01", "12", "1,234", "007")]
    [True, True, False, False, False]
    """
    text = text.strip()
    if text[:1] not in _FORMATTED_STARTS and text[:3] not in _CODES:
        return True  # most texts, and fast
    if is_formatted_number(text) or _has_leading_zero(text):
        return False
    try:
        return type(_value(text, "")) is str
    except BadLineError:
        return False


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

"""Columns of text as the numbers, booleans and times that they are meant to be.

`read_columns` does so for a whole table, whose columns may be anything. `TypedColumns` does so for
a file that comes in batches, with the schema of a model that says which columns are numbers.
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables import number_formats
from toprank.data.tables.columns import Place, TableError, TableWarning, shortened
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.file_times import with_file_times
from toprank.data.tables.known_numbers import (
    MANY_DECIMALS,
    PERCENT,
    KnownNumbers,
    may_be_thousands,
    most_decimals,
)
from toprank.data.tables.number_formats import (
    MISSING,
    PLAIN,
    NotNumbers,
    NumberFormat,
    NumberReading,
    NumericCodes,
)
from toprank.data.tables.schema import Schema
from toprank.data.tables.values import decoded, is_number, is_text

_SAMPLE = 1_000
_LEAST_SHARE = 0.3  # of numbers in a sample; the whole column has the last word
_FEW_CODES = 20  # texts that are whole numbers; with more, a remark is due
_SPACE = " \t"  # around a number
_TRUE = ("1", "true", "True", "TRUE")
_FALSE = ("0", "false", "False", "FALSE")


def read_columns(
    table: pa.Table,
    reading: Reading,
    place: Place,
    *,
    as_they_are: Iterable[str] = (),
    default_decimal: str = ".",
    is_typed: bool = False,
) -> pa.Table:
    """Return a table with columns of text that are mostly numbers as numbers, and its times.

    Columns `as_they_are` stay text. Where a file has types of its own (`is_typed`), so do whole
    numbers that it has as text: they may be codes.
    """
    untouched = {*as_they_are, *reading.times}
    numbers: dict[str, KnownNumbers] = {}
    for i, name in enumerate(table.column_names):
        values = table[name]
        if name in untouched:
            continue
        if is_number(values.type):
            numbers[name] = KnownNumbers(PLAIN, "", _decimals_of(values))
        if not _may_be_numbers(values):
            continue
        values = decoded(values)
        counts = _text_counts(values)
        found = number_formats.reading_of(
            counts,
            decimal=reading.decimal,
            thousands=reading.thousands,
            default=default_decimal,
        )
        if isinstance(found, NotNumbers):
            row = pc.index(values, pa.scalar(found.text, values.type)).as_py()
            raise _not_numbers(name, found, place(row))
        if isinstance(found, NumericCodes):
            _note(f"column {name!r} is read as categories: {found.reason}.")
        elif isinstance(found, NumberReading):
            if is_typed and found.is_whole:
                if len(counts) > _FEW_CODES:
                    _note(
                        f"column {name!r} is read as categories: it holds whole numbers as text; "
                        "if they are amounts, write them as numbers."
                    )
                continue
            _note(_how_it_was_read(name, found))
            column = _converted(values, found.format, name, place)
            numbers[name] = KnownNumbers(found.format, found.unit, _decimals_of(column))
            table = table.set_column(i, name, column)
    table, times = with_file_times(table, reading.time_formats, place)
    known = replace(reading, known_numbers=numbers, known_times=times)
    return known.found_in(table)


class TypedColumns:
    """Reads the columns of a schema from batches of text; all other columns stay text.

    `default_decimal` is the decimal separator of the file as its first rows show it, and `samples`
    holds some cells of each column of a CSV; None for files that have types of their own. How a
    column is read is decided once, for the whole file.
    """

    def __init__(
        self,
        schema: Schema | None,
        reading: Reading,
        source: str,
        place: Place,
        default_decimal: str = ".",
        samples: Mapping[str, list[str]] | None = None,
    ) -> None:
        self._schema = schema
        self._reading = reading
        self._source = source
        self._place = place
        self._default_decimal = default_decimal
        self._formats: dict[str, NumberFormat] = {}
        self._n_missing: dict[str, int] = {}
        self._is_csv = samples is not None
        self._noted_units: set[str] = set()
        self._time_formats: dict[str, str | None] = dict(reading.time_formats)
        self._n_rows = 0
        for column in schema.columns if schema else ():
            if column.kind == "number":
                self._decide(column.name, (samples or {}).get(column.name, []))

    @property
    def arrow_decimal(self) -> str | None:
        """The decimal separator with which Arrow can read all numbers; None if it cannot."""
        separators = {form.decimal for form in self._formats.values()} or {self._default_decimal}
        if len(separators) > 1 or any(form.thousands for form in self._formats.values()):
            return None
        return separators.pop()

    def typed(self, batch: pa.Table) -> pa.Table:
        """Return the next rows with columns of text in the types of the schema."""
        for column in self._schema.columns if self._schema else ():
            i = batch.column_names.index(column.name)
            values = batch[column.name]
            if column.kind == "number":
                found = self._numbers(column.name, values)
            elif column.kind == "boolean" and is_text(values.type):
                found = self._booleans(column.name, values)
            else:
                continue
            batch = batch.set_column(i, column.name, found)
        batch, found_times = with_file_times(
            batch, self._time_formats, self._here, self._reading.known_times
        )
        self._time_formats |= found_times
        self._n_rows += batch.num_rows
        return batch

    def end(self) -> None:
        """Report how many cells became missing."""
        for name, n_missing in self._n_missing.items():
            cells = "cell" if n_missing == 1 else "cells"
            _note(
                f"column {name!r} in {self._source} has {n_missing:,} {cells} without a number, "
                "read as missing."
            )

    def _decide(self, name: str, sample: list[str]) -> None:
        """Choose how a column of numbers is read, by a sample of its cells if they say so."""
        known = self._known(name).format
        given = self._reading.decimal, self._reading.thousands
        if known == PLAIN and given == (None, None):
            self._formats[name] = NumberFormat(self._default_decimal)
            return
        found = self._reading_of(name, dict.fromkeys(sample, 1), known)
        if isinstance(found, NumberReading):
            self._formats[name] = found.format
        else:
            fitting = number_formats.allowed_formats(*given)
            self._formats[name] = known if known in fitting else fitting[0]

    def _known(self, name: str) -> KnownNumbers:
        return self._reading.known_numbers.get(name, KnownNumbers())

    def _reading_of(
        self, name: str, counts: dict[str, int], known: NumberFormat
    ) -> NumberReading | NotNumbers | NumericCodes | None:
        return number_formats.reading_of(
            counts,
            decimal=self._reading.decimal,
            thousands=self._reading.thousands,
            known=known,
            default=self._default_decimal,
        )

    def _numbers(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return a column as numbers that can be compared with those the model learned from."""
        unit = ""
        column = values
        if is_text(values.type):
            column, unit = self._numbers_in_text(name, values)
        if len(column) > column.null_count:
            self._check_unit(name, unit)
            if self._is_csv or is_text(values.type):
                self._check_thousands(name, column)
        return column

    def _numbers_in_text(self, name: str, values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
        """Return a column of text as numbers, and their unit."""
        form = self._formats[name]
        if not form.thousands:
            try:
                return _simple_numbers(values, form.decimal), ""
            except pa.ArrowInvalid:
                pass
        found = self._reading_of(name, _text_counts(values), form)
        is_open = self._n_rows == 0 or form == NumberFormat(self._default_decimal)
        unit = ""
        if isinstance(found, NotNumbers):
            row = pc.index(values, pa.scalar(found.text, values.type)).as_py()
            raise _not_numbers(name, found, self._here(row), self._source)
        if isinstance(found, NumberReading):
            unit = found.unit
            if found.format != form and is_open:
                _note(_how_it_was_read(name, found, self._source))
                form = self._formats[name] = found.format
        column = _converted(values, form, name, self._here, self._source)
        n_words = column.null_count - _without_missing(values).null_count
        if n_words:
            self._n_missing[name] = self._n_missing.get(name, 0) + n_words
        return column, unit

    def _check_unit(self, name: str, unit: str) -> None:
        """Raise for numbers in another unit than the model knows; note a currency left out."""
        known = self._known(name)
        if not known.agrees_with(unit):
            raise TableError(
                f"column {name!r} in {self._source} must be {_in_unit(known.unit)}, as in the "
                f"table the model was fitted on; it is {_in_unit(unit)}; convert it to what it "
                "was, or fit a model on such numbers."
            )
        if known.unit not in (None, unit) and name not in self._noted_units:
            self._noted_units.add(name)
            _note(
                f"column {name!r} in {self._source} is {_in_unit(unit)}; in the table the model "
                f"was fitted on it was {_in_unit(known.unit)}; the numbers are taken to be in the "
                "same unit."
            )

    def _check_thousands(self, name: str, column: pa.ChunkedArray) -> None:
        """Raise where numbers such as 1.234 may be thousands, since none had three decimals."""
        decimals = self._known(name).decimals
        is_said = self._reading.decimal is not None or self._reading.thousands is not None
        if is_said or decimals is None or decimals >= MANY_DECIMALS:
            return
        row = may_be_thousands(_as_floats(column))
        if row is None:
            return
        separator = self._formats[name].decimal
        number = column[row].as_py()
        written = f"{number:.{MANY_DECIMALS}f}".replace(".", separator)
        raise TableError(
            f"column {name!r} in {self._source} has numbers such as {written!r} in "
            f"{self._here(row)}, which may be {number:.{MANY_DECIMALS}f} or {1000 * number:.0f}: "
            "none had three decimals in the table the model was fitted on; say with "
            f"`thousands={separator!r}` or `decimal={separator!r}` what it is."
        )

    def _booleans(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        values = _without_missing(values)
        is_true, is_false = (
            pc.is_in(values, pa.array(words, values.type)) for words in (_TRUE, _FALSE)
        )
        is_read = pc.or_(pc.or_(is_true, is_false), pc.is_null(values))
        if not pc.all(is_read).as_py():
            row = pc.index(is_read, False).as_py()
            raise TableError(
                f"column {name!r} in {self._source} must hold true or false; {self._here(row)} "
                f"has {shortened(values[row].as_py())}; correct it or leave it empty."
            )
        return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), is_true)

    def _here(self, row: int) -> str:
        return self._place(self._n_rows + row)


def _may_be_numbers(values: pa.ChunkedArray) -> bool:
    """Return whether a sample of a column has enough numbers as text to look at all of it."""
    kind = values.type.value_type if pt.is_dictionary(values.type) else values.type
    if not is_text(kind):
        return False
    # at random: every k-th row may be of one kind
    rows = np.random.default_rng(0).integers(0, max(len(values), 1), _SAMPLE)
    if len(values) <= _SAMPLE:
        rows = np.arange(len(values))
    for size in (_SAMPLE // 10, _SAMPLE):
        sample = decoded(values.take(rows[:size])).drop_null().to_pylist()
        sample = [text for text in sample if not number_formats.is_missing_word(text)]
        n_numbers = sum(map(number_formats.looks_like_number, sample))
        if not n_numbers and len(sample) >= _SAMPLE // 20:
            return False
    if not sample:  # nearly all are missing
        sample = decoded(values.drop_null().slice(0, _SAMPLE)).to_pylist()
        n_numbers = sum(map(number_formats.looks_like_number, sample))
    return n_numbers > 0 and n_numbers >= _LEAST_SHARE * len(sample)


def _text_counts(values: pa.ChunkedArray) -> dict[str, int]:
    """Return how many rows hold each text; those that say missing in any file are left out."""
    counted = pc.value_counts(values.drop_null())
    texts = counted.field("values").to_pylist()
    counts = counted.field("counts").to_pylist()
    return {text: n for text, n in zip(texts, counts, strict=True) if text.strip() not in MISSING}


def _simple_numbers(values: pa.ChunkedArray, separator: str) -> pa.ChunkedArray:
    """Return plain numbers as Arrow's CSV reader reads them; ArrowInvalid for others."""
    values = pc.utf8_trim(_without_missing(values), characters=_SPACE)
    if separator == ",":
        if pc.any(pc.match_substring(values, ".")).as_py():
            raise pa.ArrowInvalid("a point in numbers whose decimal separator is a comma")
        values = pc.replace_substring(values, ",", ".")
    return values.cast(pa.float64())


def _without_missing(values: pa.ChunkedArray) -> pa.ChunkedArray:
    is_missing = pc.is_in(values, pa.array(MISSING, values.type))
    return pc.if_else(is_missing, pa.scalar(None, values.type), values)


def _converted(
    values: pa.ChunkedArray, form: NumberFormat, name: str, place: Place, source: str = ""
) -> pa.ChunkedArray:
    """Return cells as numbers, missing where they say so."""
    encoded = values.combine_chunks().dictionary_encode()
    numbers = [number_formats.number_in(text, form) for text in encoded.dictionary.to_pylist()]
    if None in numbers:
        code = numbers.index(None)
        row = pc.index(encoded.indices, pa.scalar(code, encoded.indices.type)).as_py()
        raise _wrong_cell(name, encoded.dictionary[code].as_py(), form, place(row), source)
    per_text = np.array([*numbers, math.nan], dtype=np.float64)
    found = per_text[encoded.indices.fill_null(len(numbers)).to_numpy()]
    return pa.chunked_array([pa.array(found, mask=np.isnan(found))])


def _not_numbers(name: str, found: NotNumbers, place: str, source: str = "") -> TableError:
    """Return the error of a column to learn from, or of one of `source` that a model needs."""
    said = f"{found.reason}; {place} has {shortened(found.text)}; {found.way_out}"
    if source:
        return TableError(f"column {name!r} in {source} must hold numbers: {said}.")
    return TableError(
        f"column {name!r} cannot be read as numbers: {said}, or leave the column out with "
        f"`drop={[name]!r}`."
    )


def _wrong_cell(name: str, text: str, form: NumberFormat, place: str, source: str) -> TableError:
    where = f" in {source}" if source else ""
    return TableError(
        f"column {name!r}{where} must hold numbers (with a {form}); {place} has "
        f"{shortened(text)}; correct it or leave it empty, or say how numbers are written with "
        "`decimal` and `thousands`."
    )


def _how_it_was_read(name: str, found: NumberReading, source: str = "") -> str:
    """Return in words how a column was read, and what became missing."""
    where = f" in {source}" if source else ""
    said = (
        f"column {name!r}{where} is text such as {shortened(found.example)}, read as the number "
        f"{found.value:.12g} ({found.format})"
    )
    if found.other is not None:
        said += _assumption(found)
    if found.words:
        words = sorted(found.words, key=lambda word: -found.words[word])
        shown = ", ".join(shortened(word) for word in words[:3])
        cells = "cell" if found.n_missing == 1 else "cells"
        said += f"; {found.n_missing:,} {cells} such as {shown} became missing"
    return f"{said}."


def _assumption(found: NumberReading) -> str:
    other = found.other
    assert other is not None
    option = f"`decimal={other.decimal!r}`"
    if other.thousands:
        option = f"`thousands={other.thousands!r}`"
    return f"; that is an assumption: if it has a {other} instead, say so with {option}"


def _in_unit(unit: str | None) -> str:
    """Return in words what is written next to numbers.

    >>> _in_unit("eur"), _in_unit("%"), _in_unit("")
    ("in 'eur'", "in percent, with '%'", 'without a unit')
    """
    if not unit:
        return "without a unit"
    return f"in percent, with {unit!r}" if unit == PERCENT else f"in {unit!r}"


def _decimals_of(values: pa.ChunkedArray) -> int:
    return 0 if pt.is_integer(values.type) else most_decimals(_as_floats(values))


def _as_floats(values: pa.ChunkedArray) -> NDArray[np.floating]:
    kind = values.type if pt.is_float32(values.type) else pa.float64()
    return values.cast(kind, safe=False).to_numpy()


def _note(text: str) -> None:
    warnings.warn(text, TableWarning, stacklevel=4)

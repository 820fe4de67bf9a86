"""Columns of text from a CSV as the numbers and booleans that a schema asks for.

Arrow's CSV reader gives a column either as text or as numbers. To show rows as they are written
and score them too, without parsing the file twice, they are read as text and turned into numbers
here, by the rules of that reader.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from toprank.data.tables.delimited import MISSING, Layout, decimal_mark_for, wrong_value
from toprank.data.tables.schema import Schema

_TRUE = ("1", "true", "True", "TRUE")
_SPACE = " \t"  # around a number
_FALSE = ("0", "false", "False", "FALSE")


def typed(text: pa.Table, layout: Layout, schema: Schema | None, path: Path) -> pa.Table:
    """Return a table of text with the columns of a schema in their types; all else stays text."""
    if schema is None:
        return text
    mark = decimal_mark_for(layout, schema)
    readers: dict[str, tuple[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {
        "number": ("double", lambda values: _numbers(values, mark)),
        "boolean": ("bool", _booleans),
    }
    for column in schema.columns:
        if column.kind in readers:
            arrow_type, read = readers[column.kind]
            values = text[column.name]
            try:
                found = read(_without_missing(values))
            except pa.ArrowInvalid as error:
                wrong = _first_unreadable(values, read)
                if column.kind == "number":
                    wrong = wrong.strip(_SPACE)
                raise wrong_value(path, column.name, arrow_type, wrong) from error
            text = text.set_column(text.column_names.index(column.name), column.name, found)
    return text


def _without_missing(values: pa.ChunkedArray) -> pa.ChunkedArray:
    is_missing = pc.is_in(values, pa.array(MISSING, values.type))
    return pc.if_else(is_missing, pa.scalar(None, values.type), values)


def _numbers(values: pa.ChunkedArray, mark: str) -> pa.ChunkedArray:
    values = pc.utf8_trim(values, characters=_SPACE)
    if mark == ",":
        if pc.any(pc.match_substring(values, ".")).as_py():
            raise pa.ArrowInvalid("a point in numbers whose decimal mark is a comma")
        values = pc.replace_substring(values, ",", ".")
    return values.cast(pa.float64())


def _booleans(values: pa.ChunkedArray) -> pa.ChunkedArray:
    is_true, is_false = (
        pc.is_in(values, pa.array(words, values.type)) for words in (_TRUE, _FALSE)
    )
    if not pc.all(pc.or_(pc.or_(is_true, is_false), pc.is_null(values))).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return pc.if_else(pc.is_null(values), pa.scalar(None, pa.bool_()), is_true)


def _first_unreadable(
    values: pa.ChunkedArray, read: Callable[[pa.ChunkedArray], pa.ChunkedArray]
) -> str:
    """Return the first value that is no number or boolean: slow, and needed once at most."""
    for value in _without_missing(values).drop_null():
        try:
            read(pa.chunked_array([[value.as_py()]]))
        except pa.ArrowInvalid:
            return value.as_py()
    return ""

"""Columns of databases in types that every table may have."""

import re

import pyarrow as pa
import pyarrow.types as pt

_MOST_EXACT_DIGITS = 18  # of whole numbers in 64 bits
_WORDS = re.compile("(?i)^[+-]?(inf|infinity|nan)$")


def plain_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without types that only databases have.

    PostgreSQL's `numeric` becomes numbers: whole ones where the column has no decimals and at most
    18 digits, text (an id) where it has more digits than a number holds exactly, and otherwise
    float64. Ids of type `uuid`, JSON and what Arrow has no type for become text.
    """
    columns, fields = [], []
    for column, old in zip(batch.columns, batch.schema, strict=True):
        new = _plain(column, old)
        columns.append(new)
        fields.append(pa.field(old.name, new.type))
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _plain(column: pa.Array, field: pa.Field) -> pa.Array:
    if isinstance(field.type, pa.BaseExtensionType):
        if getattr(field.type, "type_name", "") == "numeric":
            return _numbers(column.storage, field)
        if isinstance(field.type, pa.UuidType):
            return pa.array([None if each is None else str(each) for each in column.to_pylist()],
                            pa.string())  # fmt: skip
        column = column.storage
    if pt.is_decimal(column.type):
        is_whole = column.type.scale == 0 and column.type.precision <= _MOST_EXACT_DIGITS
        return column.cast(pa.int64() if is_whole else pa.float64())
    if pt.is_interval(column.type):
        return pa.array([None if each is None else str(each) for each in column.to_pylist()],
                        pa.string())  # fmt: skip
    return column


def _numbers(texts: pa.Array, field: pa.Field) -> pa.Array:
    precision, scale = _digits_of(field)
    if scale == 0:
        return texts.cast(pa.int64()) if precision <= _MOST_EXACT_DIGITS else texts
    return texts.cast(pa.float64())


def _digits_of(field: pa.Field) -> tuple[int, int]:
    """Return how many digits a `numeric` has, and how many of them after the point; -1 if open."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    if modifier < 4:
        return -1, -1
    return (modifier - 4) >> 16, (modifier - 4) & 0x7FF

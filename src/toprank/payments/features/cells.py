"""Cells of tables and of single rows: instants in microseconds, numbers, labels, ids."""

import math
import re
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data.tables import ids
from toprank.data.tables.columns import TableError, shortened
from toprank.data.tables.times import microseconds_of, time_column
from toprank.data.tables.values import is_number, true_or_false

_EPOCH, _UTC_EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = float(np.finfo(np.float32).max)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_LATEST = 1e19  # nanoseconds, far beyond what a time can be


def instant(value: Any, name: str) -> int:
    """Return a time as microseconds since the start of 1970, in UTC.

    >>> instant("1970-01-01 01:00:00+01:00", "at"), instant(2.5, "at")
    (0, 2500000)
    """
    if isinstance(value, str):
        value = _parsed(value, name)
    if isinstance(value, datetime) and value == value:
        since = value - (_EPOCH if value.tzinfo is None else _UTC_EPOCH)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, np.datetime64) and not np.isnat(value):
        return int(value.astype("datetime64[us]").view(np.int64))
    if isinstance(value, date) and not isinstance(value, datetime):
        return (value - _EPOCH.date()).days * 86_400_000_000
    if isinstance(value, Real) and not isinstance(value, bool):
        moment = float(value)
        if abs(moment) <= _LATEST:
            return microseconds_of(moment)
    raise TableError(
        f"{name} must be a time: a datetime, ISO text or seconds since the start of 1970; got "
        f"{shortened(value)}."
    )


def instants(values: Any, name: str) -> NDArray[np.int64]:
    """Return one time or several as microseconds; none may be missing."""
    if np.ndim(values) == 0:
        return np.array([instant(values, name)])
    return time_column(pa.table({name: pa.array(values)}), name).view(np.int64)


def instants_or(values: pa.ChunkedArray, name: str, missing: int) -> NDArray[np.int64]:
    """Return a column of times as microseconds, and `missing` where there is none."""
    is_missing = pc.is_null(values, nan_is_null=True).to_numpy()
    found = np.full(len(values), missing, dtype=np.int64)
    if not is_missing.all():
        present = pa.table({name: values.filter(pa.array(~is_missing))})
        found[~is_missing] = time_column(present, name).view(np.int64)
    return found


def number(value: Any, name: str) -> float:
    """Return a number of one row; NaN where it is missing."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    try:
        found = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        found = math.inf
    if isinstance(value, str) or abs(found) > _LARGEST:
        raise TableError(
            f"{name} must be a finite number below 3.4e38 in size; got {shortened(value)}."
        )
    return found


def label(value: Any, name: str | None) -> float:
    """Return 1, 0, or NaN where a label is missing."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    if isinstance(value, bool | np.bool_ | Real) and value in (0, 1):
        return float(value)
    if isinstance(value, Real) and value != value:
        return math.nan
    raise TableError(f"{name} must be true or false, or 1 or 0; got {shortened(value)}.")


def labels(values: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    """Return a column of labels as 1 and 0, NaN where missing."""
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if not (is_number(values.type) or pa.types.is_boolean(values.type)):
        raise TableError(
            f"column {name!r} must contain true or false, or 1 or 0; it contains values of type "
            f"{values.type}; pass whether each is positive."
        )
    return true_or_false(values, name).astype(np.float64)


def id_text(value: Any, name: str) -> str | None:
    """Return an id as text, None where it is missing: a number and its digits are one id.

    >>> id_text(7.0, "tx"), id_text("0007", "tx"), id_text(None, "tx")
    ('7', '0007', None)
    """
    return ids.id_text(value, name)


def id_texts(values: pa.ChunkedArray, name: str) -> pa.Array:
    """Return a column of ids as texts, null where missing."""
    return ids.id_texts(values, name)


def _parsed(text: str, name: str) -> datetime | float:
    """Return the time in a text: digits are read as in the column of a table."""
    try:
        return float(text) if _NUMBER.fullmatch(text) else datetime.fromisoformat(text)
    except ValueError:
        raise TableError(
            f"{name} must be an ISO time such as 2018-04-01 10:30:00; got {shortened(text)}."
        ) from None

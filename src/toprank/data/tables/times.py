"""The times of a table's rows, from timestamps, dates, text or seconds."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables.columns import TableError, required_frame, shortened
from toprank.data.tables.delimited import MISSING
from toprank.data.tables.values import decoded, is_number, is_text

_LAST_SECOND = 1e11  # in the year 5138; numbers beyond are milliseconds or finer


def time_column(table: Any, name: str) -> NDArray[np.datetime64]:
    """Return column `name` as datetime64[us], in UTC where the column knows its time zone.

    Timestamps, dates and ISO text are read as such. Numbers, also as text, are seconds since the
    start of 1970.

    >>> time_column(pa.table({"at": ["2018-04-01 10:30:00"]}), "at")
    array(['2018-04-01T10:30:00.000000'], dtype='datetime64[us]')
    """
    values = decoded(required_frame(table).column(name))
    if is_text(values.type):
        values = _parsed(values, name)
    if is_number(values.type):
        return _from_seconds(values, name)
    _check_complete(values.null_count, len(values), name)
    if not (pt.is_timestamp(values.type) or pt.is_date(values.type)):
        raise TableError(
            f"column {name!r} must hold times; it holds values of type {values.type}; name a "
            "column of timestamps, dates, ISO text or seconds."
        )
    zone = getattr(values.type, "tz", None)
    return _microseconds(values.cast(pa.timestamp("us", zone), safe=False))


def with_times(table: pa.Table, name: str) -> pa.Table:
    """Return the table with column `name` as timestamps, so that its text is parsed once.

    >>> with_times(pa.table({"at": ["2018-04-01 10:30:00"]}), "at").schema.types
    [TimestampType(timestamp[us])]
    """
    times = pa.array(time_column(table, name))
    return table.set_column(table.column_names.index(name), name, times)


def _parsed(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    missing = pc.is_in(values, pa.array(MISSING, values.type))
    values = pc.if_else(missing, pa.scalar(None, values.type), values)
    readings = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]
    for reading in (*readings, pa.float64()):
        try:
            return values.cast(reading)
        except pa.ArrowInvalid:
            continue
    raise TableError(
        f"column {name!r} must hold ISO times such as 2018-04-01 10:30:00, all with a time zone "
        f"or all without; got {shortened(_first_unreadable(values))}; rewrite such values."
    )


def _first_unreadable(values: pa.ChunkedArray) -> str:
    for value in values.drop_null():
        try:
            value.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return value.as_py()
    return ""


def _from_seconds(values: pa.ChunkedArray, name: str) -> NDArray[np.datetime64]:
    seconds = values.cast(pa.float64(), safe=False).to_numpy()
    _check_complete(int(np.count_nonzero(np.isnan(seconds))), seconds.size, name)
    largest = float(np.abs(seconds).max(initial=0))
    if largest > _LAST_SECOND:
        raise TableError(
            f"column {name!r} must hold seconds since the start of 1970; got {largest:g}; "
            "divide milliseconds by 1,000."
        )
    return np.round(seconds * 1e6).astype(np.int64).view("datetime64[us]")


def _check_complete(n_missing: int, n_rows: int, name: str) -> None:
    if n_missing:
        raise TableError(
            f"column {name!r} must give every row its time; {n_missing} of {n_rows} are missing; "
            "drop those rows or fill them in."
        )


def _microseconds(values: pa.ChunkedArray) -> NDArray[np.datetime64]:
    return values.to_numpy().astype("datetime64[us]", copy=False)

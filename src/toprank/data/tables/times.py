"""The times of a table's rows, from timestamps, dates, text or numbers."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables import time_formats
from toprank.data.tables.columns import (
    Place,
    TableError,
    TableWarning,
    required_frame,
    row_number,
    shortened,
)
from toprank.data.tables.number_formats import MISSING
from toprank.data.tables.time_formats import TimeFormat
from toprank.data.tables.values import decoded, is_number, is_text

# the largest number of each unit since 1970, in the year 5138; larger ones are of the next unit
_UNITS = ((1e11, 1_000_000.0), (1e14, 1_000.0), (1e17, 1.0), (np.inf, 0.001))
_FIRST_DAY, _LAST_DAY = 19_000_101, 20_991_231  # of dates that are written 20180401
_FEW_MOMENTS, _MANY_ROWS = 3, 100
_FORMAT_SAMPLE = 10_000
_OLDEST = np.datetime64("1980-01-01", "us")


class Times(NamedTuple):
    """The moment of each row, and the format of text that is not ISO; None for others."""

    moments: NDArray[np.datetime64]
    format: str | None


def time_column(table: Any, name: str, time_format: str | None = None) -> NDArray[np.datetime64]:
    """Return column `name` as datetime64[us], in UTC where the column knows its time zone.

    Timestamps, dates, ISO text and the usual ways to write a date are read as such, other text by
    `time_format`, as `strptime` has it. Numbers are seconds since the start of 1970, or milli- or
    microseconds where they are that large, or dates such as 20180401.

    >>> time_column(pa.table({"at": ["2018-04-01 10:30:00"]}), "at")
    array(['2018-04-01T10:30:00.000000'], dtype='datetime64[us]')
    >>> time_column(pa.table({"at": ["31/12/2018 5:45 PM"]}), "at")
    array(['2018-12-31T17:45:00.000000'], dtype='datetime64[us]')
    """
    return times_of(required_frame(table).column(name), name, time_format).moments


def times_of(
    values: pa.ChunkedArray,
    name: str,
    time_format: str | None = None,
    place: Place = row_number,
    known: str | None = None,
) -> Times:
    """Return the times of one column; an error says at which `place` it is wrong.

    `known` is the format in which a model knows the column: where the day or the month may come
    first, it decides.
    """
    values = decoded(values)
    if time_format is not None and is_number(values.type):
        values = values.cast(pa.string())
    if is_text(values.type):
        return _of_text(values, name, time_format, place, known)
    if is_number(values.type):
        return _of_numbers(values, name, place)
    _check_complete(values, name, place)
    if not (pt.is_timestamp(values.type) or pt.is_date(values.type)):
        raise TableError(
            f"column {name!r} must hold times; it holds values of type {values.type}; name a "
            "column of times with `time`."
        )
    zone = getattr(values.type, "tz", None)
    return Times(_microseconds(values.cast(pa.timestamp("us", zone), safe=False)), None)


def with_times(table: pa.Table, name: str) -> pa.Table:
    """Return the table with column `name` as timestamps, so that its text is parsed once.

    >>> with_times(pa.table({"at": ["2018-04-01 10:30:00"]}), "at").schema.types
    [TimestampType(timestamp[us])]
    """
    times = pa.array(time_column(table, name))
    return table.set_column(table.column_names.index(name), name, times)


def warn_of_odd_times(values: pa.ChunkedArray, times: NDArray[np.datetime64], name: str) -> None:
    """Warn where what was taken for the times of rows may well be something else."""
    first, last = times.min(), times.max()
    if is_number(values.type) and last < _OLDEST:
        warnings.warn(
            f"column {name!r} holds numbers that are no dates of our time: read as seconds since "
            f"1970, they go from {shown_moment(first)} to {shown_moment(last)}; if it is an id or "
            "another number, name the column of times with `time`.",
            TableWarning,
            stacklevel=3,
        )
    n_moments = np.unique(times).size
    if n_moments <= _FEW_MOMENTS and times.size >= _MANY_ROWS:
        warnings.warn(
            f"column {name!r} has only {n_moments} different times in {times.size:,} rows; rows "
            "of one time stay together when they are split; is it the right column for `time`?",
            TableWarning,
            stacklevel=3,
        )


def shown_moment(moment: np.datetime64) -> str:
    """Return a moment as people read it, to the second."""
    return str(moment.astype("datetime64[s]")).replace("T", " ")


def _of_text(
    values: pa.ChunkedArray, name: str, time_format: str | None, place: Place, known: str | None
) -> Times:
    is_missing = pc.is_in(values, pa.array(MISSING, values.type))
    values = pc.if_else(is_missing, pa.scalar(None, values.type), values)
    _check_complete(values, name, place)
    if time_format is None:
        readings = [pa.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]
        for reading in (pa.int64(), pa.float64(), *readings):
            try:
                found = values.cast(reading)
            except pa.ArrowInvalid:
                continue
            if is_number(found.type):
                return _of_numbers(found, name, place)
            return Times(_microseconds(found), None)
        if known is not None and "%" in known:
            moments, is_time = time_formats.parsed(values, known)
            if is_time.all():
                return Times(moments, known)
    return _of_written(values, name, time_format, place, known)


def _of_written(
    values: pa.ChunkedArray, name: str, time_format: str | None, place: Place, known: str | None
) -> Times:
    """Return times from text in the format given, or in that of most of the rows."""
    if time_format is None:
        rows = np.arange(len(values))
        if rows.size > _FORMAT_SAMPLE:  # at random: every k-th row may be of one kind
            rows = np.random.default_rng(0).integers(0, rows.size, _FORMAT_SAMPLE)
        found = time_formats.format_of(values.take(rows).to_pylist())
        if found is None:
            raise TableError(
                f"column {name!r} must hold times; {place(0)} has {shortened(values[0].as_py())}; "
                "name a column of times with `time`, or say how they are written with "
                "`time_format`, such as '%d/%m/%Y %H:%M'."
            )
        found = _in_known_order(found, known, values, name, place)
        found = time_formats.ordered_format(found, values)
        if found.other is not None:
            raise TableError(
                f"column {name!r} may have the day or the month first: all its dates, such as "
                f"{shortened(values[0].as_py())}, can be read both ways; say which with "
                f"`time_format={found.text!r}` or `time_format={found.other!r}`."
            )
        if found.is_by_order:
            warnings.warn(
                f"column {name!r} is read as {found.text}: only so are its rows in order of time; "
                f"if day and month are the other way round, say so with `time_format`.",
                TableWarning,
                stacklevel=5,
            )
        form = found.text
    else:
        form = time_formats.check_format(time_format)
    moments, is_time = time_formats.parsed(values, form)
    if not is_time.all():
        row = int(np.flatnonzero(~is_time)[0])
        n_others = int(np.count_nonzero(~is_time)) - 1
        more = f", and {n_others:,} more do not" if n_others else ""
        raise TableError(
            f"column {name!r} must hold times in one format, {form}"
            f"{', as most of its rows do' if time_format is None else ''}; {place(row)} has "
            f"{shortened(values[row].as_py())}{more}; correct it, or say how times are written "
            "with `time_format`."
        )
    return Times(moments, form)


def _in_known_order(
    found: TimeFormat, known: str | None, values: pa.ChunkedArray, name: str, place: Place
) -> TimeFormat:
    """Return the format with day and month as a model knows them; raise if rows contradict it."""
    is_day_first = None if known is None else time_formats.is_day_first(known)
    own = time_formats.is_day_first(found.text)
    if is_day_first is None or own is None:
        return found
    as_known = found.text if own == is_day_first else time_formats.swapped(found.text)
    if found.other is not None or own == is_day_first:
        return TimeFormat(as_known)
    _, is_time = time_formats.parsed(values, as_known)
    row = int((~is_time).argmax())
    raise TableError(
        f"column {name!r} must have the {'day' if is_day_first else 'month'} first, as in the "
        f"table the model was fitted on ({known}); {place(row)} has "
        f"{shortened(values[row].as_py())}; correct it, or, if all rows of the file are written "
        f"so, say so with `time_format={found.text!r}`."
    )


def _of_numbers(values: pa.ChunkedArray, name: str, place: Place) -> Times:
    _check_complete(values, name, place)
    if pt.is_integer(values.type):
        numbers = values.cast(pa.int64()).to_numpy()
    else:
        numbers = values.cast(pa.float64(), safe=False).to_numpy()
    is_missing = np.isnan(numbers)
    if is_missing.any():
        first = place(int(is_missing.argmax()))
        raise _missing_time(name, first, int(np.count_nonzero(is_missing)), numbers.size)
    if np.isinf(numbers).any():
        first = place(int(np.isinf(numbers).argmax()))
        raise TableError(f"column {name!r} must hold times; {first} has an infinite number.")
    lowest, highest = (numbers.min(), numbers.max()) if numbers.size else (0, 0)
    if lowest >= _FIRST_DAY and highest <= _LAST_DAY and (numbers == np.rint(numbers)).all():
        texts = pa.chunked_array([pa.array(numbers.astype(np.int64)).cast(pa.string())])
        moments, is_time = time_formats.parsed(texts, "%Y%m%d")
        if is_time.all():
            return Times(moments, None)
    if lowest >= _FIRST_DAY * 10**6 and highest < (_LAST_DAY + 1) * 10**6:
        texts = pa.chunked_array([pa.array(numbers.astype(np.int64)).cast(pa.string())])
        moments, is_time = time_formats.parsed(texts, "%Y%m%d%H%M%S")
        if is_time.all():
            return Times(moments, None)
    largest = max(abs(int(lowest)), abs(int(highest)))
    factor = next(factor for limit, factor in _UNITS if largest < limit)
    if numbers.dtype.kind == "i" and factor >= 1:
        microseconds = numbers * int(factor)
    else:
        microseconds = np.round(numbers * factor).astype(np.int64)
    return Times(microseconds.view("datetime64[us]"), None)


def microseconds_of(number: float) -> int:
    """Return one number as a time in microseconds, as a column with it alone would be read.

    >>> microseconds_of(2.5), microseconds_of(20250101) == microseconds_of(1735689600)
    (2500000, True)
    """
    is_day = _FIRST_DAY <= number <= _LAST_DAY
    if is_day or _FIRST_DAY * 10**6 <= number < (_LAST_DAY + 1) * 10**6:
        whole = int(number) if number == int(number) else number
        moments = _of_numbers(pa.chunked_array([[whole]]), "time", str).moments
        return int(moments.view(np.int64)[0])
    factor = next(factor for limit, factor in _UNITS if abs(number) < limit)
    return round(number * factor)


def _check_complete(values: pa.ChunkedArray, name: str, place: Place) -> None:
    if values.null_count:
        first = pc.index(values.is_null(), True).as_py()
        raise _missing_time(name, place(first), values.null_count, len(values))


def _missing_time(name: str, place: str, n_missing: int, n_rows: int) -> TableError:
    return TableError(
        f"column {name!r} must give every row its time; {n_missing:,} of {n_rows:,} are missing, "
        f"first in {place}; remove those rows or fill them in."
    )


def _microseconds(values: pa.ChunkedArray) -> NDArray[np.datetime64]:
    return values.to_numpy().astype("datetime64[us]", copy=False)

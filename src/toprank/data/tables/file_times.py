"""The columns of times in a file, read as the file shows them and as a model knows them.

Two things may be unclear in a file alone: whether the day or the month comes first, and whether
numbers around 45,000 are the days that a spreadsheet counts. What a model knows decides the first
and, where numbers were something else when it was fitted, the second.
"""

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.data.tables.columns import Place, TableWarning
from toprank.data.tables.time_formats import EXCEL_DAYS, NUMBER_FORMATS, OTHER_NUMBERS
from toprank.data.tables.times import Times, shown_moment, times_of
from toprank.data.tables.values import decoded, is_number, is_text

_EXCEL_START = np.datetime64("1899-12-30", "us")
_EXCEL_FIRST, _EXCEL_LAST = 20_000, 60_000  # from 1954 to 2064
_DAY = 86_400_000_000  # microseconds


def with_file_times(
    table: pa.Table,
    formats: Mapping[str, str | None],
    place: Place,
    known: Mapping[str, str] | None = None,
) -> tuple[pa.Table, dict[str, str]]:
    """Return the table with these columns as timestamps, and the formats that were not ISO.

    `formats` has that of each column, None where it is to be found out; `known` those of a model.

    >>> table, found = with_file_times(pa.table({"at": ["31/12/2024"]}), {"at": None}, str)
    >>> table["at"][0].as_py().year, found
    (2024, {'at': '%d/%m/%Y'})
    """
    found: dict[str, str] = {}
    for name, form in formats.items():
        if name in table.column_names:
            times = _times_in(table[name], name, form, place, (known or {}).get(name))
            if times is None:
                continue  # timestamps are read where they are needed
            if times.format is not None:
                found[name] = times.format
            if times.format != OTHER_NUMBERS or is_text(table[name].type):
                i = table.column_names.index(name)
                table = table.set_column(i, name, pa.array(times.moments))
    return table, found


def excel_moments(days: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Return the moments that a spreadsheet's day numbers mean, to the millisecond.

    >>> print(excel_moments(np.array([45321.5]))[0])
    2024-01-30T12:00:00.000000
    """
    milliseconds = np.round(days * (_DAY // 1000)).astype(np.int64)
    return _EXCEL_START + (1000 * milliseconds).astype("timedelta64[us]")


def is_excel_day(lowest: float, highest: float) -> bool:
    """Return whether numbers from `lowest` to `highest` are likely a spreadsheet's days."""
    return lowest >= _EXCEL_FIRST and highest <= _EXCEL_LAST


def _times_in(
    values: pa.ChunkedArray, name: str, form: str | None, place: Place, known: str | None
) -> Times | None:
    """Return the times of a column; None where it has them as such already."""
    values = decoded(values)
    if form is None or form in NUMBER_FORMATS:
        numbers = _numbers_in(values)
        if numbers is not None:
            return _of_numbers(values, numbers, name, place, form or known)
        form = None
    if not is_text(values.type) and form is None and not values.null_count:
        return None
    return times_of(values, name, form, place, known)


def _numbers_in(values: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Return the numbers of a column, None where it holds others or lacks some."""
    if values.null_count or not len(values):
        return None
    if is_text(values.type):
        try:
            values = pc.utf8_trim_whitespace(values).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    return values.cast(pa.float64(), safe=False).to_numpy() if is_number(values.type) else None


def _of_numbers(
    values: pa.ChunkedArray,
    numbers: NDArray[np.float64],
    name: str,
    place: Place,
    known: str | None,
) -> Times:
    lowest, highest = float(numbers.min()), float(numbers.max())
    if known == OTHER_NUMBERS or not is_excel_day(lowest, highest):
        return times_of(values, name, None, place)._replace(format=OTHER_NUMBERS)
    moments = excel_moments(numbers)
    if known != EXCEL_DAYS:
        first, last = (shown_moment(each) for each in (moments.min(), moments.max()))
        warnings.warn(
            f"column {name!r} holds numbers from {lowest:g} to {highest:g}, read as the days that "
            f"a spreadsheet counts: from {first} to {last}; if they are something else, name the "
            "column of times with `time`, or write them as dates.",
            TableWarning,
            stacklevel=5,
        )
    return Times(moments, EXCEL_DAYS)

"""Columns by name, as Arrow arrays, whichever library holds the table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from narwhals.exceptions import DuplicateError

from toprank.data import checks


class TableError(ValueError):
    """A table that cannot be used as it is; the message says what to change."""


class TableWarning(UserWarning):
    """Something in a table that is allowed but seldom meant."""


Place = Callable[[int], str]
"""Where a row, counted from 0, is in its source, in words: "line 17 of payments.csv"."""


def row_number(row: int) -> str:
    """Return where a row of a table is, in words.

    >>> row_number(16)
    'row 17'
    """
    return f"row {row + 1:,}"


class Frame:
    """A table seen one Arrow column at a time; columns turn into Arrow only when needed."""

    def __init__(self, names: Sequence[Any], n_rows: int, pick: Callable[[Any], Any]):
        self.names = [str(name) for name in names]
        self.n_rows = n_rows
        check_distinct(self.names)
        self._pick = pick
        self._own_name = dict(zip(self.names, names, strict=True))

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the named column, or say that it is not there."""
        if name not in self._own_name:
            check_columns([name], self.names)
        values = self._pick(self._own_name[name])
        if not isinstance(values, pa.ChunkedArray | pa.Array):
            values = _arrow_of_series(values, name)
        return plain_type(
            values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        )


def as_frame(table: Any) -> Frame | None:
    """Return `table` as a Frame; None when it is no data frame.

    >>> as_frame(pa.table({"amount": [1.0, 2.0]})).names
    ['amount']
    """
    if isinstance(table, np.ndarray):  # known at once: rows that come one by one are arrays
        return None
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return Frame(table.column_names, table.num_rows, table.column)
    try:
        frame = nw.from_native(table, eager_only=True)
    except DuplicateError:
        check_distinct([str(name) for name in table.columns])
        raise
    except TypeError:
        return None
    return Frame(frame.columns, len(frame), frame.get_column)


def required_frame(table: Any) -> Frame:
    """Return `table` as a Frame or say what a table may be."""
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "the table must be a pandas, polars or pyarrow data frame; "
            f"got {type(table).__name__}; collect a lazy frame first."
        )
    return frame


def arrow_table(table: Any) -> pa.Table:
    """Return a data frame of any library as a table of Arrow's.

    >>> arrow_table(pa.record_batch({"amount": [1.0]})).column_names
    ['amount']
    """
    frame = required_frame(table)  # whose columns have different names
    if isinstance(table, pa.Table):
        return table
    return pa.table({name: frame.column(name) for name in frame.names})


def check_columns(names: Iterable[str], present: Sequence[str], source: str = "the table") -> None:
    """Raise for the first of `names` that is not among the columns `present` in `source`.

    >>> check_columns(["amuont"], ["amount", "hour"], "a.csv")
    Traceback (most recent call last):
    toprank.data.tables.columns.TableError: column 'amuont' is not in a.csv; did you mean 'amount'?
    """
    known = set(present)
    for name in names:
        if name not in known:
            hint = checks.nearest_name(name, list(present)) or f"; it has {quoted(present)}."
            raise TableError(f"column {name!r} is not in {source}{hint}")


def check_distinct(names: Sequence[str], source: str = "the table") -> None:
    """Raise when a column name comes more than once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(
                f"column names in {source} must differ; {name!r} comes {names.count(name)} times; "
                "rename or drop the copies."
            )
        seen.add(name)


def plain_names(names: Sequence[str], source: str = "the table") -> list[str]:
    """Return column names without spaces around them; one without a name gets that of its place.

    >>> plain_names(["", "city ", "amount"])
    ['Unnamed: 0', 'city', 'amount']
    """
    plain = [name.strip() or f"Unnamed: {place}" for place, name in enumerate(names)]
    for i, name in enumerate(plain):
        if plain.count(name) > 1 and list(names).count(names[i]) == 1:
            raise TableError(
                f"column names in {source} must differ; {plain.count(name)} are {name!r} but for "
                "spaces around them; rename one of them."
            )
    check_distinct(plain, source)
    return plain


def arrow_of_cell(cell: Any, name: str) -> pa.ChunkedArray:
    """Return the column of one row that holds this value."""
    with _explained_text(name):
        try:
            values = pa.array([cell], from_pandas=True)
        except (pa.ArrowException, OverflowError):
            values = _arrow_of_objects([cell], name)
    return plain_type(pa.chunked_array([values]))


def plain_type(values: Any) -> Any:
    """Return `values` in a type that all of Arrow's functions know; most come back themselves."""
    if pt.is_string_view(values.type):
        return values.cast(pa.large_string())
    if pt.is_float16(values.type):
        return values.cast(pa.float32())
    return values


def quoted(values: Sequence[Any], at_most: int = 5) -> str:
    """Return the first values in quotes and how many more there are."""
    shown = ", ".join(shortened(value) for value in values[:at_most])
    more = len(values) - at_most
    return f"{shown} and {more:,} more" if more > 0 else shown or "no columns"


def shortened(value: Any, at_most: int = 60) -> str:
    """Return `repr(value)`, cut when long, so that a message stays on one screen.

    >>> shortened(np.str_("Yes")), shortened("long" * 5, at_most=10)
    ("'Yes'", "'longlongl...")
    """
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= at_most else text[:at_most] + "..."


def _arrow_of_series(series: Any, name: str) -> Any:
    with _explained_text(name):
        try:
            return series.to_arrow()
        except (pa.ArrowException, OverflowError):
            return _arrow_of_objects(series.to_list(), name)


@contextmanager
def _explained_text(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        raise TableError(
            f"column {name!r} must hold valid text; some of it cannot be written as UTF-8; "
            "clean the text first."
        ) from error


def _arrow_of_objects(values: list[Any], name: str) -> pa.Array:
    # Arrow refuses huge whole numbers, bools among numbers and sparse columns: all are numbers.
    kinds = {type(value) for value in values if not _is_missing(value)}
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds):
        found = " and ".join(sorted(kind.__name__ for kind in kinds)[:4])
        raise TableError(
            f"column {name!r} must hold numbers only or text only; it holds {found} objects; "
            "turn them into one of the two or drop the column."
        )
    return pa.array([None if _is_missing(value) else _float(value) for value in values], "float64")


def _is_missing(value: Any) -> bool:
    return value is None or (not isinstance(value, Decimal) and _differs_from_itself(value))


def _differs_from_itself(value: Any) -> bool:
    # NaN is the one value unequal to itself; pandas.NA answers with something that is no bool.
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1e308 is refused as infinite further on
        return np.inf

"""Columns that only name their rows: ids, row numbers and the index of a data frame.

A model that learns from them learns the order of the rows, or nothing.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from toprank.data.tables.columns import TableWarning, required_frame
from toprank.data.tables.values import decoded, is_text

_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")
_LEAST_ROWS = 100  # with fewer, honest columns are often distinct, too
_DISTINCT_SHARE = 0.95
_LONG = 10**7  # ids drawn by chance have as many digits or more
_DENSE = 1.2  # whole numbers so few per value of their range are a numbering of the rows


def id_columns(table: Any, names: Iterable[str]) -> dict[str, str]:
    """Return which of these columns only name their rows, and why it looks so.

    Whole numbers do if they count up with the rows or number them in another order, text if it is
    different in nearly every row. Other numbers are quantities, however different.

    >>> table = pa.table({"row": range(200), "amount": [i * 0.5 for i in range(200)]})
    >>> id_columns(table, table.column_names)
    {'row': 'counts up with the rows'}
    """
    frame = required_frame(table)
    found = {name: _reason(name, frame.column(name)) for name in names}
    return {name: reason for name, reason in found.items() if reason}


def without_ids(table: Any, names: list[str], keep: Sequence[str] = ()) -> list[str]:
    """Return these columns but for those that only name their rows; a warning says which.

    >>> table = pa.table({"tx": [f"T{i}" for i in range(200)], "amount": [9.5] * 200})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     without_ids(table, ["tx", "amount"])
    ['amount']
    >>> print(caught[0].message)
    column 'tx' is left out: a different text in nearly every row; to keep it, use `keep=['tx']`.
    """
    found = id_columns(table, [name for name in names if name not in keep])
    rest = [name for name in names if name not in found]
    if not found or not rest:  # what is left must be something
        return names
    reasons = "; ".join(f"{name!r}: {reason}" for name, reason in found.items())
    if len(found) == 1:
        (name,) = found
        said = f"column {name!r} is left out: {found[name]}; to keep it, use `keep={[name]!r}`."
    else:
        said = (
            f"{len(found)} columns that look like ids are left out ({reasons}); to keep one, use "
            f"`keep={list(found)[:1]!r}`."
        )
    warnings.warn(said, TableWarning, stacklevel=3)
    return rest


def may_be_ids(lowest: int, highest: int, n_distinct: int, n_rows: int) -> bool:
    """Return whether whole numbers from `lowest` to `highest` may only name their rows.

    Amounts may be different in nearly every row, too. But they leave gaps, and small ones have
    fewer digits than large ones; ids number the rows, or are all long and of one length.

    >>> may_be_ids(1, 1000, 990, 1000), may_be_ids(3, 250_000, 990, 1000)
    (True, False)
    """
    if n_distinct < _DISTINCT_SHARE * n_rows:
        return False
    is_dense = highest - lowest + 1 <= _DENSE * n_rows
    return is_dense or (lowest >= _LONG and len(str(lowest)) == len(str(highest)))


def count_up(values: pa.ChunkedArray) -> bool:
    """Return whether each whole number is larger than the one before; missing ones aside."""
    numbers = values.drop_null().to_numpy()
    return bool((numbers[1:] > numbers[:-1]).all())


def _reason(name: str, values: pa.ChunkedArray) -> str:
    """Return why a column looks like an id; nothing where it does not."""
    if _INDEX.fullmatch(name):
        return "the index of a data frame"
    values = decoded(values)
    n_present = len(values) - values.null_count
    if n_present < max(_LEAST_ROWS, len(values) // 2):
        return ""
    if is_text(values.type):
        if _looks_distinct(values) and _n_distinct(values) >= _DISTINCT_SHARE * n_present:
            return "a different text in nearly every row"
        return ""
    if not pt.is_integer(values.type):
        return ""
    if count_up(values):
        return "counts up with the rows"
    numbers = values.drop_null().to_numpy()
    span = int(numbers.max()) - int(numbers.min()) + 1
    if span <= _DENSE * n_present and np.unique(numbers).size >= _DISTINCT_SHARE * n_present:
        return "numbers the rows"
    return ""


def _looks_distinct(values: pa.ChunkedArray) -> bool:
    """Return whether the first rows leave it possible: most columns of text are done with here."""
    first = values.slice(0, 10 * _LEAST_ROWS).drop_null()
    return not len(first) or _n_distinct(first) >= 0.8 * len(first)


def _n_distinct(values: pa.ChunkedArray) -> int:
    return pc.count_distinct(values, mode="only_valid").as_py()

"""Rows by number; those that follow one another are taken as a slice, which copies nothing."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_slice(rows: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray | slice:
    """Return row numbers as a slice where each is one more than the one before.

    >>> as_slice(np.array([3, 4, 5])), as_slice(np.array([3, 5]))
    (slice(3, 6, None), array([3, 5]))
    """
    if rows.dtype == bool or not rows.size:
        return rows
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 != rows.size or not (rows[1:] - rows[:-1] == 1).all():
        return rows
    return slice(first, last + 1)


def rows_of(table: pa.Table | pa.ChunkedArray, rows: NDArray | slice) -> pa.Table:
    """Return these rows of an Arrow table or column; a slice of it is not copied."""
    if isinstance(rows, slice):
        return table.slice(rows.start, rows.stop - rows.start)
    return table.take(rows)

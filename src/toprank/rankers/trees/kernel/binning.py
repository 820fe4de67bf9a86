"""Columns as small whole numbers: a value's code is the index of its bin.

Bins of a quantity are in order of its values and have about equally many rows; if a column has no
more distinct values than `max_bins`, each value is a bin of its own and every cut is possible. A
category's code is its own number. The last bin of every column is for missing values.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_BINS = 65_534
"""As many as 16 bits can number, in addition to the one for missing values."""

_ROWS_FOR_EDGES = 200_000
_BLOCK = 256


class Binned(NamedTuple):
    """Rows as codes, and the values of each code.

    `codes` has one row per column: codes = [column 0 of all rows | column 1 of all rows | ...].
    Column j has the bins starts[j] to starts[j + 1], the last for missing values; `low` and `high`
    are the smallest and the largest value in each.
    """

    codes: NDArray[np.uint16]
    starts: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    is_category: NDArray[np.bool_]

    @property
    def n_columns(self) -> int:
        return self.codes.shape[0]

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]


def bin_columns(
    features: NDArray[np.float32], n_categories: NDArray[np.integer], max_bins: int
) -> Binned:
    """Return the rows in at most `max_bins` bins per quantity.

    `n_categories` is 0 for a quantity; a category has as many bins, whatever `max_bins` is. Above
    200,000 rows, only every k-th of them determines the edges of the bins.

    >>> features = np.array([[3.0], [np.nan], [5.0]], dtype=np.float32)
    >>> binned = bin_columns(features, np.array([0]), max_bins=255)
    >>> binned.codes.tolist(), binned.low.tolist()
    ([[0, 2, 1]], [3.0, 5.0, nan])
    """
    n_rows, n_columns = features.shape
    codes = np.empty((n_columns, n_rows), dtype=np.uint16)
    lows, highs = [], []
    for column in range(n_columns):
        values = np.ascontiguousarray(features[:, column])
        n_codes = int(n_categories[column])
        edges = np.arange(n_codes, dtype=np.float32) if n_codes else _edges(values, max_bins)
        low, high = _encode(values, edges, codes[column])
        lows.append(low)
        highs.append(high)
    sizes = [low.size for low in lows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Binned(codes, starts, np.concatenate(lows), np.concatenate(highs), n_categories > 0)


def _edges(values: NDArray[np.float32], max_bins: int) -> NDArray[np.float32]:
    """Return the largest value of each bin, rising."""
    step = 1 if max_bins >= MOST_BINS else max(1, values.size // _ROWS_FOR_EDGES)
    ordered = np.sort(values[::step])
    ordered = ordered[: ordered.size - np.count_nonzero(np.isnan(ordered))]
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: ordered.size]
    distinct = ordered[is_last]
    if distinct.size <= max_bins:
        return distinct
    # the value at each equal share of the rows; one that spans several shares is one bin
    places = np.arange(1, max_bins + 1) * ordered.size // max_bins - 1
    return np.unique(ordered[places])


@njit(cache=True, nogil=True)
def _encode(values, edges, codes):
    """Write every value's code; return the smallest and the largest value of each bin."""
    n_bins = edges.size
    low = np.full(n_bins + 1, np.inf)
    high = np.full(n_bins + 1, -np.inf)
    found = np.empty(_BLOCK, np.uint32)
    for begin in range(0, values.size, _BLOCK):
        block = values[begin : begin + _BLOCK]
        _search(block, edges, found)
        for i in range(block.size):
            value, code = block[i], found[i]
            if np.isnan(value):
                code = np.uint32(n_bins)
            codes[begin + i] = code
            low[code] = min(low[code], value)
            high[code] = max(high[code], value)
    low[n_bins], high[n_bins] = np.nan, np.nan
    return low, high


@njit(cache=True, nogil=True)
def _search(values, edges, found):
    """Find the first edge not below each value; values above all get the last one.

    A binary search that takes each step for all values at once, which the compiler vectorises;
    value by value, every step would stall on memory.
    """
    found[: values.size] = 0
    n = edges.size
    while n > 1:
        half = n >> 1
        step, last = np.uint32(half), edges[half - 1 :]
        for i in range(values.size):
            found[i] += step if last[found[i]] < values[i] else np.uint32(0)
        n -= half

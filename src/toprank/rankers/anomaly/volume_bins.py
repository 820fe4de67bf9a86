"""Columns as bins on a line of length 1: possible thresholds, and the volume below each.

    a number      bins between the box's bounds, each as wide as it is
    a category    all its values by number of rows, the rarest first, each equally wide
    missing       where a column has some: one more bin after all others, a tenth of the line

A column's edges are the borders of its bins: bin i is between edges i and i + 1. A box is an
interval of edges in every column, and its volume the product of their lengths.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.anomaly.box import Box
from toprank.rankers.trees.kernel.binning import bin_columns

MISSING_SHARE = 0.1
"""Share of a column's length for missing values: rows that miss more rarely are unusual."""


class VolumeBins(NamedTuple):
    """Rows as codes, and the positions of the edges of their bins.

    `codes` has one row per column. Column j has the edges starts[j] to starts[j + 1], one more
    than bins; `position` rises from 0 to 1, `threshold` is the value there: infinite before the
    bin for missing values, NaN for categories. `category` has the category of each bin, -1 for
    others, and is aligned with the edge on its left. `gap_sum` is the running sum, from edge to
    edge, of the distances between the values on either side: uniform places between two values
    are uniform numbers between the sums at their edges.
    """

    codes: NDArray[np.uint16]
    starts: NDArray[np.int64]
    position: NDArray[np.float64]
    threshold: NDArray[np.float64]
    category: NDArray[np.int32]
    gap_sum: NDArray[np.float64]


class _Axis(NamedTuple):
    """One column's edges."""

    position: NDArray[np.float64]
    threshold: NDArray[np.float64]
    category: NDArray[np.int32]
    gap_sum: NDArray[np.float64]


def grid_of(
    features: NDArray[np.float32], n_categories: NDArray[np.integer], box: Box, max_bins: int
) -> VolumeBins:
    """Return the bins of rows in the box; at most `max_bins` per number.

    >>> box = Box(np.array([0.0]), np.array([4.0]))
    >>> features = np.array([[1.0], [2.0], [2.0]], dtype=np.float32)
    >>> grid_of(features, np.array([0]), box, 255).position.tolist()
    [0.0, 0.375, 1.0]
    """
    binned = bin_columns(features, n_categories, max_bins)
    axes = []
    for column in range(binned.n_columns):
        begin, end = binned.starts[column], binned.starts[column + 1] - 1
        codes = binned.codes[column]  # changed in place
        if n_categories[column]:
            axes.append(_categories(codes, int(n_categories[column])))
        else:
            low, high = float(box.low[column]), float(box.high[column])
            axes.append(_numbers(codes, binned.low[begin:end], binned.high[begin:end], low, high))
    starts = np.cumsum([0, *(axis.position.size for axis in axes)]).astype(np.int64)
    joined = [np.concatenate(parts) for parts in zip(*axes, strict=True)]
    return VolumeBins(binned.codes, starts, *joined)


def _numbers(
    codes: NDArray[np.uint16],
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
    low: float,
    high: float,
) -> _Axis:
    """Return the axis of a number whose bins contain values from `lowest` to `highest` each.

    Codes of bins too narrow to keep, and of missing values, are changed in place.
    """
    between = highest[:-1] + (lowest[1:] - highest[:-1]) / 2
    width = high - low
    position = (between - low) / width if width > 0 else between * 0
    position = np.concatenate([[0.0], position, [1.0]])
    threshold = np.concatenate([[-np.inf], between, [np.inf]])
    gaps = (lowest[1:] - highest[:-1]) / (width or 1.0)
    gap_sum = np.concatenate([[0.0], np.cumsum(gaps), [gaps.sum()]])
    is_missing = codes == lowest.size
    if not (np.diff(position) > _least_lengths(position[1:])).all():
        kept = _apart(position)
        codes[:] = np.searchsorted(kept, codes, "right") - 1
        position, threshold, gap_sum = position[kept], threshold[kept], gap_sum[kept]
    if is_missing.any():
        codes[is_missing] = position.size - 1
        position, threshold, gap_sum = _with_missing(position, threshold, gap_sum)
    return _Axis(position, threshold, np.full(position.size, -1, np.int32), gap_sum)


def _categories(codes: NDArray[np.uint16], n_codes: int) -> _Axis:
    """Return the axis of a category, the rarest value first; codes are changed in place."""
    counts = np.bincount(codes, minlength=n_codes + 1)
    order = np.argsort(counts[:-1], kind="stable")
    place = np.full(n_codes + 1, n_codes, dtype=np.uint16)
    place[order] = np.arange(n_codes)
    position = np.linspace(0.0, 1.0, n_codes + 1)
    threshold = np.full(position.size, np.nan)
    category = np.append(order, -1).astype(np.int32)
    gap_sum = np.minimum(position, 1 - 1 / n_codes)  # of equal steps, none after the last value
    if counts[n_codes]:
        position, threshold, gap_sum = _with_missing(position, threshold, gap_sum)
        category = np.append(category, np.int32(-1))
    codes[:] = place[codes]
    return _Axis(position, threshold, category, gap_sum)


def _least_lengths(position: Any) -> Any:
    """Return the least length of bins that end there: more than the rounding error."""
    return 8 * np.spacing(position)


def _apart(position: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the edges to keep, including both outer ones: bins must have some length."""
    kept = [0]
    for edge in range(1, position.size - 1):
        is_apart = position[edge] - position[kept[-1]] > _least_lengths(position[edge])
        if is_apart and 1 - position[edge] > _least_lengths(1.0):
            kept.append(edge)
    return np.array([*kept, position.size - 1])


def _with_missing(
    position: NDArray[np.float64], threshold: NDArray[np.float64], gap_sum: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the edges with one more bin after them, as far from the others as it is wide."""
    shrunk = gap_sum[:-1] * (1 - MISSING_SHARE)
    end = (shrunk[-1] if shrunk.size else 0.0) + MISSING_SHARE
    return (
        np.append(position * (1 - MISSING_SHARE), 1.0),
        np.append(threshold, np.inf if not np.isnan(threshold[-1]) else np.nan),
        np.concatenate([shrunk, [end, end]]),
    )

"""The box whose volume counts: rows outside of it are the most suspicious.

Volume is counted as a share of the box. A constant column has no width; it counts as 1, so that it
neither adds nor removes volume, and any other value in it is outside. Categories have no bounds. A
missing value is outside if the rows of the box had none.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.rankers.trees.row_blocks import row_blocks

BOUNDS = ("range", "robust")

_TAIL = 0.01
_REACH = 1.5
_BEYOND_MISSING = 1e-9  # outside, but by no distance


class Box(NamedTuple):
    """The lowest and the highest value inside, per column; infinite for categories.

    `may_miss` are the columns in which a missing value is inside; None is none.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    may_miss: NDArray[np.bool_] | None = None

    @property
    def n_columns(self) -> int:
        return self.low.size

    @property
    def width(self) -> NDArray[np.float64]:
        """Each column's width, 1 where there is none."""
        width = self.high - self.low
        return np.where((width > 0) & np.isfinite(width), width, 1.0)

    @property
    def is_whole(self) -> NDArray[np.bool_]:
        """The columns in which a missing value is outside."""
        return np.ones(self.n_columns, dtype=bool) if self.may_miss is None else ~self.may_miss

    @classmethod
    def around(
        cls, features: NDArray[np.float32], is_category: NDArray[np.bool_], way: str = "range"
    ) -> Self:
        """Return the box around the rows.

        "range" reaches from the smallest value of a column to the largest, and half the gap to
        their neighbours beyond. "robust" reaches 1.5 times as far as from the median to the 1 %
        and 99 % quantiles, but never beyond "range": a few extreme values do not blow it up.
        """
        bounds = [
            (-np.inf, np.inf) if is_category[column] else _bounds(features[:, column], way)
            for column in range(features.shape[1])
        ]
        low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
        return cls(low.copy(), high.copy(), _with_missing(features))

    @classmethod
    def given(
        cls, bounds: ArrayLike, features: NDArray[np.float32], is_category: NDArray[np.bool_]
    ) -> Self:
        """Return the box of given bounds: a pair (lowest, highest) per column.

        >>> features = np.zeros((1, 2), dtype=np.float32)
        >>> Box.given([[0, 1], [0, 24]], features, np.array([False, False])).width.tolist()
        [1.0, 24.0]
        """
        try:
            pairs: Any = np.asarray(bounds)
        except ValueError:  # rows of unequal length
            pairs = np.empty(0)
        if pairs.shape != (is_category.size, 2) or pairs.dtype.kind not in "iuf":
            raise ValueError(
                f"bounds must be 'range', 'robust' or two numbers for each of the "
                f"{is_category.size} columns, lowest and highest; got shape {pairs.shape} of "
                f"{pairs.dtype}."
            )
        low, high = pairs.astype(np.float64).T
        is_sound = is_category | (np.isfinite(low) & np.isfinite(high) & (low < high))
        if not is_sound.all():
            column = int(np.flatnonzero(~is_sound)[0])
            raise ValueError(
                f"bounds of column {column} must be finite, the lowest below the highest; got "
                f"{low[column]:g} and {high[column]:g}."
            )
        return cls(
            np.where(is_category, -np.inf, low),
            np.where(is_category, np.inf, high),
            _with_missing(features),
        )

    def inside(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows in the box; ValueError if there are none."""
        return some_inside(features, self.holds(features))

    def of_inside(self, inside: NDArray[np.float32]) -> Self:
        """Return the box in which a value may be missing only if one of these rows misses it."""
        return self._replace(may_miss=_with_missing(inside))

    @classmethod
    def from_arrays(cls, bounds: NDArray, may_miss: NDArray) -> list[Self]:
        """Return the boxes stored in a model file; ValueError if they are not valid."""
        n_boxes, n_columns = may_miss.shape if may_miss.ndim == 2 else (0, 0)
        if bounds.shape != (n_boxes, 2, n_columns) or not n_boxes:
            raise ValueError(
                f"boxes must have two bounds per column; got shapes {bounds.shape} and "
                f"{may_miss.shape}."
            )
        if bounds.dtype != np.float64 or may_miss.dtype != np.bool_:
            raise ValueError(
                f"boxes must be float64 bounds and bool flags; got {bounds.dtype} "
                f"and {may_miss.dtype}."
            )
        low, high = bounds[:, 0], bounds[:, 1]
        is_sound = np.isfinite(low) & np.isfinite(high) & (low <= high)
        if not (is_sound | ((low == -np.inf) & (high == np.inf))).all():
            raise ValueError("boxes must have finite bounds, or none, and the lowest first.")
        return [cls(low, high, flags) for (low, high), flags in zip(bounds, may_miss, strict=True)]

    def beyond(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how far outside each value is, in widths of the box; 0 inside.

        >>> box = Box(np.array([0.0]), np.array([10.0]))
        >>> box.beyond(np.array([[5.0], [12.0]], dtype=np.float32)).tolist()
        [[0.0], [0.2]]
        """
        over = np.maximum(self.low - features, features - self.high) / self.width
        missing = np.where(self.is_whole, _BEYOND_MISSING, 0.0)
        return np.maximum(np.where(np.isnan(features), missing, over), 0.0)

    def holds(self, features: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which rows are in the box in every column."""
        is_inside = np.empty(len(features), dtype=bool)
        for block in row_blocks(len(features)):
            is_inside[block] = np.all(self.beyond(features[block]) <= 0, axis=1)
        return is_inside


def some_inside(
    features: NDArray[np.float32], is_inside: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the rows inside, without a copy if all are; ValueError if none is."""
    if not is_inside.any():
        raise ValueError(
            f"bounds must contain some of the rows; got none of {len(features)} in the box; widen "
            "it, or use 'range', which learns it."
        )
    return features if is_inside.all() else features[is_inside]


def _with_missing(features: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return the columns in which a value is missing."""
    # the minimum of values of which one is NaN is NaN: no need for a mask of them all
    return np.asarray(np.isnan(features.min(axis=0, initial=np.inf)))


def _bounds(values: NDArray[np.float32], way: str) -> tuple[float, float]:
    """Return the lowest and the highest value of a column inside the box."""
    present = np.sort(values[~np.isnan(values)]).astype(np.float64)
    if not present.size:
        return 0.0, 0.0
    distinct = present[np.append(True, np.diff(present) > 0)]
    if distinct.size == 1:
        return float(distinct[0]), float(distinct[0])
    low = distinct[0] - (distinct[1] - distinct[0]) / 2
    high = distinct[-1] + (distinct[-1] - distinct[-2]) / 2
    if way == "robust":
        bottom, middle, top = np.quantile(present, [_TAIL, 0.5, 1 - _TAIL])
        inner_low, inner_high = (
            middle - _REACH * (middle - bottom),
            middle + _REACH * (top - middle),
        )
        if inner_low < inner_high:
            low, high = max(low, inner_low), min(high, inner_high)
    return float(low), float(high)

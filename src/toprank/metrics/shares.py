"""The uncertainty of a share."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.metrics.intervals import Interval

NORMAL_95 = 1.959964
"""The two-sided 95 % point of the normal distribution."""


def share_difference(
    n_hits: int, n_rows: int, n_other_hits: int, n_other_rows: int, z: float = NORMAL_95
) -> Interval:
    """Return by how much one share exceeds another, of other rows, with Newcombe's interval.

    >>> low_to_high = share_difference(8, 10, 5, 10)
    >>> f"{low_to_high.value:.2f} ({low_to_high.low:.2f} to {low_to_high.high:.2f})"
    '0.30 (-0.11 to 0.60)'
    """
    share, other = n_hits / n_rows, n_other_hits / n_other_rows
    low, high = wilson_bounds(share, n_rows, z)
    other_low, other_high = wilson_bounds(other, n_other_rows, z)
    difference = share - other
    return Interval(
        difference,
        difference - float(np.hypot(share - low, other_high - other)),
        difference + float(np.hypot(high - share, other - other_low)),
    )


def wilson_bounds(
    share: ArrayLike, n_rows: ArrayLike, z: float = NORMAL_95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper bound of shares that were observed in so many rows (Wilson's).

    >>> low, high = wilson_bounds(0.5, 10)
    >>> f"{low:.2f} to {high:.2f}"
    '0.24 to 0.76'
    """
    share, n_rows = np.asarray(share, dtype=float), np.asarray(n_rows, dtype=float)
    center = share + z**2 / (2 * n_rows)
    half_width = z * np.sqrt(share * (1 - share) / n_rows + (z / (2 * n_rows)) ** 2)
    scale = 1 + z**2 / n_rows
    # rounding may leave a bound some 1e-17 outside of [0, share] or [share, 1]
    low = np.clip((center - half_width) / scale, 0, share)
    return low, np.clip((center + half_width) / scale, share, 1)

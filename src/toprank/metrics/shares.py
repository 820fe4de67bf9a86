"""The uncertainty of a share."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

NORMAL_95 = 1.959964
"""The two-sided 95 % point of the normal distribution."""


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

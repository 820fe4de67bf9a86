"""Ranges for counts, and for other figures that cannot leave a range."""

import numpy as np
from scipy.special import betaincinv

from toprank.data import checks


def count_range(
    mean: float, variance: float, most: int, level: float = 0.9
) -> tuple[float, float]:
    """Return the whole numbers between which a count of 0 to `most` lies in `level` of cases.

    >>> count_range(0.4, variance=0.4, most=100)
    (0.0, 1.0)
    """
    # A count c owns the stretch from c - 1/2 to c + 1/2, and is in where more than half of that
    # is: a stretch cut by an end counts as often too much as too little, so that the range holds
    # `level` of cases on average, not more.
    low, high = bounded_range(mean, variance, -0.5, most + 0.5, level)
    low, high = max(np.ceil(low), 0.0) + 0.0, min(np.floor(high), most)  # never -0
    return float(min(low, np.floor(mean))), float(max(high, np.ceil(mean)))


def bounded_range(
    mean: float, variance: float, lowest: float, highest: float, level: float = 0.9
) -> tuple[float, float]:
    """Return where the middle `level` lies of what cannot leave the range `lowest` to `highest`.

    It is taken to follow the beta distribution of that mean and variance: leaning near either
    end, all but normal in between.

    >>> low, high = bounded_range(50.0, variance=25.0, lowest=0.0, highest=100.0)
    >>> round(low, 1), round(high, 1)
    (41.8, 58.2)
    """
    tail = (1 - checks.number_above(level, "level", 0, 0.999)) / 2
    width = highest - lowest
    share = (mean - lowest) / width
    # with all of this variance, nothing would be left between the two ends
    variance = min(variance / width**2, 0.9 * share * (1 - share))
    if not variance > 0:
        return mean, mean
    size = share * (1 - share) / variance - 1
    low, high = betaincinv(share * size, (1 - share) * size, [tail, 1 - tail])
    return float(lowest + width * low), float(lowest + width * high)

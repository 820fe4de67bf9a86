"""Ranges for counts, and for other figures that cannot leave a range."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv

from toprank.data import checks


def count_range(
    mean: float, variance: float, most: int, level: float = 0.9
) -> tuple[float, float]:
    """Return the whole numbers between which a count of 0 to `most` is in `level` of cases.

    >>> count_range(0.4, variance=0.4, most=100)
    (0.0, 1.0)
    """
    # A count c covers the stretch from c - 1/2 to c + 1/2 and is included if more than half of
    # that is: the rounding at the ends errs either way equally often, so that the range contains
    # `level` of cases on average, not more.
    low, high = bounded_range(mean, variance, -0.5, most + 0.5, level)
    low, high = max(np.ceil(low), 0.0) + 0.0, min(np.floor(high), most)  # never -0
    return float(min(low, np.floor(mean))), float(max(high, np.ceil(mean)))


def mid_range(
    below: Callable[[float], float], most: int, mean: float, level: float = 0.9
) -> tuple[float, float]:
    """Return the whole numbers between which a count of 0 to `most` is in `level` of cases.

    `below(c)` is the chance of at most `c`. As in `count_range`, a count at the end is included
    if more than half of its chance is: rounding errs either way equally often.

    >>> mid_range(lambda count: (count + 1) / 101, most=100, mean=50.0)
    (5.0, 95.0)
    """
    tail = (1 - checks.number_above(level, "level", 0, 0.999)) / 2

    def middle(count: int) -> float:
        return (below(count - 1) + below(count)) / 2

    counts = range(most + 1)
    low = bisect_left(counts, tail, key=middle)
    high = bisect_right(counts, 1 - tail, key=middle) - 1
    return float(min(low, np.floor(mean))), float(max(high, np.ceil(mean)))


def bounded_range(
    mean: float, variance: float, lowest: float, highest: float, level: float = 0.9
) -> tuple[float, float]:
    """Return the middle `level` of a figure that cannot leave the range `lowest` to `highest`.

    It is assumed to follow the beta distribution of that mean and variance: skewed near either
    end, almost normal in between.

    >>> low, high = bounded_range(50.0, variance=25.0, lowest=0.0, highest=100.0)
    >>> round(low, 1), round(high, 1)
    (41.8, 58.2)
    """
    tail = (1 - checks.number_above(level, "level", 0, 0.999)) / 2
    width = highest - lowest
    share = (mean - lowest) / width
    # with this much variance, everything would be at the two ends
    variance = min(variance / width**2, 0.9 * share * (1 - share))
    if not variance > 0:
        return mean, mean
    size = share * (1 - share) / variance - 1
    low, high = betaincinv(share * size, (1 - share) * size, [tail, 1 - tail])
    return float(lowest + width * low), float(lowest + width * high)

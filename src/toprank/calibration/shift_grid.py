"""A common shift of the log-odds of a list's rows, on a grid: how likely each shift is.

Given the shift s, F positives among rows of probability p are

    exp(F s) / prod(1 - p + p exp(s))

times as likely as without it. So what was found says how likely each shift is, and shifts that are
likely say what will be found.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, expit, logit

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

STEP = 0.1
SHIFTS: Vector = STEP * np.arange(-50, 51, dtype=np.float64)
LEAST_CHANCE = 1e-9


def likelihood(probability: Vector, found: float, variance: float = 0.0) -> Vector:
    """Return how likely what was found is at each shift, up to a common factor.

    With a variance, rows are off by a shift of their own as well, of mean 0.
    """
    # 1 - p + p exp(s), taken together so that neither tail loses digits
    total = np.log1p(np.multiply.outer(probability, np.expm1(SHIFTS))).sum(axis=0)
    height = found * SHIFTS - total
    chance = _blurred(np.exp(height - height.max()), variance)
    return np.maximum(chance, LEAST_CHANCE)


def _blurred(chance: Vector, variance: float) -> Vector:
    """Return the mean of the chances around each shift."""
    return chance if variance == 0 else steps(SHIFTS, variance) @ chance


def steps(centres: NDArray[np.floating[Any]], variance: float) -> Matrix:
    """Return the chances of going from each row's centre to each shift of the grid."""
    off = np.subtract.outer(centres, SHIFTS) / STEP
    if variance >= STEP**2:
        matrix = np.exp(-(off**2) * STEP**2 / (2 * variance))
    else:  # to the nearest shift and its neighbours, with the same mean and variance
        rest = off - np.rint(off)
        moved = np.maximum(variance / STEP**2, np.abs(rest) - rest**2) + rest**2
        near = np.rint(off)
        matrix = np.where(near == 0, 1 - moved, 0.0)
        matrix += np.where(near == -1, (moved + rest) / 2, 0.0)
        matrix += np.where(near == 1, (moved - rest) / 2, 0.0)
    return matrix / matrix.sum(axis=1, keepdims=True)


def normal(mean: float, variance: float) -> Vector:
    """Return the chance of each shift on the grid."""
    height = (SHIFTS - mean) ** 2 / (2 * max(variance, (STEP / 2) ** 2))
    weight = np.exp(height.min() - height)
    return weight / weight.sum()


def inner(probability: ArrayLike) -> Vector:
    """Return probabilities that are neither 0 nor 1."""
    return np.clip(np.asarray(probability, np.float64), LEAST_CHANCE, 1 - LEAST_CHANCE)


class ShiftedCounts(NamedTuple):
    """Mean and variance of a list's count at each shift."""

    mean: Vector
    variance: Vector
    n_rows: int

    @classmethod
    def of(cls, probability: Vector, shifts: Vector = SHIFTS) -> Self:
        """Return the counts of rows with these probabilities, at each shift."""
        moved = expit(np.add.outer(shifts, logit(probability)))
        return cls(moved.sum(axis=1), (moved * (1 - moved)).sum(axis=1), probability.size)

    def below(self, count: float, weight: Vector) -> float:
        """Return the chance of at most `count`, over the shifts by their weight.

        At each shift the count is nearly binomial, with the number of trials and the chance that
        give its mean and variance; where most rows are positive, the others are counted.
        """
        is_many = 2 * self.mean > self.n_rows
        mean = np.where(is_many, self.n_rows - self.mean, self.mean)
        chance = np.clip(1 - self.variance / mean, 1e-12, 1.0)
        trials = mean / chance
        below = _binomial_below(np.where(is_many, self.n_rows - count - 1, count), trials, chance)
        return float(weight @ np.where(is_many, 1 - below, below))


def _binomial_below(count: Vector, trials: Vector, chance: Vector) -> Vector:
    """Return the chance of at most `count` successes; the trials need not be a whole number."""
    left = np.maximum(trials - count, 1e-300)
    below = betainc(left, np.maximum(count, 0.0) + 1, 1 - chance)
    return np.where(count < 0, 0.0, np.where(count >= trials, 1.0, below))

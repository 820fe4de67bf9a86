"""A common shift of the log-odds of a list's rows, on a grid: how likely each shift is.

Given the shift s, F positives among rows of probability p are

    exp(F s) / prod(1 - p + p exp(s))

times as likely as without it. So what was found says how likely each shift is, and shifts that are
likely say what will be found.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, expit, logit

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

STEP = 0.1
SHIFTS: Vector = STEP * np.arange(-50, 51, dtype=np.float64)
LEAST_CHANCE = 1e-9
_GROWTH = np.expm1(SHIFTS)
_DIFFERENCES: Vector = STEP * np.arange(1 - SHIFTS.size, SHIFTS.size, dtype=np.float64)


def likelihood(probability: Vector, found: float, variance: float = 0.0) -> Vector:
    """Return how likely what was found is at each shift, up to a common factor.

    With a variance, rows are off by a shift of their own as well, of mean 0.
    """
    return likelihoods(probability, found, [variance])[0]


def likelihoods(probability: Vector, found: float, variances: Iterable[float]) -> Matrix:
    """Return `likelihood` for each variance: one row each, and what they share computed once."""
    # 1 - p + p exp(s), taken together so that neither tail loses digits
    total = np.log1p(np.multiply.outer(probability, _GROWTH)).sum(axis=0)
    height = found * SHIFTS - total
    chance = np.exp(height - height.max())
    return np.maximum([_blurred(chance, each) for each in variances], LEAST_CHANCE)


def _blurred(chance: Vector, variance: float) -> Vector:
    """Return the mean of the chances around each shift: `steps(SHIFTS, variance) @ chance`.

    Going from each shift to its neighbours has the same chances everywhere but at the ends, so
    that there is no need for the whole matrix.
    """
    if variance == 0:
        return chance
    if variance >= STEP**2:
        to_others = np.exp(-(_DIFFERENCES**2) / (2 * variance))
    else:
        moved = variance / STEP**2
        to_others = np.array([moved / 2, 1 - moved, moved / 2])
    n_side = to_others.size // 2
    inside = slice(n_side, n_side + chance.size)
    weight = np.convolve(np.ones_like(chance), to_others)[inside]
    return np.convolve(chance, to_others)[inside] / weight


def steps(centres: NDArray[np.floating[Any]], variance: float) -> Matrix:
    """Return the chances of going from each row's centre to each shift of the grid."""
    if variance >= STEP**2:
        matrix = np.subtract.outer(centres, SHIFTS)
        np.square(matrix, out=matrix)
        matrix *= -1 / (2 * variance)
        np.exp(matrix, out=matrix)
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix
    return _short_steps(np.asarray(centres, np.float64), variance)


def _short_steps(centres: Vector, variance: float) -> Matrix:
    """Return the chances of going to the nearest shift and its neighbours.

    They have the mean and, where it is not too small for that, the variance asked for.
    """
    place = (centres - SHIFTS[0]) / STEP
    nearest = np.rint(place)
    rest = place - nearest
    moved = np.maximum(variance / STEP**2, np.abs(rest) - rest**2) + rest**2
    matrix = np.zeros((centres.size, SHIFTS.size + 2))  # a shift more at each end, cut off below
    row, column = np.arange(centres.size), nearest.astype(np.int64) + 1
    for side, chance in ((-1, (moved - rest) / 2), (0, 1 - moved), (1, (moved + rest) / 2)):
        matrix[row, column + side] = chance
    matrix = matrix[:, 1:-1]
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

"""A calibration as smooth as the labels let it be.

Log-odds are a broken line over Platt's own log-odds x, with the values v at some 30 knots:

    a priori    the slope is a random walk from knot to knot, of scale s per unit of x; its mean is
                1 (Platt's line), give or take 1
    then        the logistic likelihood of the labels

For one s, v is the peak of their product and its covariance the inverse of the curvature there.
How much it may bend is not known: ten s from 1/32 to 16 are weighted by their (Laplace) evidence,
and the spread between them adds to the uncertainty. With few positives nothing supports a bend, so
that the line stays almost Platt's; the possibility of one still widens the interval.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from toprank.calibration.shaped import ShapedCalibration, Vector
from toprank.calibration.sigmoid import SigmoidCalibration, fit_sigmoid, weights_of_rows
from toprank.data import checks

Matrix = NDArray[np.float64]

_BENDS = 2.0 ** np.arange(-5, 5)
_DOUBT_OF_SLOPE = 1.0
_KNOTS_BY_RANK = _KNOTS_BY_VALUE = 15
_LEAST_GAP = 1e-3
_LEAST_SLOPE = 1e-3
_LEAST_ROWS = 1e-6
_MOST_GROUPS = 1000
_MOST_STEPS = 60
_SMALL_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class SmoothCalibration(ShapedCalibration):
    """A broken line from Platt's log-odds to better ones, with its uncertainty.

    Probabilities never fall as the raw score rises. Expected counts follow the labels alone:
    they are lower where the very top of the list was worse than what came below.
    """

    knots: Vector
    values: Vector
    rising: Vector
    covariance: Matrix

    def log_odds(self, raw: ArrayLike) -> Vector:
        """Return the calibrated log-odds, in the order of the raw scores."""
        return _read(self.line.log_odds(raw), self.knots, self.rising)

    def counted(self, raw: Vector) -> tuple[Vector, float]:
        """Return the probabilities to add up, and the calibration's variance of their sum."""
        left, way = _places(self.line.log_odds(raw), self.knots)
        # a line that falls at the top says nothing of scores far above any that it was fitted to
        is_falling = self.values[left + 1] < self.values[left]
        way = np.where(is_falling, np.clip(way, 0, 1), way)
        probability = expit((1 - way) * self.values[left] + way * self.values[left + 1])
        spread = probability * (1 - probability)
        n_knots = self.knots.size
        slope = np.bincount(left, (1 - way) * spread, n_knots)
        slope += np.bincount(left + 1, way * spread, n_knots)
        return probability, float(slope @ self.covariance @ slope)

    def _check(self) -> None:
        n_knots = self.knots.size
        if n_knots < 2 or self.knots.ndim != 1 or not (np.diff(self.knots) > 0).all():
            raise ValueError(
                f"knots of a calibration must be two or more, and rise; got {self.knots.tolist()}."
            )
        shapes = [each.shape for each in (self.values, self.rising, self.covariance)]
        if shapes != [(n_knots,), (n_knots,), (n_knots, n_knots)]:
            raise ValueError(
                "values, rising and covariance of a calibration must match its knots."
            )
        if not (np.diff(self.rising) > 0).all():
            raise ValueError("rising of a calibration must rise from knot to knot.")
        if (np.diag(self.covariance) < 0).any():
            raise ValueError(
                "variances of a calibration must be at least 0; "
                f"got {np.diag(self.covariance).min():g}."
            )


def fit_smooth(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None = None
) -> SmoothCalibration | SigmoidCalibration:
    """Return the smooth calibration; Platt's where there are too few distinct scores to bend.

    With weights, probabilities are shares of the weight, not of the rows.

    >>> raw = np.linspace(-6, 6, 4000)
    >>> is_positive = np.random.default_rng(0).random(4000) < 0.6 / (1 + np.exp(-2 * raw))
    >>> fit_smooth(is_positive, raw).probability([6.0]).round(1)
    array([0.6])
    """
    raw = checks.finite_vector(raw, "raw")
    labels = checks.positives(is_positive, "is_positive", like=raw)
    line = fit_sigmoid(labels, raw, weight)
    groups, knots = _grouped(line.log_odds(raw), labels, weights_of_rows(weight, raw.size))
    if knots.size < 3:
        return line
    hats = _Hats(*_places(groups.at, knots), knots.size)
    values, covariance = _averaged(hats, groups, knots)
    return SmoothCalibration(
        line, knots, values, _rising(values, knots, hats.sums(groups.n_rows)), covariance
    )


class _Groups(NamedTuple):
    """Rows of about the same score taken together: their mean, how many, how many positives."""

    at: Vector
    n_rows: Vector
    n_positive: Vector


class _Hats(NamedTuple):
    """The weight of each knot at each place: `1 - way` for the left one, `way` for the next.

    As a matrix it would be zeros except for these two, and its many small products would go to
    threads that cost more than they save.
    """

    left: NDArray[np.intp]
    way: Vector
    n_knots: int

    def at(self, values: Vector) -> Vector:
        """Return the broken line through the values at each place."""
        return (1 - self.way) * values[self.left] + self.way * values[self.left + 1]

    def sums(self, weights: Vector) -> Vector:
        """Return the sum of each knot's share of the weights at the places."""
        return self._summed((1 - self.way) * weights, self.way * weights)

    def products(self, weights: Vector) -> Matrix:
        """Return the sum, for every two knots, of the products of their shares times a weight."""
        own = self._summed((1 - self.way) ** 2 * weights, self.way**2 * weights)
        both = np.bincount(self.left, (1 - self.way) * self.way * weights, self.n_knots - 1)
        return np.diag(own) + np.diag(both, 1) + np.diag(both, -1)

    def _summed(self, of_left: Vector, of_next: Vector) -> Vector:
        """Return the total of each knot."""
        left = np.bincount(self.left, of_left, self.n_knots)
        return np.asarray(left + np.bincount(self.left + 1, of_next, self.n_knots), np.float64)


def _grouped(at: Vector, labels: NDArray[np.bool_], weights: Vector) -> tuple[_Groups, Vector]:
    """Return the rows in groups, and the knots; for both, positives weigh as much as all others.

    Half of the knots are even among the rows so weighted, half of them evenly spaced.
    """
    order = np.argsort(at)
    at, labels, weights = at[order], labels[order], weights[order]
    positive = np.where(labels, weights, 0.0)
    total, total_positive = weights.sum(), positive.sum()
    share = positive / total_positive + (weights - positive) / (total - total_positive)
    passed = np.cumsum(share) / 2
    group = np.minimum((_MOST_GROUPS * passed).astype(int), _MOST_GROUPS - 1)
    starts = np.flatnonzero(np.append(True, np.diff(group) > 0))
    n_rows = np.add.reduceat(weights, starts)
    has_rows = n_rows > 0
    mean = np.add.reduceat(weights * at, starts)[has_rows] / n_rows[has_rows]
    groups = _Groups(mean, n_rows[has_rows], np.add.reduceat(positive, starts)[has_rows])
    by_rank = np.interp(np.linspace(0, 1, _KNOTS_BY_RANK), passed, at)
    by_value = np.linspace(np.interp(0.25, passed, at), at[-1], _KNOTS_BY_VALUE)
    return groups, _apart(np.sort(np.concatenate([at[:1], by_rank, by_value, at[-1:]])))


def _apart(knots: Vector) -> Vector:
    """Return the knots without those that nearly coincide with the one before."""
    kept = [knots[0]]
    for knot in knots[1:]:
        if knot - kept[-1] > _LEAST_GAP:
            kept.append(knot)
    return np.array(kept)


def _rising(values: Vector, knots: Vector, n_rows: Vector) -> Vector:
    """Return the nearest values that rise, by shares of the rows around the knots."""
    share = isotonic_regression(expit(values), sample_weight=np.maximum(n_rows, _LEAST_ROWS))
    least = _LEAST_SLOPE * knots
    # values that already rise stay the same to the last digit
    nearest = np.where(share == expit(values), values, logit(share))
    return isotonic_regression(nearest - least) + least


def _averaged(hats: _Hats, groups: _Groups, knots: Vector) -> tuple[Vector, Matrix]:
    """Return mean and covariance of the values at the knots, averaged over bends by evidence."""
    bend, tilt = _bend_penalty(knots), _tilt(knots)
    pull = tilt / _DOUBT_OF_SLOPE**2
    values, found = knots, []
    for s in _BENDS:
        penalty = bend / s**2 + np.outer(tilt, pull)
        values, height, curvature = _peak(hats, groups, penalty, pull, values)
        evidence = height - (knots.size - 2) * np.log(s) - np.linalg.slogdet(curvature)[1] / 2
        found.append((evidence, values, np.linalg.inv(curvature)))
    evidence = np.array([each for each, _, _ in found])
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    mean = weight @ np.array([each for _, each, _ in found])
    covariance = sum(
        share * (each + np.outer(peak - mean, peak - mean))
        for share, (_, peak, each) in zip(weight, found, strict=True)
    )
    return mean, np.asarray(covariance)


def _peak(
    hats: _Hats, groups: _Groups, penalty: Matrix, pull: Vector, values: Vector
) -> tuple[Vector, float, Matrix]:
    """Return the most probable values, the log of their probability, and its curvature there."""

    def height_at(values: Vector) -> float:
        odds = hats.at(values)
        likely = groups.n_positive @ odds - groups.n_rows @ np.logaddexp(0, odds)
        return float(likely - values @ penalty @ values / 2 + pull @ values)

    tiny = 1e-9 * np.eye(values.size)
    height = height_at(values)
    for _ in range(_MOST_STEPS):
        gradient, curvature = _slopes(hats, groups, penalty, pull, values)
        step = np.linalg.solve(curvature + tiny, gradient)
        if np.abs(step).max() < _SMALL_STEP:
            break
        higher = height_at(values + step)
        while higher < height and np.abs(step).max() > _SMALL_STEP:
            step = step / 2
            higher = height_at(values + step)
        values, height = values + step, higher
    return values, height, _slopes(hats, groups, penalty, pull, values)[1] + tiny


def _slopes(
    hats: _Hats, groups: _Groups, penalty: Matrix, pull: Vector, values: Vector
) -> tuple[Vector, Matrix]:
    """Return the gradient of the log-probability and minus its curvature."""
    probability = expit(hats.at(values))
    gradient = hats.sums(groups.n_positive - groups.n_rows * probability)
    information = groups.n_rows * probability * (1 - probability)
    return gradient - penalty @ values + pull, hats.products(information) + penalty


def _read(at: Vector, knots: Vector, values: Vector) -> Vector:
    """Return the broken line at each place; beyond the ends, its lines continue."""
    left, way = _places(at, knots)
    begin = values[left]
    return begin + way * (values[left + 1] - begin)


def _places(at: Vector, knots: Vector) -> tuple[NDArray[np.intp], Vector]:
    """Return the knot to the left of each place, and how much of the way to the next it is.

    Beyond the ends, that is below 0 or above 1.
    """
    # the inner knots up to a place; the first and the last line go on beyond the ends
    left = knots[1:-1].searchsorted(at, side="right")
    begin = knots[left]
    return left, (at - begin) / (knots[left + 1] - begin)


def _bend_penalty(knots: Vector) -> Matrix:
    """Return the matrix of the squared changes of slope, each by the length it happens over."""
    gap = np.diff(knots)
    change = np.zeros((knots.size - 2, knots.size))
    rows = np.arange(knots.size - 2)
    change[rows, rows] = 1 / gap[:-1]
    change[rows, rows + 1] = -1 / gap[:-1] - 1 / gap[1:]
    change[rows, rows + 2] = 1 / gap[1:]
    length = (gap[:-1] + gap[1:]) / 2
    return change.T @ (change / length[:, None])


def _tilt(knots: Vector) -> Vector:
    """Return the weights whose product with values at the knots is the slope from end to end."""
    tilt = np.zeros(knots.size)
    tilt[[0, -1]] = np.array([-1, 1]) / (knots[-1] - knots[0])
    return tilt

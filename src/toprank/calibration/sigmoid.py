"""Platt's calibration: a sigmoid of the raw score."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from toprank.calibration.counts import count_range
from toprank.data import checks
from toprank.metrics import Interval

# calibration must neither reverse the ranking nor flatten it
_LEAST_SLOPE = 1e-3
_MOST_STEPS = 100
_SMALL_STEP = 1e-6  # the error after a step of Newton's is of the order of its square


class SigmoidCalibration(NamedTuple):
    """Platt's map: probability = sigmoid(slope * raw + intercept); the slope is above 0.

    The last three are the (co)variances of slope and intercept: how well the labels determine
    them.
    """

    slope: float
    intercept: float
    slope_variance: float = 0.0
    covariance: float = 0.0
    intercept_variance: float = 0.0

    @property
    def line(self) -> "SigmoidCalibration":
        """The sigmoid itself; every calibration has a `line`."""
        return self

    def log_odds(self, raw: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated log-odds."""
        return self.slope * np.asarray(raw, dtype=np.float64) + self.intercept

    def probability(self, raw: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated probability."""
        return expit(self.log_odds(raw))

    def expected_positives(self, raw: ArrayLike, level: float = 0.9) -> Interval:
        """Return the positives to expect in these rows, and the range of `level` of cases.

        The range allows for chance, each row being positive or not, and for the uncertainty of the
        calibration. It does not allow for new rows that differ from the calibrated ones.

        >>> SigmoidCalibration(1.0, 0.0).expected_positives([0.0] * 100)
        Interval(value=50.0, low=42.0, high=58.0)
        """
        raw = checks.finite_vector(raw, "raw")
        probability, doubt = self.counted(raw)
        expected = float(probability.sum())
        chance = float((probability * (1 - probability)).sum())
        return Interval(expected, *count_range(expected, chance + doubt, raw.size, level))

    def counted(self, raw: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the probabilities to add up, and the calibration's variance of their sum."""
        probability = self.probability(raw)
        spread = probability * (1 - probability)
        by_slope, by_intercept = float((spread * raw).sum()), float(spread.sum())
        return probability, (
            by_slope**2 * self.slope_variance
            + 2 * by_slope * by_intercept * self.covariance
            + by_intercept**2 * self.intercept_variance
        )


def fit_sigmoid(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None = None
) -> SigmoidCalibration:
    """Return the sigmoid with the least log-loss for softened labels.

    Labels are softened as Platt did, (P + 1) / (P + 2) and 1 / (N + 2), so that a few perfectly
    separated positives do not claim certainty. With weights, probabilities are shares of the
    weight, not of the rows.

    >>> fit_sigmoid([False, False, True, True], [-2.0, 1.0, -1.0, 2.0]).slope > 0
    True
    """
    raw = checks.finite_vector(raw, "raw")
    labels = checks.positives(is_positive, "is_positive", like=raw)
    weights = weights_of_rows(weight, raw.size)
    positive, total = float(weights[labels].sum()), float(weights.sum())
    target = np.where(labels, (positive + 1) / (positive + 2), 1 / (total - positive + 2))
    # scores of any scale: fit on standardised ones, then fold the scaling into the answer
    middle, spread = _middle_spread(raw, weights)
    standard = (raw - middle) / spread
    start = np.array([_LEAST_SLOPE, logit((positive + 1) / (total + 2))])
    design = np.column_stack([standard, np.ones(raw.size)])
    slope, intercept = logistic_fit(design, target, weights, start)
    if slope < _LEAST_SLOPE:
        slope = _LEAST_SLOPE
        (intercept,) = logistic_fit(design[:, 1:], target, weights, start[1:], slope * standard)
    slope = float(slope) / spread
    intercept = float(intercept) - slope * middle
    return SigmoidCalibration(slope, intercept, *_variances(raw, slope, intercept, weights))


def weights_of_rows(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return weights that add up to the number of rows that have any.

    The uncertainty depends on the number of rows, not on the unit of the weights.
    """
    weights = checks.sample_weight(weight, n_rows)
    if weights is None:
        return np.ones(n_rows)
    return weights * (np.count_nonzero(weights) / weights.sum())


def _middle_spread(raw: NDArray, weights: NDArray) -> tuple[float, float]:
    """Return the mean and standard deviation; 1 for the second when all scores are the same."""
    middle = float(weights @ raw) / float(weights.sum())
    spread = float(np.sqrt(weights @ (raw - middle) ** 2 / weights.sum()))
    # equal scores may differ from their mean by a rounding error, which must not become a scale
    return middle, spread if spread > 1e-13 * abs(middle) else 1.0


def logistic_fit(
    design: NDArray,
    target: NDArray,
    weights: NDArray,
    theta: NDArray,
    offset: NDArray | float = 0.0,
) -> NDArray[np.float64]:
    """Return the coefficients of the logistic fit; the loss is convex, so halving is safe."""

    def odds_and_loss(at: NDArray) -> tuple[NDArray, float]:
        odds = design @ at + offset
        # log(1 + exp(odds)), which never overflows this way
        softplus = np.maximum(odds, 0) + np.log(1 + np.exp(-np.abs(odds)))
        return odds, float(weights @ (softplus - target * odds))

    odds, lowest = odds_and_loss(theta)
    for _ in range(_MOST_STEPS):
        probability = expit(odds)
        gradient = design.T @ (weights * (probability - target))
        information = weights * probability * (1 - probability)
        hessian = design.T @ (design * information[:, None]) + 1e-12 * np.eye(theta.size)
        step = np.linalg.solve(hessian, gradient)
        if np.abs(step).max() < _SMALL_STEP:
            return theta - step
        odds, lower = odds_and_loss(theta - step)
        while lower > lowest and np.abs(step).max() > _SMALL_STEP:
            step /= 2
            odds, lower = odds_and_loss(theta - step)
        theta, lowest = theta - step, lower
    return theta


def _variances(
    raw: NDArray, slope: float, intercept: float, weights: NDArray
) -> tuple[float, float, float]:
    """Return the (co)variances of slope and intercept: the inverse of the Fisher information."""
    probability = expit(slope * raw + intercept)
    information = weights * probability * (1 - probability)
    total = float(information.sum())
    if not total:
        return 0.0, 0.0, 0.0
    # taken about its centre, so that scores far from 0 lose no digits
    centre = float(information @ raw) / total
    about_slope = float(information @ (raw - centre) ** 2)
    if not about_slope:
        return 0.0, 0.0, 1 / total
    slope_variance = 1 / about_slope
    return slope_variance, -centre * slope_variance, 1 / total + centre**2 * slope_variance

"""From raw scores to probabilities that can be added up.

The sum of calibrated probabilities over a list is the number of positives to expect in it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logit
from scipy.stats import norm

from toprank import checks
from toprank.metrics import Interval

# calibration must not turn the ranking around, nor flatten it
_LEAST_SLOPE = 1e-3
_MOST_STEPS = 100


class SigmoidCalibration(NamedTuple):
    """Platt's map: probability = sigmoid(slope * raw + intercept); the slope is above 0.

    The last three are the (co)variances of slope and intercept: how far few labels pin them down.
    """

    slope: float
    intercept: float
    slope_variance: float = 0.0
    covariance: float = 0.0
    intercept_variance: float = 0.0

    def log_odds(self, raw: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated log-odds."""
        return self.slope * np.asarray(raw, dtype=np.float64) + self.intercept

    def probability(self, raw: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated probability."""
        return expit(self.log_odds(raw))

    def expected_positives(self, raw: ArrayLike, level: float = 0.9) -> Interval:
        """Return how many positives these rows hold, and the range that covers `level` of cases.

        The range counts chance, each row being positive or not, and the doubt about the
        calibration itself. It cannot count that tomorrow may differ from the calibrated rows.

        >>> SigmoidCalibration(1.0, 0.0).expected_positives([0.0] * 100)
        Interval(value=50.0, low=41.8, high=58.2)
        """
        raw = np.asarray(raw, dtype=np.float64)
        probability = self.probability(raw)
        spread = probability * (1 - probability)
        by_slope, by_intercept = float((spread * raw).sum()), float(spread.sum())
        variance = (
            by_intercept
            + by_slope**2 * self.slope_variance
            + 2 * by_slope * by_intercept * self.covariance
            + by_intercept**2 * self.intercept_variance
        )
        expected = float(probability.sum())
        reach = norm.ppf((1 + level) / 2) * np.sqrt(max(variance, 0.0))
        low, high = max(expected - reach, 0.0), min(expected + reach, raw.size)
        return Interval(round(expected, 1), round(float(low), 1), round(float(high), 1))


def fit_sigmoid(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None = None
) -> SigmoidCalibration:
    """Return the sigmoid with the least log-loss, towards softened labels.

    Labels are softened as Platt did, (P + 1) / (P + 2) and 1 / (N + 2), so that few positives,
    perfectly separated, do not claim certainty.

    >>> fit_sigmoid([False, False, True, True], [-2.0, 1.0, -1.0, 2.0]).slope > 0
    True
    """
    raw = checks.finite_vector(raw, "raw")
    labels = checks.positives(is_positive, "is_positive", like=raw)
    weights = checks.sample_weight(weight, raw.size)
    weights = np.ones(raw.size) if weights is None else weights
    positive, total = float(weights[labels].sum()), float(weights.sum())
    target = np.where(labels, (positive + 1) / (positive + 2), 1 / (total - positive + 2))
    # scores of any scale: fit on standardised ones, then fold the scaling into the answer
    middle = float(weights @ raw) / total
    spread = float(np.sqrt(weights @ (raw - middle) ** 2 / total)) or 1.0
    design = np.column_stack([(raw - middle) / spread, np.ones(raw.size)])
    start = np.array([_LEAST_SLOPE, logit((positive + 1) / (total + 2))])
    slope, intercept = _newton(design, target, weights, start)
    slope = max(slope, _LEAST_SLOPE) / spread
    intercept -= slope * middle
    return SigmoidCalibration(slope, intercept, *_variances(raw, slope, intercept, weights))


def _newton(
    design: NDArray, target: NDArray, weights: NDArray, theta: NDArray
) -> tuple[float, float]:
    """Return the two coefficients of the logistic fit; the loss is convex, so halving is safe."""

    def loss(at: NDArray) -> float:
        odds = design @ at
        return -float(weights @ (target * log_expit(odds) + (1 - target) * log_expit(-odds)))

    lowest = loss(theta)
    for _ in range(_MOST_STEPS):
        probability = expit(design @ theta)
        gradient = design.T @ (weights * (probability - target))
        information = weights * probability * (1 - probability)
        hessian = design.T @ (design * information[:, None]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while (lower := loss(theta - step)) > lowest and np.abs(step).max() > 1e-12:
            step /= 2
        theta, lowest = theta - step, min(lower, lowest)
        if np.abs(step).max() < 1e-10:
            break
    return float(theta[0]), float(theta[1])


def _variances(
    raw: NDArray, slope: float, intercept: float, weights: NDArray
) -> tuple[float, float, float]:
    """Return the (co)variances of slope and intercept: the inverse of the Fisher information."""
    probability = expit(slope * raw + intercept)
    information = weights * probability * (1 - probability)
    a, b, c = (float((information * raw**power).sum()) for power in (2, 1, 0))
    determinant = a * c - b * b
    if determinant <= 1e-12 * a * c:
        return 0.0, 0.0, 1 / c if c > 0 else 0.0
    return c / determinant, -b / determinant, a / determinant

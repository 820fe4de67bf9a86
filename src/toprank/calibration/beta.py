"""Beta calibration (Kull et al., 2017): a line in log-odds that bends once.

With Platt's probability s, log-odds are `a ln s - b ln(1 - s) + c`; a and b are not below 0. With
a = b it is a line again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from toprank.calibration.shaped import ShapedCalibration, Vector
from toprank.calibration.sigmoid import (
    fit_sigmoid,
    logistic_fit,
    weights_of_rows,
)
from toprank.data import checks

_LEAST_SLOPE = 1e-3


@dataclass(frozen=True, eq=False)
class BetaCalibration(ShapedCalibration):
    """The line, then a, b and c with their covariances, which assume that the shape is right."""

    theta: Vector
    covariance: NDArray[np.float64]

    def log_odds(self, raw: ArrayLike) -> Vector:
        """Return the calibrated log-odds, in the order of the raw scores."""
        # fixed order of sums: a row's probability must not depend on the other rows of the batch
        return np.einsum("ij,j->i", _design(self.line.log_odds(raw)), self.theta)

    def counted(self, raw: Vector) -> tuple[Vector, float]:
        """Return the probabilities to add up, and the calibration's variance of their sum."""
        design = _design(self.line.log_odds(raw))
        probability = expit(design @ self.theta)
        slope = (probability * (1 - probability)) @ design
        return probability, float(slope @ self.covariance @ slope)

    def _check(self) -> None:
        has_shape = self.theta.shape == (3,) and self.covariance.shape == (3, 3)
        if not has_shape or (self.theta[:2] < 0).any():
            raise ValueError(
                "theta of a beta calibration must be a and b of at least 0, and c; "
                f"got {self.theta.tolist()} and covariance of shape {self.covariance.shape}."
            )
        if (np.diag(self.covariance) < 0).any():
            raise ValueError(
                "variances of a calibration must be at least 0; "
                f"got {np.diag(self.covariance).min():g}."
            )


def fit_beta(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None = None
) -> BetaCalibration:
    """Return the beta calibration with the least log-loss, for labels softened as Platt's are.

    >>> raw = np.linspace(-6, 6, 4000)
    >>> is_positive = np.random.default_rng(0).random(4000) < 0.6 / (1 + np.exp(-2 * raw))
    >>> bent = fit_beta(is_positive, raw).theta
    >>> bool(bent[0] > bent[1])
    True
    """
    raw = checks.finite_vector(raw, "raw")
    labels = checks.positives(is_positive, "is_positive", like=raw)
    weights = weights_of_rows(weight, raw.size)
    line = fit_sigmoid(labels, raw, weight)
    positive, total = float(weights[labels].sum()), float(weights.sum())
    target = np.where(labels, (positive + 1) / (positive + 2), 1 / (total - positive + 2))
    design = _design(line.log_odds(raw))
    # a convex fit with a, b >= 0: first unbounded, then with violated bounds as fixed values
    theta, free = np.array([1.0, 1.0, 0.0]), np.ones(3, dtype=bool)
    while True:
        fixed = design[:, ~free] @ theta[~free]
        theta[free] = logistic_fit(design[:, free], target, weights, theta[free], fixed)
        outside = free & (theta < [_LEAST_SLOPE, _LEAST_SLOPE, -np.inf])
        if not outside.any():
            break
        theta[outside], free = _LEAST_SLOPE, free & ~outside
    return BetaCalibration(line, theta, _covariance(design, theta, weights, free))


def _covariance(
    design: NDArray, theta: NDArray, weights: NDArray, free: NDArray[np.bool_]
) -> NDArray[np.float64]:
    probability = expit(design @ theta)
    information = weights * probability * (1 - probability)
    fisher = design[:, free].T @ (design[:, free] * information[:, None])
    covariance = np.zeros((3, 3))
    covariance[np.ix_(free, free)] = np.linalg.pinv(fisher, hermitian=True)
    return covariance


def _design(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln s, -ln(1 - s) and 1, from the log-odds of s."""
    return np.column_stack(
        [-np.logaddexp(0, -log_odds), np.logaddexp(0, log_odds), np.ones(log_odds.size)]
    )

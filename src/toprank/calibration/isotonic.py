"""Isotonic calibration: the rising steps nearest to the labels.

It takes any rising shape but needs many positives for that: hundreds at least. The top step of a
few rows, all positive, would claim certainty, so each step is shrunk towards the share of
positives in all rows by half a row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from toprank.calibration.shaped import ShapedCalibration, Vector
from toprank.calibration.sigmoid import fit_sigmoid, weights_of_rows
from toprank.data import checks

_PRIOR_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class IsotonicCalibration(ShapedCalibration):
    """Steps: where each begins, its log-odds, and its number of rows.

    The uncertainty is that of each step's share, not of where the steps are.
    """

    begins: Vector
    values: Vector
    n_rows: Vector

    def log_odds(self, raw: ArrayLike) -> Vector:
        """Return the calibrated log-odds; equal for all rows of a step."""
        return self.values[self._step(np.asarray(raw, dtype=np.float64))]

    def counted(self, raw: Vector) -> tuple[Vector, float]:
        """Return the probabilities to add up, and the calibration's variance of their sum."""
        step = self._step(raw)
        n_members = np.bincount(step, minlength=self.values.size)
        share = expit(self.values)
        doubt = n_members**2 * share * (1 - share) / (self.n_rows + _PRIOR_ROWS)
        return share[step], float(doubt.sum())

    def _step(self, raw: Vector) -> NDArray[np.intp]:
        return np.maximum(np.searchsorted(self.begins, raw, side="right") - 1, 0)

    def _check(self) -> None:
        shapes = {each.shape for each in (self.begins, self.values, self.n_rows)}
        if len(shapes) > 1 or self.begins.ndim != 1 or not self.begins.size:
            raise ValueError("steps of a calibration must each have a begin, a value and rows.")
        if not ((np.diff(self.begins) > 0).all() and (np.diff(self.values) >= 0).all()):
            raise ValueError("steps of a calibration must rise.")
        if (self.n_rows < 0).any():
            raise ValueError("steps of a calibration must rest on rows.")


def fit_isotonic(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None = None
) -> IsotonicCalibration:
    """Return the isotonic calibration.

    >>> steps = fit_isotonic([0, 0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> steps.begins.tolist()
    [1.0, 3.0, 5.0]
    """
    raw = checks.finite_vector(raw, "raw")
    labels = checks.positives(is_positive, "is_positive", like=raw)
    weights = weights_of_rows(weight, raw.size)
    order = np.argsort(raw)
    order = order[weights[order] > 0]  # rows with zero weight are ignored
    score = raw[order]
    starts = np.flatnonzero(np.append(True, np.diff(score) > 0))
    n_rows = np.add.reduceat(weights[order], starts)
    n_positive = np.add.reduceat(weights[order] * labels[order], starts)
    steps = isotonic_regression(n_positive / n_rows, sample_weight=n_rows)
    first = np.flatnonzero(np.append(True, np.diff(steps) > 0))
    rows, positives = np.add.reduceat(n_rows, first), np.add.reduceat(n_positive, first)
    overall = n_positive.sum() / n_rows.sum()
    drawn_in = (positives + _PRIOR_ROWS * overall) / (rows + _PRIOR_ROWS)
    # half a row may reverse two small steps
    values = isotonic_regression(logit(drawn_in), sample_weight=rows)
    return IsotonicCalibration(
        fit_sigmoid(labels, raw, weight), score[starts][first], values, rows
    )

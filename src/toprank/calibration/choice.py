"""Calibrations by name, and to and from plain values."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from toprank.calibration.beta import BetaCalibration, fit_beta
from toprank.calibration.isotonic import IsotonicCalibration, fit_isotonic
from toprank.calibration.sigmoid import SigmoidCalibration, fit_sigmoid
from toprank.calibration.smooth import SmoothCalibration, fit_smooth
from toprank.data import checks

Calibration = SigmoidCalibration | SmoothCalibration | BetaCalibration | IsotonicCalibration

_FITS: dict[str, Callable[..., Calibration]] = {
    "smooth": fit_smooth,
    "sigmoid": fit_sigmoid,
    "beta": fit_beta,
    "isotonic": fit_isotonic,
}
METHODS = tuple(_FITS)
"""Names of the methods; "smooth" is safe with few positives and with many."""

_KINDS: dict[str, Any] = {
    "smooth": SmoothCalibration,
    "beta": BetaCalibration,
    "isotonic": IsotonicCalibration,
}
# so large that no sum of leaves times the slope can overflow
_LARGEST = 1e100


def fit_calibration(
    is_positive: ArrayLike,
    raw: ArrayLike,
    method: str = "smooth",
    *,
    weight: ArrayLike | None = None,
) -> Calibration:
    """Return the calibration from raw scores to probabilities, by one of `METHODS`.

    Use rows that the ranker has not learned from. "smooth" is for any number of positives.
    "sigmoid" (Platt) and "beta" keep their shape whatever the labels say; "isotonic" follows the
    labels, which is right with hundreds of positives.

    >>> is_positive, raw = [0, 0, 1, 0, 1, 1] * 20, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 20
    >>> calibration = fit_calibration(is_positive, raw, "sigmoid")
    >>> calibration.expected_positives([6.0] * 10).value > 9
    True
    """
    fit = _FITS[checks.one_of(method, "method", METHODS)]
    return fit(is_positive, raw, weight)


def calibration_to_json(calibration: Calibration) -> Any:
    """Return a calibration as plain values: the numbers of a sigmoid, or a dict with its kind."""
    if isinstance(calibration, SigmoidCalibration):
        return list(calibration)
    (kind,) = (name for name, each in _KINDS.items() if isinstance(calibration, each))
    return {"kind": kind, **calibration.to_json()}


def calibration_from_json(plain: Any) -> Calibration:
    """Return the calibration that `calibration_to_json` wrote; ValueError if it is not valid.

    >>> calibration_from_json([1.0, 0.0, 0.0, 0.0, 0.0])
    SigmoidCalibration(slope=1.0, intercept=0.0, slope_variance=0.0, covariance=0.0, \
intercept_variance=0.0)
    """
    if isinstance(plain, dict):
        kind = checks.one_of(plain["kind"], "kind of calibration", tuple(_KINDS))
        calibration = _KINDS[kind].from_json(plain)
    else:
        calibration = SigmoidCalibration(*map(float, plain))
    line = calibration.line
    if not ((np.abs(line) < _LARGEST).all() and line.slope > 0):
        raise ValueError(f"calibration must be finite and rising; got {line}.")
    return calibration

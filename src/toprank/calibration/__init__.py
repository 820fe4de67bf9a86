"""From raw scores to probabilities that can be added up.

The sum of calibrated probabilities over a list is the number of positives to expect in it.
`sigmoid` is Platt's line in log-odds, `beta` bends it once, `isotonic` takes any rising shape, and
`smooth` bends the line as far as the labels support it: hardly at all with few positives.
"""

from toprank.calibration.beta import BetaCalibration, fit_beta
from toprank.calibration.choice import (
    METHODS,
    Calibration,
    calibration_from_json,
    calibration_to_json,
    fit_calibration,
)
from toprank.calibration.counts import bounded_range, count_range
from toprank.calibration.isotonic import IsotonicCalibration, fit_isotonic
from toprank.calibration.sigmoid import SigmoidCalibration, fit_sigmoid
from toprank.calibration.smooth import SmoothCalibration, fit_smooth

__all__ = [
    "METHODS",
    "BetaCalibration",
    "Calibration",
    "IsotonicCalibration",
    "SigmoidCalibration",
    "SmoothCalibration",
    "bounded_range",
    "calibration_from_json",
    "calibration_to_json",
    "count_range",
    "fit_beta",
    "fit_calibration",
    "fit_isotonic",
    "fit_sigmoid",
    "fit_smooth",
]

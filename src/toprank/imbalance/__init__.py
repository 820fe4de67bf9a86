"""What rare positives ask for around a ranker: sampling, costs, thresholds, calibration.

Names load when first used: rankers themselves use the calibration in here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toprank.imbalance.balance_cascade import BalanceCascade
    from toprank.imbalance.calibration import fit_calibration
    from toprank.imbalance.cost_boost import CostBoost
    from toprank.imbalance.costs import (
        CostMatrix,
        best_savings,
        expected_savings,
        expected_savings_curve,
        minimum_risk,
        savings_curve,
    )
    from toprank.imbalance.prior import undersampling_corrected
    from toprank.imbalance.sampling import SampledRanker
    from toprank.imbalance.thresholded import ThresholdedRanker
    from toprank.imbalance.thresholds import choose_threshold, f_beta_by_threshold

_HOME_OF = {
    "BalanceCascade": "balance_cascade",
    "CostBoost": "cost_boost",
    "CostMatrix": "costs",
    "SampledRanker": "sampling",
    "ThresholdedRanker": "thresholded",
    "best_savings": "costs",
    "choose_threshold": "thresholds",
    "expected_savings": "costs",
    "expected_savings_curve": "costs",
    "f_beta_by_threshold": "thresholds",
    "fit_calibration": "calibration",
    "minimum_risk": "costs",
    "savings_curve": "costs",
    "undersampling_corrected": "prior",
}

__all__ = [
    "BalanceCascade",
    "CostBoost",
    "CostMatrix",
    "SampledRanker",
    "ThresholdedRanker",
    "best_savings",
    "choose_threshold",
    "expected_savings",
    "expected_savings_curve",
    "f_beta_by_threshold",
    "fit_calibration",
    "minimum_risk",
    "savings_curve",
    "undersampling_corrected",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"toprank.imbalance.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'toprank.imbalance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

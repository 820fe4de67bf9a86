"""What rare positives ask for around a ranker: sampling, costs, thresholds."""

from toprank.imbalance.balance_cascade import BalanceCascade
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
    "minimum_risk",
    "savings_curve",
    "undersampling_corrected",
]

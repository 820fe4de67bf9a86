"""Sampling, costs and thresholds: tools around a ranker for rare positives."""

from toprank.decisions.balance_cascade import BalanceCascade
from toprank.decisions.cost_boost import CostBoost
from toprank.decisions.costs import (
    CostMatrix,
    best_savings,
    expected_savings,
    expected_savings_curve,
    minimum_risk,
    savings_curve,
)
from toprank.decisions.prior import undersampling_corrected
from toprank.decisions.sampled_ranker import SampledRanker
from toprank.decisions.thresholded import ThresholdedRanker
from toprank.decisions.thresholds import choose_threshold, f_beta_by_threshold

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

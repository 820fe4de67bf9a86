"""What good means: points and curves of a ranking, with intervals and paired comparison.

Everything takes labels and suspicions, one per row; a higher suspicion is more suspicious.
"""

from toprank.metrics.curves import (
    CalibrationCurve,
    ChecksCurve,
    PrecisionRecallCurve,
    RocCurve,
    calibration_curve,
    checks_curve,
    precision_recall_curve,
    roc_curve,
)
from toprank.metrics.intervals import Comparison, Interval, compare, interval
from toprank.metrics.points import (
    BestFBeta,
    average_precision,
    best_f_beta,
    f_beta,
    found_at_k,
    matthews_correlation,
    partial_roc_auc,
    positives_at_top,
    precision_at_k,
    precision_recall_gain,
    prevalence_adjusted_ap,
    recall_at_k,
    roc_auc,
)
from toprank.metrics.ranking import Ranking

__all__ = [
    "BestFBeta",
    "CalibrationCurve",
    "ChecksCurve",
    "Comparison",
    "Interval",
    "PrecisionRecallCurve",
    "Ranking",
    "RocCurve",
    "average_precision",
    "best_f_beta",
    "calibration_curve",
    "checks_curve",
    "compare",
    "f_beta",
    "found_at_k",
    "interval",
    "matthews_correlation",
    "partial_roc_auc",
    "positives_at_top",
    "precision_at_k",
    "precision_recall_curve",
    "precision_recall_gain",
    "prevalence_adjusted_ap",
    "recall_at_k",
    "roc_auc",
    "roc_curve",
]

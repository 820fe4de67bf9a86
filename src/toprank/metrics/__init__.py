"""What good means: points and curves of a ranking, with intervals and paired comparison.

A higher suspicion is more suspicious. Everything takes labels and suspicions, one per row, but for
mass-volume and excess-mass curves: they judge without labels, against points in a box.
"""

from toprank.metrics.cards import (
    CardChecks,
    card_precision_at_k,
    card_precision_ceiling,
    card_precision_interval,
    card_recall,
    checks_by_day,
    money_at_k,
)
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
from toprank.metrics.mass_volume import (
    ExcessMassCurve,
    HopelessVolume,
    MassVolumeCurve,
    area_under_excess_mass,
    area_under_mass_volume,
    excess_mass_curve,
    mass_volume_curve,
    mass_volume_interval,
    mass_volume_of_groups,
)
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
    "CardChecks",
    "ChecksCurve",
    "Comparison",
    "ExcessMassCurve",
    "HopelessVolume",
    "Interval",
    "MassVolumeCurve",
    "PrecisionRecallCurve",
    "Ranking",
    "RocCurve",
    "area_under_excess_mass",
    "area_under_mass_volume",
    "average_precision",
    "best_f_beta",
    "calibration_curve",
    "card_precision_at_k",
    "card_precision_ceiling",
    "card_precision_interval",
    "card_recall",
    "checks_by_day",
    "checks_curve",
    "compare",
    "excess_mass_curve",
    "f_beta",
    "found_at_k",
    "interval",
    "mass_volume_curve",
    "mass_volume_interval",
    "mass_volume_of_groups",
    "matthews_correlation",
    "money_at_k",
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

"""Curves of a ranking, drawn on matplotlib axes.

Every function draws on `ax`, or on a new figure of its own when none is given, and returns the
axes: `plots.roc(y, suspicion).figure.savefig("roc.svg")`. Another call on the same axes adds
another model. Nothing here touches pyplot's global state.
"""

from toprank.plots.anomaly_plots import excess_mass_curves, mass_volume_curves
from toprank.plots.curve_plots import calibration, checks, precision_recall, roc
from toprank.plots.feedback_plots import card_precision_by_day, cards_found_by_day
from toprank.plots.named_rows import importance, intervals
from toprank.plots.threshold_plots import f_beta_by_threshold, metrics_by_ratio, savings

__all__ = [
    "calibration",
    "card_precision_by_day",
    "cards_found_by_day",
    "checks",
    "excess_mass_curves",
    "f_beta_by_threshold",
    "importance",
    "intervals",
    "mass_volume_curves",
    "metrics_by_ratio",
    "precision_recall",
    "roc",
    "savings",
]

"""Features of payments as of their own time: what a card, a terminal, any key did before.

A `History` contains the past. It returns the features of a table or of one row, by the same code,
and never looks ahead: rows count from their own time on, labels from the time they were known.
"""

from toprank.payments.features.history import History
from toprank.payments.features.kinds import (
    Feature,
    FirstTime,
    KnownPositives,
    LabelRisk,
    Night,
    Recent,
    SinceLast,
    ToUsual,
    Value,
    Weekend,
    as_json,
    from_json,
)
from toprank.payments.features.past import LabelCounts
from toprank.payments.features.presets import default_features, handbook_features

__all__ = [
    "Feature",
    "FirstTime",
    "History",
    "KnownPositives",
    "LabelCounts",
    "LabelRisk",
    "Night",
    "Recent",
    "SinceLast",
    "ToUsual",
    "Value",
    "Weekend",
    "as_json",
    "default_features",
    "from_json",
    "handbook_features",
]

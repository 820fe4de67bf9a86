"""The rule by which a density tree ranks a row, in words."""

from typing import Any

import numpy as np

from toprank.data import inputs
from toprank.rankers.reasons import number_text
from toprank.rankers.trees.reading.words import SPACE


def rules_of_rows(detector: Any, X: Any) -> list[str] | None:
    """Return for every row its group and the rule that puts it there, or why it is outside.

    None if the detector is not a single tree.

    >>> from toprank import AnomalyTreeRank
    >>> hours = np.append(np.arange(100) % 12 + 1.0, 24.0)[:, None]
    >>> detector = AnomalyTreeRank(global_depth=1).fit(hours)
    >>> for rule in rules_of_rows(detector, [[24.0], [72.0]]):
    ...     print(rule)
    in group 1 of 2 (9 rows in 63 % of the space): x0 > 11: 9 rows in 63 % of the space
    outside the bounds: x0 > 30
    """
    if not (hasattr(detector, "paths") and hasattr(detector, "box_")):
        return None
    features = inputs.Encoded(inputs.read_features(detector, X))
    return [
        outside_text(beyond) if beyond else path.text(SPACE)
        for path, beyond in zip(
            detector.paths(features), conditions_outside(detector, features), strict=True
        )
    ]


def conditions_outside(detector: Any, X: Any) -> list[list[str]]:
    """Return for every row what puts it outside the box of a tree; nothing for rows inside.

    >>> from toprank import AnomalyTreeRank
    >>> hours = np.append(np.arange(100) % 12 + 1.0, 24.0)[:, None]
    >>> conditions_outside(AnomalyTreeRank().fit(hours), [[24.0], [72.0], [np.nan]])
    [[], ['x0 > 30'], ['x0 is missing']]
    """
    features = inputs.read_features(detector, X)
    is_outside = detector.box_.beyond(features) > 0
    return [
        [_condition(detector, int(column), row[column]) for column in np.flatnonzero(outside)]
        for row, outside in zip(features, is_outside, strict=True)
    ]


def outside_text(conditions: list[str]) -> str:
    """Return what puts a row outside as one line.

    >>> outside_text(["amount > 500", "hour is missing"])
    'outside the bounds: amount > 500 and hour is missing'
    """
    return f"outside the bounds: {' and '.join(conditions)}"


def _condition(detector: Any, column: int, value: float) -> str:
    name = detector.schema_.columns[column].name
    low, high = detector.box_.low[column], detector.box_.high[column]
    if np.isnan(value):
        return f"{name} is missing"
    return f"{name} < {number_text(low)}" if value < low else f"{name} > {number_text(high)}"

"""Intervals of a metric, and whether one ranking is better than another.

Rows are resampled with replacement and the metric is measured again on each resample; the middle
`level` of these values is the interval (percentile bootstrap).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from toprank.data import checks
from toprank.metrics import points
from toprank.metrics.ranking import Ranking
from toprank.metrics.resampling import Seed, paired_resamples, percentile_band, resamples
from toprank.wording import decimal


class Interval(NamedTuple):
    """A metric's value and its interval; prints as `.71 (.68-.73)`."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return _written(*self)


class Comparison(NamedTuple):
    """How far one ranking is ahead of another.

    `share_above` is the share of resamples in which the first is ahead, a tie counting half.
    """

    difference: float
    low: float
    high: float
    share_above: float

    def __str__(self) -> str:
        return _written(self.difference, self.low, self.high)


def interval(
    metric: str | Callable[..., Any],
    y: ArrayLike,
    suspicion: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
    **options: Any,
) -> Interval:
    """Return the value of `metric` with its bootstrap interval.

    `metric` is a function of this package or its name; `options` are what it takes besides labels
    and suspicions, for example `k=100`. A resample with fewer than k rows has all its rows
    checked.

    >>> y, suspicion = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> value, low, high = interval("precision_at_k", y, suspicion, k=4)
    >>> low <= value <= high
    True
    """
    name, formula = _named(metric)
    value = _measured(name, y, suspicion, options)
    ranking = Ranking.of(y, suspicion).merged(border=options.get("threshold"))
    values = [formula(each, **options) for each in resamples(ranking, n_resamples, random_state)]
    low, high = percentile_band(np.array(values), level)
    return Interval(value, float(low), float(high))


def compare(
    metric: str | Callable[..., Any],
    y: ArrayLike,
    suspicion_a: ArrayLike,
    suspicion_b: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
    **options: Any,
) -> Comparison:
    """Return how far `suspicion_a` is ahead of `suspicion_b`, both seeing the same resampled rows.

    `metric` and `options` are those of `interval`.

    >>> y, good, bad = [1, 1, 0, 0, 0], [5, 4, 3, 2, 1], [1, 2, 3, 4, 5]
    >>> compare("roc_auc", y, good, bad)
    Comparison(difference=1.0, low=1.0, high=1.0, share_above=1.0)
    """
    name, formula = _named(metric)
    value_a = _measured(name, y, suspicion_a, options)
    value_b = _measured(name, y, suspicion_b, options)
    suspicions = [checks.finite_vector(each, "suspicion") for each in (suspicion_a, suspicion_b)]
    rankings = [Ranking.of(y, each).merged(options.get("threshold")) for each in suspicions]
    pairs = paired_resamples(checks.positives(y), suspicions, rankings, n_resamples, random_state)
    differences = np.array([formula(a, **options) - formula(b, **options) for a, b in pairs])
    low, high = percentile_band(differences, level)
    share_above = np.mean((differences > 0) + (differences == 0) / 2)
    return Comparison(value_a - value_b, float(low), float(high), float(share_above))


def _named(metric: str | Callable[..., Any]) -> tuple[str, Callable[..., float]]:
    """Return the metric's name and its formula on a ranking."""
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    known = name in points.FORMULAS
    if not known or not (metric == name or metric is getattr(points, name)):
        names = ", ".join(points.FORMULAS)
        hint = checks.nearest_name(name, list(points.FORMULAS)) if not known else ""
        raise ValueError(f"metric must be one of {names}; got {metric!r}{hint or '.'}")
    return name, points.FORMULAS[name]


def _measured(name: str, y: ArrayLike, suspicion: ArrayLike, options: dict[str, Any]) -> float:
    """Return the metric on all rows; its public function checks labels and options."""
    value = getattr(points, name)(y, suspicion, **options)
    return value.value if isinstance(value, points.BestFBeta) else value


def _written(value: float, low: float, high: float) -> str:
    """Return the three numbers with as many decimals as the interval warrants."""
    half_width = (high - low) / 2
    # at least two for shares: .6 (.5-.7) is too short to compare with its neighbours
    fewest = 2 if max(abs(low), abs(high)) <= 1 else 0
    decimals = 2 if half_width == 0 else int(np.clip(-np.floor(np.log10(half_width)), fewest, 9))
    dash = "-" if low >= 0 else " to "
    return f"{decimal(value, decimals)} ({decimal(low, decimals)}{dash}{decimal(high, decimals)})"

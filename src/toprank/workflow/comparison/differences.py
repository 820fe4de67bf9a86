"""Paired differences of two models on the same test rows, and how they are put into words.

Both models see the same resampled rows, so that luck they share cancels out. The interval of a
difference is wide enough for all differences that are looked at (Bonferroni); a difference is
significant when its interval leaves out 0.
"""

from dataclasses import dataclass
from math import floor, log10
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from toprank import metrics
from toprank.metrics import Interval
from toprank.wording import decimal

SURE = 0.95
"""How sure all differences of one comparison are together."""

N_RESAMPLES = 500
LINE_WIDTH = 99

_N_CELL_RESAMPLES = 20_000  # a few counts each: enough to read extreme percentiles


@dataclass(frozen=True)
class PairedDifference:
    """How far one learner is ahead of another on the test rows, with its interval."""

    learner: str
    against: str
    value: float
    low: float
    high: float
    metric: str = "AP"

    @property
    def is_significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def level_for(n_differences: int) -> float:
    """Return the level of one difference at which so many of them hold together at 95 %.

    >>> round(level_for(10), 3)
    0.995
    """
    return 1 - (1 - SURE) / max(n_differences, 1)


def ranking_lead(
    metric: str,
    is_positive: NDArray[np.bool_],
    suspicion: NDArray[np.float64],
    other: NDArray[np.float64],
    level: float,
) -> Interval:
    """Return how far `suspicion` is ahead of `other` in a metric of rankings.

    >>> y, good, bad = np.array([1, 1, 0, 0]), np.array([4.0, 3, 2, 1]), np.array([1.0, 2, 3, 4])
    >>> ranking_lead("roc_auc", y, good, bad, 0.95)
    Interval(value=1.0, low=1.0, high=1.0)
    """
    lead = metrics.compare(
        metric, is_positive, suspicion, other, level=SURE, n_resamples=N_RESAMPLES
    )
    return _stretched(lead, level)


def f1_interval(is_positive: NDArray[np.bool_], called: NDArray[np.bool_]) -> Interval:
    """Return the F1 of the rows called positive, with its 95 % interval.

    >>> f1_interval(np.array([True, True, False]), np.array([True, True, False]))
    Interval(value=1.0, low=1.0, high=1.0)
    """
    value, values = _f1_and_resamples(is_positive, [called])
    return _percentiles(value[0], values[0], SURE)


def f1_lead(
    is_positive: NDArray[np.bool_],
    called: NDArray[np.bool_],
    other: NDArray[np.bool_],
    level: float,
) -> Interval:
    """Return how far the F1 of the rows called positive is ahead of that of other calls.

    The calls may come from different thresholds. Rows differ in no more than whether they are
    positive and called by either, so a resample is one draw of eight counts.

    >>> y = np.array([True, True, False, False])
    >>> f1_lead(y, y, np.array([True, False, True, False]), 0.95).value
    0.5
    """
    (value, other_value), (values, other_values) = _f1_and_resamples(is_positive, [called, other])
    return _percentiles(value - other_value, values - other_values, level)


def significant_sentence(difference: PairedDifference) -> str:
    """Return a sentence: "auto leads log by .021 (.008 to .034): significant."."""
    verb = "leads" if difference.value > 0 else "trails"
    return f"{difference.learner} {verb} {difference.against} by {size(difference)}: significant."


def size(difference: PairedDifference) -> str:
    """Return ".021 (.008 to .034)", with enough decimals to show that it is not 0."""
    near, far = sorted((abs(difference.low), abs(difference.high)))
    decimals = max(3, -floor(log10(near)))
    numbers = (decimal(number, decimals) for number in (abs(difference.value), near, far))
    return "{} ({} to {})".format(*numbers)


def error_sentence(error: Exception) -> str:
    """Return the first line of an error, with its kind where it may not be a sentence of ours.

    >>> error_sentence(KeyError("amount"))
    "KeyError: 'amount'"
    """
    first, *_ = [*str(error).splitlines(), ""]
    if first and isinstance(error, ValueError | TypeError | ImportError | OSError):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _stretched(lead: metrics.Comparison, level: float) -> Interval:
    """Return a difference with its 95 % interval stretched to `level` as a normal one would be.

    There are too few resamples to read percentiles that far out.
    """
    more = NormalDist().inv_cdf((1 + level) / 2) / NormalDist().inv_cdf((1 + SURE) / 2)
    middle, half_width = (lead.low + lead.high) / 2, (lead.high - lead.low) / 2
    return Interval(lead.difference, middle - more * half_width, middle + more * half_width)


def _f1_and_resamples(
    is_positive: NDArray[np.bool_], calls: list[NDArray[np.bool_]]
) -> tuple[list[float], list[NDArray[np.float64]]]:
    """Return the F1 of each call on all rows and on resampled ones, the same for every call."""
    # a row's cell: a bit for its label, then one for each call
    cell = sum(np.asarray(bits, dtype=int) << i for i, bits in enumerate([is_positive, *calls]))
    counts = np.bincount(cell, minlength=2 ** (len(calls) + 1))
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(counts.sum(), counts / counts.sum(), size=_N_CELL_RESAMPLES)
    numbers = np.arange(counts.size)
    positive = numbers & 1 == 1
    drawn = drawn[drawn[:, positive].any(axis=1)]  # as with other metrics, both classes are there
    values, resampled = [], []
    for i in range(1, len(calls) + 1):
        called = numbers >> i & 1 == 1
        values.append(float(_f1(counts[None], positive, called)[0]))
        resampled.append(_f1(drawn, positive, called))
    return values, resampled


def _f1(counts: NDArray, positive: NDArray, called: NDArray) -> NDArray[np.float64]:
    """Return 2 TP / (2 TP + FP + FN) for each row of counts."""
    right = counts[:, positive & called].sum(axis=1)
    total = counts[:, positive].sum(axis=1) + counts[:, called].sum(axis=1)
    return 2 * right / total


def _percentiles(value: float, values: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))

"""What the rows of an experiment in time say: leads with intervals, and how often ranges held."""

from collections.abc import Iterable
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.metrics import Interval
from toprank.metrics.positive_resamples import PositiveResamples
from toprank.metrics.resampling import percentile_band
from toprank_bench.experiment import Experiment
from toprank_bench.in_time.daily_lists import DailyList
from toprank_bench.protocols.later_rows import TOPRANK
from toprank_bench.row_file import Row
from toprank_bench.runner import recorded

N_RESAMPLES = 200
_LEVEL = 0.95


class Coverage(NamedTuple):
    """On how many of so many days the range of a list contained the positives found in it."""

    n_covered: int
    n_days: int

    @property
    def share(self) -> float:
        """The share of days.

        >>> Coverage(9, 10).share
        0.9
        """
        return self.n_covered / self.n_days


class TimeResults:
    """The recorded rows by table and method; `ours` is the method that others are compared with.

    It is the first one of toprank that has rows. Where none has, there is nothing to compare, and
    a ValueError says so.
    """

    def __init__(self, experiment: Experiment, rows: Iterable[Row]) -> None:
        self.experiment = experiment
        known = recorded(experiment, rows)
        self._rows = {(cell.data, cell.method): row for cell, row in known.items()}
        measured = {method for _, method in self._rows}
        of_toprank = [each.name for each in experiment.methods if each.learner == TOPRANK]
        if not measured.intersection(of_toprank):
            raise ValueError(f"{experiment.name} must have rows of toprank; it has none.")
        self.ours = next(name for name in of_toprank if name in measured)
        self._resampled: dict[tuple[str, str], NDArray[np.float64]] = {}

    @cached_property
    def tables(self) -> list[str]:
        """The tables on which toprank was measured."""
        return [data for data in self.experiment.data if self.has(data, self.ours)]

    @cached_property
    def rivals(self) -> list[str]:
        """The other methods that were measured on one of these tables."""
        return [
            each.name
            for each in self.experiment.methods
            if each.name != self.ours and any(self.has(data, each.name) for data in self.tables)
        ]

    def has(self, data: str, method: str) -> bool:
        """Return whether a method was measured on a table."""
        return (data, method) in self._rows

    def figure(self, metric: str, data: str, method: str) -> float | None:
        """Return a figure; None where it was not measured."""
        return self._rows[data, method]["figures"].get(metric)

    def fact(self, name: str, data: str, method: str) -> int:
        """Return a further number of a row, such as its later positives."""
        return self._rows[data, method]["facts"][name]

    def average_precision(self, data: str, method: str) -> Interval:
        """Return the average precision of a method on a table."""
        return _interval(self._average_precisions(data, method))

    def lead(self, data: str, rival: str) -> Interval:
        """Return how far toprank is ahead in average precision, on the same resamples."""
        ours, theirs = (self._average_precisions(data, each) for each in (self.ours, rival))
        return _interval(ours - theirs)

    def lists(self, data: str) -> list[DailyList]:
        """Return the lists of toprank, one per later day."""
        return [DailyList(*each) for each in self._rows[data, self.ours]["facts"]["lists"]]

    def coverage(self, tables: Iterable[str], third: int | None = None) -> Coverage:
        """Return on how many days the range held; of a third of each table's days, if given."""
        chosen: list[DailyList] = []
        for data in tables:
            lists = self.lists(data)
            parts = np.array_split(np.arange(len(lists)), 3)
            days = range(len(lists)) if third is None else parts[third]
            chosen += [lists[day] for day in days]
        return Coverage(sum(each.is_covered for each in chosen), len(chosen))

    def mean(self, metric: str, method: str) -> float | None:
        """Return the mean over all tables; None where one of them lacks the figure."""
        found = [
            self.figure(metric, data, method) if self.has(data, method) else None
            for data in self.tables
        ]
        values = [each for each in found if each is not None]
        return fmean(values) if values and len(values) == len(found) else None

    def _average_precisions(self, data: str, method: str) -> NDArray[np.float64]:
        """Return the average precision of the rows, then of each resample of the positives."""
        if (data, method) not in self._resampled:
            facts = self._rows[data, method]["facts"]
            is_positive, scores = _as_scores(np.array(facts["ranks"]), facts["later_rows"])
            resamples = PositiveResamples(is_positive, None, N_RESAMPLES, seed=0)
            self._resampled[data, method] = resamples.average_precisions(scores)
        return self._resampled[data, method]


def _interval(values: NDArray[np.float64]) -> Interval:
    low, high = percentile_band(values[1:], _LEVEL)
    return Interval(float(values[0]), float(low), float(high))


def _as_scores(
    ranks: NDArray[np.int64], n_rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return rows in which positives have these ranks: whether each is positive, and scores.

    A rank counts all rows that score as high or higher. Negatives go to the levels of positives,
    where they count the same as anywhere between two of them.

    >>> _as_scores(np.array([3, 1]), n_rows=5)
    (array([ True,  True, False, False, False]), array([-3., -1., -3., -6., -6.]))
    """
    levels, n_positive = np.unique(ranks, return_counts=True)
    n_negative_above = levels - np.cumsum(n_positive)
    negatives = np.repeat(-levels, np.diff(n_negative_above, prepend=0))
    lowest = np.full(n_rows - ranks.size - negatives.size, -(n_rows + 1))
    return np.arange(n_rows) < ranks.size, np.concatenate([-ranks, negatives, lowest]).astype(
        float
    )

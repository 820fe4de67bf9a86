"""How well a ranking serves people with time for so many checks."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank import checks, metrics, splits, tables
from toprank.metrics import Interval
from toprank.metrics.resampling import percentile_band

_N_RESAMPLES = 200


@dataclass(frozen=True)
class Evaluation:
    """The figures of one ranking of labelled rows.

    `day` parts the rows into one list a day; without it they are one list. The budget is the
    number of checks of a list.
    """

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    budget: int
    day: NDArray[np.int64] | None = None

    @cached_property
    def average_precision(self) -> Interval:
        """AP over all rows."""
        return metrics.interval("average_precision", self.is_positive, self.suspicion)

    @cached_property
    def positives_at_top(self) -> Interval:
        """Share of the positives above the first false alarm, over all rows."""
        return metrics.interval("positives_at_top", self.is_positive, self.suspicion)

    @cached_property
    def roc_auc(self) -> Interval:
        """Area under the ROC curve over all rows."""
        return metrics.interval("roc_auc", self.is_positive, self.suspicion)

    @cached_property
    def found(self) -> Interval:
        """Positives in the budget's checks; of the average day when there are days."""
        if self.day is None:
            return metrics.interval(
                "found_at_k", self.is_positive, self.suspicion, k=self._checks_of(self.budget)
            )
        lists = self._resampled_days
        drawn = np.random.default_rng(0).integers(len(lists), size=(_N_RESAMPLES, len(lists)))
        means = lists[drawn, np.arange(_N_RESAMPLES)[:, None]].mean(axis=1)
        return Interval(self.found_with(self.budget), *map(float, percentile_band(means, 0.95)))

    @cached_property
    def likely(self) -> Interval:
        """Positives to expect in one more list, with the range of nine lists out of ten.

        Wider than `found`, which is about the average list: one list has luck of its own.
        """
        value, low, high = self.found
        if self.day is not None:
            low, high = map(float, percentile_band(self._resampled_days.ravel(), 0.9))
        else:
            # the new list's luck comes on top of ours; .95 to .9 and one to two draws
            stretch = np.sqrt(2) * 1.645 / 1.96
            low, high = value - (value - low) * stretch, value + (high - value) * stretch
        return Interval(value, max(low, 0.0), min(high, float(self.budget)))

    def found_with(self, n_checks: int) -> float:
        """Return the positives in `n_checks` checks of a list (the average list of the days)."""
        if self.day is None:
            k = self._checks_of(n_checks)
            return metrics.found_at_k(self.is_positive, self.suspicion, k)
        return float(np.mean([_found(*rows, n_checks) for rows in self._days]))

    def _checks_of(self, n_checks: int) -> int:
        return min(n_checks, self.is_positive.size)

    @cached_property
    def _days(self) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        assert self.day is not None
        order = np.argsort(self.day, kind="stable")
        borders = np.flatnonzero(np.diff(self.day[order])) + 1
        parts = np.split(order, borders)
        return [(self.is_positive[rows], self.suspicion[rows]) for rows in parts]

    @cached_property
    def _resampled_days(self) -> NDArray[np.float64]:
        """Found in the budget's checks for each day and resample: days x resamples."""
        return np.array(
            [
                _resampled_found(is_positive, suspicion, self.budget, seed)
                for seed, (is_positive, suspicion) in enumerate(self._days)
            ]
        )


def evaluate(
    is_positive: ArrayLike,
    suspicion: ArrayLike,
    probability: ArrayLike,
    budget: int,
    day: ArrayLike | None = None,
) -> Evaluation:
    """Return the figures of a ranking; `budget` is the number of checks of a list.

    >>> figures = evaluate([1, 0, 1, 0, 0], [5, 4, 3, 2, 1], [.9, .5, .5, .1, .1], budget=2)
    >>> figures.found.value
    1.0
    """
    suspicion = checks.finite_vector(suspicion, "suspicion")
    return Evaluation(
        checks.positives(is_positive, "is_positive", like=suspicion),
        suspicion,
        checks.finite_vector(probability, "probability"),
        checks.whole_number(budget, "budget", 1),
        None if day is None else np.asarray(day),
    )


def evaluate_file(
    ranker: Any,
    path: Path,
    batches: Iterable[pa.Table],
    *,
    label: str,
    time: str | None,
    budget: int,
) -> Evaluation:
    """Return the figures of a ranker on the labelled rows of a file, scored batch by batch."""
    known = tables.read_table(path, [label] if time is None else [label, time])
    labels = tables.split_label(known, label, ranker.positive_label_)
    suspicion = np.concatenate([ranker.suspicion(batch) for batch in batches])[labels.known]
    day = None
    if time is not None:
        day = splits.days(tables.time_column(known, time))[labels.known]
    probability = ranker.calibration_.probability(suspicion)
    return evaluate(labels.is_positive[labels.known], suspicion, probability, budget, day)


def _found(is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64], n_checks: int) -> float:
    if not is_positive.any():
        return 0.0
    if is_positive.all() or n_checks >= is_positive.size:
        share = min(n_checks / is_positive.size, 1.0)
        return float(is_positive.sum()) * share
    return metrics.found_at_k(is_positive, suspicion, n_checks)


def _resampled_found(
    is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64], budget: int, seed: int
) -> NDArray[np.float64]:
    """Return what the budget finds when the day's rows are drawn again, once per resample.

    Only the rows near the top can be found, so only they are drawn: twice the budget is ample.
    """
    n_top = min(2 * budget + 50, suspicion.size)
    top = np.argsort(-suspicion, kind="stable")[:n_top]
    counts = np.random.default_rng(seed).poisson(1.0, (_N_RESAMPLES, n_top))
    checked = np.minimum(np.cumsum(counts, axis=1), budget)
    taken = np.diff(checked, axis=1, prepend=0)
    return taken @ is_positive[top].astype(np.float64)

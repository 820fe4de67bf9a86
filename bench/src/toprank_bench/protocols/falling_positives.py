"""Stratified splits of a set whose positives become fewer, the easiest leaving first.

A descent begins with the whole set. At each share of positives, a method learns from several
splits as under the protocol stratified, parameters chosen by folds. Then the positives that it
ranked highest, by their mean rank in the tests of these splits, leave the set until the next share
is reached. Each method goes down by itself, so that below the first share methods meet different
positives; those that were in no test stay.

In the experiment's data, NAME is a whole set and NAME@0.19 the set when 19 % of its rows are
positive. A seed is a descent; a figure is the mean over its splits. Splits have the seeds that
follow each other: with ten a descent, the first has 1 to 10, the second 11 to 20.

Options:

- `test_share`, `folds`: as under the protocol stratified;
- `runs`: how many splits at each share;
- `shares`: the shares of positives to go down by.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from toprank.data import checks
from toprank_bench import named_metrics
from toprank_bench.experiment import Experiment
from toprank_bench.learners.rankers import LEARNERS
from toprank_bench.protocols.declared import options_of
from toprank_bench.protocols.protocol import Cell, TrialOutcome
from toprank_bench.protocols.stratified import StratifiedSplits

_OF_SPLITS = {"test_share": 0.3, "folds": 5}
_DEFAULTS = {**_OF_SPLITS, "runs": 10, "shares": []}


class FallingPositives:
    """Descents of each method from a whole set to few positives, those hardest for it."""

    learners: ClassVar[Collection[str]] = LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        options = options_of(experiment, _DEFAULTS)
        self.runs = checks.whole_number(options["runs"], "runs", 1)
        self.shares = _shares(options["shares"])
        of_splits = {name: options[name] for name in _OF_SPLITS}
        for name in experiment.metrics:
            named_metrics.figure(name)  # those of a ranking alone
        self.splits = StratifiedSplits(replace(experiment, options=of_splits))
        for data in experiment.data:
            self._place(data)
        _check_sets_and_seeds(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells, the fewest positives first.

        A process that has been there has the shares above at hand: several processes then seldom
        go down the same way.
        """
        deepest_first = sorted(self.experiment.data, key=lambda data: -self._place(data)[1])
        return [
            Cell(data, seed, method.name)
            for seed in self.experiment.seeds
            for data in deepest_first
            for method in self.experiment.methods
        ]

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return the sentence of `datasets.load` when it cannot load the set."""
        return self.splits.why_not_data(self._place(data)[0], folder)

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        return self.splits.why_not_method(method)

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the mean figures of a method at one share of a descent."""
        name, step = self._place(cell.data)
        level = self._descent(cell._replace(data=name), folder).level(step)
        method = self.experiment.method(cell.method)
        return TrialOutcome(
            {metric: float(np.mean(values)) for metric, values in level.figures.items()},
            dict(method.parameters),
            {"all splits": round(level.seconds, 3)},
            {
                "rows": level.n_rows,
                "positives": level.n_positive,
                "splits": self.runs,
                "deviations": {metric: float(np.std(v)) for metric, v in level.figures.items()},
                "candidates": len(method.candidates),
            },
        )

    def _place(self, data: str) -> tuple[str, int]:
        """Return the set that a name of the data speaks of, and how many steps down it is."""
        name, _, share = data.partition("@")
        if not share:
            return name, 0
        known = [f"{each:g}" for each in self.shares]
        if share not in known:
            raise ValueError(
                f"data {data!r} must be at one of the shares {', '.join(known) or '(none given)'}."
            )
        return name, known.index(share) + 1

    def _descent(self, cell: Cell, folder: Path | None) -> "_Descent":
        key = (cell, folder, self.experiment.definition(cell.data, cell.method))
        if key not in _DESCENTS:
            _DESCENTS[key] = _Descent(self, cell, folder)
        return _DESCENTS[key]


class _PositivesLevel(NamedTuple):
    """One share of one descent: the figures of every split, by metric."""

    figures: dict[str, list[float]]
    seconds: float
    n_rows: int
    n_positive: int


class _Descent:
    """A method on its way down, as far as it has come; `rows` are those still there."""

    def __init__(self, protocol: FallingPositives, cell: Cell, folder: Path | None) -> None:
        self.protocol, self.cell = protocol, cell
        self.features, self.is_positive = protocol.splits.loaded(cell.data, folder)
        self.rows = np.arange(self.is_positive.size)
        self.mean_ranks = np.empty(0)
        self.levels: list[_PositivesLevel] = []

    def level(self, step: int) -> _PositivesLevel:
        """Return the level so many steps down, going there if need be."""
        while len(self.levels) <= step:
            if self.levels:
                self._go_down(self.protocol.shares[len(self.levels) - 1])
            self._measure()
        return self.levels[step]

    def _go_down(self, share: float) -> None:
        is_positive = self.is_positive[self.rows]
        n_negative = np.count_nonzero(~is_positive)
        n_kept = round(share / (1 - share) * n_negative)
        positives = np.flatnonzero(is_positive)
        if not 0 < n_kept < positives.size:
            raise ValueError(
                f"share {share:g} must leave some of the {positives.size} positives alongside "
                f"{n_negative} negatives, and fewer than all; it leaves {n_kept}."
            )
        by_ease = positives[np.argsort(self.mean_ranks[positives], kind="stable")]
        self.rows = np.delete(self.rows, by_ease[:-n_kept])

    def _measure(self) -> None:
        """Take in the figures of all splits of the rows, and the mean rank of each row."""
        features, is_positive = self.features.take(self.rows), self.is_positive[self.rows]
        metrics, runs = self.protocol.experiment.metrics, self.protocol.runs
        found: dict[str, list[float]] = {metric: [] for metric in metrics}
        seconds, n_tests, ranks = 0.0, np.zeros(self.rows.size), np.zeros(self.rows.size)
        first = (self.cell.seed - 1) * runs + 1
        for seed in range(first, first + runs):
            run = self.cell._replace(seed=seed)
            test, ranked = self.protocol.splits.ranked_test(run, features, is_positive)
            of_run = named_metrics.figures(metrics, is_positive[test], ranked.suspicion)
            for metric, value in of_run.items():
                found[metric].append(value)
            seconds += sum(ranked.seconds.values())
            n_tests[test] += 1
            ranks[test] += rankdata(-ranked.suspicion)
        self.mean_ranks = _mean_where_known(ranks, n_tests)
        n_positive = int(np.count_nonzero(is_positive))
        self.levels.append(_PositivesLevel(found, seconds, self.rows.size, n_positive))


_DESCENTS: dict[tuple[Cell, Path | None, str], _Descent] = {}  # of this process


def _mean_where_known(sums: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float64]:
    return np.divide(sums, counts, out=np.full(sums.size, np.inf), where=counts > 0)


def _shares(given: Any) -> tuple[float, ...]:
    if not isinstance(given, list):
        raise ValueError(f"shares must be a list of shares of positives; got {given!r}.")
    shares = tuple(checks.number_above(each, "shares", 0) for each in given)
    if any(share >= 1 for share in shares) or sorted(set(shares), reverse=True) != list(shares):
        raise ValueError(f"shares must be below 1 and fall; got {given!r}.")
    return shares


def _check_sets_and_seeds(experiment: Experiment) -> None:
    if experiment.sets:
        raise ValueError(
            "sets must be left out under the protocol falling-positives, where every share of a "
            f"set is treated alike; got {', '.join(experiment.sets)}."
        )
    if min(experiment.seeds) < 1:
        raise ValueError(f"seeds must count descents from 1; got {min(experiment.seeds)}.")

"""Figures to reach, and whether the recorded rows reach them."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from toprank_bench.experiment import Experiment, Target
from toprank_bench.protocols import Cell
from toprank_bench.row_file import Row
from toprank_bench.runner import cells_of, recorded

MET, MISSED, UNKNOWN = "met", "missed", "not recorded"


class TargetResult(NamedTuple):
    """A target, our figure and what comes of it; `n_rows` are those the figure is made of.

    The figure is None where ours, or what it is compared with, lacks a data set. `low` and `high`
    are the bounds: those of the target or, of one to reach another method, what that has.
    `is_whole` says that no row of ours or of that method is still to come.
    """

    target: Target
    figure: float | None
    n_rows: int
    low: float | None
    high: float | None
    is_whole: bool = True

    @property
    def verdict(self) -> str:
        """Whether the figure is within the bounds."""
        if self.figure is None:
            return UNKNOWN
        is_met = (self.low is None or self.figure >= self.low) and (
            self.high is None or self.figure <= self.high
        )
        return (MET if is_met else MISSED) + ("" if self.is_whole else " (provisional)")

    @property
    def asked(self) -> str:
        """The bounds in signs.

        >>> target = Target("a mean", "ours", "roc_auc", ("a",))
        >>> TargetResult(target, 0.9, 30, low=0.89, high=0.93).asked
        '≥ 0.89, ≤ 0.93'
        """
        bounds = {"≥": self.low, "≤": self.high}
        written = [f"{sign} {bound:.4g}" for sign, bound in bounds.items() if bound is not None]
        return ", ".join(written)


def target_results(experiment: Experiment, rows: Iterable[Row]) -> list[TargetResult]:
    """Return how the recorded rows compare with every target of an experiment."""
    known, cells = recorded(experiment, rows), cells_of(experiment)
    return [
        _target_result(experiment, target, known)._replace(
            is_whole=_is_whole(target, known, cells)
        )
        for target in experiment.targets
    ]


def _is_whole(target: Target, known: Mapping[Cell, Row], cells: list[Cell]) -> bool:
    """Return whether all cells that a target speaks of are recorded."""
    return all(
        cell in known
        for cell in cells
        if cell.data in target.data and cell.method in (target.method, target.rival)
    )


def _target_result(
    experiment: Experiment, target: Target, known: Mapping[Cell, Row]
) -> TargetResult:
    ours, n_rows = _means(experiment, target, target.method, known)
    low, high = target.at_least, target.at_most
    against = _against(experiment, target, known)
    held_against = against if target.rival else None  # papers need not print every set
    if any(len(each) < len(target.data) for each in (ours, held_against) if each is not None):
        return TargetResult(target, None, n_rows, low, high)
    is_lower_better = target.metric in experiment.lower_is_better
    if target.counts:
        assert against is not None
        sign = -1 if is_lower_better else 1
        figure = sum(
            # no worse than published, but better than a rival of our own
            sign * ours[data] > sign * other
            or (target.counts == "published" and ours[data] == other)
            for data, other in against.items()
        )
        return TargetResult(target, figure, n_rows, low, high)
    if against is not None:
        bound = fmean(against.values())
        low, high = (None, bound) if is_lower_better else (bound, None)
    return TargetResult(target, fmean(ours.values()), n_rows, low, high)


def _against(
    experiment: Experiment, target: Target, known: Mapping[Cell, Row]
) -> dict[str, float] | None:
    """Return what the method is compared with, by data set; None where that is a number."""
    if target.counts != "published":
        if not target.rival:
            return None
        return _means(experiment, target, target.rival, known)[0]
    published = experiment.published.get(target.metric, {})
    column = experiment.method(target.method).published_as
    return {data: published[data, column] for data in target.data if (data, column) in published}


def _means(
    experiment: Experiment, target: Target, method: str, known: Mapping[Cell, Row]
) -> tuple[dict[str, float], int]:
    """Return a method's mean over seeds on each data set that has rows, and how many these are."""
    values: dict[str, list[float]] = {name: [] for name in target.data}
    for cell, row in known.items():
        if cell.method == method and cell.data in values and target.metric in row["figures"]:
            values[cell.data].append(
                experiment.scale(target.metric) * row["figures"][target.metric]
            )
    means = {data: fmean(of_seeds) for data, of_seeds in values.items() if of_seeds}
    return means, sum(map(len, values.values()))

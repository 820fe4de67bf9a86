"""Figures to reach, and whether the recorded rows reach them."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from toprank.bench.experiment import Experiment, Target
from toprank.bench.row_file import Row
from toprank.bench.runner import recorded

MET, MISSED, UNKNOWN = "met", "missed", "not recorded"


class Standing(NamedTuple):
    """A target, our figure and what comes of it; `n_rows` are those the figure is made of.

    The figure is None where a data set has no rows yet.
    """

    target: Target
    figure: float | None
    n_rows: int

    @property
    def verdict(self) -> str:
        """Whether the figure is within the bounds of the target."""
        if self.figure is None:
            return UNKNOWN
        low, high = self.target.at_least, self.target.at_most
        is_met = (low is None or self.figure >= low) and (high is None or self.figure <= high)
        return MET if is_met else MISSED

    @property
    def asked(self) -> str:
        """The bounds in signs.

        >>> target = Target("a mean", "ours", "roc_auc", ("a",), at_least=0.89, at_most=0.93)
        >>> Standing(target, 0.9, 30).asked
        '≥ 0.89, ≤ 0.93'
        """
        bounds = {"≥": self.target.at_least, "≤": self.target.at_most}
        return ", ".join(
            f"{sign} {bound:g}" for sign, bound in bounds.items() if bound is not None
        )


def standings_of_targets(experiment: Experiment, rows: Iterable[Row]) -> list[Standing]:
    """Return how the recorded rows stand to every target of an experiment."""
    known = recorded(experiment, rows)
    scale = 100 if experiment.is_percent else 1
    found = []
    for target in experiment.targets:
        values: dict[str, list[float]] = {name: [] for name in target.data}
        for cell, row in known.items():
            if cell.method == target.method and cell.data in values:
                values[cell.data] += [scale * row["figures"][target.metric]]
        n_rows = sum(map(len, values.values()))
        is_whole = all(values.values())
        figure = _figure(experiment, target, values) if is_whole else None
        found.append(Standing(target, figure, n_rows))
    return found


def _figure(experiment: Experiment, target: Target, values: Mapping[str, list[float]]) -> float:
    means = {data: fmean(of_seeds) for data, of_seeds in values.items()}
    if not target.is_count:
        return fmean(means.values())
    published = experiment.published[target.metric]
    column = experiment.method(target.method).published_as
    sign = -1 if target.metric in experiment.lower_is_better else 1
    return sum(
        sign * mean >= sign * published[data, column]
        for data, mean in means.items()
        if (data, column) in published
    )

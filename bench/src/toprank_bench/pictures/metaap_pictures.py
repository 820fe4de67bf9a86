"""The MetaAP paper's Figures 3, 5 and 6 from recorded rows: AP by share of positives and by depth,
precision by k.

Panels are for all sets, and for those with at most 30 % and 10 % of positives, as in the paper.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toprank.plots.canvas import calm
from toprank_bench.experiment import Experiment
from toprank_bench.pictures.picture_rows import means_of
from toprank_bench.reading import find_experiment

Lines = Mapping[str, Sequence[tuple[float, float]]]

TREES = (
    "TreeRank published", "MetaAP published", "TreeRank", "MetaAP", "Gini tree", "Entropy tree",
)  # fmt: skip
MANY_TREES = ("RankForest", "Entropy forest", "SGBAP", "AutoRanker")
PANELS = ("30 %", "10 %")


def ap_by_share(results: Path, folder: Path | None) -> Figure:
    """Return AP by the largest share of positives that a data set has."""
    return _drawn_by_share(find_experiment("metaap-suite"), results)


def precision_by_k(results: Path, folder: Path | None) -> Figure:
    """Return precision by k, a panel per group of data sets."""
    suite = find_experiment("metaap-suite")
    return _drawn(_precision(suite, results), "k, per cent of the positives")


def ap_by_depth(results: Path, folder: Path | None) -> Figure:
    """Return AP by depth, a panel per group of data sets."""
    depths = find_experiment("metaap-figure5")
    return _drawn(_by_depth(depths, results), "depth of TreeRank and MetaAP")


def _drawn_by_share(experiment: Experiment, results: Path) -> Figure:
    means = means_of(experiment, results, "average_precision")
    groups = {"50": experiment.data}
    groups |= {re.findall(r"\d+", title)[0]: sets for title, sets in experiment.groups.items()}
    lines = {
        method: [
            (place, 100 * fmean(means[data, method] for data in sets))
            for place, sets in enumerate(groups.values())
        ]
        for method in (*TREES, *MANY_TREES)
    }
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    ax = calm(figure.add_subplot())
    _panel(ax, lines)
    labels = [f"{most} %\n{len(sets)} sets" for most, sets in groups.items()]
    ax.set_xticks(range(len(groups)), labels)
    ax.set(xlabel="sets with at most so many positives", ylabel="mean AP, per cent")
    figure.legend(loc="outside right center", frameon=False)
    return figure


def _drawn(lines_of: Mapping[str, Lines], label: str) -> Figure:
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    panels = figure.subplots(1, len(lines_of), sharey=True)
    for ax, (title, lines) in zip(panels, lines_of.items(), strict=True):
        _panel(calm(ax), lines)
        ax.set(title=title, xlabel=label)
    panels[0].set_ylabel(f"mean {'precision' if 'k' in label[:2] else 'AP'}, per cent")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center", frameon=False)
    return figure


def _panel(ax: Axes, lines: Lines) -> None:
    for number, (method, points) in enumerate(lines.items()):
        style = "--" if method in MANY_TREES else "-"
        ax.plot(*zip(*points, strict=True), f"o{style}C{number}", markersize=3, label=method)


def _precision(experiment: Experiment, results: Path) -> dict[str, Lines]:
    """Return precision by k for each group of sets."""
    shares = [
        match for metric in experiment.metrics if (match := re.search(r"\((\d+)%\)", metric))
    ]
    by_share = {int(share[1]): means_of(experiment, results, share.string) for share in shares}
    return {
        title: {
            method: [
                (share, 100 * fmean(means[data, method] for data in sets))
                for share, means in by_share.items()
            ]
            for method in (*TREES, *MANY_TREES)
            # AutoRanker's rows were recorded before precision was
            if all((data, method) in means for means in by_share.values() for data in sets)
        }
        for title, sets in _panels(experiment).items()
    }


def _by_depth(experiment: Experiment, results: Path) -> dict[str, Lines]:
    """Return AP by depth for each group of sets; a tree by Gini or entropy has it squared."""
    means = means_of(experiment, results, "average_precision")
    methods = [each.name.rsplit(" ", 1) for each in experiment.methods]
    return {
        title: {
            kind: [
                (
                    int(depth) if kind in ("TreeRank", "MetaAP") else int(depth) ** 0.5,
                    100 * fmean(means[data, f"{kind} {depth}"] for data in sets),
                )
                for name, depth in methods
                if name == kind
            ]
            for kind in dict.fromkeys(name for name, _ in methods)
        }
        for title, sets in _panels(experiment).items()
    }


def _panels(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    chosen = {
        title: sets for title, sets in experiment.groups.items() if any(p in title for p in PANELS)
    }
    return {f"all {len(experiment.data)} sets": experiment.data, **chosen}

"""Draw the MetaAP paper's Figures 3, 5 and 6 from recorded rows: AP by share of positives and by
depth, precision by k.

    python -m benchmarks.pictures.metaap

Panels are for all sets, and for those with at most 30 % and 10 % of positives, as in the paper.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean

from benchmarks.pictures.rows import IMAGES, means_of
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toprank_bench import Experiment, find_experiment
from toprank.plots.canvas import calm

Lines = Mapping[str, Sequence[tuple[float, float]]]

TREES = (
    "TreeRank published", "MetaAP published", "TreeRank", "MetaAP", "Gini tree", "Entropy tree",
)  # fmt: skip
MANY_TREES = ("RankForest", "Entropy forest", "SGBAP", "AutoRanker")
PANELS = ("30 %", "10 %")


def main() -> None:
    suite, depths = find_experiment("metaap-suite"), find_experiment("metaap-figure5")
    _draw_by_share(suite, "ap-by-share.png")
    _draw(suite, _precision(suite), "k, per cent of the positives", "precision-at-k.png")
    _draw(depths, _by_depth(depths), "depth of TreeRank and MetaAP", "ap-by-depth.png")


def _draw_by_share(experiment: Experiment, name: str) -> None:
    means = means_of(experiment, "average_precision")
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
    figure.savefig(IMAGES / name, dpi=110)
    print(f"Wrote {IMAGES / name}: {experiment.name}")


def _draw(experiment: Experiment, lines_of: Mapping[str, Lines], label: str, name: str) -> None:
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    panels = figure.subplots(1, len(lines_of), sharey=True)
    for ax, (title, lines) in zip(panels, lines_of.items(), strict=True):
        _panel(calm(ax), lines)
        ax.set(title=title, xlabel=label)
    panels[0].set_ylabel(f"mean {'precision' if 'k' in label[:2] else 'AP'}, per cent")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center", frameon=False)
    figure.savefig(IMAGES / name, dpi=110)
    print(f"Wrote {IMAGES / name}: {experiment.name}")


def _panel(ax: Axes, lines: Lines) -> None:
    for number, (method, points) in enumerate(lines.items()):
        style = "--" if method in MANY_TREES else "-"
        ax.plot(*zip(*points, strict=True), f"o{style}C{number}", markersize=3, label=method)


def _precision(experiment: Experiment) -> dict[str, Lines]:
    """Return precision by k for each group of sets."""
    shares = [
        match for metric in experiment.metrics if (match := re.search(r"\((\d+)%\)", metric))
    ]
    by_share = {int(share[1]): means_of(experiment, share.string) for share in shares}
    return {
        title: {
            method: [
                (share, 100 * fmean(means[data, method] for data in sets))
                for share, means in by_share.items()
            ]
            for method in (*TREES, *MANY_TREES)
            # AutoRanker's rows are from before precision was asked for
            if all((data, method) in means for means in by_share.values() for data in sets)
        }
        for title, sets in _panels(experiment).items()
    }


def _by_depth(experiment: Experiment) -> dict[str, Lines]:
    """Return AP by depth for each group of sets; a tree by Gini or entropy has it squared."""
    means = means_of(experiment, "average_precision")
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


if __name__ == "__main__":
    main()

"""The SGBAP paper's Figure 4 from recorded rows: AP and P@k as positives become few."""

from collections import defaultdict
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toprank.plots.canvas import calm
from toprank_bench.experiment import Experiment
from toprank_bench.pictures.picture_rows import rows_of
from toprank_bench.reading import find_experiment
from toprank_bench.row_file import Row

PANELS = {
    "average_precision": "AP",
    "precision_at_k(100%)": "precision among as many rows as there are positives",
}


def falling_positives(results: Path, folder: Path | None) -> Figure:
    """Return AP and precision by the share of positives."""
    experiment = find_experiment("sgbap-figure4")
    rows = rows_of(experiment, results)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels = figure.subplots(1, len(PANELS))
    for ax, (metric, title) in zip(panels, PANELS.items(), strict=True):
        _panel(calm(ax), experiment, rows, metric)
        ax.set_title(title)
    panels[0].set_ylabel("mean of three descents")
    panels[1].legend(frameon=False)
    return figure


def _panel(ax: Axes, experiment: Experiment, rows: list[Row], metric: str) -> None:
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        share = 100 * row["facts"]["positives"] / row["facts"]["rows"]
        found[row["method"]][share].append(row["figures"][metric])
    for number, method in enumerate(experiment.methods):
        shares = sorted(found[method.name])
        means = [fmean(found[method.name][share]) for share in shares]
        ax.plot(shares, means, f"o-C{number}", markersize=3, label=method.name)
    ax.set(xscale="log", yscale="log", xlabel="positives, per cent of the rows")
    ax.set_xticks(shares, [f"{share:.0f}" for share in shares])
    ax.minorticks_off()
    ax.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])

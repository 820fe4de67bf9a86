"""Undersampling from recorded rows: F1 by threshold (thesis, Figures 2.12 to 2.15) and the test
figures at every share of positives (2.17, 2.18).
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from toprank_bench.pictures.picture_rows import rows_of
from toprank_bench.reading import find_experiment
from toprank_bench.row_file import Row
from toprank_bench.trials.undersampling_curves import NO_SAMPLING, THRESHOLDS

_SHOWN = {"average_precision": "AP", "f1": "F1", "roc_auc": "AUC", "f1_at_half": "F1 at .5"}
_SHORT = {"ulb_creditcard": "ulb", "handbook_transactions": "handbook"}
_TICKS = (0.002, 0.01, 0.05, 0.2, 0.5)
_GREY, _INK = "#8a8f96", "#30363d"
_STYLES: dict[str, dict[str, Any]] = {
    "GB": {"color": "#1b5e9b", "linestyle": "-", "linewidth": 2.0},
    "RF": {"color": "#b4552d", "linestyle": (0, (5, 1.5)), "linewidth": 1.5},
}
_OF_METRIC = {"f1_at_half": "F1"}  # the settings chosen for F1


def f1_by_threshold(results: Path, folder: Path | None) -> Figure:
    """Return F1 by threshold with and without undersampling, a row of panels per data set."""
    experiment = find_experiment("undersampling-curves")
    rows = rows_of(experiment, results)
    figure = Figure(figsize=(11, 2.9 * len(experiment.data) + 0.5), layout="constrained")
    panels = list(itertools.product(("GB", "RF"), ("train", "test")))
    axes = figure.subplots(len(experiment.data), len(panels), squeeze=False, sharey=True)
    for of_data, data in zip(axes, experiment.data, strict=True):
        for ax, (model, part) in zip(of_data, panels, strict=True):
            _calm(ax, f"{_SHORT[data]}: {model}, {part}", "threshold")
            curves = _of_method(rows, data, _method(model, "f1"))[0]["facts"]["f1_by_threshold"]
            for (share, curve), style in zip(curves.items(), _STYLES.values(), strict=True):
                label = "no sampling" if share == NO_SAMPLING else "undersampled to half"
                ax.plot(THRESHOLDS, curve[part], label=label, **style)
            ax.set(xlim=(0, 1), ylim=(0, 1.02))
        of_data[0].set_ylabel("F1", size=9, color=_INK)
    return _with_legend(figure, axes[0, 0])


def figures_by_share(results: Path, folder: Path | None) -> Figure:
    """Return the test figures of undersampling by the share of positives learned from."""
    experiment = find_experiment("undersampling-curves")
    rows = rows_of(experiment, results)
    figure = Figure(figsize=(11, 2.9 * len(experiment.data) + 0.5), layout="constrained")
    axes = figure.subplots(len(experiment.data), len(_SHOWN), squeeze=False)
    for of_data, data in zip(axes, experiment.data, strict=True):
        for ax, (name, title) in zip(of_data, _SHOWN.items(), strict=True):
            _calm(ax, f"{_SHORT[data]}: {title}", "positives after sampling")
            for model in reversed(_STYLES):
                _add_shares(ax, _of_method(rows, data, _method(model, name)), model, name)
            ax.set_xscale("log")
            ax.set_xticks(_TICKS, [f"{100 * share:g}%" for share in _TICKS])
            ax.xaxis.set_minor_locator(NullLocator())
    return _with_legend(figure, axes[0, 0])


def _method(model: str, metric: str) -> str:
    """Return the method with the settings chosen for a metric; forests have one setting."""
    return "RF" if model == "RF" else f"GB for {_OF_METRIC.get(metric, _SHOWN[metric])}"


def _of_method(rows: list[Row], data: str, method: str) -> list[Row]:
    """Return the rows of a method, the first seed first."""
    return [row for row in rows if (row["data"], row["method"]) == (data, method)]


def _add_shares(ax: Axes, rows: list[Row], model: str, name: str) -> None:
    """Add the mean over seeds by share, with its deviation, and the model alone, dotted."""
    by_share: dict[str, list[float]] = {}
    for row in rows:
        for share, figures in row["facts"]["by_share"].items():
            by_share.setdefault(share, []).append(figures[name])
    style = _STYLES[model]
    dots: dict[str, Any] = {"color": style["color"], "linewidth": 1.0, "linestyle": (0, (1, 2))}
    ax.axhline(float(np.mean(by_share.pop(NO_SAMPLING))), label=f"{model}, no sampling", **dots)
    shares = [float(share) for share in by_share]
    middle, spread = (
        np.array([of(each) for each in by_share.values()]) for of in (np.mean, np.std)
    )
    ax.plot(shares, middle, marker="o", markersize=3, label=f"{model}, undersampled", **style)
    ax.fill_between(shares, middle - spread, middle + spread, color=style["color"], alpha=0.15)


def _calm(ax: Axes, title: str, x_label: str) -> None:
    ax.set_title(title, size=10, color=_INK)
    ax.set_xlabel(x_label, size=9, color=_INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_GREY)
    ax.tick_params(colors=_INK, color=_GREY, labelsize=9, length=3, which="both")
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)


def _with_legend(figure: Figure, ax: Axes) -> Figure:
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure

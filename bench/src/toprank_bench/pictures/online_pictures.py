"""Figures of the thesis on online boosting, from rows: convergence (4.5), latents (4.6 to 4.9)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from toprank_bench.pictures.picture_rows import rows_of
from toprank_bench.reading import find_experiment

_OURS = ("ONLB", "ONLB residual")


def convergence_curves(results: Path, folder: Path | None) -> Figure:
    """Return the error of progressive validation by rows learned, a panel per data set."""
    experiment = find_experiment("online-convergence")
    rows = {(row["data"], row["method"]): row for row in rows_of(experiment, results)}
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    panels = figure.subplots(1, len(experiment.data))
    for ax, data in zip(panels, experiment.data, strict=True):
        for number, method in enumerate(experiment.methods):
            curve = rows.get((data, method.name))
            if curve is not None:
                width = 2.2 if method.name in _OURS else 1.2
                facts = curve["facts"]
                ax.plot(
                    facts["rows"],
                    facts["errors"],
                    f"C{number}",
                    label=method.name,
                    linewidth=width,
                )
        ax.set(xscale="log", title=data.removeprefix("onlb_"), xlabel="rows learned from")
        ax.set_ylabel("error of progressive validation")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, min(0.5, ax.get_ylim()[1]))
    panels[-1].legend(frameon=False, fontsize=8, ncols=2)
    return figure


def latent_spaces(results: Path, folder: Path | None) -> Figure:
    """Return the correlations of the latents' weights, and how much each adds to the score."""
    experiment = find_experiment("online-latents")
    rows = [row for row in rows_of(experiment, results) if "correlation" in row["facts"]]
    if not rows:
        raise ValueError(
            "the rows of online-latents were recorded without the correlations to draw; run it "
            "again into another folder."
        )
    figure = Figure(figsize=(9.5, 7.6), layout="constrained")
    axes = figure.subplots(2, len(rows), squeeze=False)
    for (top, bottom), row in zip(axes.T, rows, strict=True):
        correlation = np.array(row["facts"]["correlation"])
        shown = top.imshow(correlation, vmin=-1, vmax=1, cmap="RdBu_r")
        top.set(title=f"weak learners of {row['method']}", xlabel="latent", ylabel="latent")
        bottom.scatter(correlation.mean(axis=0), row["facts"]["importance"], s=14, alpha=0.7)
        bottom.set(xlabel="mean correlation with the latents", ylabel="mean of |a_p relu(z_p)|")
        bottom.spines[["top", "right"]].set_visible(False)
        bottom.set_ylim(bottom=0)
    figure.colorbar(shown, ax=axes[0], label="correlation of weights b_p", shrink=0.8)
    return figure

"""Average precision by the best F-beta over 10,000 simulated rankings.

The rankings are those of the experiment thesis-appendix-a, read evenly, with its seed.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import pearsonr

from toprank_bench.simulated.rankings import PAIRS, Rankings, simulated

BETAS = (1.0, 0.5, 2.0)
COLOURS = ("#8a8f96", "#3f7d58", "#b4552d", "#1b5e9b")  # of the pairs, worst ranking first
GREY, INK = "#8a8f96", "#30363d"


def ap_by_best_f_beta(results: Path, folder: Path | None) -> Figure:
    """Return AP by the best F-beta of the rankings."""
    return _draw(simulated("even", 0, 10_000, BETAS))


def _draw(rankings: Rankings) -> Figure:
    """Return AP against each best F-beta, a dot per ranking, a colour per pair."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    # mixed, so that no pair hides the others
    mixed = np.random.default_rng(0).permutation(rankings.pairs.size)
    dots = np.array(COLOURS)[rankings.pairs[mixed]]
    for ax, beta in zip(figure.subplots(1, len(BETAS)), BETAS, strict=True):
        precision, best = rankings.precision, rankings.f_beta[beta]
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        ax.scatter(precision[mixed], best[mixed], s=2.5, c=dots, alpha=0.45, linewidths=0)
        correlation = pearsonr(precision, best).statistic
        ax.set_title(f"F{beta:g}, correlation {correlation:.2f}", size=10, color=INK)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set_xlabel("average precision", size=9, color=INK)
        ax.set_ylabel(f"best F{beta:g} of any threshold", size=9, color=INK)
        _tidy(ax)
    for name, colour in zip(PAIRS, COLOURS, strict=True):
        ax.scatter([], [], s=20, color=colour, label=name)
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(PAIRS),
        frameon=False,
        fontsize=9,
        title="suspicions of positives, of negatives",
        title_fontsize=9,
    )
    return figure


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, color=GREY, labelsize=9, length=3)
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)

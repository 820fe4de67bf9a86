"""The thesis' figures of online boosting: convergence (4.5) and latent spaces (4.6 to 4.9).

    TOPRANK_DATA=folder python -m benchmarks.quality.onlb_figures convergence [--images folder]
    TOPRANK_DATA=folder python -m benchmarks.quality.onlb_figures latents [--rows 10000]

Convergence: the error of progressive validation as rows are learned, on MNIST and abalone, the
first fold of the experiment thesis-table4-5, each method with the settings chosen there (T of the
thesis).

Latents: ONLB with 100 latents on MNIST, its weak learners once of 2 and once of 500 hidden units.
Drawn are the correlations of the latents' weights b_p and, for rows not learned from, how much
each latent adds to the score: the mean of |a_p relu(z_p)|.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.record import RESULTS, record
from matplotlib.figure import Figure
from sklearn.model_selection import KFold

import toprank
from toprank_bench import datasets
from toprank_bench.learners.online_rivals import make_online_learner
from toprank_bench.protocols import Cell
from toprank_bench.protocols.progressive import ProgressiveValidation
from toprank_bench.row_file import read_rows
from toprank_bench.runner import recorded

NAME = "onlb_figures"
IMAGES = RESULTS.parents[1] / "docs" / "images"
N_POINTS = 60
LATENTS, LEARNERS, HELD_OUT, SEED = 100, 20, 5_000, 0
RATES = {2: 0.1, 500: 0.01}  # by hidden units; at 0.1 the wide ones hardly learn
CURVES = ("mnist", "abalone")
EXPERIMENT = bench.find_experiment("thesis-table4-5")
FIRST_SEED, N_FOLDS = EXPERIMENT.seeds[0], 3
METHODS = {  # as recorded curves are called, and as the experiment calls them
    "full": "ONLB",
    "residual": "ONLB residual",
    "linear": "linear boosting",
    "bbm": "BBM",
    "adaboost-ol": "AdaBoost.OL",
    "adaboost-ol-w": "AdaBoost.OL.W",
    "ogb": "OGB",
    "streamboost": "streamBoost",
    "base": "one learner",
}


def main() -> None:
    options = _options()
    if options.figure == "convergence":
        for dataset in CURVES:
            for method in METHODS:
                _record_curve(dataset, method)
        _draw_curves(options.images / "onlb-convergence.png")
    else:
        studies = [_study(width, options.rows, options.update) for width in RATES]
        _draw_latents(studies, options.images / f"onlb-latents-{options.update}.png")


# Convergence


def _record_curve(dataset: str, method: str) -> None:
    """Record the errors of one method, unless they are recorded."""
    if _curve(dataset, method) is not None:
        return
    chosen = _chosen(dataset, method)
    if chosen is None:
        print(f"{method} on {dataset} is left out: {EXPERIMENT.name} has no row of it")
        return
    features, is_positive = _matrix(dataset)
    folds = KFold(N_FOLDS, shuffle=True, random_state=FIRST_SEED)
    train, _ = next(folds.split(is_positive))
    order = np.random.default_rng([FIRST_SEED, 0]).permutation(train)
    how = EXPERIMENT.method(METHODS[method])
    candidates = ProgressiveValidation(EXPERIMENT).candidates(how, f"onlb_{dataset}")
    (parameters,) = (each.parameters for each in candidates if each.name == chosen)
    learner = make_online_learner(how.learner, FIRST_SEED, parameters)
    scores = learner.score_then_learn(features[order], is_positive[order])
    errors = np.cumsum((scores > 0) != is_positive[order]) / np.arange(1, order.size + 1)
    rows = np.unique(np.geomspace(100, order.size, N_POINTS).astype(int))
    record(
        NAME,
        figure="convergence",
        dataset=dataset,
        method=method,
        chosen=chosen,
        seed=FIRST_SEED,
        rows=rows.tolist(),
        errors=errors[rows - 1].round(5).tolist(),
    )


def _chosen(dataset: str, method: str) -> str | None:
    """Return the settings that the first fold of the table chose, None where it was not run."""
    rows = recorded(EXPERIMENT, read_rows(RESULTS / f"{EXPERIMENT.name}.jsonl"))
    row = rows.get(Cell(f"onlb_{dataset}", FIRST_SEED, METHODS[method]))
    return None if row is None else row["facts"]["folds"][0]["chosen_at_published_size"]


def _matrix(dataset: str) -> tuple[np.ndarray, np.ndarray]:
    loaded = datasets.load(f"onlb_{dataset}")
    columns = [column.to_numpy() for column in loaded.X.columns]
    return np.column_stack(columns).astype(float), loaded.is_positive


def _curve(dataset: str, method: str) -> dict | None:
    path = RESULTS / f"{NAME}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [row for row in map(json.loads, lines) if row["figure"] == "convergence"]
    own = [row for row in rows if (row["dataset"], row["method"]) == (dataset, method)]
    return own[-1] if own else None


def _draw_curves(path: Path) -> None:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    for ax, dataset in zip(figure.subplots(1, len(CURVES)), CURVES, strict=True):
        for i, method in enumerate(METHODS):
            curve = _curve(dataset, method)
            if curve is None:
                continue
            is_ours = method in ("full", "residual")
            label = f"ONLB, {method}" if is_ours else method
            style = {"linewidth": 2.2 if is_ours else 1.2, "color": f"C{i}"}
            ax.plot(curve["rows"], curve["errors"], label=label, **style)
        ax.set(xscale="log", title=dataset, xlabel="rows learned from")
        ax.set_ylabel("error of progressive validation")
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, min(0.5, ax.get_ylim()[1]))
    ax.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=120)
    print(f"Wrote {path}")


# Latents


def _study(width: int, n_rows: int, update: str) -> dict[str, Any]:
    """Return the correlations and importances of the latents, learned with this weak learner."""
    features, is_positive = _matrix("mnist")
    order = np.random.default_rng(SEED).permutation(is_positive.size)
    train, held_out = order[:n_rows], order[n_rows : n_rows + HELD_OUT]
    learner = toprank.OnlineNonLinearBoost(
        LEARNERS,
        LATENTS,
        width=width,
        update=update,
        learning_rate=RATES[width],
        n_buckets=1,
        random_state=SEED,
    )
    scores = learner.score_then_learn(features[train], is_positive[train])
    correlation = np.corrcoef(learner.projections().T)
    importance = np.abs(learner.latents(features[held_out])).mean(axis=0)
    test = learner.suspicion(features[held_out]) > 0
    apart = ~np.eye(LATENTS, dtype=bool)
    record(
        NAME,
        figure="latents",
        width=width,
        update=update,
        rate=RATES[width],
        n_rows=n_rows,
        n_learners=LEARNERS,
        n_latents=LATENTS,
        seed=SEED,
        validated_error=round(float(np.mean((scores > 0) != is_positive[train])), 4),
        error=round(float(np.mean(test != is_positive[held_out])), 4),
        mean_absolute_correlation=round(float(np.abs(correlation[apart]).mean()), 3),
        mean_correlation=round(float(correlation[apart].mean()), 3),
        unused_latents=int(np.count_nonzero(importance < 0.05 * importance.max())),
        importance_spread=round(float(importance.std() / importance.mean()), 3),
    )
    return {"width": width, "correlation": correlation, "importance": importance}


def _draw_latents(studies: list[dict[str, Any]], path: Path) -> None:
    figure = Figure(figsize=(9.5, 7.6), layout="constrained")
    axes = figure.subplots(2, len(studies))
    for (top, bottom), study in zip(axes.T, studies, strict=True):
        shown = top.imshow(study["correlation"], vmin=-1, vmax=1, cmap="RdBu_r")
        top.set(title=f"weak learners of {study['width']} units", xlabel="latent", ylabel="latent")
        bottom.scatter(study["correlation"].mean(axis=0), study["importance"], s=14, alpha=0.7)
        bottom.set(xlabel="mean correlation with the latents", ylabel="mean of |a_p relu(z_p)|")
        bottom.spines[["top", "right"]].set_visible(False)
        bottom.set_ylim(bottom=0)
    figure.colorbar(shown, ax=axes[0], label="correlation of weights b_p", shrink=0.8)
    figure.savefig(path, dpi=120)
    print(f"Wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", choices=("convergence", "latents"))
    parser.add_argument("--images", type=Path, default=IMAGES)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--update", choices=("residual", "prefix", "full"), default="residual")
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder that holds onlb_*.parquet.")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Pictures and paired differences beside `toprank bench show thesis-table2-2`.

    python -m benchmarks.pictures.sampling [--plot FOLDER]
    TOPRANK_DATA=folder python -m benchmarks.pictures.sampling --measure

Prints how far each sampler leads the same model without sampling, on the same seeds and resampled
test rows, from the rows of the experiment. --plot draws, from recorded rows, F1 by threshold
(thesis, Figs 2.12 to 2.15) and the test figures of undersampling at every share of positives
(2.17, 2.18); --measure records what they lack, at the settings that the experiment chose.
"""

import argparse
import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.record import RESULTS, record
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.special import expit

import toprank_bench
from toprank import metrics
from toprank_bench.protocols.sampled import SampledInTime
from toprank_bench.row_file import Row, read_rows
from toprank_bench.runner import recorded
from toprank_bench.sampling.fits import SplitPart, SplitParts, figures_on_test, make_model, scores
from toprank_bench.sampling.resamples import difference
from toprank.data.tables import Schema
from toprank.decisions.samplers import Sampling, resampled

NAME = "sampling_figures"
EXPERIMENT = bench.find_experiment("thesis-table2-2")
MODELS, SAMPLERS = ("RF", "GB"), ("Undersampling", "SMOTE", "EasyEnsemble")
LEARNERS = {model: EXPERIMENT.method(model).learner for model in MODELS}
SHARES = EXPERIMENT.method("Undersampling + GB").grid["share"]
N_SEEDS = 3
THRESHOLDS = expit(np.linspace(-7, 7, 113))  # close together at both ends
SHOWN = {"average_precision": "AP", "f1": "F1", "roc_auc": "AUC", "f1_at_half": "F1 at .5"}
SHORT = {"ulb_creditcard": "ulb", "handbook_transactions": "handbook"}
TICKS = (0.002, 0.01, 0.05, 0.2, 0.5)
GREY, INK = "#8a8f96", "#30363d"
STYLES: dict[str, dict[str, Any]] = {
    "GB": {"color": "#1b5e9b", "linestyle": "-", "linewidth": 2.0},
    "RF": {"color": "#b4552d", "linestyle": (0, (5, 1.5)), "linewidth": 1.5},
}


def main() -> None:
    options = _options()
    if options.measure:
        for data in EXPERIMENT.data:
            _measure(data)
    if options.plot:
        _draw_thresholds(options.plot / "sampling-f1-by-threshold.png")
        _draw_shares(options.plot / "sampling-by-ratio.png")
    for data in EXPERIMENT.data:
        _print_differences(data)


# Differences


def _print_differences(data: str) -> None:
    names = [SHOWN[metric] for metric in EXPERIMENT.metrics]
    print(f"\n{data}: against the same model alone, same seeds and test rows (95 %)\n")
    print(f"| | {' | '.join(names)} |\n{'|---' * (1 + len(names))}|")
    for sampler, model in itertools.product(SAMPLERS, MODELS):
        cells = []
        for metric in EXPERIMENT.metrics:
            lead = difference(
                *_by_seed(data, f"{sampler} + {model}", metric), *_by_seed(data, model, metric)
            )
            cells.append(f"{lead.value:+.4f} ({lead.low:+.4f} to {lead.high:+.4f})")
        print(f"| {sampler} + {model} | {' | '.join(cells)} |")


def _by_seed(data: str, method: str, metric: str) -> tuple[dict[int, float], dict[int, list[int]]]:
    """Return the figures of a method and their resamples, by seed."""
    rows = {
        cell.seed: row
        for cell, row in _of_experiment().items()
        if (cell.data, cell.method) == (data, method)
    }
    return (
        {seed: row["figures"][metric] for seed, row in rows.items()},
        {seed: row["facts"]["resampled"][metric] for seed, row in rows.items()},
    )


@functools.cache
def _of_experiment() -> dict[Any, Row]:
    return recorded(EXPERIMENT, read_rows(RESULTS / f"{EXPERIMENT.name}.jsonl"))


def _setting(data: str, model: str, metric: str) -> dict[str, Any]:
    """Return what was chosen for a metric without sampling: of boosting, else nothing."""
    cell = next(each for each in _of_experiment() if (each.data, each.method) == (data, model))
    chosen = _of_experiment()[cell]["parameters"][metric]
    return {name: chosen[name] for name in EXPERIMENT.method(model).grid}


# Measuring


def _measure(data: str) -> None:
    """Record F1 by threshold, and undersampling at every share, unless they are recorded."""
    parts = SampledInTime(EXPERIMENT)._choosing(data, None).parts
    shares = [share for share in SHARES if share > parts.train.is_positive.mean()]
    for model in MODELS:
        for share in (None, 0.5):
            setting = _setting(data, model, "f1")
            if not _find("thresholds", data, model, setting, share):
                _measure_thresholds(data, model, setting, share, parts)
        settings = [_setting(data, model, metric) for metric in EXPERIMENT.metrics]
        for setting, share in itertools.product(settings, (None, *shares)):
            done = {row["seed"] for row in _find("share", data, model, setting, share)}
            for seed in set(range(N_SEEDS)) - done:
                _measure_share(data, model, setting, share, seed, parts)


def _measure_share(
    data: str, model: str, setting: dict, share: float | None, seed: int, parts: SplitParts
) -> None:
    own = {**EXPERIMENT.method(model).parameters, **setting}
    if share is not None:
        own |= {"sampler": "under", "share": share}
    found = scores(LEARNERS[model], own, seed, parts)
    figures = figures_on_test(parts, found)
    figures["f1_at_half"] = metrics.f_beta(parts.test.is_positive, found.test, 0.5)
    rounded = {name: round(value, 5) for name, value in figures.items()}
    about = {"data": data, "seed": seed, "model": model, "share": share, "setting": setting}
    record(NAME, kind="share", **about, figures=rounded)


def _measure_thresholds(
    data: str, model: str, setting: dict, share: float | None, parts: SplitParts
) -> None:
    """Record F1 by threshold on the rows learned from, after sampling, and on the test rows."""
    learned = parts.train
    if share is not None:
        how = Sampling("under", share / (1 - share), k_neighbors=1, seed=0)
        learned = SplitPart(*resampled(*parts.train, Schema.of(parts.train.features), how))
    own = {**EXPERIMENT.method(model).parameters, **setting}
    classifier = make_model(LEARNERS[model], own, 0).fit(*learned)
    f1 = {}
    for part, (features, is_positive) in {"train": learned, "test": parts.test}.items():
        share_of_votes = classifier.predict_proba(features)[:, 1]
        f1[part] = [round(metrics.f_beta(is_positive, share_of_votes, t), 3) for t in THRESHOLDS]
    about = {"data": data, "seed": 0, "model": model, "share": share, "setting": setting}
    record(NAME, kind="thresholds", **about, f1=f1)


def _find(kind: str, data: str, model: str, setting: dict, share: float | None) -> list[Row]:
    wanted = kind, data, model, setting, share
    keys = "kind", "data", "model", "setting", "share"
    rows = read_rows(RESULTS / f"{NAME}.jsonl")
    return [row for row in rows if tuple(row[key] for key in keys) == wanted]


# Pictures


def _draw_thresholds(path: Path) -> None:
    """Draw F1 by threshold: a row of panels for each data set."""
    names = EXPERIMENT.data
    figure = Figure(figsize=(11, 2.9 * len(names) + 0.5), layout="constrained")
    panels = list(itertools.product(("GB", "RF"), ("train", "test")))
    axes = figure.subplots(len(names), len(panels), squeeze=False, sharey=True)
    for row, data in zip(axes, names, strict=True):
        for ax, (model, part) in zip(row, panels, strict=True):
            _calm(ax, f"{SHORT[data]}: {model}, {part}", "threshold")
            setting = _setting(data, model, "f1")
            for share, style in ((None, STYLES["GB"]), (0.5, STYLES["RF"])):
                curve = _find("thresholds", data, model, setting, share)[-1]
                label = "no sampling" if share is None else "undersampled to half"
                ax.plot(THRESHOLDS, curve["f1"][part], label=label, **style)
            ax.set(xlim=(0, 1), ylim=(0, 1.02))
        row[0].set_ylabel("F1", size=9, color=INK)
    _finish(figure, axes[0, 0], path)


def _draw_shares(path: Path) -> None:
    """Draw the test figures of undersampling by the share of positives learned from."""
    names = EXPERIMENT.data
    figure = Figure(figsize=(11, 2.9 * len(names) + 0.5), layout="constrained")
    axes = figure.subplots(len(names), len(SHOWN), squeeze=False)
    for row, data in zip(axes, names, strict=True):
        for ax, name in zip(
            row, ("average_precision", "f1", "roc_auc", "f1_at_half"), strict=True
        ):
            _calm(ax, f"{SHORT[data]}: {SHOWN[name]}", "positives after sampling")
            for model in MODELS:
                _add_shares(ax, data, model, name)
            ax.set_xscale("log")
            ax.set_xticks(TICKS, [f"{100 * share:g}%" for share in TICKS])
            ax.xaxis.set_minor_locator(NullLocator())
    _finish(figure, axes[0, 0], path)


def _add_shares(ax: Axes, data: str, model: str, name: str) -> None:
    """Add the mean over seeds by share, with its deviation, and the model alone, dotted."""
    setting = _setting(data, model, "f1" if name == "f1_at_half" else name)
    values = {
        share: [row["figures"][name] for row in rows]
        for share in (None, *SHARES)
        if (rows := _find("share", data, model, setting, share))
    }
    style = STYLES[model]
    dots: dict[str, Any] = {"color": style["color"], "linewidth": 1.0, "linestyle": (0, (1, 2))}
    ax.axhline(float(np.mean(values.pop(None))), label=f"{model}, no sampling", **dots)
    middle, spread = (np.array([of(each) for each in values.values()]) for of in (np.mean, np.std))
    ax.plot(
        list(values), middle, marker="o", markersize=3, label=f"{model}, undersampled", **style
    )
    ax.fill_between(
        list(values), middle - spread, middle + spread, color=style["color"], alpha=0.15
    )


def _calm(ax: Axes, title: str, x_label: str) -> None:
    ax.set_title(title, size=10, color=INK)
    ax.set_xlabel(x_label, size=9, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, color=GREY, labelsize=9, length=3, which="both")
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)


def _finish(figure: Figure, ax: Axes, path: Path) -> None:
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    print(f"Wrote {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw the two pictures")
    parser.add_argument("--measure", action="store_true", help="record what they lack")
    return parser.parse_args()


if __name__ == "__main__":
    main()

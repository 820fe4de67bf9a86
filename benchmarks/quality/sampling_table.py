"""What sampling is worth: the thesis' Table 2.2 on real and on simulated card payments.

    TOPRANK_DATA=folder python -m benchmarks.quality.sampling_table [--data ulb handbook]
        [--seeds 10] [--forest-seeds 3] [--trees 30] [--curves] [--plot FOLDER] [--report]

Undersampling, SMOTE and EasyEnsemble, each around a random forest (RF, scikit-learn) and gradient
boosting (GB, XGBoost), beside both without sampling; AUC, F1 and AP. Data are parted in time:
train, validation, gap, test (`toprank.splits.chronological`). Everything is chosen on validation
with seed 0, for each metric apart: the settings of GB without sampling, then the positive share
after sampling among those of the thesis that are above the training rows' own. F1 is that at the
threshold best on validation. Test labels choose nothing.

ulb         284,807 real payments of two days; Time is not a feature; the gap is 4.8 hours
handbook    simulated payments of 1,000 customers with the features of `late_labels`, whose windows
            of labels end 7 days before; from day 37 on, when all windows are full; gap of 7 days

Other than in the thesis: a small grid for GB, with a subsample of .8; forests of `--trees` trees,
and fewer seeds of them, since one tree takes a second; EasyEnsemble has 5 subsets, and its forests
share the trees, so that no forest has more than another. GB begins at base_score .5, XGBoost's
default when the thesis was written: with that of today, the share of positives, the first leaves
are so large that GB with eta .3 and no sampling learned nothing on ULB (validation AP .002).

Each fit also records its test figures under 200 resamples of the test rows, the same for all, so
that any two methods can be compared row for row. Rows recorded already are not run again. --curves
adds F1 by threshold (Figs 2.12 to 2.15) and seeds of undersampling at every share (2.17, 2.18);
--plot draws both. --quick is a small trial, recorded apart.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from imblearn.under_sampling import RandomUnderSampler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

from toprank import metrics, splits
from toprank.imbalance.sampling import SampledRanker

NAME = "sampling_table"
DATA, MODELS, METRICS = ("ulb", "handbook"), ("RF", "GB"), ("AUC", "F1", "AP")
PLAIN = "none"
SAMPLERS = {"under": "Undersampling", "smote": "SMOTE", "easy-ensemble": "EasyEnsemble"}
SHARES = (0.002, 0.003, 0.005, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
N_SUBSETS, N_RESAMPLES, SUBSAMPLE = 5, 200, 0.8
CUSTOMERS, FIRST_DAY = 1_000, 37
THRESHOLDS = expit(np.linspace(-7, 7, 113))  # close together at both ends
CURVE_SEEDS, CURVE_KEY = 3, ("data", "model", "setting", "share")
PUBLISHED: dict[
    tuple[str, str], dict[str, tuple[float, float | None]]
] = {  # thesis, Table 2.2: mean over 30 runs and the share chosen
    ("under", "RF"): {"AUC": (0.9137, 0.5), "F1": (0.2417, 0.002), "AP": (0.1439, 0.002)},
    ("under", "GB"): {"AUC": (0.9291, 0.02), "F1": (0.2458, 0.003), "AP": (0.1656, 0.003)},
    ("smote", "RF"): {"AUC": (0.8616, 0.5), "F1": (0.2293, 0.003), "AP": (0.1354, 0.003)},
    ("smote", "GB"): {"AUC": (0.9266, 0.002), "F1": (0.2296, 0.002), "AP": (0.1554, 0.002)},
    ("easy-ensemble", "RF"): {"AUC": (0.9193, 0.5), "F1": (0.2459, 0.002), "AP": (0.158, 0.002)},
    ("easy-ensemble", "GB"): {"AUC": (0.9292, 0.05), "F1": (0.2465, 0.003), "AP": (0.1684, 0.003)},
    (PLAIN, "RF"): {"AUC": (0.9018, None), "F1": (0.2464, None), "AP": (0.1579, None)},
    (PLAIN, "GB"): {"AUC": (0.9291, None), "F1": (0.2473, None), "AP": (0.1682, None)},
}
TICKS = (0.002, 0.01, 0.05, 0.2, 0.5)
GREY, INK = "#8a8f96", "#30363d"
STYLES: dict[str, dict[str, Any]] = {
    "GB": {"color": "#1b5e9b", "linestyle": "-", "linewidth": 2.0},
    "RF": {"color": "#b4552d", "linestyle": (0, (5, 1.5)), "linewidth": 1.5},
}


class Setting(NamedTuple):
    """Trees of a model, and what else boosting needs to know."""

    trees: int
    depth: int | None = None
    eta: float | None = None


GRID = [Setting(*each) for each in itertools.product((100, 300), (3, 6), (0.1, 0.3))]


class Fit(NamedTuple):
    """One model to fit; `share` is that of positives after sampling, None without."""

    data: str
    model: str
    setting: Setting
    sampler: str
    share: float | None
    seed: int


class Plan(NamedTuple):
    """How much is run, and under which name it is recorded."""

    table: str
    seeds: dict[str, int]
    trees: int
    shares: tuple[float, ...]
    thinned: int  # one of so many rows is used


class Part(NamedTuple):
    features: np.ndarray
    is_fraud: np.ndarray


def main() -> None:
    options = _options()
    plan = _plan(options)
    if not options.report:
        for name in options.data:
            parts = _parts(name, plan)
            _run_table(plan, name, parts)
            if options.curves:
                _run_curves(plan, name, parts)
    if options.plot:
        _draw_thresholds(plan, options.data, options.plot / "sampling-f1-by-threshold.png")
        _draw_shares(plan, options.data, options.plot / "sampling-by-ratio.png")
    for name in options.data:
        _print_report(plan, name)


# Fits


def _run_table(plan: Plan, name: str, parts: dict[str, Part]) -> None:
    """Record what is missing: all candidates with seed 0, then the chosen ones with all seeds."""
    _describe(name, parts)
    resample = _Resample(parts["test"].is_fraud)
    shares = [share for share in plan.shares if share > parts["train"].is_fraud.mean()]
    for model in MODELS:
        for setting in _candidates(plan, model):
            _record_fit(plan, Fit(name, model, setting, PLAIN, None, 0), parts, resample)
        settings = {_chosen(plan, name, model, PLAIN, metric).setting for metric in METRICS}
        for sampler, share, setting in itertools.product(SAMPLERS, shares, sorted(settings)):
            _record_fit(plan, Fit(name, model, setting, sampler, share, 0), parts, resample)
        for seed in range(1, plan.seeds[model]):
            for sampler, metric in itertools.product((PLAIN, *SAMPLERS), METRICS):
                fit = _chosen(plan, name, model, sampler, metric)._replace(seed=seed)
                _record_fit(plan, fit, parts, resample)


def _candidates(plan: Plan, model: str) -> list[Setting]:
    return GRID if model == "GB" else [Setting(plan.trees)]


def _chosen(plan: Plan, name: str, model: str, sampler: str, metric: str) -> Fit:
    """Return the fit of seed 0 that is best on validation; sampling keeps the plain settings."""
    of_seed_0 = {
        fit: row["validation"][metric]
        for fit, row in _fits(plan).items()
        if (fit.data, fit.model, fit.sampler, fit.seed) == (name, model, sampler, 0)
    }
    if sampler == PLAIN:
        settings = _candidates(plan, model)
    else:
        settings = [_chosen(plan, name, model, PLAIN, metric).setting]
    return max((fit for fit in of_seed_0 if fit.setting in settings), key=of_seed_0.__getitem__)


def _record_fit(plan: Plan, fit: Fit, parts: dict[str, Part], resample: "_Resample") -> None:
    """Record one fit, unless it is recorded."""
    if fit in _fits(plan):
        return
    begin = time.process_time()
    validation, test = _probabilities(fit, parts)
    seconds = time.process_time() - begin
    known, unknown = parts["validation"].is_fraud, parts["test"].is_fraud
    best = metrics.best_f_beta(known, validation)
    row: dict[str, Any] = {
        **fit._asdict(),
        "validation": {
            "AUC": round(metrics.roc_auc(known, validation), 5),
            "F1": round(best.value, 5),
            "AP": round(metrics.average_precision(known, validation), 5),
        },
        "threshold": best.threshold,
        "test": {
            "AUC": round(metrics.roc_auc(unknown, test), 5),
            "F1": round(metrics.f_beta(unknown, test, best.threshold), 5),
            "AP": round(metrics.average_precision(unknown, test), 5),
        },
        "F1 at .5": round(metrics.f_beta(unknown, test, 0.5), 5),
        "cpu_seconds": round(seconds, 2),
    }
    _record(plan, kind="fit", **row, resampled_1e4=resample.figures(test, best.threshold))
    shown = "".join(f" {metric} {row['test'][metric]:.4f}" for metric in METRICS)
    print(f"{' '.join(map(str, fit))}:{shown}, {seconds:.1f} s", flush=True)


def _probabilities(fit: Fit, parts: dict[str, Part]) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of validation and test, on the scale of the rows learned from."""
    train, others = parts["train"], (parts["validation"].features, parts["test"].features)
    model = _model(fit)
    if fit.share is None:
        model.fit(*train)
        return tuple(model.predict_proba(rows)[:, 1].astype(np.float64) for rows in others)
    ratio = fit.share / (1 - fit.share)  # positives a negative
    ranker = SampledRanker(
        model, fit.sampler, ratio=ratio, n_subsets=N_SUBSETS, random_state=fit.seed
    ).fit(*train)
    return tuple(expit(ranker.suspicion(rows)) for rows in others)


def _model(fit: Fit) -> Any:
    setting = fit.setting
    if fit.model == "RF":
        n_trees = setting.trees // (N_SUBSETS if fit.sampler == "easy-ensemble" else 1)
        return RandomForestClassifier(n_trees, n_jobs=1, random_state=fit.seed)
    return XGBClassifier(
        n_estimators=setting.trees,
        max_depth=setting.depth,
        learning_rate=setting.eta,
        subsample=SUBSAMPLE,
        base_score=0.5,
        n_jobs=1,
        random_state=fit.seed,
    )


class _Resample:
    """The metrics of any probabilities under the same resamples of the test rows."""

    def __init__(self, is_fraud: np.ndarray) -> None:
        self.is_fraud = is_fraud
        generator = np.random.default_rng(0)
        # how often each row is drawn, a column a resample
        self.counts = generator.poisson(1.0, (is_fraud.size, N_RESAMPLES)).astype(np.uint8)

    def figures(self, probability: np.ndarray, threshold: float) -> dict[str, list[int]]:
        """Return each metric under every resample, in ten-thousandths."""
        falling = np.argsort(-probability, kind="stable")
        ordered, is_fraud = probability[falling], self.is_fraud[falling]
        begins = _group_begins(ordered, is_fraud, threshold)
        counts = self.counts[falling]
        drawn = np.add.reduceat(counts, begins, axis=0, dtype=np.int64)
        frauds = np.add.reduceat(counts * is_fraud[:, None], begins, axis=0, dtype=np.int64)
        found, false = np.cumsum(frauds, axis=0), np.cumsum(drawn - frauds, axis=0)
        values = {
            "AUC": _area(found, false),
            "F1": _f1(found, false, int((ordered[begins] >= threshold).sum())),
            "AP": _average_precision(found, false),
        }
        return {name: np.round(1e4 * each).astype(int).tolist() for name, each in values.items()}


def _group_begins(ordered: np.ndarray, is_fraud: np.ndarray, threshold: float) -> np.ndarray:
    """Return where groups of equal probability begin; those without frauds are made one.

    That changes no metric, as long as the groups on the two sides of the threshold stay apart.
    """
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    has_fraud = np.add.reduceat(is_fraud, begins, dtype=np.int64) > 0
    is_called = ordered[begins] >= threshold
    parted = has_fraud[1:] | has_fraud[:-1] | (is_called[1:] != is_called[:-1])
    return begins[np.append(True, parted)]


def _area(found: np.ndarray, false: np.ndarray) -> np.ndarray:
    new = np.diff(false, axis=0, prepend=0)
    above = found - np.diff(found, axis=0, prepend=0) / 2  # a tie counts as half
    return (new * above).sum(axis=0) / (found[-1] * false[-1])


def _f1(found: np.ndarray, false: np.ndarray, n_called: int) -> np.ndarray:
    """Return F1 of calling the first groups frauds."""
    if n_called == 0:
        return np.zeros(found.shape[1])
    return 2 * found[n_called - 1] / (found[-1] + found[n_called - 1] + false[n_called - 1])


def _average_precision(found: np.ndarray, false: np.ndarray) -> np.ndarray:
    new = np.diff(found, axis=0, prepend=0)
    return (new * found / np.maximum(found + false, 1)).sum(axis=0) / found[-1]


# Curves


def _run_curves(plan: Plan, name: str, parts: dict[str, Part]) -> None:
    """Record F1 by threshold, and undersampling at every share with more seeds."""
    resample = _Resample(parts["test"].is_fraud)
    shares = [share for share in plan.shares if share > parts["train"].is_fraud.mean()]
    for model in MODELS:
        for share in (None, 0.5):
            _record_curve(plan, name, model, share, parts)
        settings = {_chosen(plan, name, model, PLAIN, metric).setting for metric in METRICS}
        seeds = range(min(plan.seeds[model], CURVE_SEEDS))
        for seed, share, setting in itertools.product(seeds, shares, sorted(settings)):
            _record_fit(plan, Fit(name, model, setting, "under", share, seed), parts, resample)


def _record_curve(
    plan: Plan, name: str, model: str, share: float | None, parts: dict[str, Part]
) -> None:
    """Record F1 by threshold on the rows learned from and on the test rows."""
    if _curve(plan, name, model, share) is not None:
        return
    setting = _chosen(plan, name, model, PLAIN, "F1").setting
    learned, is_fraud = parts["train"]
    if share is not None:
        # sampled here and not by SampledRanker, since its rows are judged too
        sampler = RandomUnderSampler(sampling_strategy=share / (1 - share), random_state=0)
        learned, is_fraud = sampler.fit_resample(learned, is_fraud)
    classifier = _model(Fit(name, model, setting, PLAIN, share, 0)).fit(learned, is_fraud)
    f1 = {
        part: [
            round(metrics.f_beta(rows.is_fraud, probability, threshold), 3)
            for threshold in THRESHOLDS
        ]
        for part, rows in {"train": Part(learned, is_fraud), "test": parts["test"]}.items()
        for probability in [classifier.predict_proba(rows.features)[:, 1]]
    }
    _record(
        plan, kind="curve", data=name, model=model, setting=setting, share=share, seed=0, f1=f1
    )


def _curve(plan: Plan, name: str, model: str, share: float | None) -> dict | None:
    setting = _chosen(plan, name, model, PLAIN, "F1").setting
    wanted = [name, model, list(setting), share]
    rows = [row for row in _recorded(plan) if row["kind"] == "curve"]
    own = [row for row in rows if [row[key] for key in CURVE_KEY] == wanted]
    return own[-1] if own else None


def _draw_thresholds(plan: Plan, names: list[str], path: Path) -> None:
    """Draw F1 by threshold: a row of panels for each data set."""
    figure = Figure(figsize=(11, 2.9 * len(names) + 0.5), layout="constrained")
    panels = list(itertools.product(("GB", "RF"), ("train", "test")))
    axes = figure.subplots(len(names), len(panels), squeeze=False, sharey=True)
    for row, name in zip(axes, names, strict=True):
        for ax, (model, part) in zip(row, panels, strict=True):
            _calm(ax, f"{name}: {model}, {part}", "threshold")
            for share, style in ((None, STYLES["GB"]), (0.5, STYLES["RF"])):
                curve = _is_searched(plan, name, model) and _curve(plan, name, model, share)
                if curve:
                    label = "no sampling" if share is None else "undersampled to half"
                    ax.plot(THRESHOLDS, curve["f1"][part], label=label, **style)
            ax.set(xlim=(0, 1), ylim=(0, 1.02))
        row[0].set_ylabel("F1", size=9, color=INK)
    _legend(figure, axes[0, 0])
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    print(f"Wrote {path}")


def _draw_shares(plan: Plan, names: list[str], path: Path) -> None:
    """Draw the test figures of undersampling by the share of positives learned from."""
    figure = Figure(figsize=(11, 2.9 * len(names) + 0.5), layout="constrained")
    panels = ("AP", "F1", "AUC", "F1 at .5")
    axes = figure.subplots(len(names), len(panels), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for ax, panel in zip(row, panels, strict=True):
            _calm(ax, f"{name}: {panel}", "positives after sampling")
            for model in MODELS:
                _add_shares(ax, plan, name, model, panel)
            ax.set_xscale("log")
            ax.set_xticks(TICKS, [f"{100 * share:g}%" for share in TICKS])
            ax.xaxis.set_minor_locator(NullLocator())
    _legend(figure, axes[0, 0])
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    print(f"Wrote {path}")


def _add_shares(ax: Axes, plan: Plan, name: str, model: str, panel: str) -> None:
    metric = "F1" if panel == "F1 at .5" else panel
    if not _is_searched(plan, name, model):
        return
    setting = _chosen(plan, name, model, PLAIN, metric).setting
    plain: list[float] = []
    values: dict[float, list[float]] = {}
    for fit, row in _fits(plan).items():
        if fit[:3] == (name, model, setting) and fit.sampler in (PLAIN, "under"):
            value = row["F1 at .5"] if panel == "F1 at .5" else row["test"][metric]
            (plain if fit.share is None else values.setdefault(fit.share, [])).append(value)
    style = STYLES[model]
    dots: dict[str, Any] = {"color": style["color"], "linewidth": 1.0, "linestyle": (0, (1, 2))}
    ax.axhline(float(np.mean(plain)), label=f"{model}, no sampling", **dots)
    shares = sorted(values)
    middle, spread = (np.array([of(values[each]) for each in shares]) for of in (np.mean, np.std))
    ax.plot(shares, middle, marker="o", markersize=3, label=f"{model}, undersampled", **style)
    ax.fill_between(shares, middle - spread, middle + spread, color=style["color"], alpha=0.15)


def _calm(ax: Axes, title: str, x_label: str) -> None:
    ax.set_title(title, size=10, color=INK)
    ax.set_xlabel(x_label, size=9, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=INK, color=GREY, labelsize=9, length=3, which="both")
    ax.grid(color="#e7e9ec", linewidth=0.7)
    ax.set_axisbelow(True)


def _legend(figure: Figure, ax: Axes) -> None:
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
    )


# Data


def _parts(name: str, plan: Plan) -> dict[str, Part]:
    """Return train, validation and test in the order of time."""
    moments, features, is_fraud = (_ulb if name == "ulb" else _handbook)()
    kept = slice(None, None, plan.thinned)
    split = splits.chronological(moments[kept])
    rows = {part: np.arange(moments.size)[kept][each] for part, each in split.parts().items()}
    return {part: Part(features[each], is_fraud[each]) for part, each in rows.items()}


def _ulb() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], "ulb_creditcard.parquet"))
    columns = table.drop_columns(["Time", "y"]).columns
    features = np.column_stack([column.to_numpy() for column in columns]).astype(np.float32)
    return _moments(table["Time"].to_numpy()), features, table["y"].to_numpy() == 1


def _handbook() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from benchmarks.quality import late_labels  # it needs River

    features, is_fraud, days = late_labels._payments(CUSTOMERS)
    kept = days >= FIRST_DAY
    return (
        _moments(days[kept] * 86_400),
        features[kept].to_numpy(np.float32),
        is_fraud[kept],
    )


def _moments(seconds: np.ndarray) -> np.ndarray:
    return np.datetime64("2000-01-01", "us") + (1e6 * seconds).astype("timedelta64[us]")


def _describe(name: str, parts: dict[str, Part]) -> None:
    sizes = (
        f"{part} {rows.is_fraud.size:,} rows, {rows.is_fraud.sum()} frauds "
        f"({rows.is_fraud.mean():.3%})"
        for part, rows in parts.items()
    )
    print(f"{name}: {'; '.join(sizes)}", flush=True)


# Rows


def _record(plan: Plan, **row: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):  # the resampled figures are long
        record(plan.table, **row)


def _recorded(plan: Plan) -> list[dict]:
    path = RESULTS / f"{plan.table}.jsonl"
    return list(_parsed(path, path.stat().st_size)) if path.exists() else []


@functools.lru_cache(maxsize=1)
def _parsed(path: Path, size: int) -> tuple[dict, ...]:
    """Return the rows of a file; it is read again when its size has changed."""
    return tuple(json.loads(line) for line in path.read_text().splitlines())


def _fits(plan: Plan) -> dict[Fit, dict]:
    return {
        Fit(*(row[key] for key in Fit._fields))._replace(setting=Setting(*row["setting"])): row
        for row in _recorded(plan)
        if row["kind"] == "fit"
    }


def _is_searched(plan: Plan, name: str, model: str) -> bool:
    """Return whether all candidates of seed 0 are recorded, the last of the last sampler too."""
    fits = _fits(plan)
    plain = [Fit(name, model, each, PLAIN, None, 0) for each in _candidates(plan, model)]
    if not all(fit in fits for fit in plain):
        return False
    settings = {_chosen(plan, name, model, PLAIN, metric).setting for metric in METRICS}
    last = list(SAMPLERS)[-1], max(plan.shares), 0
    return all(Fit(name, model, setting, *last) in fits for setting in settings)


# Report


def _print_report(plan: Plan, name: str) -> None:
    models = [model for model in MODELS if _is_searched(plan, name, model)]
    if not models:
        print(f"\n{name}: nothing is recorded yet")
        return
    methods = list(itertools.product((*SAMPLERS, PLAIN), models))
    chosen = {
        (*method, metric): _of_chosen(plan, name, *method, metric)
        for method in methods
        for metric in METRICS
    }
    _print_table(name, methods, chosen)
    _print_differences(methods, chosen)
    _print_verdicts(methods, chosen)


def _of_chosen(plan: Plan, name: str, sampler: str, model: str, metric: str) -> dict[int, dict]:
    """Return the rows, by seed, of what validation chose for a metric."""
    fit = _chosen(plan, name, model, sampler, metric)
    fits = _fits(plan)
    every = (fit._replace(seed=seed) for seed in range(plan.seeds[model]))
    return {each.seed: fits[each] for each in every if each in fits}


def _print_table(name: str, methods: list, chosen: dict) -> None:
    print(f"\n{name}: test, mean ± deviation over seeds (share chosen) | thesis, its own data\n")
    print("| | seeds | " + " | ".join(f"{metric} | thesis" for metric in METRICS) + " |")
    print("|---" * (2 + 2 * len(METRICS)) + "|")
    for sampler, model in methods:
        cells = []
        for metric in METRICS:
            rows = chosen[sampler, model, metric]
            values = [row["test"][metric] for row in rows.values()]
            share = next(iter(rows.values()))["share"]
            published, their_share = PUBLISHED[sampler, model][metric]
            cells.append(f"{np.mean(values):.4f} ± {_deviation(values):.4f} ({_shown(share)})")
            cells.append(f"{published:.4f} ({_shown(their_share)})")
        print(f"| {_named(sampler, model)} | {len(rows)} | {' | '.join(cells)} |")


def _print_differences(methods: list, chosen: dict) -> None:
    print("\nAgainst the same model without sampling, same seeds and test rows (95 %):\n")
    print(f"| | {' | '.join(METRICS)} |")
    print("|---" * (1 + len(METRICS)) + "|")
    for sampler, model in methods:
        if sampler != PLAIN:
            cells = (
                _in_words(
                    *_difference(
                        chosen[sampler, model, metric], chosen[PLAIN, model, metric], metric
                    )
                )
                for metric in METRICS
            )
            print(f"| {_named(sampler, model)} | {' | '.join(cells)} |")


def _print_verdicts(methods: list, chosen: dict) -> None:
    """Print the sampled method best on validation against the plain one best on validation."""
    print()
    for metric in METRICS:
        best = {}
        for is_plain in (False, True):
            kind = [method for method in methods if (method[0] == PLAIN) == is_plain]
            best[is_plain] = max(
                kind,
                key=lambda method: np.mean(
                    [row["validation"][metric] for row in chosen[*method, metric].values()]
                ),
            )
        sampled, plain = best[False], best[True]
        point, low, high = _difference(chosen[*sampled, metric], chosen[*plain, metric], metric)
        verdict = "leaves out 0" if low > 0 or high < 0 else "holds 0"
        print(
            f"{metric}: {_named(*sampled)}, the best with sampling on validation, against "
            f"{_named(*plain)}: {_in_words(point, low, high)}, which {verdict}"
        )


def _difference(
    rows: dict[int, dict], others: dict[int, dict], metric: str
) -> tuple[float, float, float]:
    """Return the mean difference over shared seeds and its 95 % interval.

    A resample draws test rows, the same for both, and seeds.
    """
    seeds = sorted(rows.keys() & others.keys())
    point = np.mean([rows[seed]["test"][metric] - others[seed]["test"][metric] for seed in seeds])
    ahead = np.array(
        [
            np.subtract(*(each[seed]["resampled_1e4"][metric] for each in (rows, others))) / 1e4
            for seed in seeds
        ]
    )
    drawn = np.random.default_rng(0).integers(len(seeds), size=(len(seeds), N_RESAMPLES))
    means = ahead[drawn, np.arange(N_RESAMPLES)].mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(point), float(low), float(high)


def _in_words(point: float, low: float, high: float) -> str:
    return f"{point:+.4f} ({low:+.4f} to {high:+.4f})"


def _named(sampler: str, model: str) -> str:
    return model if sampler == PLAIN else f"{SAMPLERS[sampler]} + {model}"


def _shown(share: float | None) -> str:
    return "own" if share is None else f"{share:g}"


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


# Options


def _plan(options: argparse.Namespace) -> Plan:
    if options.quick:
        return Plan(f"{NAME}_quick", {"RF": 2, "GB": 2}, 10, (0.01, 0.1, 0.5), 4)
    seeds = {"RF": min(options.forest_seeds, options.seeds), "GB": options.seeds}
    return Plan(NAME, seeds, options.trees, SHARES, 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, default=10, help="of GB")
    parser.add_argument("--forest-seeds", type=int, default=3, help="of RF")
    parser.add_argument("--trees", type=int, default=30, help="of a forest")
    parser.add_argument("--curves", action="store_true", help="run what the pictures need")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw the two pictures")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    parser.add_argument("--quick", action="store_true", help="a small trial, recorded apart")
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder of ulb_creditcard and handbook_transactions.")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Ranking trees and their forests on the MetaAP suite, beside the published figures.

    TOPRANK_DATA=folder python -m benchmarks.quality.ranking_trees [--quick] [--jobs 2]
        [--methods NAME ...] [--sets NAME ...] [--report] [--curves FILE.png]

The protocol of the MetaAP paper: seeds 1 to 20, a stratified 70/30 split each, test AP x 100 and
precision among the first k rows, k a share of the test positives. Trees are tuned on the training
rows alone, by 5-fold AP: the published ones over depths 2 to 10, ours by `depth="cv"`. Those
called defaults, the entropy tree and the forests, of 100 trees, are not tuned. Rows are recorded
one by one; those recorded already are not run again.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from scipy.stats import wilcoxon
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split

from toprank import GeometricTree, MetaAP, RankForest, TreeRank, metrics
from toprank.tables import Schema

NAME = "ranking_trees"
N_SEEDS, N_QUICK = 20, 2
QUICK_SETS = ("hayes", "glass", "heart", "yeast6")
DEPTHS = range(2, 11)
N_FOLDS = 5
TEST_SHARE = 0.3
NOT_FEATURES = ("y", "label", "part", "subset", "difficulty")
SHARES = (1, *range(5, 101, 5))  # of the test positives, in per cent: the k of precision at k

# means over the 19 sets of the mean test AP of 20 splits, from the MetaAP paper
PUBLISHED_MEANS = {"TreeRank": 69.2, "MetaAP": 70.5, "MetaAPForest": 77.8, "XGBRanker": 80.1}


def main() -> None:
    options = _options()
    names = options.sets or (QUICK_SETS if options.quick else set_names())
    seeds = range(1, (N_QUICK if options.quick else N_SEEDS) + 1)
    if not options.report:
        _run(list(product(seeds, names, options.methods)), options.jobs)
    rows = [
        row
        for row in recorded()
        if row["dataset"] in names and row["seed"] in seeds and row["method"] in options.methods
    ]
    _print_table(names, options.methods, rows)
    if options.curves:
        _draw_curves(options.methods, rows, options.curves)


def set_names() -> list[str]:
    """Return the sets of the suite in the folder; large ones last, so that most is done early."""
    paths = Path(os.environ["TOPRANK_DATA"]).glob("metaap_*.parquet")
    return [
        path.stem.removeprefix("metaap_") for path in sorted(paths, key=lambda p: p.stat().st_size)
    ]


Split = tuple[pa.Table, np.ndarray, pa.Table]


def _published(kind: type) -> Callable[[Split, int], np.ndarray]:
    """Return how the paper tunes a tree: one depth, chosen by 5-fold AP."""

    def scores(split: Split, seed: int) -> np.ndarray:
        features, is_positive, test = split
        depth = _best_depth(kind, _one_hot(features, features), is_positive)
        ranker = kind.published(depth, positive_label=True)
        ranker.fit(_one_hot(features, features), is_positive)
        return ranker.suspicion(_one_hot(test, features))

    return scores


def _best_depth(kind: type, features: np.ndarray, is_positive: np.ndarray) -> int:
    # the paper draws its folds from the generator that drew the split
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True).split(features, is_positive))
    means = []
    for depth in DEPTHS:
        found = []
        for train, held_out in folds:
            ranker = kind.published(depth, positive_label=True)
            ranker.fit(features[train], is_positive[train])
            suspicion = ranker.suspicion(features[held_out])
            found.append(metrics.average_precision(is_positive[held_out], suspicion))
        means.append(np.mean(found))
    return DEPTHS[int(np.argmax(means))]


def _fitted(make: Callable[[int], object]) -> Callable[[Split, int], np.ndarray]:
    """Return how a ranker of ours is used: fitted as it is, columns as they are."""

    def scores(split: Split, seed: int) -> np.ndarray:
        features, is_positive, test = split
        return make(seed).fit(features, is_positive).suspicion(test)

    return scores


def _random_forest(min_leaf: int) -> Callable[[Split, int], np.ndarray]:
    def scores(split: Split, seed: int) -> np.ndarray:
        features, is_positive, test = split
        forest = RandomForestClassifier(100, min_samples_leaf=min_leaf, random_state=seed)
        forest.fit(_one_hot(features, features), is_positive)
        return forest.predict_proba(_one_hot(test, features))[:, 1]

    return scores


def _one_hot(table: pa.Table, training: pa.Table) -> np.ndarray:
    """Return the table with a column a category, as the paper and scikit-learn take it."""
    schema = Schema.of(training)
    encoded = schema.encode(table)
    columns = []
    for place, column in enumerate(schema.columns):
        codes = range(len(column.categories))
        values = encoded[:, place]
        columns += [values == code for code in codes] if column.categories else [values]
    return np.column_stack(columns).astype(np.float32)


METHODS: dict[str, Callable[[Split, int], np.ndarray]] = {
    "TreeRank published": _published(TreeRank),
    "MetaAP published": _published(MetaAP),
    "TreeRank": _fitted(lambda seed: TreeRank(depth="cv", positive_label=True, random_state=seed)),
    "MetaAP": _fitted(lambda seed: MetaAP(depth="cv", positive_label=True, random_state=seed)),
    "TreeRank defaults": _fitted(lambda seed: TreeRank(positive_label=True)),
    "MetaAP defaults": _fitted(lambda seed: MetaAP(positive_label=True)),
    "entropy tree": _fitted(lambda seed: GeometricTree(criterion="entropy", positive_label=True)),
    "RankForest": _fitted(lambda seed: RankForest(positive_label=True, random_state=seed)),
    "RankForest of MetaAP": _fitted(
        lambda seed: RankForest(
            MetaAP(global_depth=10, local_depth=8, min_samples_leaf=1, shrinkage=1),
            positive_label=True,
            random_state=seed,
        )
    ),
    "RandomForest": _random_forest(1),
    "RandomForest, leaf 3": _random_forest(3),
}


def _run(tasks: list[tuple[int, str, str]], n_jobs: int) -> None:
    done = {(row["seed"], row["dataset"], row["method"]) for row in recorded()}
    left = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(n_jobs) as pool:
        for number, row in enumerate(pool.map(_one, left), start=1):
            record(NAME, **row)
            print(f"{number} of {len(left)}", file=sys.stderr)


def _one(task: tuple[int, str, str]) -> dict:
    """Return the row of one split and method."""
    seed, name, method = task
    warnings.filterwarnings("ignore")
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"metaap_{name}.parquet"))
    is_positive = table["y"].to_numpy().astype(bool)
    features = table.drop_columns([each for each in NOT_FEATURES if each in table.column_names])
    np.random.seed(seed)  # noqa: NPY002  (the published splits come from this generator)
    train, test = train_test_split(
        np.arange(is_positive.size), stratify=is_positive, test_size=TEST_SHARE
    )
    split = features.take(train), is_positive[train], features.take(test)
    begin = time.perf_counter()
    suspicion = METHODS[method](split, seed)
    seconds = time.perf_counter() - begin
    labels = is_positive[test]
    ks = [max(1, int(share * labels.sum() / 100)) for share in SHARES]
    return {
        "dataset": name,
        "seed": seed,
        "method": method,
        "positives": float(is_positive.mean().round(4)),
        "ap": round(100 * metrics.average_precision(labels, suspicion), 3),
        "precision_at": [round(metrics.precision_at_k(labels, suspicion, k), 4) for k in ks],
        "seconds": round(seconds, 2),
    }


def recorded() -> list[dict]:
    """Return the rows recorded so far."""
    path = RESULTS / f"{NAME}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _means(names: list[str], methods: list[str], rows: list[dict], value: str) -> np.ndarray:
    """Return the mean over seeds by set and method; NaN where nothing is recorded."""
    means = np.full((len(names), len(methods)), np.nan)
    for place in np.ndindex(means.shape):
        found = [
            row[value]
            for row in rows
            if row["dataset"] == names[place[0]] and row["method"] == methods[place[1]]
        ]
        if found:
            means[place] = np.mean(found)
    return means


def _print_table(names: list[str], methods: list[str], rows: list[dict]) -> None:
    ap, seconds = (_means(names, methods, rows, value) for value in ("ap", "seconds"))
    print("\ntest AP x 100, mean over seeds\n")
    print("| set | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 1) + "|")
    for name, line in zip(names, ap, strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in line) + " |")
    print(f"| **{len(names)} sets** | " + " | ".join(f"{v:.2f}" for v in ap.mean(axis=0)) + " |")
    print("| seconds a fit | " + " | ".join(f"{v:.1f}" for v in seconds.mean(axis=0)) + " |")
    print(f"\npublished means of the 19 sets: {PUBLISHED_MEANS}")
    counts = {method: sum(row["method"] == method for row in rows) for method in methods}
    print(f"splits recorded: {counts}")
    for ours, other in (
        ("MetaAP", "MetaAP published"),
        ("TreeRank", "TreeRank published"),
        ("RankForest", "RandomForest"),
        ("RankForest", "RandomForest, leaf 3"),
    ):
        if {ours, other} <= set(methods):
            gaps = ap[:, methods.index(ours)] - ap[:, methods.index(other)]
            p = wilcoxon(gaps).pvalue if np.any(gaps) else 1.0
            print(
                f"{ours} against {other}: {gaps.mean():+.2f}, ahead on {np.sum(gaps > 0)} of "
                f"{gaps.size} sets, signed-rank p {p:.2g}"
            )


def _draw_curves(methods: list[str], rows: list[dict], path: str) -> None:
    """Draw precision among the first k rows, for all sets and for the rarest positives."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(13, 4), sharey=True)
    for panel, most in zip(panels, (0.1, 0.3, 0.5), strict=True):
        for number, method in enumerate(methods):
            curves = [
                row["precision_at"]
                for row in rows
                if row["method"] == method and row["positives"] <= most
            ]
            if curves:
                is_forest = "Forest" in method
                panel.plot(
                    SHARES,
                    100 * np.mean(curves, axis=0),
                    "--" if is_forest else "-",
                    color=pyplot.get_cmap("tab20")(number),
                    label=method,
                )
        panel.set_title(f"sets with at most {most:.0%} positives")
        panel.set_xlabel("k, per cent of the test positives")
    panels[0].set_ylabel("precision among the first k, per cent")
    panels[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4 small sets, 2 seeds")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sets", nargs="+", help="only these, such as yeast6")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    parser.add_argument("--curves", help="draw precision at k into this file")
    options = parser.parse_args()
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("set TOPRANK_DATA to the folder of the data sets")
    return options


if __name__ == "__main__":
    main()

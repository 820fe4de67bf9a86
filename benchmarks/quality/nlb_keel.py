"""Non-linear against linear boosting on imbalanced KEEL sets, by the protocol of the thesis.

    TOPRANK_DATA=folder python -m benchmarks.quality.nlb_keel [--quick] [--resume] [--jobs 2]

Each set keel_* is split 30 times at random, 2/3 to train and 1/3 to test, both with their share of
positives. Depth, learning rate and number of trees (at most 100) are chosen by 3-fold
cross-validation inside the training part; then both learners are fitted to all of it and tested
once. They share splits, folds, grid and XGBoost's settings, and differ in the latents alone.
Cuts are all inner nodes of the chosen model; the thesis calls them splits and counts them a tree.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from scipy.stats import wilcoxon
from sklearn.model_selection import StratifiedKFold, train_test_split

from toprank import BoostedRanker, NonLinearBoost, metrics
from toprank.boosting import booster_trees

NAME = "nlb_keel"
N_SPLITS, N_QUICK, N_FOLDS = 30, 3, 3
DEPTHS, RATES = (1, 3, 5), (0.1, 0.3)
TREES = (*range(1, 11), *range(12, 31, 3), *range(35, 101, 5))
GRID = {"depths": DEPTHS, "rates": RATES, "most_trees": TREES[-1], "folds": N_FOLDS}

# AP of NLB and of its linear rival in the thesis, Table 4.2
THESIS = {
    "abalone-17_vs_7-8-9-10": (28.7, 21.4),
    "abalone-20_vs_8-9-10": (27.9, 20.1),
    "abalone9-18": (40.1, 30.4),
    "ecoli-0-1_vs_2-3-5": (76.5, 67.7),
    "glass-0-1-6_vs_5": (71.2, 65.7),
    "glass4": (54.4, 51.2),
    "kr-vs-k-three_vs_eleven": (99.8, 96.0),
    "poker-9_vs_7": (35.1, 25.4),
    "winequality-red-3_vs_5": (8.7, 11.1),
    "winequality-red-8_vs_6-7": (13.1, 6.8),
    "winequality-white-3-9_vs_5": (23.8, 14.8),
    "winequality-white-9_vs_4": (41.7, 30.3),
    "yeast-0-5-6-7-9_vs_4": (46.8, 55.3),
    "yeast-1-2-8-9_vs_7": (29.9, 22.2),
    "yeast-2_vs_4": (82.7, 80.7),
    "yeast5": (67.2, 62.8),
}


class Chosen(NamedTuple):
    """What cross-validation chose."""

    depth: int
    rate: float
    n_trees: int


def main() -> None:
    options = _options()
    names = options.sets or sorted(THESIS)
    splits = range(N_QUICK if options.quick else N_SPLITS)
    kept = _recorded(names, splits) if options.resume else {}
    tasks = [task for task in product(names, splits) if task not in kept]
    for row in _rows_of(tasks, options.jobs):
        record(NAME, **row)
        kept[row["dataset"], row["seed"]] = row
    _print_report(names, [kept[task] for task in product(names, splits)])


def _rows_of(tasks: list[tuple[str, int]], n_jobs: int) -> Iterator[dict]:
    if n_jobs == 1:
        yield from map(_one_split, tasks)
        return
    with ProcessPoolExecutor(n_jobs) as pool:
        yield from pool.map(_one_split, tasks)


def _one_split(task: tuple[str, int]) -> dict:
    """Return the row of one set and split: both learners, tuned alike, tested once."""
    name, seed = task
    features, is_positive = _table(name)
    train, test = train_test_split(
        np.arange(is_positive.size), test_size=1 / 3, stratify=is_positive, random_state=seed
    )
    row = {"dataset": name, "seed": seed, "grid": GRID}
    for method in ("nlb", "linear"):
        chosen = _tuned(method, features.take(train), is_positive[train], seed)
        ranker = _ranker(method, *chosen).fit(features.take(train), is_positive[train])
        suspicion = ranker.suspicion(features.take(test))
        row[method] = {
            "ap": round(metrics.average_precision(is_positive[test], suspicion), 5),
            "cuts": _n_cuts(ranker),
            **chosen._asdict(),
        }
    return row


def _tuned(method: str, features: pa.Table, is_positive: np.ndarray, seed: int) -> Chosen:
    """Return the settings with the best mean AP over folds; fewer trees where they tie.

    A fit with fewer trees is the beginning of one with more, so one fit serves all numbers.
    """
    folds = list(
        StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(is_positive, is_positive)
    )
    settings = list(product(DEPTHS, RATES))
    precision = [
        np.mean(
            [_staged_precision(method, each, features, is_positive, *fold) for fold in folds], 0
        )
        for each in settings
    ]
    best, stage = np.unravel_index(np.argmax(precision), (len(settings), len(TREES)))
    return Chosen(*settings[best], TREES[stage])


def _staged_precision(
    method: str,
    settings: tuple[int, float],
    features: pa.Table,
    is_positive: np.ndarray,
    train: np.ndarray,
    held_out: np.ndarray,
) -> list[float]:
    """Return the AP on the rows held out with each number of trees."""
    ranker = _ranker(method, *settings, TREES[-1]).fit(features.take(train), is_positive[train])
    staged = _staged(ranker, features.take(held_out))
    return [metrics.average_precision(is_positive[held_out], raw) for raw in staged]


def _ranker(method: str, depth: int, rate: float, n_trees: int) -> NonLinearBoost | BoostedRanker:
    shared = {
        "n_estimators": n_trees,
        "max_depth": depth,
        "learning_rate": rate,
        "positive_label": True,
        "n_jobs": 1,
    }
    return NonLinearBoost(**shared) if method == "nlb" else BoostedRanker("log", **shared)


def _staged(ranker: NonLinearBoost | BoostedRanker, features: pa.Table) -> list[np.ndarray]:
    """Return the suspicions with each number of trees."""
    if isinstance(ranker, NonLinearBoost):
        staged = ranker.staged_suspicion(features)
        return [staged[:, n_trees - 1] for n_trees in TREES]
    encoded = ranker.schema_.encode(features)
    return [
        ranker.booster_.inplace_predict(
            encoded, iteration_range=(0, n_trees), predict_type="margin", validate_features=False
        )
        for n_trees in TREES
    ]


def _n_cuts(ranker: NonLinearBoost | BoostedRanker) -> int:
    trees = booster_trees.trees_of(ranker.booster_)
    return sum(child >= 0 for tree in trees for child in tree["left_children"])


def _table(name: str) -> tuple[pa.Table, np.ndarray]:
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"keel_{name}.parquet"))
    return table.drop_columns(["y"]), table["y"].to_numpy() == 1


def _recorded(names: list[str], splits: range) -> dict[tuple[str, int], dict]:
    """Return the rows in the results file that this run would give again."""
    path = RESULTS / f"{NAME}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    same_grid = json.loads(json.dumps(GRID))
    return {
        (row["dataset"], row["seed"]): row
        for row in rows
        if row["dataset"] in names and row["seed"] in splits and row["grid"] == same_grid
    }


def _print_report(names: list[str], rows: list[dict]) -> None:
    ap, cuts, trees = (
        np.array(
            [[_of(rows, name, method, key) for method in ("nlb", "linear")] for name in names]
        )
        for key in ("ap", "cuts", "n_trees")
    )  # each: set, learner, split
    ap *= 100
    thesis = np.array([THESIS[name] for name in names])
    print(f"\n{'':28}{'AP, mean ± sd over splits':^28}{'cuts':^14}{'trees':^14}{'thesis AP':^14}")
    print(f"{'set':28}{'NLB':^14}{'linear':^14}" + f"{'NLB':>6}{'linear':>8}" * 3)
    for name, *columns in zip(names, ap, cuts, trees, thesis, strict=True):
        _print_line(name, *columns)
    _print_line("mean", *(each.mean(axis=0) for each in (ap, cuts, trees, thesis)))
    _print_verdict(ap.mean(axis=2), cuts.mean(axis=(0, 2)), thesis.mean(axis=0))


def _of(rows: list[dict], name: str, method: str, key: str) -> list[float]:
    return [row[method][key] for row in rows if row["dataset"] == name]


def _print_line(name: str, ap, cuts, trees, thesis) -> None:
    """Print one set, or the mean over sets; there the ± is that of the splits' means."""
    cells = "".join(f"{one.mean():6.1f} ± {one.std():4.1f} " for one in ap)
    cells += "".join(f"{one.mean():{width}.0f}" for one, width in zip(cuts, (6, 8), strict=True))
    cells += "".join(f"{one.mean():{width}.0f}" for one, width in zip(trees, (6, 8), strict=True))
    print(f"{name:28}{cells}{thesis[0]:6.1f}{thesis[1]:8.1f}")


def _print_verdict(ap: np.ndarray, cuts: np.ndarray, thesis: np.ndarray) -> None:
    """Say who is ahead, from each set's mean AP, and whether that is more than chance."""
    gain = ap[:, 0] - ap[:, 1]
    wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
    chance = float(wilcoxon(gain).pvalue) if gain.any() else 1.0
    print(f"\nNLB is ahead on {wins} of {gain.size} sets, behind on {losses}; ", end="")
    print(f"mean AP {ap[:, 0].mean():.1f} against {ap[:, 1].mean():.1f}; ", end="")
    print(f"signed-rank test over sets: p = {chance:.3f}.")
    print(f"Cuts: NLB {cuts[0]:.0f}, linear {cuts[1]:.0f} ({cuts[0] / cuts[1] - 1:+.0%}).")
    for method, own, theirs in zip(("NLB", "linear"), ap.mean(axis=0), thesis, strict=True):
        side = "above" if own > theirs else "not above"
        print(f"{method}: {own:.1f}, {side} the thesis' {theirs:.1f} on these sets.")
    if chance >= 0.05:
        verdict = "the two cannot be told apart in AP"
    else:
        verdict = "NLB ranks better" if np.median(gain) > 0 else "linear boosting ranks better"
    print(f"Verdict: {verdict}.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{N_QUICK} splits a set")
    parser.add_argument("--resume", action="store_true", help="keep rows recorded earlier")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--sets", nargs="*", choices=sorted(THESIS), help="only these sets")
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder that holds keel_*.parquet.")
    return parser.parse_args()


if __name__ == "__main__":
    main()

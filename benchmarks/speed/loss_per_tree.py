"""Seconds a tree of our losses against XGBoost's own binary:logistic, and the memory of a fit.

    python -m benchmarks.speed.loss_per_tree [--loss ap-exp ap-sigmoid] [--rows 2000000]
        [--rounds 5] [--trees 20] [--doubling] [--memory]

All grow trees of the same depth on the same histogram of the same rows, in turns, so that a
noisy machine slows all. Told apart are the trees alone: the binning is the same for all.
`--doubling` grows them on twice the rows too; `--memory` adds, for the first loss, the peak
memory of a whole `BoostedRanker.fit` over the size of its input.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xgboost
from benchmarks.record import record

from toprank import BoostedRanker
from toprank.boosting.objective import Objective
from toprank.boosting.xgboost_engine import across_machines
from toprank.losses import LOSSES, Gather, make_loss

SEED = 0
SETTINGS = {"tree_method": "hist", "max_depth": 6, "learning_rate": 0.1, "max_bin": 256}
BASELINE = "binary:logistic"


class Rows(NamedTuple):
    """The rows, binned, and which of them are positive."""

    matrix: xgboost.QuantileDMatrix
    is_positive: np.ndarray


def main() -> None:
    options = _options()
    if options.memory_only:
        _fit_and_print_memory(options)
        return
    sizes = [options.rows, 2 * options.rows] if options.doubling else [options.rows]
    every_size = [binned(n_rows, options.features) for n_rows in sizes]
    methods = [BASELINE, *options.loss]
    seconds = seconds_per_tree(every_size, methods, options.rounds, options.trees)
    record(
        "loss_per_tree",
        seed=SEED,
        rows=options.rows,
        features=options.features,
        trees=options.trees,
        rounds=options.rounds,
        **_compared(seconds[..., 0], methods),
        **(_doubled(seconds, methods) if options.doubling else {}),
        **(_memory_of_a_fit(options) if options.memory else {}),
    )


def payments(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 features and rare positives (about 0.3 %)."""
    generator = np.random.default_rng(SEED)
    features = generator.standard_normal((n_rows, n_features), dtype=np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2]
    score += generator.standard_normal(n_rows, dtype=np.float32)
    return features, score > 5.2


def binned(n_rows: int, n_features: int) -> Rows:
    features, is_positive = payments(n_rows, n_features)
    return Rows(xgboost.QuantileDMatrix(features, is_positive, max_bin=256), is_positive)


def seconds_per_tree(
    every_size: list[Rows], methods: list[str], n_rounds: int, n_trees: int
) -> np.ndarray:
    """Return the seconds a tree by round, method and size."""
    seconds = np.empty((n_rounds, len(methods), len(every_size)))
    for method in methods:
        grow(method, every_size[0], 2)  # compiles before timing
    for turn in np.ndindex(seconds.shape):
        seconds[turn] = grow(methods[turn[1]], every_size[turn[2]], n_trees)
    return seconds


def grow(method: str, rows: Rows, n_trees: int) -> float:
    """Return the seconds a tree; our objectives are exactly as the engine sets them up."""
    if method == BASELINE:
        begin = time.perf_counter()
        xgboost.train({"objective": BASELINE, **SETTINGS}, rows.matrix, n_trees)
        return (time.perf_counter() - begin) / n_trees
    gather = Gather(across_machines)
    objective = Objective(make_loss(method), rows.is_positive, None, 1.0, SEED, gather)
    rounds = iter(range(n_trees))
    begin = time.perf_counter()
    xgboost.train(
        {"base_score": 0.0, "disable_default_eval_metric": True, **SETTINGS},
        rows.matrix,
        n_trees,
        obj=lambda raw, _: objective.gradient_curvature(raw, next(rounds)),
    )
    return (time.perf_counter() - begin) / n_trees


def _compared(seconds: np.ndarray, methods: list[str]) -> dict[str, dict]:
    """Return each method's median seconds, and its ratios to the baseline of the same round."""
    ratios = seconds / seconds[:, :1]
    return {
        "seconds_per_tree": _by_method(methods, np.median(seconds, axis=0), 4),
        "ratio": _by_method(methods, np.median(ratios, axis=0), 3),
        "ratios": _by_method(methods, ratios.T, 3),
    }


def _doubled(seconds: np.ndarray, methods: list[str]) -> dict[str, dict]:
    """Return what twice the rows take, in seconds and over the seconds of the rows."""
    times = seconds[..., 1] / seconds[..., 0]
    return {
        "seconds_per_tree_of_twice_the_rows": _by_method(
            methods, np.median(seconds[..., 1], axis=0), 4
        ),
        "doubling": _by_method(methods, np.median(times, axis=0), 3),
    }


def _by_method(methods: list[str], values: np.ndarray, digits: int) -> dict:
    return dict(zip(methods, np.round(values, digits).tolist(), strict=True))


def _memory_of_a_fit(options: argparse.Namespace) -> dict[str, float]:
    """Return the peak of a fresh process over its start, and the input's size."""
    command = [sys.executable, "-m", "benchmarks.speed.loss_per_tree", "--memory-only"]
    command += ["--rows", str(options.rows), "--features", str(options.features)]
    command += ["--loss", options.loss[0]]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peak, size = map(int, printed.split())
    return {
        "input_megabytes": round(size / 1e6),
        "fit_megabytes_over_start": round(peak / 1e6),
        "memory_ratio": round(peak / size, 2),
    }


def _fit_and_print_memory(options: argparse.Namespace) -> None:
    loss, n_features = options.loss[0], options.features
    # libraries loaded, compiled
    BoostedRanker(loss=loss, n_estimators=2).fit(*payments(10_000, n_features))
    start = _resident_bytes()
    features, is_positive = payments(options.rows, n_features)
    BoostedRanker(loss=loss, n_estimators=20).fit(features, is_positive)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start, features.nbytes)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ours = [name for name in LOSSES if name != "log"]
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=ours)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--doubling", action="store_true", help="twice the rows as well")
    parser.add_argument("--memory", action="store_true", help="and the memory of a fit")
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()

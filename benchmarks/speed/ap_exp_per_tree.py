"""Seconds a tree of ap-exp against XGBoost's own binary:logistic, and the memory of a fit.

    python -m benchmarks.speed.ap_exp_per_tree [--rows 2000000] [--rounds 5] [--trees 20]

Both grow trees of the same depth on the same histogram of the same rows, in turns, so that a
noisy machine slows both. Told apart are the trees alone (the binning is the same for both) and
the peak memory of a whole `BoostedRanker.fit` over the size of its input.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import xgboost
from benchmarks.record import record

from toprank import BoostedRanker
from toprank.boosting.objective import Objective
from toprank.boosting.xgboost_engine import across_machines
from toprank.losses import ApExp, Gather

SEED = 0
SETTINGS = {"tree_method": "hist", "max_depth": 6, "learning_rate": 0.1, "max_bin": 256}


def main() -> None:
    options = _options()
    if options.memory_only:
        _fit_and_print_memory(options.rows, options.features)
        return
    features, is_positive = payments(options.rows, options.features)
    matrix = xgboost.QuantileDMatrix(features, is_positive, max_bin=256)
    del features
    seconds: dict[str, list[float]] = {"binary:logistic": [], "ap-exp": []}
    grow_logistic(matrix, 2)
    grow_ap_exp(matrix, is_positive, 2)  # compiles before timing
    for _ in range(options.rounds):
        seconds["binary:logistic"].append(grow_logistic(matrix, options.trees))
        seconds["ap-exp"].append(grow_ap_exp(matrix, is_positive, options.trees))
    ratios = np.array(seconds["ap-exp"]) / np.array(seconds["binary:logistic"])
    peak, size = _memory_of_a_fit(options)
    record(
        "ap_exp_per_tree",
        seed=SEED,
        rows=options.rows,
        features=options.features,
        seconds_per_tree={name: round(float(np.median(s)), 4) for name, s in seconds.items()},
        ratio=round(float(np.median(ratios)), 3),
        ratios=[round(float(ratio), 3) for ratio in ratios],
        input_megabytes=round(size / 1e6),
        fit_megabytes_over_start=round(peak / 1e6),
        memory_ratio=round(peak / size, 2),
    )


def payments(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 features and rare positives (about 0.3 %)."""
    generator = np.random.default_rng(SEED)
    features = generator.standard_normal((n_rows, n_features), dtype=np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2]
    score += generator.standard_normal(n_rows, dtype=np.float32)
    return features, score > 5.2


def grow_logistic(matrix: xgboost.QuantileDMatrix, n_trees: int) -> float:
    begin = time.perf_counter()
    xgboost.train({"objective": "binary:logistic", **SETTINGS}, matrix, n_trees)
    return (time.perf_counter() - begin) / n_trees


def grow_ap_exp(matrix: xgboost.QuantileDMatrix, is_positive: np.ndarray, n_trees: int) -> float:
    """Return the seconds a tree, with the objective exactly as the engine sets it up."""
    gather = Gather(across_machines)
    objective = Objective(ApExp(), is_positive, None, 1.0, SEED, gather)
    rounds = iter(range(n_trees))
    begin = time.perf_counter()
    xgboost.train(
        {"base_score": 0.0, "disable_default_eval_metric": True, **SETTINGS},
        matrix,
        n_trees,
        obj=lambda raw, _: objective.gradient_curvature(raw, next(rounds)),
    )
    return (time.perf_counter() - begin) / n_trees


def _memory_of_a_fit(options: argparse.Namespace) -> tuple[int, int]:
    """Return the peak of a fresh process over its start, and the input's bytes."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.ap_exp_per_tree",
        "--memory-only",
        "--rows",
        str(options.rows),
    ]
    command += ["--features", str(options.features)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peak, size = map(int, printed.split())
    return peak, size


def _fit_and_print_memory(n_rows: int, n_features: int) -> None:
    BoostedRanker(n_estimators=2).fit(*payments(1000, n_features))  # libraries loaded, compiled
    start = _resident_bytes()
    features, is_positive = payments(n_rows, n_features)
    BoostedRanker(n_estimators=20).fit(features, is_positive)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start, features.nbytes)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-only", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Ranking trees against scikit-learn's trees and forests, in turns within one run.

    TOPRANK_DATA=folder python -m benchmarks.speed.ranking_trees [--rounds 7] [--skip NAME ...]

exact      one local tree of depth 8, every cut tried, against DecisionTreeClassifier (satimage)
binned     MetaAP 8 x 8 on 255 bins against DecisionTreeClassifier of depth 8 (4,504 satimage rows)
ulb        MetaAP 4 x 4 on 255 bins against DecisionTreeClassifier of depth 16 (ULB card payments)
forest     100 trees of depth 8 against RandomForestClassifier, both on all cores (satimage)
compile    seconds of the first fit after install, and of the first in a later process
memory     the peak of MetaAP 4 x 4 on 2,000,000 x 40 rows over the size of its input

All figures include binning, and none the reading of the data.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import record
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from toprank import MetaAP, RankForest, TreeRank
from toprank.trees.kernel.binning import MOST_BINS, bin_columns
from toprank.trees.kernel.growing import Growth, Sample, grow

SEED = 0
NOT_FEATURES = ("y", "label", "part", "subset", "Class", "Time")
PAPER_ROWS = 4504  # of satimage, which the published code was timed on
PARTS = ("exact", "binned", "ulb", "forest", "compile", "memory")


def main() -> None:
    options = _options()
    if options.part:
        _fit_and_print(options.part)
        return
    chosen = [part for part in PARTS if part not in options.skip]
    for part in chosen:
        record("ranking_trees_speed", seed=SEED, part=part, **_measured(part, options.rounds))


def _measured(part: str, n_rounds: int) -> dict:
    if part == "compile":
        return _compile_seconds()
    if part == "memory":
        return _memory()
    return _compared(*_rivals(part), n_rounds)


Fit = Callable[[], object]


def _rivals(part: str) -> tuple[Fit, Fit]:
    """Return our fit and scikit-learn's."""
    if part == "ulb":
        X, y = _table("ulb_creditcard", "Class")
        return (
            lambda: MetaAP(global_depth=4, local_depth=4, max_bins=255).fit(X, y),
            lambda: DecisionTreeClassifier(max_depth=16, random_state=SEED).fit(X, y),
        )
    X, y = _table("metaap_satimage", "y")
    if part == "exact":
        return (
            lambda: _local_tree(X, y, 8),
            lambda: DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(X, y),
        )
    if part == "binned":
        X, y = X[:PAPER_ROWS], y[:PAPER_ROWS]
        published = MetaAP.published(8, max_bins=255)
        return (
            lambda: published.fit(X, y),
            lambda: DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(X, y),
        )
    forest = RankForest(TreeRank(global_depth=8, local_depth=1, min_samples_leaf=1), n_jobs=-1)
    rival = RandomForestClassifier(100, max_depth=8, random_state=SEED, n_jobs=-1)
    return (lambda: forest.fit(X, y)), (lambda: rival.fit(X, y))


def _local_tree(X: np.ndarray, y: np.ndarray, depth: int) -> object:
    binned = bin_columns(X, np.zeros(X.shape[1], dtype=int), MOST_BINS)
    sample = Sample.of(np.arange(y.size), y, None)
    ends = np.array([y.size])
    return grow(
        binned, sample, np.zeros(1, int), ends, np.ones(1, np.uint64), Growth("gini", depth)
    )


def _compared(ours: Fit, theirs: Fit, n_rounds: int) -> dict:
    ours()  # compiles before timing
    seconds = np.array([[_seconds(fit) for fit in (ours, theirs)] for _ in range(n_rounds)])
    ratios = seconds[:, 0] / seconds[:, 1]
    return {
        "seconds": np.median(seconds[:, 0]).round(4),
        "scikit_learn": np.median(seconds[:, 1]).round(4),
        "ratio": np.median(ratios).round(3),
        "ratios": ratios.round(3).tolist(),
    }


def _seconds(fit: Fit) -> float:
    begin = time.perf_counter()
    fit()
    return time.perf_counter() - begin


def _compile_seconds() -> dict:
    """Return the seconds of a first small fit with an empty cache, and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        first, later = (_in_new_process("compile", {"NUMBA_CACHE_DIR": cache}) for _ in range(2))
    return {"first_fit_seconds": first[0], "later_process_seconds": later[0]}


def _memory() -> dict:
    peak, size = _in_new_process("memory", {})
    return {
        "input_megabytes": round(size / 1e6),
        "fit_megabytes_over_start": round(peak / 1e6),
        "memory_ratio": round(peak / size, 2),
    }


def _in_new_process(part: str, environment: dict[str, str]) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.speed.ranking_trees", "--part", part]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return [float(word) for word in done.stdout.split()]


def _fit_and_print(part: str) -> None:
    generator = np.random.default_rng(SEED)
    small = generator.standard_normal((300, 5), dtype=np.float32)
    labels = small[:, 0] > 1
    begin = time.perf_counter()
    MetaAP().fit(small, labels).suspicion(small)
    if part == "compile":
        print(round(time.perf_counter() - begin, 2))
        return
    start = _resident_bytes()
    features = generator.standard_normal((2_000_000, 40), dtype=np.float32)
    is_positive = features[:, 0] + features[:, 1] * features[:, 2] > 5
    MetaAP(global_depth=4, local_depth=4).fit(features, is_positive)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - start, features.nbytes)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _table(name: str, label: str) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"{name}.parquet"))
    names = [each for each in table.column_names if each not in NOT_FEATURES]
    features = np.column_stack([table[each].to_numpy() for each in names]).astype(np.float32)
    label = label if label in table.column_names else "y"
    return features, table[label].to_numpy().astype(bool)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--skip", nargs="*", choices=PARTS, default=[])
    parser.add_argument("--part", choices=("compile", "memory"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Detectors without labels on ten sets of ADBench: average precision and AUC of known anomalies.

    TOPRANK_DATA=folder python -m benchmarks.quality.anomaly_detection [--sets NAME ...]
        [--seeds 3] [--jobs 1] [--report]

Every detector has its defaults; it learns from all rows without their labels and ranks the same
rows. Sets of more than 50,000 rows are drawn down to so many, anew for every seed. ECOD, LOF and
kNN are PyOD's (`pip install pyod`) and are left out where it is not installed; the last two, whose
time grows with the square of the rows, learn from at most 10,000. Rows recorded already are not
run again.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from sklearn.ensemble import IsolationForest

from toprank import AnomalyTreeRank, RankForest, metrics

NAME = "anomaly_detection"
MOST_ROWS, MOST_NEIGHBOURS = 50_000, 10_000


def _scikit(make: Callable[[int], object]) -> Callable[[np.ndarray, int], np.ndarray]:
    def scores(rows: np.ndarray, seed: int) -> np.ndarray:
        return -make(seed).fit(rows).score_samples(rows)

    return scores


def _pyod(name: str, most: int = MOST_ROWS) -> Callable[[np.ndarray, int], np.ndarray]:
    def scores(rows: np.ndarray, seed: int) -> np.ndarray:
        from importlib import import_module

        kind = getattr(import_module(f"pyod.models.{name.lower()}"), name)
        chosen = np.random.default_rng(seed).permutation(len(rows))[:most]
        return kind().fit(rows[chosen]).decision_function(rows)

    return scores


METHODS = {
    "RankForest": _scikit(lambda seed: RankForest(AnomalyTreeRank(), random_state=seed)),
    "AnomalyTreeRank": _scikit(lambda seed: AnomalyTreeRank()),
    "IsolationForest": _scikit(lambda seed: IsolationForest(random_state=seed)),
    "ECOD": _pyod("ECOD"),
    "LOF": _pyod("LOF", MOST_NEIGHBOURS),
    "KNN": _pyod("KNN", MOST_NEIGHBOURS),
}


OF_PYOD = ("ECOD", "LOF", "KNN")


def main() -> None:
    options = _options()
    names = options.sets or set_names()
    seeds = range(options.seeds)
    methods = [name for name in METHODS if name not in OF_PYOD or find_spec("pyod")]
    done = {(row["dataset"], row["seed"], row["method"]) for row in recorded()}
    tasks = [task for task in product(names, seeds, methods) if task not in done]
    if not options.report:
        with ProcessPoolExecutor(options.jobs) as pool:
            for row in pool.map(_judged, tasks):
                record(NAME, **row)
    rows = [row for row in recorded() if row["dataset"] in names and row["seed"] in seeds]
    for measure in ("ap", "auc"):
        _print_table(names, measure, rows)


def set_names() -> list[str]:
    paths = Path(os.environ["TOPRANK_DATA"]).glob("adbench_*.parquet")
    return [path.stem.removeprefix("adbench_") for path in sorted(paths)]


def recorded() -> list[dict]:
    path = RESULTS / f"{NAME}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _judged(task: tuple[str, int, str]) -> dict:
    warnings.simplefilter("ignore")
    name, seed, method = task
    rows, is_anomaly = _data(name, seed)
    begin = time.perf_counter()
    suspicion = METHODS[method](rows, seed)
    seconds = time.perf_counter() - begin
    return {
        "dataset": name,
        "seed": seed,
        "method": method,
        "ap": round(100 * float(metrics.average_precision(is_anomaly, suspicion)), 2),
        "auc": round(100 * float(metrics.roc_auc(is_anomaly, suspicion)), 2),
        "seconds": round(seconds, 2),
    }


def _data(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(Path(os.environ["TOPRANK_DATA"], f"adbench_{name}.parquet"))
    is_anomaly = table["y"].to_numpy().astype(bool)
    columns = table.drop_columns(["y"]).columns
    rows = np.column_stack([column.to_numpy() for column in columns]).astype(np.float32)
    chosen = np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS]
    return rows[chosen], is_anomaly[chosen]


def _print_table(names: list[str], measure: str, rows: list[dict]) -> None:
    methods = [name for name in METHODS if any(row["method"] == name for row in rows)]
    means = {
        (name, method): np.mean(
            [
                row[measure]
                for row in rows
                if row["dataset"] == name and row["method"] == method and measure in row
            ]
        )
        for name in names
        for method in methods
    }
    print(f"\n{measure.upper()} x 100, means over seeds")
    print(f"{'':<14}" + "".join(f"{method:>17}" for method in methods))
    for name in names:
        print(f"{name:<14}" + "".join(f"{means[name, method]:17.1f}" for method in methods))
    whole = {method: np.array([means[name, method] for name in names]) for method in methods}
    print(f"{'mean':<14}" + "".join(f"{whole[method].mean():17.1f}" for method in methods))
    if "IsolationForest" not in methods:
        return
    print(f"{'over Isolation':<14}", end="")
    for method in methods:
        low, high = _interval(whole[method] - whole["IsolationForest"])
        print(f"{f'{low:+.1f} to {high:+.1f}':>17}", end="")
    print("\n(the last line: 90 % interval of the mean difference, sets drawn anew)")


def _interval(gaps: np.ndarray) -> tuple[float, float]:
    """Return the range of the mean gap if other sets of this kind had been taken."""
    drawn = np.random.default_rng(0).choice(gaps, (10_000, gaps.size)).mean(axis=1)
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", help="only these, such as mammography")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    return parser.parse_args()


if __name__ == "__main__":
    main()

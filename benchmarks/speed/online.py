"""Rows a second of ONLB against Vowpal Wabbit's boost-by-majority, and the time of one row.

    python -m benchmarks.speed.online [--rounds 5] [--rows 50000]

Both have T = 20 weak learners of 2 hidden units and learn from the same seeded rows of 54 numbers
in one pass, one after the other in one process, so that what slows the machine slows both. Once
each reads its own text file, ours CSV and theirs its own format; once the rows are in memory,
ours as an array and theirs as parsed examples.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit
from benchmarks.record import record

import toprank
from toprank import tables

NAME = "online_speed"
N_FEATURES, N_LEARNERS, SEED = 54, 20, 0
UPDATES = ("full", "prefix", "residual")
VOWPAL = f"--boosting {N_LEARNERS} --alg BBM --nn 2 --loss_function logistic --quiet"


def main() -> None:
    options = _options()
    features, is_positive = _rows(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "rows.csv"), Path(folder, "rows.vw")
        _write_csv(ours, features, is_positive)
        _write_vowpal(theirs, features, is_positive)
        _compile(features, is_positive)
        for update in UPDATES:
            pairs = {
                "from a text file": (
                    partial(_read_csv, ours, update),
                    partial(_read_vowpal, theirs),
                ),
                "from memory": (
                    _learn_array(features, is_positive, update),
                    _learn_examples(theirs),
                ),
            }
            for how, pair in pairs.items():
                _compare(how, update, *pair, options)
    _time_one(features, is_positive)


def _compare(
    how: str, update: str, ours: Callable[[], Any], theirs: Callable[[], Any], options: Any
) -> None:
    """Record both speeds, each round one after the other."""
    rounds = [
        (_rate(ours, options.rows), _rate(theirs, options.rows)) for _ in range(options.rounds)
    ]
    ratios = [own / rival for own, rival in rounds]
    record(
        NAME,
        what=how,
        update=update,
        n_rows=options.rows,
        n_features=N_FEATURES,
        n_learners=N_LEARNERS,
        seed=SEED,
        rows_per_second=round(statistics.median(own for own, _ in rounds)),
        vowpal_rows_per_second=round(statistics.median(rival for _, rival in rounds)),
        ratio=round(statistics.median(ratios), 2),
        ratios=[round(ratio, 2) for ratio in ratios],
        vowpal_wabbit=vowpalwabbit.__version__,
    )


def _rate(work: Callable[[], Any], n_rows: int) -> float:
    start = time.perf_counter()
    work()
    return n_rows / (time.perf_counter() - start)


def _time_one(features: np.ndarray, is_positive: np.ndarray) -> None:
    """Record how long `learn_one` and `score_one` take, in Python, row by row."""
    learner = _learner("full")
    rows = [dict(enumerate(row)) for row in features[:5000].tolist()]
    named = [{f"x{j}": value for j, value in row.items()} for row in rows]
    labels = is_positive[:5000].tolist()
    learner.learn_one(named[0], labels[0])
    times = {}
    for what in ("learn_one", "score_one"):
        start = time.perf_counter()
        for row, label in zip(named, labels, strict=True):
            if what == "learn_one":
                learner.learn_one(row, label)
            else:
                learner.score_one(row)
        times[f"{what}_ms"] = round(1000 * (time.perf_counter() - start) / len(named), 4)
    record(NAME, what="one row", n_features=N_FEATURES, n_learners=N_LEARNERS, seed=SEED, **times)


def _learner(update: str) -> toprank.OnlineNonLinearBoost:
    return toprank.OnlineNonLinearBoost(N_LEARNERS, update=update, random_state=SEED)


def _learn_array(features: np.ndarray, is_positive: np.ndarray, update: str) -> Callable[[], Any]:
    return lambda: _learner(update).partial_fit(features, is_positive)


def _read_csv(path: Path, update: str) -> None:
    learner = _learner(update)
    for batch in tables.read_batches(path, rows=10_000):
        learner.partial_fit(batch.drop_columns(["y"]), batch["y"].to_numpy())


def _learn_examples(path: Path) -> Callable[[], Any]:
    """Return what learns from examples that are parsed before the clock starts."""
    parser = vowpalwabbit.Workspace(VOWPAL)
    examples = [parser.parse(line) for line in path.read_text().splitlines()]

    def learn() -> None:
        workspace = vowpalwabbit.Workspace(VOWPAL)
        for example in examples:
            workspace.learn(example)
        workspace.finish()

    return learn


def _read_vowpal(path: Path) -> None:
    workspace = vowpalwabbit.Workspace(f"{VOWPAL} -d {path}")
    workspace.finish()


def _compile(features: np.ndarray, is_positive: np.ndarray) -> None:
    for update in UPDATES:
        learner = _learner(update).partial_fit(features[:10], is_positive[:10])
        learner.score_one({"x0": 0.0})


def _rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(SEED)
    features = generator.normal(size=(n_rows, N_FEATURES)).round(4)
    bent = features[:, 0] * features[:, 1] + features[:, 2:8].sum(axis=1)
    return features, bent + generator.normal(size=n_rows) > 0


def _write_csv(path: Path, features: np.ndarray, is_positive: np.ndarray) -> None:
    with path.open("w") as file:
        print(",".join([f"x{j}" for j in range(N_FEATURES)]), "y", sep=",", file=file)
        for row, label in zip(features.tolist(), is_positive.tolist(), strict=True):
            print(*row, int(label), sep=",", file=file)


def _write_vowpal(path: Path, features: np.ndarray, is_positive: np.ndarray) -> None:
    with path.open("w") as file:
        for row, label in zip(features.tolist(), is_positive.tolist(), strict=True):
            cells = " ".join(f"x{j}:{value}" for j, value in enumerate(row))
            print(f"{1 if label else -1} | {cells}", file=file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=50_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()

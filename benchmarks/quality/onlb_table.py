"""Online boosters by the protocol of the thesis: Tables 4.5 (error) and 4.6 (weak learners).

    TOPRANK_DATA=folder python -m benchmarks.quality.onlb_table [--sets ...] [--methods ...]
        [--jobs 2] [--report]

Each set is parted in 3 folds. On two of them, in random order, every candidate of a method learns
in one pass and is judged by progressive validation: the error on each row before its label is
known. The candidate with the fewest errors scores the third fold, the only time that is looked
at. Candidates differ in learning rate, number of weak learners, and what else the method has.
With "T of the thesis" the numbers of weak learners are those of Table 4.6; else 10 and 20 are
tried beside it. Sets of fewer than 10,000 rows are parted 5 times anew.

Rows that are recorded are not run again. Seeds of folds begin at 2000; those below served to
develop the learners.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.record import RESULTS, record
from sklearn.model_selection import KFold

import toprank

NAME = "onlb_table"
N_FOLDS, FIRST_SEED = 3, 2000
N_SMALL, SMALL_REPEATS = 10_000, 5
RATES, STEPS, EDGES = (0.03, 0.1, 0.3), (0.1, 1.0), (0.05, 0.1, 0.2)
NOT_FEATURES = ("y", "label", "part", "subset")

RIVALS = ("bbm", "adaboost-ol", "adaboost-ol-w", "ogb", "streamboost")
METHODS = ("full", "prefix", "residual", "linear", "network", *RIVALS, "base")


class Published(NamedTuple):
    """A set's file, and what the thesis has of it: errors and numbers of weak learners."""

    file: str
    errors: tuple[float, ...]
    """Of ONLB, then of the rivals in their order, then of the base learner."""
    n_learners: tuple[int, ...]
    """Of ONLB, then of the rivals in their order."""


SETS = {
    "abalone": Published(
        "onlb_abalone",
        (0.2523, 0.2831, 0.2487, 0.2531, 0.2669, 0.2720, 0.2673),
        (5, 6, 12, 3, 166, 8),
    ),
    "pima": Published(
        "metaap_pima",
        (0.2795, 0.2913, 0.2952, 0.2835, 0.2874, 0.2953, 0.2992),
        (65, 64, 109, 141, 437, 174),
    ),
    "wine": Published(
        "onlb_wine",
        (0.1687, 0.1921, 0.1931, 0.1931, 0.1743, 0.1833, 0.1979),
        (5, 8, 112, 91, 97, 118),
    ),
    "hiv": Published(
        "onlb_hiv",
        (0.1393, 0.1273, 0.1360, 0.1291, 0.1540, 0.1526, 0.1986),
        (6, 6, 94, 188, 32, 16),
    ),
    "shuttle": Published(
        "onlb_shuttle",
        (0.0024, 0.0173, 0.0061, 0.0058, 0.0133, 0.0050, 0.0211),
        (30, 43, 243, 108, 121, 159),
    ),
    "adult": Published(
        "onlb_adult",
        (0.1465, 0.1530, 0.1530, 0.1526, 0.1476, 0.1586, 0.1523),
        (13, 6, 18, 17, 161, 119),
    ),
    "w8a": Published(
        "sgbap_w8a_train",
        (0.0148, 0.0158, 0.0146, 0.0167, 0.0178, 0.0155, 0.0189),
        (4, 7, 54, 42, 132, 40),
    ),
    "covtype": Published(
        "onlb_covtype",
        (0.2057, 0.2242, 0.2273, 0.2313, 0.2264, 0.2128, 0.2401),
        (6, 60, 79, 59, 282, 63),
    ),
    "mnist": Published(
        "onlb_mnist",
        (0.0561, 0.1029, 0.1557, 0.0830, 0.1139, 0.0655, 0.1105),
        (14, 66, 147, 207, 431, 131),
    ),
    # the thesis has train and test rows, 1,025,010 of them; these are the training rows
    "poker": Published(
        "onlb_poker_train",
        (0.0497, 0.2375, 0.1234, 0.0953, 0.3880, 0.2668, 0.4182),
        (52, 222, 348, 311, 320, 285),
    ),
}


class Task(NamedTuple):
    """One method on one fold of one set."""

    dataset: str
    method: str
    seed: int
    fold: int


def main() -> None:
    options = _options()
    rows = _recorded()
    if not options.report:
        tasks = [task for task in _tasks(options) if task not in rows]
        for row in _rows_of(tasks, options.jobs):
            record(NAME, **row)
            rows[_task_of(row)] = row
    _print_report(list(rows.values()))


def _tasks(options: argparse.Namespace) -> Iterator[Task]:
    for method, dataset in product(options.methods, options.sets):
        n_rows = pq.ParquetFile(_path(dataset)).metadata.num_rows
        for repeat in range(SMALL_REPEATS if n_rows < N_SMALL else 1):
            for fold in range(N_FOLDS):
                yield Task(dataset, method, FIRST_SEED + repeat, fold)


def _rows_of(tasks: list[Task], n_jobs: int) -> Iterator[dict]:
    if n_jobs == 1:
        yield from map(_one_fold, tasks)
        return
    with ProcessPoolExecutor(n_jobs) as pool:
        yield from pool.map(_one_fold, tasks)


def _one_fold(task: Task) -> dict:
    """Return the row of one fold: all candidates learn, the best of them is tested."""
    features, is_positive = _table(task.dataset)
    folds = KFold(N_FOLDS, shuffle=True, random_state=task.seed)
    train, test = list(folds.split(is_positive))[task.fold]
    train = np.random.default_rng([task.seed, task.fold]).permutation(train)
    learners = _candidates(task.method, SETS[task.dataset], task.seed)
    errors = {}
    for name, learner in learners.items():
        scores = learner.score_then_learn(_taken(features, train), is_positive[train])
        errors[name] = float(np.mean((scores > 0) != is_positive[train]))
    row = {**task._asdict(), "n_rows": is_positive.size, "validated": _rounded(errors)}
    for key, names in _choices(learners, SETS[task.dataset], task.method).items():
        chosen = min(names, key=errors.__getitem__)
        scores = learners[chosen].suspicion(_taken(features, test))
        error = float(np.mean((scores > 0) != is_positive[test]))
        row[key] = {"chosen": chosen, "error": round(error, 5), "T": _size(learners[chosen])}
    return row


def _candidates(method: str, published: Published, seed: int) -> dict[str, Any]:
    """Return the learners of a method by name."""
    learners = {}
    for n_learners, rate, more in product(_sizes(method, published), RATES, _more(method)):
        settings = {"learning_rate": rate, "random_state": seed, **more}
        told = " ".join(f"{key}={value}" for key, value in {"rate": rate, **more}.items())
        learners[f"T={n_learners} {told}"] = _learner(method, n_learners, settings)
    return learners


def _learner(method: str, n_learners: int, settings: dict[str, Any]) -> Any:
    if method in ("full", "prefix", "residual"):
        return toprank.OnlineNonLinearBoost(n_learners, update=method, **settings)
    if method == "linear":
        return toprank.OnlineLinearBoost(n_learners, update="residual", **settings)
    if method in ("network", "base"):
        return toprank.OnlineLinearBoost(1, width=2 * n_learners, update="full", **settings)
    rivals = (
        toprank.OnlineBBM,
        toprank.AdaBoostOL,
        toprank.AdaBoostOLW,
        toprank.OnlineGradientBoost,
        toprank.StreamBoost,
    )
    return rivals[RIVALS.index(method)](n_learners, **settings)


def _sizes(method: str, published: Published) -> tuple[int, ...]:
    """Return the numbers of weak learners to try; that of the thesis comes first."""
    if method == "base":
        return (1,)
    if method in RIVALS:
        return (published.n_learners[1 + RIVALS.index(method)],)
    return tuple(dict.fromkeys([published.n_learners[0], 10, 20]))


def _more(method: str) -> list[dict[str, Any]]:
    """Return what else the candidates of a method differ in."""
    if method == "bbm":
        return [{"edge": edge} for edge in EDGES]
    if method in ("ogb", "streamboost"):
        return [{"step": step} for step in STEPS]
    if method in ("adaboost-ol", "adaboost-ol-w"):
        return [{}]
    return [{"averaged": averaged} for averaged in (False, True)]


def _choices(learners: dict[str, Any], published: Published, method: str) -> dict[str, list[str]]:
    """Return among which candidates progressive validation chooses, by the name of the choice."""
    own = _sizes(method, published)[0]
    return {
        "T of the thesis": [name for name in learners if name.startswith(f"T={own} ")],
        "T chosen": list(learners),
    }


def _size(learner: Any) -> int:
    """Return the number of weak learners, or that of a network with as many units."""
    return learner.n_learners * learner.width // 2


def _table(dataset: str) -> tuple[Any, np.ndarray]:
    table = pq.read_table(_path(dataset))
    is_positive = table["y"].to_numpy() == 1
    table = table.drop_columns([name for name in NOT_FEATURES if name in table.column_names])
    if any(
        pa.types.is_dictionary(type_) or pa.types.is_string(type_) for type_ in table.schema.types
    ):
        return table, is_positive
    return table.to_pandas().to_numpy(dtype=np.float64), is_positive


def _taken(features: Any, rows: np.ndarray) -> Any:
    return features.take(rows) if isinstance(features, pa.Table) else features[rows]


def _path(dataset: str) -> Path:
    return Path(os.environ["TOPRANK_DATA"], f"{SETS[dataset].file}.parquet")


def _rounded(errors: dict[str, float]) -> dict[str, float]:
    return {name: round(error, 5) for name, error in errors.items()}


def _task_of(row: dict) -> Task:
    return Task(*(row[key] for key in Task._fields))


def _recorded() -> dict[Task, dict]:
    path = RESULTS / f"{NAME}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {_task_of(row): row for row in map(json.loads, lines)}


# The report


def _print_report(rows: list[dict]) -> None:
    for key in ("T of the thesis", "T chosen"):
        _print_errors(rows, key)
    _print_sizes(rows)


def _print_errors(rows: list[dict], key: str) -> None:
    print(f"\nError on test folds, mean; {key}; the thesis' own figure in brackets\n")
    print("| set | folds | " + " | ".join(METHODS) + " |")
    print("|---" * (2 + len(METHODS)) + "|")
    met = dict.fromkeys(("full", "prefix", "residual"), 0)
    for dataset, published in SETS.items():
        cells = []
        for method in METHODS:
            errors = _of(rows, dataset, method, key, "error")
            paper = _published_error(published, method)
            cells.append(_cell(errors, paper))
            if method in met and errors and dataset != "poker":
                met[method] += round(float(np.mean(errors)), 4) <= published.errors[0]
        n_folds = len(_of(rows, dataset, "full", key, "error"))
        print(f"| {dataset} | {n_folds} | " + " | ".join(cells) + " |")
    print(f"\nAt or below the thesis' ONLB, of 9 sets (poker apart): {met}")


def _cell(errors: list[float], paper: float | None) -> str:
    if not errors:
        return "-"
    return f"{np.mean(errors):.4f}" + ("" if paper is None else f" ({paper:.4f})")


def _published_error(published: Published, method: str) -> float | None:
    names = ("full", *RIVALS, "base")
    return published.errors[names.index(method)] if method in names else None


def _print_sizes(rows: list[dict]) -> None:
    print("\nWeak learners: chosen (thesis)\n")
    methods = METHODS[:5]
    print("| set | " + " | ".join(methods) + " |")
    print("|---" * (1 + len(methods)) + "|")
    for dataset, published in SETS.items():
        sizes = [_of(rows, dataset, method, "T chosen", "T") for method in methods]
        cells = [f"{np.mean(each):.0f}" if each else "-" for each in sizes]
        cells[0] += f" ({published.n_learners[0]})"
        print(f"| {dataset} | " + " | ".join(cells) + " |")


def _of(rows: list[dict], dataset: str, method: str, key: str, what: str) -> list[float]:
    return [row[key][what] for row in rows if (row["dataset"], row["method"]) == (dataset, method)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=METHODS)
    parser.add_argument(
        "--report", action="store_true", help="print what is recorded, run nothing"
    )
    if "TOPRANK_DATA" not in os.environ:
        sys.exit("TOPRANK_DATA must name the folder that holds onlb_*.parquet.")
    return parser.parse_args()


if __name__ == "__main__":
    main()

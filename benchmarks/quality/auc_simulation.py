"""The AUC loss against gradient boosting where rare positives lie in small boxes.

    python -m benchmarks.quality.auc_simulation [--replications 300] [--tuned] [--report]

The simulation of the paper on AUC-based XGBoost (its Table 1): 1,000 rows in 2 and 5 dimensions,
0.6 % or 1 % of them rare, in small disjoint boxes whose margins they share with the common class;
200 trees; tau 0.7 and p 2. The paper says no more of its law. Here it is:

- The rows lie in the unit cube. Four boxes, cubes of side 0.1 in 2 dimensions and 1/3 in 5, are
  drawn anew in every replication: a centre is uniform where its box is inside, and is drawn again
  when the box would meet one before it.
- A positive is uniform in a box, each box as likely as another. A negative is uniform in the cube
  outside the boxes' cores, a core being the box shrunk to three quarters of its side.
- A sample has exactly 6 or 10 positives and 994 or 990 negatives.
- AUC is of 2,000 positives and 10,000 negatives of the same law and boxes. It does not depend on
  the classes' shares, and so many positives make it all but exact.

The number of boxes and their sides were chosen for XGBoost's log-loss to come near the paper's
column of gradient boosting (.782 .838 .712 .777), without a look at the AUC loss.

All methods grow 200 trees. What the paper does not say stays at XGBoost's defaults, the same for
all: depth 6, rate 0.3, children that weigh at least 1, penalty 1. Nothing is tuned. With
`--tuned`, depth, rate and the children's least weight of XGBoost's log-loss and of the AUC loss
are those with the highest mean AUC of 20 other replications of the cell (seeds 1001 to 1020), each
from the same grid. Rows are recorded one by one; those recorded already are not run again.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xgboost
from benchmarks.record import RESULTS, record

from toprank import BoostedRanker, metrics

NAME = "auc_simulation"
N_ROWS = 1_000
N_TEST = {True: 2_000, False: 10_000}
N_BOXES = 4
SIDES = {2: 0.1, 5: 1 / 3}
CORE = 0.75
TREES = 200
TUNING_SEEDS = range(1001, 1021)


class Settings(NamedTuple):
    """What the paper leaves open; XGBoost's defaults."""

    depth: int = 6
    rate: float = 0.3
    smallest_child: float = 1.0


GRID = [Settings(*each) for each in product((1, 2, 4, 6), (0.03, 0.1, 0.3), (0.0, 1.0))]


class Cell(NamedTuple):
    """A cell of the paper's table."""

    n_positive: int
    n_dimensions: int


Task = tuple[Cell, int]


class Sample(NamedTuple):
    """Rows and which of them are positive."""

    features: np.ndarray
    is_positive: np.ndarray


# mean AUC of gradient boosting and of XGBoost with the AUC loss, as the paper prints them
PUBLISHED = {
    Cell(6, 2): (0.782, 0.790),
    Cell(6, 5): (0.712, 0.736),
    Cell(10, 2): (0.838, 0.833),
    Cell(10, 5): (0.777, 0.790),
}
XGBOOST, LOG, HINGE, WARM = "binary:logistic", "log", "auc-hinge", "auc-hinge after log-loss"
METHODS = (XGBOOST, LOG, HINGE, WARM)
TUNED = "auc_simulation_tuned"
TUNED_METHODS = (XGBOOST, HINGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="10 replications")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--report", action="store_true", help="only print what is recorded")
    parser.add_argument("--tuned", action="store_true", help="settings tuned on other draws")
    options = parser.parse_args()
    seeds = range(1, 1 + (10 if options.quick else options.replications))
    name = TUNED if options.tuned else NAME
    if not options.report:
        if options.tuned:
            _run(name, TUNING_SEEDS, options.jobs, _tuning_replication)
        _run(name, seeds, options.jobs, _tuned_replication if options.tuned else _one_replication)
    rows = [row for row in recorded(name) if row["seed"] in seeds]
    if options.tuned:
        for cell, chosen in best_settings().items():
            print(cell, {method: tuple(each) for method, each in chosen.items()})
    _print_table(rows, TUNED_METHODS if options.tuned else METHODS)


def draw_boxes(generator: np.random.Generator, n_dimensions: int) -> np.ndarray:
    """Return the centres of boxes that do not meet, a row each."""
    half = SIDES[n_dimensions] / 2
    centres = np.empty((0, n_dimensions))
    while len(centres) < N_BOXES:
        centre = generator.uniform(half, 1 - half, n_dimensions)
        if not _is_inside(centre[None], centres, 2 * SIDES[n_dimensions]).any():
            centres = np.vstack([centres, centre])
    return centres


def draw_sample(
    generator: np.random.Generator, centres: np.ndarray, n_positive: int, n_negative: int
) -> Sample:
    """Return positives of the boxes, then negatives from outside their cores."""
    n_dimensions = centres.shape[1]
    side = SIDES[n_dimensions]
    of_box = centres[generator.integers(N_BOXES, size=n_positive)]
    positives = of_box + generator.uniform(-side / 2, side / 2, of_box.shape)
    negatives = np.empty((0, n_dimensions))
    while len(negatives) < n_negative:
        anywhere = generator.random((n_negative, n_dimensions))
        outside = ~_is_inside(anywhere, centres, CORE * side)
        negatives = np.vstack([negatives, anywhere[outside]])[:n_negative]
    features = np.vstack([positives, negatives]).astype(np.float32)
    return Sample(features, np.arange(len(features)) < n_positive)


def _is_inside(points: np.ndarray, centres: np.ndarray, side: float) -> np.ndarray:
    distance = np.abs(points[:, None] - centres[None]).max(axis=2)
    return (distance < side / 2).any(axis=1)


def _run(name: str, seeds: range, n_jobs: int, replication: Callable[[Task], dict]) -> None:
    done = {(_cell_of(row), row["seed"]) for row in recorded(name)}
    tasks = [(cell, seed) for seed in seeds for cell in PUBLISHED if (cell, seed) not in done]
    with ProcessPoolExecutor(n_jobs) as pool:
        for row in pool.map(replication, tasks):
            record(name, **row)


def recorded(name: str) -> list[dict]:
    """Return the rows recorded so far."""
    path = RESULTS / f"{name}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _cell_of(row: dict) -> Cell:
    return Cell(row["n_positive"], row["n_dimensions"])


def _one_replication(task: Task) -> dict:
    """Return every method's AUC on one draw of boxes and sample."""
    return _replication(task, {method: Settings() for method in METHODS})


def _tuned_replication(task: Task) -> dict:
    """Return the AUC of the tuned methods on one draw."""
    return _replication(task, best_settings()[task[0]])


def _tuning_replication(task: Task) -> dict:
    """Return the AUC of both methods with every setting of the grid, on a draw made for tuning."""
    tried = {
        method: [_replication(task, {method: each})["auc"][method] for each in GRID]
        for method in TUNED_METHODS
    }
    cell, seed = task
    return {"dataset": "boxes", **cell._asdict(), "seed": seed, "tried": tried}


@cache
def best_settings() -> dict[Cell, dict[str, Settings]]:
    """Return each method's best settings by cell, by the replications made for tuning."""
    rows = [row for row in recorded(TUNED) if "tried" in row]
    return {
        cell: {
            method: GRID[int(np.mean([row["tried"][method] for row in of_cell], axis=0).argmax())]
            for method in TUNED_METHODS
        }
        for cell in PUBLISHED
        if (of_cell := _of_cell(rows, cell))
    }


def _replication(task: Task, settings: dict[str, Settings]) -> dict:
    cell, seed = task
    warnings.filterwarnings("ignore")
    generator = np.random.default_rng([seed, *cell])
    centres = draw_boxes(generator, cell.n_dimensions)
    sample = draw_sample(generator, centres, cell.n_positive, N_ROWS - cell.n_positive)
    test = draw_sample(generator, centres, N_TEST[True], N_TEST[False])
    begin = time.perf_counter()
    auc = {
        method: metrics.roc_auc(test.is_positive, _suspicion(method, sample, test.features, each))
        for method, each in settings.items()
    }
    seconds = round(time.perf_counter() - begin, 2)
    return {"dataset": "boxes", **cell._asdict(), "seed": seed, "auc": auc, "seconds": seconds}


def _suspicion(
    method: str, sample: Sample, features: np.ndarray, settings: Settings
) -> np.ndarray:
    if method == XGBOOST:
        return _plain_xgboost(sample, features, settings)
    loss = LOG if method == LOG else HINGE
    given: dict[str, Any] = {"warm_start_trees": None if method == WARM else 0}
    ranker = BoostedRanker(
        loss,
        n_estimators=TREES,
        max_depth=settings.depth,
        learning_rate=settings.rate,
        engine_options={"min_child_weight": settings.smallest_child},
        loss_options={"tau": 0.7, "p": 2} if loss == HINGE else None,
        positive_label=True,
        n_jobs=1,
        **given,
    )
    return ranker.fit(*sample).suspicion(features)


def _plain_xgboost(sample: Sample, features: np.ndarray, settings: Settings) -> np.ndarray:
    given = {
        "objective": XGBOOST,
        "max_depth": settings.depth,
        "learning_rate": settings.rate,
        "min_child_weight": settings.smallest_child,
        "nthread": 1,
    }
    booster = xgboost.train(given, xgboost.QuantileDMatrix(*sample), TREES)
    return booster.inplace_predict(features, predict_type="margin")


def _print_table(rows: list[dict], methods: Sequence[str]) -> None:
    if not rows:
        print("nothing is recorded yet")
        return
    titles = "".join(f"{method:>26}" for method in methods)
    print(f"\nmean AUC ± standard error (sd)\n{'rare':>5} {'dim':>3} {'n':>4}{titles}", end="")
    print("   auc-hinge ahead by      paper: boosting, AUC loss")
    leads = np.array(
        [_print_cell(cell, rows, methods) for cell in PUBLISHED if _of_cell(rows, cell)]
    )
    n_won = np.count_nonzero(leads >= 0)
    print(f"auc-hinge is at or above {XGBOOST} in {n_won} of {len(leads)} cells")


def _of_cell(rows: list[dict], cell: Cell) -> list[dict]:
    return [row for row in rows if _cell_of(row) == cell]


def _print_cell(cell: Cell, rows: list[dict], methods: Sequence[str]) -> float:
    """Print a cell and return by how much the AUC loss leads gradient boosting."""
    auc = {
        method: np.array([row["auc"][method] for row in _of_cell(rows, cell)])
        for method in methods
    }
    lead = auc[HINGE] - auc[XGBOOST]
    boosting, auc_loss = PUBLISHED[cell]
    print(
        f"{cell.n_positive / N_ROWS:5.1%} {cell.n_dimensions:3} {lead.size:4}"
        + "".join(f"{_summary(values):>26}" for values in auc.values())
        + f"   {lead.mean():+.4f} ± {_standard_error(lead):.4f}"
        + f"      {boosting:.3f} {auc_loss:.3f}"
    )
    return float(lead.mean())


def _summary(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {_standard_error(values):.4f} ({values.std():.3f})"


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


if __name__ == "__main__":
    main()

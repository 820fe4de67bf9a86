"""ONLB against Vowpal Wabbit's boost-by-majority: as many weak learners, of as many hidden units.

Both learn from the same rows in one pass. Once each reads its own text file, ours CSV and theirs
its own format; once the rows are in memory, ours as an array and theirs as parsed examples.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank import OnlineNonLinearBoost
from toprank.data import tables
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import milliseconds_each, times_as_fast

_UPDATES = ("full", "prefix", "residual")
_ROWS_READ = 10_000


def learn_by_vowpal(path: Path, n_learners: int) -> None:
    """Let Vowpal Wabbit learn from its text file in one pass."""
    _vowpal(n_learners, f"-d {path}").finish()


def write_for_vowpal(path: Path, features: NDArray, is_positive: NDArray[np.bool_]) -> None:
    """Write rows as the text that Vowpal Wabbit reads."""
    with path.open("w") as file:
        for row, label in zip(features.tolist(), is_positive.tolist(), strict=True):
            cells = " ".join(f"x{j}:{value:.4f}" for j, value in enumerate(row))
            print(f"{1 if label else -1} | {cells}", file=file)


def _from_text(update: str, setting: Setting) -> Measured:
    n_learners = setting.shape["learners"]
    with _written(setting) as (ours, theirs):
        return times_as_fast(
            lambda: _learn_csv(_learner(update, n_learners), ours),
            lambda: learn_by_vowpal(theirs, n_learners),
            setting.shape["rounds"],
        )


def _from_memory(update: str, setting: Setting) -> Measured:
    n_learners = setting.shape["learners"]
    features, is_positive = _rows(setting)
    with _written(setting) as (_, theirs):
        learn_rival = _learning_examples(theirs, n_learners)
    return times_as_fast(
        lambda: _learner(update, n_learners).partial_fit(features, is_positive),
        learn_rival,
        setting.shape["rounds"],
    )


def _one_event(setting: Setting) -> Measured:
    features, is_positive = _rows(setting)
    learner = _learner("full", setting.shape["learners"])
    events = [
        ({f"x{j}": value for j, value in enumerate(row)}, label)
        for row, label in zip(features.tolist(), is_positive.tolist(), strict=True)
    ]

    def score_and_learn(event: tuple[dict[str, float], bool]) -> None:
        learner.score_one(event[0])
        learner.learn_one(*event)

    score_and_learn(events[0])  # compiles before the clock starts
    return milliseconds_each(score_and_learn, events[1:], setting.shape["rounds"])


def _learner(update: str, n_learners: int) -> OnlineNonLinearBoost:
    return OnlineNonLinearBoost(n_learners, update=update, random_state=SEED)


def _vowpal(n_learners: int, more: str = "") -> Any:
    how = f"--boosting {n_learners} --alg BBM --nn 2 --loss_function logistic --quiet"
    return import_module("vowpalwabbit").Workspace(f"{how} {more}")


def _learn_csv(learner: OnlineNonLinearBoost, path: Path) -> None:
    for batch in tables.read_batches(path, rows=_ROWS_READ):
        learner.partial_fit(batch.drop_columns(["y"]), batch["y"].to_numpy())


def _learning_examples(path: Path, n_learners: int) -> Callable[[], None]:
    """Return what learns from examples that are parsed before the clock starts."""
    parser = _vowpal(n_learners)
    examples = [parser.parse(line) for line in path.read_text().splitlines()]

    def learn() -> None:
        workspace = _vowpal(n_learners)
        for example in examples:
            workspace.learn(example)
        workspace.finish()

    return learn


@contextmanager
def _written(setting: Setting) -> Iterator[tuple[Path, Path]]:
    """Give two files of the same rows: CSV, and Vowpal Wabbit's text."""
    features, is_positive = _rows(setting)
    with TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "rows.csv"), Path(folder, "rows.vw")
        _write_csv(ours, features, is_positive)
        write_for_vowpal(theirs, features, is_positive)
        yield ours, theirs


def _write_csv(path: Path, features: NDArray, is_positive: NDArray[np.bool_]) -> None:
    names = ",".join([*(f"x{j}" for j in range(features.shape[1])), "y"])
    rows = np.column_stack([features, is_positive])
    formats = ["%.4f"] * features.shape[1] + ["%d"]
    np.savetxt(path, rows, formats, delimiter=",", header=names, comments="")


def _rows(setting: Setting) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return rows of which about half are positive."""
    n_rows, n_columns = setting.shape["rows"], setting.shape["columns"]
    generator = np.random.default_rng(SEED)
    features = generator.normal(size=(n_rows, n_columns)).round(4)
    bent = features[:, 0] * features[:, 1] + features[:, 2:8].sum(axis=1)
    return features, bent + generator.normal(size=n_rows) > 0


_SHAPE = {"rows": 50_000, "columns": 54, "learners": 20, "rounds": 3}

RACES = (
    *(
        Race(
            name=f"onlb-{update}-{where}",
            what=f"ONLB, update {update}, rows from {source}",
            against="Vowpal Wabbit BBM",
            unit="times as fast",
            measure=partial(measure, update),
            shape=_SHAPE,
            quick={"rows": 10_000},
            minutes=(0.35, 0.07),
            at_least=4.0,
            needs="vowpalwabbit",
        )
        for update in _UPDATES
        for where, source, measure in (
            ("text", "a text file", _from_text),
            ("memory", "memory", _from_memory),
        )
    ),
    Race(
        name="onlb-one-event",
        what="ONLB, one event scored and learned",
        against="",
        unit="ms (median)",
        measure=_one_event,
        shape={**_SHAPE, "rows": 10_000},
        quick={"rows": 3_000},
        minutes=(0.1, 0.05),
    ),
)

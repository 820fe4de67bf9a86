"""One held-out test per cell, of the later rows of a data set that has a time.

A method gets the training rows with their labels and the test rows without; nothing is tuned, and
the labels of the test are read once, by the metrics.

Options:

- `data.NAME`: a table for each name. `set` is the data set; `train_before` and `test_from` are
  values of its time column, a number or a date in quotes, and a seed is that of the learner. With
  `folds`, the test period is left alone: a seed is the number of a stratified fold of the training
  rows.
"""

import inspect
import time
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from toprank import metrics
from toprank.data import checks
from toprank_bench import datasets, named_metrics
from toprank_bench.experiment import Experiment, Method
from toprank_bench.learners.rankers import (
    LEARNERS,
    compile_kernels,
    make_learner,
    what_it_chose,
    why_not_learner,
)
from toprank_bench.protocols.declared import (
    check_sets_alike,
    check_untuned,
    options_of,
    seed_by_seed,
)
from toprank_bench.protocols.protocol import Cell, TrialOutcome

_KEYS = ("set", "train_before", "test_from", "folds")


class HeldOutTests:
    """Tests by time, of methods as they are given."""

    learners: ClassVar[Collection[str]] = LEARNERS.keys()

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        tables = options_of(experiment, {"data": {}})["data"]
        self.periods = {
            name: _period(tables.get(name), f"options.data.{name}") for name in experiment.data
        }
        for name in experiment.metrics:
            named_metrics.figure(name)
        check_untuned(experiment)
        check_sets_alike(experiment)

    def cells(self) -> list[Cell]:
        """Return all cells, seed by seed."""
        return seed_by_seed(self.experiment)

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return why a data set cannot be loaded or split."""
        try:
            self._loaded(data, folder)
        except (ValueError, OSError) as error:
            return str(error)
        return None

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        return why_not_learner(self.experiment.method(method))

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the test figures of one method."""
        rows = self._loaded(cell.data, folder)
        train, test = self._split(cell, rows)
        method = self.experiment.method(cell.method)
        seconds, suspicion, chosen = _ranked(method, cell.seed, rows, train, test)
        is_positive = rows.is_positive[test]
        figures = named_metrics.figures(self.experiment.metrics, is_positive, suspicion)
        interval = metrics.interval("average_precision", is_positive, suspicion)
        return TrialOutcome(
            figures,
            dict(method.parameters),
            {step: round(value, 3) for step, value in seconds.items()},
            {
                "rows": rows.is_positive.size,
                "train_rows": train.size,
                "train_positives": int(rows.is_positive[train].sum()),
                "test_rows": test.size,
                "test_positives": int(is_positive.sum()),
                "ap_interval": [round(interval.low, 5), round(interval.high, 5)],
                **({"chosen": chosen} if chosen else {}),
            },
        )

    def _loaded(self, data: str, folder: Path | None) -> "_HeldOutRows":
        return _loaded(data, self.periods[data], folder)

    def _split(self, cell: Cell, rows: "_HeldOutRows") -> tuple[NDArray, NDArray]:
        """Return the training rows and the test rows."""
        n_folds = self.periods[cell.data].folds
        if n_folds is None:
            return rows.train, rows.test
        is_positive = rows.is_positive[rows.train]
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
        train, test = list(folds.split(is_positive, is_positive))[cell.seed]
        return rows.train[train], rows.train[test]


class _Period(NamedTuple):
    set: str
    train_before: Any
    test_from: Any
    folds: int | None


class _HeldOutRows(NamedTuple):
    """The rows of a data set, and which of them are before and after the split."""

    features: pa.Table
    is_positive: NDArray[np.bool_]
    moments: NDArray[Any]
    train: NDArray[np.intp]
    test: NDArray[np.intp]


@lru_cache(maxsize=2)  # methods of the same data set follow each other
def _loaded(data: str, period: _Period, folder: Path | None) -> _HeldOutRows:
    dataset = datasets.load(period.set, folder=folder)
    if "time" not in dataset.roles:
        raise ValueError(f"{period.set} must have a time column to be split by; it has none.")
    moments = dataset.features[dataset.roles["time"]].to_numpy()
    features, is_positive = dataset.X, dataset.is_positive
    train, test = moments < _moment(period.train_before), moments >= _moment(period.test_from)
    for part, name in ((train, "train_before"), (test, "test_from")):
        if not is_positive[part].any():
            raise ValueError(f"options.data.{data}.{name} must leave positives; it leaves none.")
    return _HeldOutRows(
        features, is_positive, moments, np.flatnonzero(train), np.flatnonzero(test)
    )


def _moment(value: Any) -> Any:
    return np.datetime64(value, "us") if isinstance(value, str) else value


def _ranked(
    method: Method, seed: int, rows: _HeldOutRows, train: NDArray, test: NDArray
) -> tuple[dict[str, float], NDArray[np.float64], str | None]:
    """Return seconds by step, the suspicion of the test rows, and what the method chose."""
    learning, asked = rows.features.take(train), rows.features.take(test)
    compile_kernels(method.learner, method.parameters)
    ranker: Any = make_learner(method.learner, seed, method.parameters)
    takes_time = "time" in inspect.signature(ranker.fit).parameters
    more = {}
    if takes_time:
        more["time"] = _dates(rows.moments[train])
    begin = time.perf_counter()
    ranker.fit(learning, rows.is_positive[train], **more)
    fitted = time.perf_counter()
    suspicion = checks.finite_vector(ranker.suspicion(asked), "suspicion")
    seconds = {"fit": fitted - begin, "score": time.perf_counter() - fitted}
    return seconds, suspicion, what_it_chose(ranker)


def _dates(moments: NDArray[Any]) -> NDArray[np.datetime64]:
    """Return moments as dates; numbers are seconds."""
    if moments.dtype.kind == "M":
        return moments
    return np.datetime64("2000-01-01", "us") + (1e6 * moments).astype("timedelta64[us]")


def _period(given: Any, where: str) -> _Period:
    if not isinstance(given, Mapping) or not {"set", "train_before", "test_from"} <= set(given):
        raise ValueError(f"{where} must have set, train_before and test_from; got {given!r}.")
    for name in given:
        if name not in _KEYS:
            hint = checks.nearest_name(name, list(_KEYS)) or f"; known are {', '.join(_KEYS)}."
            raise ValueError(f"{where}: key {name!r} is not known{hint}")
    folds = given.get("folds")
    return _Period(
        given["set"],
        given["train_before"],
        given["test_from"],
        None if folds is None else checks.whole_number(folds, f"{where}.folds", 2),
    )

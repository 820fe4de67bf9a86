"""Folds that walk through time, a week each: learn, leave a week for the labels, test.

The folds are those of the Fraud Detection Handbook (`splits.prequential`): a week to learn from, a
week until its labels are known, a week to test on, from which cards leave whose fraud is known by
then. A seed is the number of a fold: 0 begins at `start`, each other one a week after the one
before. Every learner has the random seed 0, whatever the fold.

The features of a payment see what was known at its time: of labels, those of payments a week
older. A method gets training rows with labels and test rows without; nothing is tuned.

In addition to the metrics of a ranking there is `card_precision(K)`: of K cards checked a day, the
share that are found.

Options:

- `data`: for each name in the experiment's data, a table with `set`, the data set, whose roles
  must include time, card, terminal and amount; `features`, "handbook" or "default"; and `start`.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import metrics, splits
from toprank.data import checks
from toprank.payments.features import Feature, History, default_features, handbook_features
from toprank_bench import datasets, named_metrics
from toprank_bench.experiment import Experiment, Method
from toprank_bench.learners.averages import BoostedAverage, ScaledLogistic
from toprank_bench.learners.rankers import (
    LEARNERS,
    TableRanker,
    compile_kernels,
    make_learner,
    what_it_chose,
)
from toprank_bench.protocols.declared import check_sets_alike, options_of
from toprank_bench.protocols.protocol import Cell, TrialOutcome

_SEED = 0
_ROLES = ("time", "card", "terminal", "amount")
_FEATURES: dict[str, Callable[..., tuple[Feature, ...]]] = {
    "handbook": handbook_features,
    "default": default_features,
}
_OWN_LEARNERS: dict[str, Callable[..., TableRanker]] = {
    "boosted-average": BoostedAverage,
    "scaled-logistic": ScaledLogistic,
}
_CARD_PRECISION = re.compile(r"card_precision\(([1-9]\d*)\)")
_HANDBOOK = "handbook_transactions"
_TERMINAL_FRAUD = 2  # its label of frauds at compromised terminals


class PrequentialFolds:
    """Weekly folds of payments, with features of their past; a seed is the number of a fold."""

    learners: ClassVar[Collection[str]] = (*LEARNERS, *_OWN_LEARNERS)

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.payment_sets = _payment_sets(experiment)
        check_sets_alike(experiment)
        for name in experiment.metrics:
            _check_metric(name)
        for method in experiment.methods:
            if method.grid:
                raise ValueError(
                    f"methods.{method.name} must have no grid: the protocol prequential tunes "
                    f"nothing; got one of {', '.join(method.grid)}."
                )

    def cells(self) -> list[Cell]:
        """Return all cells, set by set, since the features of one are computed once."""
        cells = []
        for data in self.experiment.data:
            options = self.experiment.set_options(data)
            names = [each.name for each in self.experiment.methods]
            for seed in options.seeds or self.experiment.seeds:
                cells += [Cell(data, seed, name) for name in names if name not in options.without]
        return cells

    def why_not_data(self, data: str, folder: Path | None) -> str | None:
        """Return why a set cannot be loaded, or which roles it lacks."""
        name = self.payment_sets[data].set
        try:
            roles = _payments(name, folder).roles
        except (ValueError, OSError) as error:
            return str(error)
        lacking = [role for role in _ROLES if role not in roles]
        if not lacking:
            return None
        return (
            f"data set {name!r} must have the roles {', '.join(_ROLES)}; it lacks "
            f"{', '.join(lacking)}."
        )

    def why_not_method(self, method: str) -> str | None:
        """Return which package a method lacks, or which of its parameters is wrong."""
        try:
            _made(self.experiment.method(method))
        except (ImportError, TypeError, ValueError) as error:
            return f"method {method!r} is left out: {error}"
        return None

    def run(self, cell: Cell, folder: Path | None) -> TrialOutcome:
        """Return the test figures of one method on one fold."""
        payment_set = self.payment_sets[cell.data]
        payments = _payments(payment_set.set, folder)
        features = _features(payment_set.set, folder, payment_set.features)
        fold = _fold(payments, payment_set.start, cell.seed)
        method = self.experiment.method(cell.method)
        test = features.take(fold.test)
        is_learning = payments.is_positive[fold.train]
        ranked = _ranked(method, features.take(fold.train), is_learning, test)
        tested = _Tested.of(payments, fold)
        return TrialOutcome(
            {name: _figure(name, tested, ranked.suspicion) for name in self.experiment.metrics},
            dict(method.parameters),
            ranked.seconds,
            {
                "train_rows": fold.train.size,
                "test_rows": fold.test.size,
                "test_positives": int(np.count_nonzero(tested.is_positive)),
                "test_period": [str(moment) for moment in fold.periods["test"]],
                **self._ceilings(tested),
                **_unseen_terminals(payments, fold, test),
                **({"chosen": ranked.chosen} if ranked.chosen else {}),
            },
        )

    def _ceilings(self, tested: "_Tested") -> dict[str, float]:
        """Return what an order that knows the truth has, by metric of cards."""
        of_cards = tested.is_positive, tested.card, tested.day
        return {
            f"ceiling of {name}": metrics.card_precision_ceiling(*of_cards, budget)
            for name in self.experiment.metrics
            if (budget := _budget(name)) is not None
        }


class _PaymentSet(NamedTuple):
    """What one name of the experiment's data means."""

    set: str
    features: str
    start: str


class _Tested(NamedTuple):
    """What the metrics know of the test rows."""

    is_positive: NDArray[np.bool_]
    card: NDArray[Any]
    day: NDArray[np.int64]

    @classmethod
    def of(cls, payments: datasets.Dataset, fold: splits.Fold) -> "_Tested":
        moments = _column(payments, "time")[fold.test]
        cards = _column(payments, "card")[fold.test]
        return cls(payments.is_positive[fold.test], cards, splits.days(moments))


class _RankedDays(NamedTuple):
    suspicion: NDArray[np.float64]
    seconds: dict[str, float]
    chosen: str | None


def _ranked(
    method: Method, learning: pa.Table, is_positive: NDArray[np.bool_], test: pa.Table
) -> _RankedDays:
    """Return what a method makes of test rows whose labels it never gets."""
    compile_kernels(method.learner, method.parameters)
    begin = time.perf_counter()
    ranker = _made(method)
    ranker.fit(learning, is_positive)
    fitted = time.perf_counter()
    suspicion = checks.finite_vector(ranker.suspicion(test), "suspicion")
    scored = time.perf_counter()
    seconds = {"fit": round(fitted - begin, 3), "score": round(scored - fitted, 3)}
    return _RankedDays(suspicion, seconds, what_it_chose(ranker))


def _made(method: Method) -> TableRanker:
    if method.learner in _OWN_LEARNERS:
        return _OWN_LEARNERS[method.learner](_SEED, **method.parameters)
    return make_learner(method.learner, _SEED, method.parameters)


@lru_cache(maxsize=1)
def _payments(name: str, folder: Path | None) -> datasets.Dataset:
    return datasets.load(name, folder=folder)


@lru_cache(maxsize=1)  # of a million payments they take seconds, and a gigabyte
def _features(name: str, folder: Path | None, kind: str) -> pa.Table:
    payments = _payments(name, folder)
    columns = {role: payments.features[payments.roles[role]] for role in _ROLES}
    history = History(_FEATURES[kind](), time="time", label="is_positive")
    return history.batch(pa.table({**columns, "is_positive": payments.is_positive}))


def _fold(payments: datasets.Dataset, start: str, number: int) -> splits.Fold:
    folds = splits.prequential(
        _column(payments, "time"),
        start=start,
        n_folds=number + 1,
        cards=_column(payments, "card"),
        is_positive=payments.is_positive,
    )
    return folds[-1]


def _column(payments: datasets.Dataset, role: str) -> NDArray[Any]:
    return payments.features[payments.roles[role]].to_numpy()


def _figure(name: str, tested: _Tested, suspicion: NDArray[np.float64]) -> float:
    if (budget := _budget(name)) is None:
        return float(named_metrics.figure(name)(tested.is_positive, suspicion))
    is_positive, card, day = tested
    return metrics.card_precision_at_k(is_positive, suspicion, card, day, budget)


def _budget(name: str) -> int | None:
    """Return how many cards a metric of cards checks a day; None of any other metric."""
    match = _CARD_PRECISION.fullmatch(name)
    return int(match[1]) if match else None


def _unseen_terminals(
    payments: datasets.Dataset, fold: splits.Fold, test: pa.Table
) -> dict[str, int]:
    """Return how many frauds were at compromised terminals, and at how many of no known fraud.

    Only the Handbook's file says which these are; other sets have no such facts.
    """
    if payments.name != _HANDBOOK:
        return {}
    is_terminal = payments.metadata["label"].to_numpy()[fold.test] == _TERMINAL_FRAUD
    risks = [test[name].to_numpy() for name in test.column_names if "risk" in name]
    is_unseen = np.all([risk == 0 for risk in risks], axis=0)
    return {
        "terminal_frauds": int(np.count_nonzero(is_terminal)),
        "unseen_terminal_frauds": int(np.count_nonzero(is_terminal & is_unseen)),
    }


def _check_metric(name: str) -> None:
    if _budget(name) is not None:
        return
    try:
        named_metrics.figure(name)
    except ValueError as error:
        raise ValueError(f"{error} With K cards a day, there is card_precision(K).") from error


def _payment_sets(experiment: Experiment) -> dict[str, _PaymentSet]:
    given = options_of(experiment, {"data": {}})["data"]
    for name in experiment.data:
        if name not in given:
            raise ValueError(
                f"options.data must say what {name!r} is; it has {', '.join(given) or 'nothing'}."
            )
    return {name: _payment_set(given[name], f"options.data.{name}") for name in experiment.data}


def _payment_set(given: Mapping[str, Any], where: str) -> _PaymentSet:
    if not isinstance(given, dict) or set(given) != set(_PaymentSet._fields):
        raise ValueError(f"{where} must have {', '.join(_PaymentSet._fields)}; got {given!r}.")
    payment_set = _PaymentSet(**given)
    checks.one_of(payment_set.features, f"{where}.features", tuple(_FEATURES))
    try:
        np.datetime64(payment_set.start, "D")
    except (TypeError, ValueError):
        is_day = False
    else:
        is_day = isinstance(payment_set.start, str)
    if not is_day:
        raise ValueError(
            f"{where}.start must be a date in quotes, such as '2018-07-25'; got "
            f"{payment_set.start!r}."
        )
    return payment_set

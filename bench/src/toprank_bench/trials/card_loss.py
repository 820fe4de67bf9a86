"""Boosted trees that learn a list of cards: the cards found by a day's checks.

Trees learn from a week of payments with the Handbook's 15 features, and are tested two weeks later
as `splits.prequential` does: cards whose fraud is known by then are left out. Two cards in a
hundred are checked a day. `data` are

    handbook, week 1           the four test weeks of the Handbook's draw, and the ten weeks of
    handbook, earlier week 1   training and test that end before the first of them
    base, world 1              worlds of `toprank.simulator` with 2,500 cards: as published,
    new pattern, world 1       ... frauds of compromised cards begin half-way through the training
    test payments, world 1     ... a small payment precedes the first large one of such a card
    few frauds, world 1        ... .18 % of the payments are frauds
"""

import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import BoostedRanker, metrics, splits
from toprank.data.tables import key_codes
from toprank.losses import LOSSES_OF_GROUPS
from toprank.losses.rows_by_group import RowsByGroup
from toprank.payments.features import History, handbook_features
from toprank.simulator import Simulation, tables_by_day
from toprank_bench import datasets
from toprank_bench.protocols.protocol import TrialOutcome

METRICS = ("card_precision", "average_precision", "card_average_precision")
CHECKED_SHARE = 0.02
_WEEKS = {"handbook, week": ("2018-07-25", 4), "handbook, earlier week": ("2018-05-16", 10)}
_N_WORLDS, _N_DAYS, _LEARNING = 5, 63, 42  # the first day to learn from
_KINDS: dict[str, dict[str, Any]] = {
    "base": {},
    "new pattern": {"starts": {"card": _LEARNING + 3}},
    "test payments": {"test_payments": True},
    "few frauds": {"worldline": True},
}
DATA = (
    *(f"{name} {week}" for name, (_, n) in _WEEKS.items() for week in range(1, n + 1)),
    *(f"{kind}, world {world}" for kind in _KINDS for world in range(1, _N_WORLDS + 1)),
)
_DATASET = "handbook_transactions"
_ROLES = ("time", "card", "terminal", "amount")


def card_loss(
    data: str,
    seed: int,
    folder: Path | None,
    *,
    loss: str,
    cards: int = 2_500,
    **parameters: Any,
) -> TrialOutcome:
    """Return the precision of each day's checks, and AP of payments and of each day's cards.

    `cards` is the size of simulated worlds; `parameters` are those of BoostedRanker.
    """
    payments, fold = _fold(data, folder, cards)
    groups = payments.card * (payments.day.max() + 1) + payments.day
    learning, test = fold.train, fold.test
    begin = time.perf_counter()
    ranker = BoostedRanker(loss, **parameters, positive_label=True, random_state=seed, n_jobs=1)
    known = {"groups": groups[learning]} if loss in LOSSES_OF_GROUPS else {}
    ranker.fit(payments.features.take(learning), payments.is_positive[learning], **known)
    fitted = time.perf_counter()
    suspicion = ranker.suspicion(payments.features.take(test))
    is_positive, card, day = (
        each[test] for each in (payments.is_positive, payments.card, payments.day)
    )
    n_checks = round(CHECKED_SHARE * payments.n_cards)
    checked = metrics.checks_by_day(is_positive, suspicion, card, day, n_checks)
    by_card = RowsByGroup.of(groups[test])
    return TrialOutcome(
        {
            "card_precision": float(np.mean(checked.found) / n_checks),
            "average_precision": float(metrics.average_precision(is_positive, suspicion)),
            "card_average_precision": float(
                metrics.average_precision(by_card.highest(is_positive), by_card.highest(suspicion))
            ),
        },
        {"loss": loss, **parameters},
        {"fit": round(fitted - begin, 3)},
        {
            "checks": n_checks,
            "found": checked.found.tolist(),
            "ceiling": metrics.card_precision_ceiling(is_positive, card, day, n_checks),
            "train_positives": int(np.count_nonzero(payments.is_positive[learning])),
            "test_positives": int(np.count_nonzero(is_positive)),
        },
    )


class _Payments(NamedTuple):
    features: pa.Table
    is_positive: NDArray[np.bool_]
    time: NDArray[np.datetime64]
    card: NDArray[np.int64]
    day: NDArray[np.int64]
    n_cards: int


@lru_cache(maxsize=1)
def _fold(data: str, folder: Path | None, n_cards: int) -> tuple[_Payments, splits.Fold]:
    name, _, number = data.rpartition(" ")
    if name in _WEEKS:
        start, n_folds = _WEEKS[name]
        payments = _handbook(folder)
    else:
        start, n_folds = str(np.datetime64(Simulation().start) + _LEARNING), 1
        payments = _world(name.removesuffix(", world"), int(number), n_cards)
    folds = splits.prequential(
        payments.time,
        start=start,
        n_folds=n_folds,
        cards=payments.card,
        is_positive=payments.is_positive,
    )
    return payments, folds[int(number) - 1 if name in _WEEKS else 0]


@lru_cache(maxsize=1)
def _handbook(folder: Path | None) -> _Payments:
    dataset = datasets.load(_DATASET, folder=folder)
    columns = {role: dataset.features[dataset.roles[role]] for role in _ROLES}
    return _payments(pa.table({**columns, "is_fraud": dataset.is_positive}))


def _world(kind: str, number: int, n_cards: int) -> _Payments:
    simulation = Simulation(
        n_cards=n_cards,
        n_terminals=2 * n_cards,
        n_days=_N_DAYS,
        random_state=number,
        **_KINDS[kind],
    )
    table = pa.concat_tables(tables_by_day(simulation)).rename_columns({"paid_at": "time"})
    return _payments(table.select([*_ROLES, "is_fraud"]))


def _payments(table: pa.Table) -> _Payments:
    history = History(handbook_features(), time="time", label="is_fraud")
    moments = table["time"].to_numpy()
    card = key_codes(table, "card")
    return _Payments(
        history.batch(table),
        np.asarray(table["is_fraud"]),
        moments,
        card,
        splits.days(moments),
        np.unique(card).size,
    )

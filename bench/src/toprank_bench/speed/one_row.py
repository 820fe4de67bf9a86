"""One row at a time, as a dict: scored, with and without reasons and the history's features.

A row has its features already. A payment has an amount, a card and a terminal, and the history
makes its features first, which is part of the time.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from toprank import BoostedRanker
from toprank.payments.features import History, default_features
from toprank_bench.speed.features import made_up_payments
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED, rare_positives
from toprank_bench.speed.timing import milliseconds_each

Payment = dict[str, Any]

_MOST_MS, _MOST_MS_WITH_REASONS = 0.15, 0.5


def _row_scored(setting: Setting) -> Measured:
    ranker, rows = _ranker_and_rows(tuple(sorted(setting.shape.items())))
    return _each(ranker.score_one, rows, setting)


def _row_explained(setting: Setting) -> Measured:
    ranker, rows = _ranker_and_rows(tuple(sorted(setting.shape.items())))
    return _each(lambda row: ranker.explain_one(row, setting.shape["reasons"]), rows, setting)


def _payment_scored(setting: Setting) -> Measured:
    ranker, history, payments = _with_history(setting.shape)

    def score(payment: Payment) -> float:
        return ranker.score_one({**payment, **history.one(payment)})

    return _each(score, payments, setting, features=len(history.names))


def _payment_explained(setting: Setting) -> Measured:
    ranker, history, payments = _with_history(setting.shape)

    def explain(payment: Payment) -> Any:
        features = history.one(payment)
        return ranker.explain_one({**payment, **features}, setting.shape["reasons"])

    return _each(explain, payments, setting, features=len(history.names))


def _each(
    work: Callable[[Payment], Any], rows: list[Payment], setting: Setting, **facts: Any
) -> Measured:
    """Return the milliseconds of each row but the first, for which kernels are compiled."""
    work(rows[0])
    return milliseconds_each(work, rows[1:], setting.shape["rounds"], **facts)


@lru_cache(maxsize=1)  # the next race takes the same ranker
def _ranker_and_rows(sizes: tuple[tuple[str, int], ...]) -> tuple[BoostedRanker, list[Payment]]:
    shape = dict(sizes)
    features, is_positive, _ = rare_positives(shape["rows"], shape["columns"])
    ranker = _ranker(shape).fit(features, is_positive)
    names = ranker.schema_.names
    rows = [dict(zip(names, row, strict=True)) for row in features[: shape["scored"]].tolist()]
    return ranker, rows


class _Past(NamedTuple):
    """Payments with a label and their features, and those that come after them."""

    payments: Any
    ranker: BoostedRanker
    new: list[Payment]


def _with_history(shape: Mapping[str, int]) -> tuple[BoostedRanker, History, list[Payment]]:
    """Return a ranker of features, a history that has seen no new payment, and new payments."""
    past = _past(tuple(sorted(shape.items())))
    history = _history()
    history.batch(past.payments)
    return past.ranker, history, past.new


@lru_cache(maxsize=1)
def _past(sizes: tuple[tuple[str, int], ...]) -> _Past:
    shape = dict(sizes)
    n_known = shape["rows"]
    payments = made_up_payments(n_known + shape["scored"])
    known, new = payments[:n_known], payments[n_known:].drop(columns="label").to_dict("records")
    for payment in new:
        payment["time"] = payment["time"].to_pydatetime()
    table = _history().batch(known)
    # few payments may leave a window of an hour empty in all of them
    empty = [name for name in table.column_names if table[name].null_count == len(known)]
    ranker = _ranker(shape).fit(table.drop_columns(empty), known["label"].to_numpy() > 0)
    return _Past(known, ranker, new)


def _history() -> History:
    return History(default_features(), label="label")


def _ranker(shape: Mapping[str, int]) -> BoostedRanker:
    return BoostedRanker("ap-exp", n_estimators=shape["trees"], random_state=SEED, n_jobs=1)


_ROW_SHAPE = {
    "rows": 50_000, "columns": 30, "trees": 300, "reasons": 5, "scored": 2_000, "rounds": 5
}  # fmt: skip
_PAYMENT_SHAPE = {"rows": 50_000, "trees": 300, "reasons": 5, "scored": 2_000, "rounds": 5}


def _race(
    name: str,
    what: str,
    measure: Callable[[Setting], Measured],
    shape: Mapping[str, int],
    at_most: float,
) -> Race:
    return Race(
        name=name,
        what=f"BoostedRanker, {what}",
        against="",
        unit="ms (median)",
        measure=measure,
        shape=shape,
        quick={"rows": 10_000, "scored": 500},
        minutes=(0.4, 0.1),
        at_most=at_most,
        needs="xgboost" if "columns" in shape else "pandas",
    )


RACES = (
    _race("score-of-one-row", "one row scored", _row_scored, _ROW_SHAPE, _MOST_MS),
    _race(
        "reasons-of-one-row",
        "one row scored with 5 reasons",
        _row_explained,
        _ROW_SHAPE,
        _MOST_MS_WITH_REASONS,
    ),
    _race(
        "score-of-one-payment",
        "one payment scored, its features included",
        _payment_scored,
        _PAYMENT_SHAPE,
        _MOST_MS,
    ),
    _race(
        "reasons-of-one-payment",
        "one payment scored with 5 reasons, its features included",
        _payment_explained,
        _PAYMENT_SHAPE,
        _MOST_MS_WITH_REASONS,
    ),
)

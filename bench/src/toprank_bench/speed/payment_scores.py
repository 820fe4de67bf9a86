"""Payments scored by a whole `PaymentModel`: one by one, and a few at a time as in a server.

One payment includes its features. A few rows have them already: the history is kept by whoever
calls. Their figure is the time of all rows together.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.payments.payment_model import PaymentModel
from toprank.payments.row_scores import RowScores
from toprank.simulator import simulate
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import milliseconds_each

Payment = dict[str, Any]

_SHAPE = {"cards": 1_000, "days": 60, "trees": 100, "scored": 2_000, "rounds": 5}
_QUICK = {"cards": 200, "days": 40, "trees": 30, "scored": 500}
_MOST_MS, _MOST_MS_OF_ROW = 0.15, 0.02


class _Live(NamedTuple):
    """A model, payments that come after those it was fitted on, and their features."""

    model: PaymentModel
    payments: list[Payment]
    rows: list[Payment]
    features: NDArray[np.float64]


class _Block(NamedTuple):
    """Rows that are scored together."""

    rows: list[Payment]
    features: NDArray[np.float64]


def _one_by_one(setting: Setting, n_reasons: int) -> Measured:
    live = _live(tuple(sorted(setting.shape.items())))
    score = partial(live.model.score, n_reasons=n_reasons)
    score(live.payments[0])  # lays out the trees
    return milliseconds_each(score, live.payments, setting.shape["rounds"], **_facts(live))


def _together(setting: Setting, n_rows: int) -> Measured:
    live = _live(tuple(sorted(setting.shape.items())))
    scores: RowScores = live.model.row_scores()
    n_blocks = max(len(live.rows) // n_rows, setting.shape["rounds"])
    numbers = np.arange(n_blocks * n_rows).reshape(n_blocks, n_rows) % len(live.rows)
    blocks = [_Block([live.rows[i] for i in each], live.features[each]) for each in numbers]
    scores.scored(*blocks[0])

    def score(block: _Block) -> Any:
        return scores.scored(*block)

    return milliseconds_each(score, blocks, setting.shape["rounds"], **_facts(live))


@lru_cache(maxsize=1)  # the next race takes the same model
def _live(sizes: tuple[tuple[str, int], ...]) -> _Live:
    shape = dict(sizes)
    payments = simulate(
        n_cards=shape["cards"], n_terminals=100, n_days=shape["days"], random_state=SEED
    )
    n_known = payments.num_rows - shape["scored"]
    model = _model(shape).fit(payments.slice(0, n_known))
    new: pa.Table = payments.slice(n_known).drop_columns(["is_fraud"])
    assert model.state_ is not None
    made = model.state_.history.look_batch(new)
    scores = model.row_scores()
    return _Live(
        model,
        new.to_pylist(),
        [scores.row(payment) for payment in new.to_pylist()],
        np.column_stack([column.to_numpy() for column in made.columns]),
    )


def _model(shape: Mapping[str, int]) -> PaymentModel:
    return PaymentModel(
        "is_fraud", time="paid_at", card="card", terminal="terminal", amount="amount",
        n_estimators=shape["trees"], effort="quick", random_state=SEED, n_jobs=1,
    )  # fmt: skip


def _facts(live: _Live) -> dict[str, Any]:
    return {"columns": len(live.model.ranker_.schema_.names)}


def _race(name: str, what: str, measure: Callable[[Setting], Measured], at_most: float) -> Race:
    return Race(
        name=name,
        what=f"PaymentModel, {what}",
        against="",
        unit="ms (median)",
        measure=measure,
        shape=_SHAPE,
        quick=_QUICK,
        minutes=(0.5, 0.1),
        at_most=at_most,
        needs="xgboost",
    )


RACES = (
    _race("payment-score", "one payment scored", partial(_one_by_one, n_reasons=0), 0.5),
    _race(
        "payment-reasons",
        "one payment scored with 5 reasons",
        partial(_one_by_one, n_reasons=5),
        0.5,
    ),
    *(
        _race(
            f"rows-together-{n_rows}",
            f"{n_rows} {'row' if n_rows == 1 else 'rows'} with features scored together",
            partial(_together, n_rows=n_rows),
            _MOST_MS + n_rows * _MOST_MS_OF_ROW,
        )
        for n_rows in (1, 8, 64)
    ),
)

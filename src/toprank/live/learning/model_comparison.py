"""A challenger and the champion on the same matured days, which neither learned from.

Both rank the same payments, and both see the same drawn days, so that what a day brought counts
for both alike. The prevalence-adjusted AP is that of payments of which one in a thousand is a
fraud, so that figures of different months can be compared.
"""

from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import metrics
from toprank.live.learning.training_rows import LabelledPayments
from toprank.metrics.block_resamples import BlockResamples
from toprank.metrics.resampling import percentile_band
from toprank.payments.payment_model import PaymentModel

PREVALENCE = 0.001

_N_RESAMPLES = 1_000
_LEVEL = 0.95


class PairedFigure(NamedTuple):
    """A figure of both models, and how far the challenger is ahead, with its 95 % interval."""

    champion: float
    challenger: float
    difference: float
    low: float
    high: float


class ModelComparison(NamedTuple):
    """How a challenger compares with the champion whose number is `against`.

    `cards` are those found per day in `capacity` checks; `adjusted_ap` is at `prevalence`.
    """

    against: int
    first_day: int
    last_day: int
    n_days: int
    n_rows: int
    n_frauds: int
    n_left_out: int
    capacity: int
    cards: PairedFigure
    prevalence: float
    adjusted_ap: PairedFigure

    def to_json(self) -> dict[str, Any]:
        """Return the comparison in plain values."""
        figures = {name: getattr(self, name)._asdict() for name in ("cards", "adjusted_ap")}
        return self._asdict() | figures

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the comparison that `to_json` gave."""
        figures = {name: PairedFigure(**values[name]) for name in ("cards", "adjusted_ap")}
        return cls(**values | figures)


def compare_models(
    champion: PaymentModel,
    challenger: PaymentModel,
    against: int,
    rows: LabelledPayments,
    weights: NDArray[np.float64],
    capacity: int,
) -> ModelComparison:
    """Return how two models rank the test rows of the challenger's training.

    The challenger is taken as it was before it learned from these rows, too. Rows of weight 0 are
    left out; cards are found or not, so other weights count for the AP alone.
    """
    task = challenger.training_.task
    test = task.row_numbers[task.split.parts()["test"]] - 1
    used = test[weights[test] > 0]
    y, day = rows.is_fraud[used], rows.day[used]
    card = rows.table[str(challenger.card)].take(pa.array(used)).to_numpy(zero_copy_only=False)
    features = rows.table.take(pa.array(used))
    before, after = (
        each.suspicion(features) for each in (champion.ranker_, challenger.training_.chosen.ranker)
    )
    return ModelComparison(
        against,
        int(day.min()),
        int(day.max()),
        np.unique(day).size,
        used.size,
        int(np.count_nonzero(y)),
        test.size - used.size,
        capacity,
        _cards_found(y, before, after, card, day, capacity),
        PREVALENCE,
        _adjusted_ap(y, before, after, day, weights[used]),
    )


def _cards_found(
    y: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    card: NDArray,
    day: NDArray[np.int64],
    k: int,
) -> PairedFigure:
    first, second = (
        k * metrics.card_precision_at_k(y, each, card, day, k) for each in (before, after)
    )
    ahead = metrics.compare_card_precision(y, after, before, card, day, k)
    return PairedFigure(first, second, k * ahead.difference, k * ahead.low, k * ahead.high)


def _adjusted_ap(
    y: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    day: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> PairedFigure:
    """Return the AP at the prevalence of all comparisons, days drawn with replacement."""
    n_frauds, n_others = weights[y].sum(), weights[~y].sum()
    share = n_frauds * (1 - PREVALENCE) / (PREVALENCE * n_others)
    weights = np.where(y, weights, weights * share)
    one_list = np.zeros(y.size, dtype=np.intp)
    resamples = BlockResamples(y, weights, one_list, day, _N_RESAMPLES, seed=0)
    first, second = (resamples.average_precisions(each) for each in (before, after))
    low, high = percentile_band((second - first)[1:], _LEVEL)
    values = (float(first[0]), float(second[0]), float(second[0] - first[0]))
    return PairedFigure(*values, float(low), float(high))

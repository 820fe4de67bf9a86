"""Features of payments: label-free ones, shared by all strategies, and known frauds, one set each.

They are the 15 of the Fraud Detection Handbook, except for the risk of a terminal. In the
Handbook it is the terminal's share of frauds, known after a fixed delay. Here it is the number of
frauds that the strategy knew of, by verdict or claim, when the payment came.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.payments.features import History, LabelRisk, handbook_features
from toprank.simulator.feedback.replayed_payments import ReplayedPayments

_WINDOWS = ("1d", "7d", "30d")
_ROW = "row number"
_PURGE_DAYS = 7
_FORGET = np.timedelta64(90, "D")  # a claim so late counts in no feature


def label_free_features(
    payments: ReplayedPayments, time: str, card: str, terminal: str, amount: str
) -> NDArray[np.float32]:
    """Return the features that use no label, of each payment as of its own time.

    They count the payments of all cards, including those that a strategy has had blocked.
    """
    features = handbook_features(card, terminal, amount)
    label_free = [feature for feature in features if not isinstance(feature, LabelRisk)]
    return _matrix(History(label_free, time=time).batch(payments.table))


class KnownFrauds:
    """Frauds at the terminal that a strategy knew of at each payment: of a day, a week, 30 days.

    A fraud counts from the end of the day on which it became known. `features` has a row per
    payment, missing where the payment has not come yet.
    """

    def __init__(self, payments: ReplayedPayments, time: str, terminal: str) -> None:
        features = [LabelRisk("count", terminal, window, "0s") for window in _WINDOWS]
        self._history = History(features, time=time, row_id=_ROW)
        self._payments, self._table = payments, payments.table.select([time, terminal])
        self.features = np.full((payments.day.size, len(features)), np.nan, dtype=np.float32)

    def take_rows(self, day: int, rows: NDArray[np.int64]) -> None:
        """Compute the features of a day's rows, whose labels are pending from now on."""
        if day % _PURGE_DAYS == 0:
            begin = self._payments.begin_of(day)
            self._history.purge(begin, forget=begin - _FORGET)
        if rows.size:
            table = self._table.take(pa.array(rows)).append_column(_ROW, pa.array(rows))
            self.features[rows] = _matrix(self._history.batch(table))

    def take_frauds(self, day: int, rows: NDArray[np.int64]) -> None:
        """Count rows as frauds from the end of a day on."""
        if rows.size:
            self._history.label(rows, np.ones(rows.size, dtype=bool), self._payments.end_of(day))


def _matrix(table: pa.Table) -> NDArray[np.float32]:
    columns = [column.to_numpy() for column in table.columns]
    return np.column_stack(columns).astype(np.float32)

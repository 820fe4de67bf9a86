"""What every card did before, as the live system knows it: a snapshot, and the log after it.

Payments are taken in one by one, in the order of the log, and labels after the payment that they
followed. So the same log gives the same features, bit for bit, however payments waited together,
and whether they are live, read again after a restart, or replayed.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.messages import Payment
from toprank.live.snapshots import LogPlace
from toprank.live.store import label_table, payment_log
from toprank.live.store.label_table import DeskLabel
from toprank.live.stored_payment import StoredPayments
from toprank.payments.features.past import LabelCounts
from toprank.payments.model_files import FORGET, LATE
from toprank.payments.payment_model import PaymentModel
from toprank.payments.roles import row_of, rows_of

_DAY = 86_400_000_000  # microseconds
_FEW = 24  # rows: up to here, one by one is faster than a table
_AT_ONCE = 5_000  # rows of the log taken in together


class LiveHistory:
    """The features of payments, and the place in the log up to which they are known.

    Parameters
    ----------
    model
        A fitted payment model, whose history is changed.
    snapshot
        The place in the log that the model's history is at.
    keep
        How long cards and ids are remembered after their last payment.
    """

    def __init__(
        self, model: PaymentModel, snapshot: LogPlace, keep: np.timedelta64 = FORGET
    ) -> None:
        assert model.state_ is not None
        self.history, self._model = model.state_.history, model
        self.position, self.label_number = snapshot.position, snapshot.label_number
        self._keep = min(keep, FORGET)
        until = self.history.until
        self._day = -1 if until is None else int(until.astype("datetime64[D]").view(np.int64))

    @property
    def names(self) -> list[str]:
        """The features, in the order of the columns of `take_in`."""
        return self.history.names

    @property
    def snapshot(self) -> LogPlace:
        """The place in the log that the history is at."""
        return LogPlace(self.position, self.label_number)

    @property
    def horizon(self) -> int:
        """The moment, in microseconds, before which cards that did not come again are forgotten.

        It is by the day of the newest payment, since that is when the history forgets.
        """
        return self._day * _DAY - int(self._keep / np.timedelta64(1, "us"))

    def take_in(self, payments: Sequence[Payment]) -> NDArray[np.float64]:
        """Remember payments; return their features, one row each, NaN where missing."""
        out = np.empty((len(payments), len(self.names)))
        for start, stop in pairwise(self._new_days(payments)):
            self._purge_before(payments[start].paid_at)
            out[start:stop] = self._features(payments[start:stop])
        self.position += len(payments)
        return out

    def label(self, labels: Sequence[DeskLabel]) -> LabelCounts:
        """Give labels to the features; return what became of them."""
        self.label_number = labels[-1].number
        return self.history.label(
            [each.id for each in labels],
            np.array([each.is_fraud for each in labels]),
            np.array([each.known_at for each in labels]).view("datetime64[us]"),
            [each.source for each in labels],
        )

    def catch_up(
        self, connection: sa.Connection, stored: StoredPayments, until: int | None = None
    ) -> Iterator[tuple[list[payment_log.LoggedPayment], NDArray[np.float64]]]:
        """Take in the log from here on, up to `until`; yield its payments and their features."""
        labels = iter(label_table.after(connection, self.label_number))
        next_label = next(labels, None)
        chunk: list[payment_log.LoggedPayment] = []
        for row in payment_log.after(connection, self.position, until):
            due = []
            while next_label is not None and next_label.after_position < row.position:
                due.append(next_label)
                next_label = next(labels, None)
            if due or len(chunk) >= _AT_ONCE:
                yield self._taken_in(chunk, stored)
                chunk = []
            if due:
                self.label(due)
            chunk.append(row)
        yield self._taken_in(chunk, stored)
        rest = [each for each in (next_label, *labels) if each is not None]
        due = [each for each in rest if until is None or each.after_position <= until]
        if due:
            self.label(due)

    def _taken_in(
        self, rows: list[payment_log.LoggedPayment], stored: StoredPayments
    ) -> tuple[list[payment_log.LoggedPayment], NDArray[np.float64]]:
        return rows, self.take_in([stored.read(row) for row in rows])

    def _features(self, payments: Sequence[Payment]) -> NDArray[np.float64]:
        if len(payments) > _FEW and _are_in_order(payments):
            table = self._table(payments)
            if table is not None:
                found = self.history.batch(table)
                return np.column_stack([column.to_numpy() for column in found.columns])
        rows = (self._row(each) for each in payments)
        return np.array([list(self.history.one(row).values()) for row in rows])

    def _row(self, payment: Payment) -> dict[str, Any]:
        """Return a payment as the history takes one row."""
        row = {**payment.body, self.history.time: np.datetime64(payment.paid_at, "us")}
        return row_of(self.history, row, self._model.classes_)

    def _table(self, payments: Sequence[Payment]) -> pa.Table | None:
        """Return payments as the history takes a table; None if a column has mixed types."""
        history = self.history
        names = dict.fromkeys([*history.columns, *filter(None, [history.row_id])])
        try:
            columns = {
                name: pa.array([each.body.get(name) for each in payments]) for name in names
            }
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return None
        times = np.array([each.paid_at for each in payments]).view("datetime64[us]")
        columns[history.time] = pa.array(times)
        return rows_of(history, pa.table(columns), self._model.classes_)

    # Forgetting

    def _new_days(self, payments: Sequence[Payment]) -> list[int]:
        """Return where to divide payments so that each part begins the latest day so far."""
        places, day = [0], max(self._day, payments[0].paid_at // _DAY if payments else 0)
        for place, payment in enumerate(payments):
            if payment.paid_at // _DAY > day:
                day = payment.paid_at // _DAY
                places.append(place)
        return [*places, len(payments)] if payments else []

    def _purge_before(self, paid_at: int) -> None:
        """Forget what is no longer needed, as the first payment of a day comes in.

        The moment depends on the payments alone: a replay forgets at the same place.
        """
        day = paid_at // _DAY
        if day <= self._day:
            return
        if self._day >= 0:
            midnight = np.datetime64(day * _DAY, "us")
            self.history.purge(midnight - LATE, forget=midnight - self._keep)
        self._day = day

    @classmethod
    def caught_up(
        cls, model: PaymentModel, snapshot: LogPlace, connection: sa.Connection,
        stored: StoredPayments, keep: np.timedelta64 = FORGET, until: int | None = None,
    ) -> Self:  # fmt: skip
        """Return the history of a model at a snapshot with all that the log has after it."""
        live = cls(model, snapshot, keep)
        for _ in live.catch_up(connection, stored, until):
            pass
        return live


def _are_in_order(payments: Sequence[Payment]) -> bool:
    return all(one.paid_at <= other.paid_at for one, other in pairwise(payments))

"""What every card did before, as the live system knows it: a snapshot, and the log after it.

Payments are taken in one by one, in the order of the log; labels and purges after the payment that
they followed. So the same log gives the same features, bit for bit, however payments waited
together, and whether they are live, read again after a restart, or replayed.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.messages import Payment
from toprank.live.snapshots import LogPlace
from toprank.live.store import label_table, payment_log, purge_table
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.payment_log import LoggedPayment
from toprank.live.store.purge_table import Purge
from toprank.live.stored_payment import StoredPayments
from toprank.payments.features.past import LabelCounts
from toprank.payments.payment_model import PaymentModel
from toprank.payments.roles import row_of, rows_of

_FEW = 16  # rows: up to here, one by one is faster than a table
_AT_ONCE = 5_000  # rows of the log taken in together
_EPOCH = datetime(1970, 1, 1)  # a time without a zone is UTC to the history


class TakenIn(NamedTuple):
    """Payments of the log that were taken in again, and their features."""

    rows: list[LoggedPayment]
    features: NDArray[np.float64]


class LiveHistory:
    """The features of payments, and the place in the log up to which they are known.

    Parameters
    ----------
    model
        A fitted payment model, whose history is changed.
    place
        The place in the log that the model's history is at.
    """

    def __init__(self, model: PaymentModel, place: LogPlace) -> None:
        assert model.state_ is not None
        self.history, self._model = model.state_.history, model
        self.place = place

    @property
    def names(self) -> list[str]:
        """The features, in the order of the columns of `take_in`."""
        return self.history.names

    @property
    def position(self) -> int:
        """The position of the newest payment."""
        return self.place.position

    def take_in(self, payments: Sequence[Payment]) -> NDArray[np.float64]:
        """Remember payments; return their features, one row each, NaN where missing."""
        if not payments:
            return np.empty((0, len(self.names)))
        found = self._features(payments)
        self.place = self.place._replace(position=self.position + len(payments))
        return found

    def label(self, labels: Sequence[DeskLabel]) -> LabelCounts:
        """Give labels to the features; return what became of them."""
        self.place = self.place._replace(label_number=labels[-1].number)
        return self.history.label(
            [each.id for each in labels],
            np.array([each.is_fraud for each in labels]),
            np.array([each.known_at for each in labels]).view("datetime64[us]"),
            [each.source for each in labels],
        )

    def purge(self, purge: Purge) -> None:
        """Forget what is too old."""
        moments = np.array([purge.before, purge.forget]).view("datetime64[us]")
        self.history.purge(moments[0], forget=moments[1])
        self.place = self.place._replace(purge_number=purge.number)

    # Reading the log again

    @classmethod
    def caught_up(
        cls, model: PaymentModel, place: LogPlace, connection: sa.Connection,
        stored: StoredPayments, until: int | None = None,
    ) -> Self:  # fmt: skip
        """Return the history of a model at a place with all that the log has after it."""
        live = cls(model, place)
        for _ in live.catch_up(connection, stored, until):
            pass
        return live

    def catch_up(
        self, connection: sa.Connection, stored: StoredPayments, until: int | None = None
    ) -> Iterator[TakenIn]:
        """Take in the log from here on, up to the payment at `until`; yield its payments."""
        changes = self._changes(connection, until)
        next_change = next(changes, None)
        chunk: list[LoggedPayment] = []
        for row in payment_log.after(connection, self.position, until):
            is_due = next_change is not None and next_change[0] < row.position
            if is_due or len(chunk) == _AT_ONCE:
                yield self._taken_in(chunk, stored)
                chunk = []
            while next_change is not None and next_change[0] < row.position:
                self._change(next_change[1])
                next_change = next(changes, None)
            chunk.append(row)
        yield self._taken_in(chunk, stored)
        while next_change is not None:
            self._change(next_change[1])
            next_change = next(changes, None)

    def _changes(
        self, connection: sa.Connection, until: int | None
    ) -> Iterator[tuple[int, Purge | list[DeskLabel]]]:
        """Yield labels that came together, and purges, each with the position it followed."""
        labels = label_table.after(connection, self.place.label_number)
        purges = purge_table.after(connection, self.place.purge_number)
        found = sorted(
            [(each.after_position, each.number, 0, each) for each in labels]
            + [(each.after_position, each.after_label, 1, each) for each in purges],
            key=lambda change: change[:3],
        )
        for (position, is_purge), group in groupby(found, key=lambda each: (each[0], each[2])):
            if until is not None and position > until:
                return
            changes: list[Any] = [each for *_, each in group]
            if is_purge:
                yield from ((position, each) for each in changes)
            else:
                yield position, changes

    def _change(self, change: Purge | list[DeskLabel]) -> None:
        if isinstance(change, Purge):
            self.purge(change)
        else:
            self.label(change)

    def _taken_in(self, rows: list[LoggedPayment], stored: StoredPayments) -> TakenIn:
        if rows and rows[0].position != self.position + 1:
            raise ValueError(
                f"the log must go on with payment {self.position + 1:,} after the snapshot; it "
                f"does so with {rows[0].position:,}: the folder is not whole; use a backup."
            )
        return TakenIn(rows, self.take_in([stored.read(row) for row in rows]))

    # Rows as the history takes them

    def _features(self, payments: Sequence[Payment]) -> NDArray[np.float64]:
        if len(payments) > _FEW and _are_in_order(payments):
            table = self._table(payments)
            if table is not None:
                found = self.history.batch(table)
                return np.column_stack([column.to_numpy() for column in found.columns])
        features = np.empty((len(payments), len(self.names)))
        for place, payment in enumerate(payments):
            features[place] = self.history.one_row(self._row(payment))
        return features

    def _row(self, payment: Payment) -> dict[str, Any]:
        """Return a payment as the history takes one row."""
        paid_at = _EPOCH + timedelta(microseconds=payment.paid_at)
        row = {**payment.body, self.history.time: paid_at}
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

    def warm_up(self, payment: Payment) -> NDArray[np.float64]:
        """Return the features of a payment, by both ways, without remembering it.

        What has to be compiled is compiled then, not while a payment waits.
        """
        with self.history.looking():
            self.history.batch(self._table([payment]))
        return np.array([list(self.history.look(self._row(payment)).values())])


def _are_in_order(payments: Sequence[Payment]) -> bool:
    return all(one.paid_at <= other.paid_at for one, other in pairwise(payments))

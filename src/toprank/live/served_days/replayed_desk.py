"""The desk of a replay: its model learned from the warm-up, with the labels known by then."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.live.desk import Desk, init_desk
from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import api_keys
from toprank.payments.payment_model import PaymentModel
from toprank.simulator.feedback.replayed_payments import ReplayedPayments

_ID, _LABEL = "payment", "is_fraud"
_KEPT = "400d"
_MINUTES = 5.0  # for a training, far more than it needs


class DeskPlan(NamedTuple):
    """What is the same for all desks of a replay.

    `first` is the first day that is replayed, counted from that of the first payment.
    """

    first: int
    budget: int
    silence: np.timedelta64
    random_share: float = 0.05
    n_trees: int = 50
    n_people: int = 3
    n_hostile: int = 0
    random_state: int = 0


class PaymentBodies:
    """The payments as the API takes them; ids are made of their places in the order of time."""

    def __init__(self, payments: ReplayedPayments) -> None:
        self._payments = payments
        self.time, self.card, self.terminal, self.amount = payments.table.column_names

    def id_of(self, row: int) -> str:
        """Return the id of a row."""
        return f"p{row}"

    def row_of(self, payment_id: str) -> int:
        """Return the row of an id."""
        return int(payment_id[1:])

    def some(self, rows: NDArray[np.int64]) -> list[dict[str, object]]:
        """Return rows as bodies of requests."""
        found = self._payments.table.take(pa.array(rows)).to_pylist()
        moments = np.datetime_as_string(self._payments.time[rows], unit="us")
        return [
            body | {_ID: self.id_of(int(row)), self.time: str(moment)}
            for body, row, moment in zip(found, rows, moments, strict=True)
        ]


def make_desk(
    folder: Path, payments: ReplayedPayments, rows: NDArray[np.int64], plan: DeskPlan
) -> str:
    """Make a desk whose model learned from `rows` of the warm-up; return its API key.

    Labels are those known when the replay begins. Of payments that are more recent than the
    silence only claims would be known, so all of these are without a label; claims on them are
    sent to the desk.
    """
    bodies = PaymentBodies(payments)
    path = folder.with_name(f"{folder.name}.toprank")
    _fit(payments, rows, plan, bodies, path)
    silence = f"{int(plan.silence / np.timedelta64(1, 's'))}s"
    settings = DeskSettings(
        capacity=plan.budget, clock="payments", silence=silence, keep=_KEPT, undo="0s",
        random_share=plan.random_share, retrain_minutes=_MINUTES,
    )  # fmt: skip
    init_desk(folder, path, settings)
    path.unlink()
    with Desk.open(folder) as desk, desk.database.writing() as connection:
        scopes = ["payments", "labels", "read", "metrics"]
        return api_keys.add(connection, "replay", scopes, wall_time(), "person:replay")


def _fit(
    payments: ReplayedPayments,
    rows: NDArray[np.int64],
    plan: DeskPlan,
    bodies: PaymentBodies,
    path: Path,
) -> None:
    is_old = payments.time[rows] + plan.silence < payments.begin_of(plan.first)
    is_claimed = payments.claim_day[rows] < plan.first
    table = payments.table.take(pa.array(rows))
    table = table.append_column(_ID, pa.array([bodies.id_of(row) for row in rows.tolist()]))
    table = table.append_column(_LABEL, pa.array(is_claimed, mask=~is_old))
    model = PaymentModel(
        _LABEL, time=bodies.time, card=bodies.card, terminal=bodies.terminal,
        amount=bodies.amount, row_id=_ID, budget=plan.budget, effort="quick",
        n_estimators=plan.n_trees, random_state=plan.random_state, n_jobs=1,
    )  # fmt: skip
    model.fit(table)
    model.save(path)
    model.close()

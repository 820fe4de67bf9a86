"""The desk of a replay: its model learned from the warm-up, with the labels known by then.

Its learner is boosted trees on plain log-loss, as that of the strategies it is compared with: ways
of learning are compared, and not learners.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables.ids import id_texts
from toprank.live.desk import Desk, init_desk
from toprank.live.desk_clock import wall_time
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import api_keys
from toprank.live.web.card_number_check import is_card_number
from toprank.payments.payment_model import PaymentModel
from toprank.simulator.feedback.replayed_payments import ReplayedPayments

_KEPT = "400d"
_NO_SEARCH = 1e-6  # seconds for finding a recipe: with too few for any, it is plain log-loss
_UPKEEPS = 3  # in all days: every training reads the log after the last one line by line


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
    """The payments as the API takes them; ids are made of their places in the order of time.

    Attributes
    ----------
    id_field, label
        Names of the ids and of the labels; no column of the payments has them.
    """

    def __init__(self, payments: ReplayedPayments) -> None:
        self._payments = payments
        taken = payments.table.column_names
        self.time, self.card, self.terminal, self.amount = taken
        self.id_field, self.label = (_unlike(taken, name) for name in ("payment", "is_fraud"))

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
            body | {self.id_field: self.id_of(int(row)), self.time: str(moment)}
            for body, row, moment in zip(found, rows, moments, strict=True)
        ]


def check_servable(payments: ReplayedPayments) -> None:
    """Raise for payments that a desk would not take."""
    cards = payments.table[payments.table.column_names[1]]
    texts = id_texts(cards, "card").unique().to_pylist()
    numbers = [each for each in texts if each is not None and is_card_number(each)]
    if numbers:
        raise ValueError(
            f"column {payments.table.column_names[1]!r} must contain tokens, since a desk stores "
            f"no card numbers (13 to 19 digits with their check digit); {len(numbers):,} of "
            f"{len(texts):,} cards are such numbers; replace them, for example by their keyed "
            "hashes."
        )


def _unlike(taken: Sequence[str], name: str) -> str:
    """Return a name, longer if it is taken."""
    while name in taken:
        name += "_"
    return name


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
    n_replayed = payments.rows_of(plan.first, payments.n_days).size
    silence = f"{int(plan.silence / np.timedelta64(1, 's'))}s"
    settings = DeskSettings(
        capacity=plan.budget, clock="payments", silence=silence, keep=_KEPT, undo="0s",
        random_share=plan.random_share, retrain_minutes=_NO_SEARCH / 60,
        snapshot_every=n_replayed // _UPKEEPS + 1,
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
    table = table.append_column(
        bodies.id_field, pa.array([bodies.id_of(row) for row in rows.tolist()])
    )
    table = table.append_column(bodies.label, pa.array(is_claimed, mask=~is_old))
    model = PaymentModel(
        bodies.label, time=bodies.time, card=bodies.card, terminal=bodies.terminal,
        amount=bodies.amount, row_id=bodies.id_field, budget=plan.budget, effort="quick",
        time_limit=_NO_SEARCH, n_estimators=plan.n_trees, random_state=plan.random_state, n_jobs=1,
    )  # fmt: skip
    try:
        model.fit(table)
    except ValueError as error:
        n_frauds = np.count_nonzero(is_claimed & is_old)
        raise ValueError(
            f"the warm-up of {plan.first} days must have enough claimed frauds, in all of its "
            "parts, to fit and test the model of a served desk; of the payments that are old "
            f"enough, {n_frauds:,} are claimed frauds; replay fewer days, or add earlier ones "
            f"(the fit said: {str(error).partition(';')[0]})."
        ) from error
    model.save(path)
    model.close()

"""What a desk has come to after the days of a replay: cards found, kept ranges, recall."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.checks.kept_promise import DayRange, day_ranges
from toprank.live.desk import Desk
from toprank.live.monitor import log_digest
from toprank.live.monitor.drawn_days import drawn_days
from toprank.live.monitor.missed_frauds import missed_frauds
from toprank.live.served_days.replayed_desk import DeskPlan, PaymentBodies
from toprank.live.store import (
    label_table,
    model_table,
    random_check_table,
)
from toprank.live.store.payment_log import payments as logged
from toprank.live.store.payment_log import scores
from toprank.payments.ledger import Known, MemoryLedger
from toprank.simulator.feedback.desk_figures import (
    DailyPromise,
    DeskFigures,
    EstimatedRecall,
)
from toprank.simulator.feedback.investigators import DayChecks
from toprank.simulator.feedback.replay import StrategyDays
from toprank.simulator.feedback.replayed_payments import ReplayedPayments

_AT_ONCE = 1_000  # payments counted together: nobody waits


class DeskOutcome(NamedTuple):
    """The days of a desk as those of any other strategy, and what it says of itself."""

    days: StrategyDays
    figures: DeskFigures


def outcome_of(
    folder: Path,
    payments: ReplayedPayments,
    plan: DeskPlan,
    days: Sequence[DayChecks],
    seconds: NDArray[np.float64],
    present: NDArray[np.int64],
    accused: dict[str, int],
) -> DeskOutcome:
    """Return what the database of a desk says after its days, with the truth beside it.

    `present` are the replayed rows that happened, `seconds` the times of training, and `accused`
    are the people whose verdicts raised an alarm, and on which day.
    """
    bodies = PaymentBodies(payments)
    with Desk.open(folder) as desk:
        log_digest.catch_up(desk.database, desk.settings.alert_from, at_once=_AT_ONCE)
        with desk.database.reading() as connection:
            last = desk.now(connection) // log_digest.DAY
            first = last - len(days) + 1
            promise = _promise(day_ranges(connection, first, last))
            recall = _recall(connection, first, last, payments, bodies)
            suspicion = _suspicion(connection, payments, bodies)
            known = _known(connection, payments, plan, bodies, present)
            n_models = sum(
                each.approved_at is not None or each.number == model_table.FIRST
                for each in model_table.newest(connection)
            )
    counts = np.array(days, dtype=np.float64).T
    checked, found, positive = counts[:3].astype(np.int64)
    tested = payments.rows_of(plan.first, payments.n_days)
    outcome = StrategyDays(
        checked=checked, found=found, positive=positive, money=counts[3], saved=counts[4],
        seconds=seconds, suspicion=suspicion[tested], known=known,
    )  # fmt: skip
    return DeskOutcome(outcome, DeskFigures(promise, recall, n_models, accused))


def _promise(ranges: Sequence[DayRange]) -> DailyPromise:
    columns = zip(
        *((*each.expected, each.counts.n_found, each.chance) for each in ranges), strict=True
    )
    return DailyPromise(*(np.array(column, dtype=np.float64) for column in columns))


def _suspicion(
    connection: sa.Connection, payments: ReplayedPayments, bodies: PaymentBodies
) -> NDArray[np.float64]:
    """Return the suspicion of each payment that came in, NaN for the others."""
    found = np.full(payments.day.size, np.nan)
    query = sa.select(logged.c.id, scores.c.suspicion).join(
        scores, scores.c.position == logged.c.position
    )
    for payment_id, suspicion in connection.execute(query):
        found[bodies.row_of(payment_id)] = suspicion
    return found


def _known(
    connection: sa.Connection,
    payments: ReplayedPayments,
    plan: DeskPlan,
    bodies: PaymentBodies,
    rows: NDArray[np.int64],
) -> Known:
    """Return the labels that the desk knows of rows when the days are over."""
    ledger = MemoryLedger()
    for each in label_table.after(connection, 0):
        known = np.datetime64(each.known_at, "us")
        row = bodies.row_of(each.id)
        ledger.append([row], each.is_fraud, known=known, source=each.source)
    end = payments.begin_of(payments.n_days)
    return ledger.as_known(end, rows).silence(payments.time[rows], plan.silence)


def _recall(
    connection: sa.Connection,
    first: int,
    last: int,
    payments: ReplayedPayments,
    bodies: PaymentBodies,
) -> EstimatedRecall | None:
    """Return the recall over the days with random checks: of cards with a fraud that day."""
    used = [each for each in drawn_days(connection, first, last) if each.is_usable]
    estimate = missed_frauds(used)
    if estimate is None or estimate.recall is None:
        return None
    days = {each.day for each in used}
    draws = [
        each for each in random_check_table.between(connection, first, last) if each.day in days
    ]
    query = sa.select(logged.c.id, logged.c.card, logged.c.received_at)
    frauds = [
        (row.card, row.received_at)
        for row in connection.execute(query)
        if payments.is_positive[bodies.row_of(row.id)]
    ]
    n_true = sum(
        len({card for card, at in frauds if draw.since <= at < draw.at}) for draw in draws
    )
    return EstimatedRecall(estimate.recall, estimate.n_found / max(n_true, 1), len(used))

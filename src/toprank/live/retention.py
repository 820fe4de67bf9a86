"""Forgetting: what is older than a desk keeps is removed from every one of its files.

These are the log, scores, those of challengers, counts of scores, matches of rules, labels, alerts
with their reasons, checks with their notes, requests to other systems, rejected messages, the
archive and the snapshots. Models stay: they contain no cards, terminals or ids. What is removed
from the database is overwritten there and in the write-ahead log. The audit stays: it names
payments and alerts by their ids, never cards; so do the counts of each day's checks.
"""

from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from toprank.live.desk import Desk, archive_of
from toprank.live.desk_clock import wall_time
from toprank.live.snapshots import LogPlace
from toprank.live.store import (
    audit_chain,
    digest_tables,
    score_day_table,
    stream_reject_table,
    unmask_table,
)
from toprank.live.store.alert_table import alert_payments, alerts
from toprank.live.store.alert_terminal_table import alert_terminals
from toprank.live.store.blind_check_table import blind_checks
from toprank.live.store.check_table import checks
from toprank.live.store.digest_tables import known_frauds, rule_matches
from toprank.live.store.filled_alert_table import filled_alerts
from toprank.live.store.fraud_terminal_table import fraud_terminals
from toprank.live.store.label_table import labels
from toprank.live.store.listed_score_table import listed_scores
from toprank.live.store.note_table import notes
from toprank.live.store.outbox_table import outbox
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.random_check_table import random_checks
from toprank.live.store.shadow_score_table import shadow_scores
from toprank.live.store.snooze_table import snoozes
from toprank.payments.payment_model import PaymentModel

ACTOR = "job:retention"

_AT_ONCE = 5_000  # rows per transaction: payments wait for each


class Purged(NamedTuple):
    """What was removed: payments of the log, payments of the archive, alerts."""

    n_payments: int = 0
    n_archived: int = 0
    n_alerts: int = 0


def purge(desk: Desk, model: PaymentModel, snapshot: LogPlace, before: int) -> Purged:
    """Remove all that is older than a moment, in microseconds, as the newest snapshot has done.

    Payments after that snapshot stay, whatever their time: a restart needs them.
    """
    purged = Purged(
        _drop_payments(desk, before, snapshot.position),
        archive_of(desk, model).drop_before(before),
        _drop_alerts(desk, before),
    )
    # each of these may have been left over by a purge that was interrupted
    _drop_labels(desk, before)
    _drop_snoozes(desk, before)
    with desk.database.writing() as connection:
        digest_tables.drop_before(connection, before)
        score_day_table.drop_before(connection, before // digest_tables.DAY)
    kept = int(desk.settings.kept / np.timedelta64(1, "us"))
    with desk.database.writing() as connection:
        unmask_table.drop_ended(connection, wall_time())
        stream_reject_table.drop_before(connection, wall_time() - kept)
    desk.snapshots.drop_before(snapshot)
    if any(purged):
        with desk.database.writing() as connection:
            details = {"before": before, **purged._asdict()}
            audit_chain.add(connection, wall_time(), ACTOR, "purged", "desk", details)
    desk.database.overwrite_removed()
    return purged


def _drop_alerts(desk: Desk, before: int) -> int:
    """Remove alerts that nothing has happened to since a moment, and all that is about them.

    Open ones are included.
    """
    with desk.database.writing() as connection:
        old = sa.select(alerts.c.number).where(alerts.c.updated_at < before)
        for table in (
            alert_payments, alert_terminals, blind_checks, checks, filled_alerts, notes, outbox,
            random_checks,
        ):  # fmt: skip
            connection.execute(table.delete().where(table.c.alert.in_(old)))
        return connection.execute(alerts.delete().where(alerts.c.updated_at < before)).rowcount


def _drop_payments(desk: Desk, before: int, until: int) -> int:
    """Remove payments up to a position, and what belongs to them, a few at a time."""
    n_dropped = 0
    while True:
        with desk.database.writing() as connection:
            found = connection.execute(
                sa.select(payments.c.position, payments.c.id)
                .where(payments.c.paid_at < before, payments.c.position <= until)
                .order_by(payments.c.position)
                .limit(_AT_ONCE)
            ).all()
            if not found:
                return n_dropped
            positions, ids = ([row[i] for row in found] for i in (0, 1))
            of_payments = (
                alert_payments, fraud_terminals, rule_matches, known_frauds, listed_scores,
                shadow_scores, scores, payments,
            )  # fmt: skip
            for table in of_payments:
                connection.execute(table.delete().where(table.c.position.in_(positions)))
            connection.execute(labels.delete().where(labels.c.id.in_(ids)))
            n_dropped += len(found)


def _drop_snoozes(desk: Desk, before: int) -> None:
    """Remove snoozes that ended before a moment."""
    with desk.database.writing() as connection:
        connection.execute(snoozes.delete().where(snoozes.c.until < before))


def _drop_labels(desk: Desk, before: int) -> None:
    """Remove labels of payments that the log no longer has, or never had."""
    is_there = sa.exists().where(payments.c.id == labels.c.id)
    with desk.database.writing() as connection:
        connection.execute(labels.delete().where(labels.c.known_at < before, ~is_there))

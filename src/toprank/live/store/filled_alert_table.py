"""Alerts that fill the list: cards that nothing lists but that they are the best of the others.

An alert is here for as long as nobody has opened it.
"""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.alert_table import alert_payments, alerts
from toprank.live.store.desk_database import metadata
from toprank.live.store.payment_reads import CardRows

filled_alerts = sa.Table(
    "filled_alerts",
    metadata,
    sa.Column("alert", sa.BigInteger, primary_key=True, autoincrement=False),
)


class FilledAlert(NamedTuple):
    """An alert that fills the list, and the payments that it has."""

    number: int
    rows: CardRows


def add(connection: sa.Connection, number: int) -> None:
    """Store that an alert was opened to fill the list."""
    connection.execute(filled_alerts.insert().values(alert=number))


def remove(connection: sa.Connection, numbers: Collection[int]) -> None:
    """Forget alerts that have been opened by somebody, or closed."""
    if numbers:
        of_these = filled_alerts.c.alert.in_(list(numbers))
        connection.execute(filled_alerts.delete().where(of_these))


def open_below(connection: sa.Connection, alert_from: float) -> dict[str, FilledAlert]:
    """Return by card the open alerts that still nothing but filling the list would list."""
    c, position = alerts.c, alert_payments.c.position
    query = (
        sa.select(
            c.card, c.number, sa.func.min(position), sa.func.max(position), sa.func.count(position)
        )
        .join(filled_alerts, filled_alerts.c.alert == c.number)
        .join(alert_payments, alert_payments.c.alert == c.number)
        .where(c.state == "open", c.rules == "[]", c.probability < alert_from)
        .group_by(c.card, c.number)
    )
    return {
        card: FilledAlert(number, CardRows(*rows))
        for card, number, *rows in connection.execute(query)
    }

"""Where frauds happened: the terminals of payments that were ever labelled as fraud.

The log has no index by terminal, which would slow down every payment; frauds are few. Whether a
payment still counts as fraud is asked of the labels.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata
from toprank.live.store.payment_log import payments

fraud_terminals = sa.Table(
    "fraud_terminals",
    metadata,
    sa.Column("position", Number, primary_key=True),
    sa.Column("id", Text, nullable=False),
    sa.Column("card", Text, nullable=False),
    sa.Column("terminal", Text, nullable=False),
    sa.Column("paid_at", sa.BigInteger, nullable=False),
    sa.Index("frauds_at_terminal", "terminal", "paid_at"),
)


class FraudPlace(NamedTuple):
    """A payment that was labelled as fraud."""

    position: int
    id: str
    card: str
    terminal: str
    paid_at: int


def add(connection: sa.Connection, ids: Sequence[str]) -> None:
    """Add those of the payments that are in the log and not here yet."""
    if not ids:
        return
    columns = [payments.c[column.name] for column in fraud_terminals.c]
    is_here = sa.exists().where(fraud_terminals.c.position == payments.c.position)
    found = sa.select(*columns).where(payments.c.id.in_(list(ids)), ~is_here)
    connection.execute(fraud_terminals.insert().from_select(fraud_terminals.c.keys(), found))


def at(
    connection: sa.Connection, terminals: Sequence[str], since: int, limit: int
) -> list[FraudPlace]:
    """Return the payments at these terminals from a moment on, the newest first."""
    c = fraud_terminals.c
    query = sa.select(fraud_terminals).where(c.terminal.in_(list(terminals)), c.paid_at >= since)
    found = connection.execute(query.order_by(c.paid_at.desc()).limit(limit))
    return [FraudPlace(*row) for row in found]

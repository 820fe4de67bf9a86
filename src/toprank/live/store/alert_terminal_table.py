"""At which terminals the payments of alerts were made.

The log has no index by terminal, which would slow down every payment; alerts are few.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Text, insert_new, metadata
from toprank.live.store.payment_log import payments

alert_terminals = sa.Table(
    "alert_terminals",
    metadata,
    sa.Column("terminal", Text, primary_key=True),
    sa.Column("alert", sa.BigInteger, sa.ForeignKey("alerts.number"), primary_key=True),
    sa.Index("alert_terminals_of_alert", "alert"),
    sqlite_with_rowid=False,
)

_ADD = CompiledStatement(
    insert_new(alert_terminals).from_select(
        ["terminal", "alert"],
        sa.select(payments.c.terminal, sa.bindparam("of_alert", type_=sa.BigInteger)).where(
            payments.c.position == sa.bindparam("of_position")
        ),
    )
)


def add(connection: sa.Connection, pairs: Sequence[tuple[int, int]]) -> None:
    """Add the terminals of payments to alerts: pairs of its number and a position."""
    if pairs:
        _ADD.many(connection, pairs)


def alerts_at(connection: sa.Connection, terminal: str, limit: int) -> list[int]:
    """Return the numbers of the alerts with a payment at a terminal, the newest first."""
    columns = alert_terminals.c
    query = sa.select(columns.alert).where(columns.terminal == terminal)
    return list(connection.execute(query.order_by(columns.alert.desc()).limit(limit)).scalars())

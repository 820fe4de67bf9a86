"""Databases of earlier versions, brought up to the present one in the transaction of a step each.

Nothing that was stored is changed: each step only adds.
"""

from collections.abc import Callable

import sqlalchemy as sa

from toprank.live.store.desk_database import metadata

_DEFAULTS = {("check_days", "chances"): "[]", ("outbox", "kind"): "block"}
"""What earlier rows have in columns that were added to tables."""


def _to_version_3(connection: sa.Connection) -> None:
    """Add models, shadow scores, alarms, the terminals of alerts, and two columns."""
    _add_columns(connection)
    metadata.create_all(connection)
    for table in metadata.tables.values():
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    _add_terminals(connection)
    _add_first_model(connection)


def _to_version_4(connection: sa.Connection) -> None:
    """Add the counts of scores, counted from the log by and by, and alerts that fill the list."""
    metadata.create_all(connection)


def _to_version_5(connection: sa.Connection) -> None:
    """Add which checks were made without reasons."""
    metadata.create_all(connection)


def _to_version_6(connection: sa.Connection) -> None:
    """Add how far streams were read, and which of their messages were rejected."""
    metadata.create_all(connection)


def _add_columns(connection: sa.Connection) -> None:
    for (table, column), default in _DEFAULTS.items():
        connection.exec_driver_sql(
            f"ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT '{default}'"
        )


def _add_terminals(connection: sa.Connection) -> None:
    """Fill the terminals of alerts, from their payments."""
    from toprank.live.store import alert_terminal_table
    from toprank.live.store.alert_table import alert_payments

    pairs = connection.execute(sa.select(alert_payments.c.alert, alert_payments.c.position))
    alert_terminal_table.add(connection, [(row.alert, row.position) for row in pairs])


def _add_first_model(connection: sa.Connection) -> None:
    """Store the model that there was as the first, and the champion."""
    from toprank.live.store import model_table
    from toprank.live.store.audit_chain import audit
    from toprank.live.store.model_table import FIRST, StoredModel

    made = sa.select(audit.c.at, audit.c.actor).where(audit.c.action == "desk made")
    found = connection.execute(made.order_by(audit.c.number).limit(1)).first()
    at, who = found or (0, "person:command line")
    file = model_table.file_name(FIRST)
    day = at // 86_400_000_000
    model_table.add(connection, StoredModel(FIRST, file, "champion", who, at, day, trained_at=at))


STEPS: dict[int, Callable[[sa.Connection], None]] = {
    2: _to_version_3,
    3: _to_version_4,
    4: _to_version_5,
    5: _to_version_6,
}
"""What leads from a version to the next one."""

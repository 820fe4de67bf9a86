"""How often the process that decides, and others, have changed something: to notice it quickly.

PostgreSQL counts here, as `transactions` begins one that writes; SQLite counts by itself.
"""

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("writer", Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)

WRITERS = ("engine", "others")


def begin_to_count(connection: sa.Connection) -> None:
    """Add the counts of a new database."""
    connection.execute(changes.insert(), [{"writer": each, "number": 0} for each in WRITERS])

"""Alarms: figures of the desk that went beyond a limit, since when, and who has seen it.

An alarm is raised once, and is open until its figure has been back for some time. At most one is
open per name.
"""

from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

alarms = sa.Table(
    "alarms",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("name", Text, nullable=False),
    sa.Column("raised_at", sa.BigInteger, nullable=False),  # by the desk's clock
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("limit", sa.Double, nullable=False),
    sa.Column("text", Text, nullable=False),
    sa.Column("n_calm", sa.Integer, nullable=False),  # looks in a row at which it was back
    sa.Column("acknowledged_by", Text),
    sa.Column("acknowledged_at", sa.BigInteger),
    sa.Column("ended_at", sa.BigInteger),
)
_IS_OPEN = alarms.c.ended_at.is_(None)
sa.Index(
    "one_open_alarm_per_name",
    alarms.c.name,
    unique=True,
    sqlite_where=_IS_OPEN,
    postgresql_where=_IS_OPEN,
)


class DeskAlarm(NamedTuple):
    """A figure that went beyond its limit; `text` says so in a sentence."""

    number: int
    name: str
    raised_at: int
    value: float
    limit: float
    text: str
    n_calm: int = 0
    acknowledged_by: str | None = None
    acknowledged_at: int | None = None
    ended_at: int | None = None


def add(connection: sa.Connection, alarm: DeskAlarm) -> DeskAlarm:
    """Store an alarm, whatever its number, and return it with the number that it gets."""
    values = alarm._asdict()
    del values["number"]
    key = connection.execute(alarms.insert().values(values)).inserted_primary_key
    assert key is not None
    return alarm._replace(number=int(key[0]))


def open_now(connection: sa.Connection) -> list[DeskAlarm]:
    """Return the alarms that have not ended, the oldest first."""
    query = sa.select(alarms).where(_IS_OPEN).order_by(alarms.c.number)
    return [DeskAlarm(*row) for row in connection.execute(query)]


def last_ended(connection: sa.Connection, limit: int = 50) -> list[DeskAlarm]:
    """Return alarms that have ended, the newest first."""
    query = sa.select(alarms).where(~_IS_OPEN).order_by(alarms.c.number.desc()).limit(limit)
    return [DeskAlarm(*row) for row in connection.execute(query)]


def change(connection: sa.Connection, number: int, **values: Any) -> bool:
    """Change an alarm that is open; return False if it has ended."""
    is_this = (alarms.c.number == number) & _IS_OPEN
    return connection.execute(alarms.update().where(is_this).values(**values)).rowcount == 1


def acknowledge(connection: sa.Connection, number: int, who: str, at: int) -> bool:
    """Write down who has seen an open alarm; return False if someone else has, or it ended."""
    is_new = (alarms.c.number == number) & _IS_OPEN & alarms.c.acknowledged_by.is_(None)
    values = {"acknowledged_by": who, "acknowledged_at": at}
    return connection.execute(alarms.update().where(is_new).values(**values)).rowcount == 1

"""Snoozes: a card that one rule, or every rule, leaves alone until a moment, for a reason."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

snoozes = sa.Table(
    "snoozes",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("card", Text, nullable=False),
    sa.Column("rule", Text),  # null for all rules
    sa.Column("reason", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False, index=True),
    sa.Column("who", Text, nullable=False),
)


class Snooze(NamedTuple):
    """A snooze as it is stored; `rule` is None for all rules."""

    number: int
    card: str
    rule: str | None
    reason: str
    at: int
    until: int
    who: str


def add(
    connection: sa.Connection,
    card: str,
    rule: str | None,
    reason: str,
    at: int,
    until: int,
    who: str,
) -> int:
    """Store a snooze and return its number."""
    values = {"card": card, "rule": rule, "reason": reason, "at": at, "until": until, "who": who}
    key = connection.execute(snoozes.insert().values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def last_number(connection: sa.Connection) -> int:
    """Return the number of the newest snooze, 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(snoozes.c.number))).scalar() or 0


def active(connection: sa.Connection, at: int, last: int | None = None) -> list[Snooze]:
    """Return the snoozes that have not ended at a moment; only those up to number `last`."""
    found = sa.select(snoozes).where(snoozes.c.until > at).order_by(snoozes.c.number)
    if last is not None:
        found = found.where(snoozes.c.number <= last)
    return [Snooze(*row) for row in connection.execute(found)]

"""When the history of a desk forgot what is too old: places in the log, for its replay.

Forgetting takes time and changes what later payments find, so the desk does it when nobody waits,
and writes down after which payment and which label it did.
"""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, metadata

purges = sa.Table(
    "purges",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("after_position", sa.BigInteger, nullable=False),
    sa.Column("after_label", sa.BigInteger, nullable=False),
    sa.Column("before", sa.BigInteger, nullable=False),
    sa.Column("forget", sa.BigInteger, nullable=False),
)


class Purge(NamedTuple):
    """Events before one moment were dropped, and cards last seen before another; both in us."""

    number: int
    after_position: int
    after_label: int
    before: int
    forget: int


def add(connection: sa.Connection, purge: Purge) -> None:
    """Add a purge."""
    connection.execute(purges.insert().values(purge._asdict()))


def after(connection: sa.Connection, number: int) -> list[Purge]:
    """Return the purges after a number, in order."""
    query = sa.select(purges).where(purges.c.number > number).order_by(purges.c.number)
    return [Purge(*row) for row in connection.execute(query)]


def last(connection: sa.Connection, number: int | None = None) -> Purge | None:
    """Return the newest purge, up to a number if it is given; None if there is none."""
    query = sa.select(purges).order_by(purges.c.number.desc()).limit(1)
    if number is not None:
        query = query.where(purges.c.number <= number)
    row = connection.execute(query).first()
    return None if row is None else Purge(*row)

"""Messages of streams that could not be taken in: where each is, and why.

What is in the message stays at the broker, since it may be a card number; the reason shows none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

stream_rejects = sa.Table(
    "stream_rejects",
    metadata,
    sa.Column("stream", Text, primary_key=True),
    sa.Column("partition", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),  # by the machine's clock
    sa.Column("code", Text, nullable=False),
    sa.Column("reason", Text, nullable=False),
)


class StreamReject(NamedTuple):
    """A message at an offset of a partition that could not be taken in."""

    stream: str
    partition: int
    position: int
    at: int
    code: str
    reason: str


def add(connection: sa.Connection, rejects: Sequence[StreamReject]) -> None:
    """Store rejected messages; one that was stored before is left as it is."""
    table = stream_rejects
    for each in rejects:
        place = sa.and_(
            table.c.stream == each.stream,
            table.c.partition == each.partition,
            table.c.position == each.position,
        )
        if connection.execute(sa.select(table.c.at).where(place)).first() is None:
            connection.execute(table.insert().values(each._asdict()))


def newest(connection: sa.Connection, limit: int) -> list[StreamReject]:
    """Return rejected messages, the newest first."""
    table = stream_rejects
    query = sa.select(table).order_by(table.c.at.desc(), table.c.position.desc()).limit(limit)
    return [StreamReject(*row) for row in connection.execute(query)]


def counts(connection: sa.Connection) -> dict[str, int]:
    """Return how many messages of each stream were rejected."""
    table = stream_rejects
    query = sa.select(table.c.stream, sa.func.count().label("n")).group_by(table.c.stream)
    return {row.stream: row.n for row in connection.execute(query)}


def drop_before(connection: sa.Connection, before: int) -> None:
    """Remove what was rejected before a moment."""
    connection.execute(stream_rejects.delete().where(stream_rejects.c.at < before))

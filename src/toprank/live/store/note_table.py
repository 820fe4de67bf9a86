"""Notes that people wrote on alerts."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

notes = sa.Table(
    "notes",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("alert", sa.BigInteger, nullable=False, index=True),
    sa.Column("who", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("text", Text, nullable=False),
)


class AlertNote(NamedTuple):
    """A note as it is stored."""

    number: int
    alert: int
    who: str
    at: int
    text: str


def add(connection: sa.Connection, alert: int, who: str, at: int, text: str) -> int:
    """Store a note and return its number."""
    values = {"alert": alert, "who": who, "at": at, "text": text}
    key = connection.execute(notes.insert().values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def of_alerts(connection: sa.Connection, numbers: Sequence[int]) -> list[AlertNote]:
    """Return the notes of alerts, the newest first."""
    query = sa.select(notes).where(notes.c.alert.in_(list(numbers)))
    return [AlertNote(*row) for row in connection.execute(query.order_by(notes.c.number.desc()))]

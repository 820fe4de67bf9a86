"""What is to be sent to other systems: stored with the change that asks for it, sent afterwards.

pending -> delivered | failed
"""

from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("alert", sa.BigInteger, nullable=False, index=True),
    sa.Column("who", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("key", Text, nullable=False, unique=True),
    sa.Column("body", Text, nullable=False),
    sa.Column("state", Text, nullable=False),
    sa.Column("n_tries", sa.Integer, nullable=False),
    sa.Column("next_at", sa.BigInteger, nullable=False),  # by the machine's clock
    sa.Column("outcome", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),  # "block", or "alarm", whose alert is 0
    sa.Index("outbox_in_state", "state", "next_at"),
)


class Message(NamedTuple):
    """A request to another system; `outcome` says in words what came of the last try."""

    number: int
    alert: int
    who: str
    at: int
    key: str
    body: str
    state: str
    n_tries: int
    next_at: int
    outcome: str
    kind: str = "block"


def add(connection: sa.Connection, message: Message) -> Message:
    """Store a message, whatever its number, and return it with the number that it gets."""
    values = message._asdict()
    del values["number"]
    key = connection.execute(outbox.insert().values(values)).inserted_primary_key
    assert key is not None
    return message._replace(number=int(key[0]))


def due(connection: sa.Connection, wall: int, limit: int) -> list[Message]:
    """Return the messages that are to be sent now, those that have waited longest first."""
    is_due = (outbox.c.state == "pending") & (outbox.c.next_at <= wall)
    return _found(connection, sa.select(outbox).where(is_due).order_by(outbox.c.next_at), limit)


def of_alert(connection: sa.Connection, alert: int) -> list[Message]:
    """Return the messages about an alert, the newest first."""
    query = sa.select(outbox).where(outbox.c.alert == alert)
    return _found(connection, query.order_by(outbox.c.number.desc()), 100)


def change(connection: sa.Connection, message: Message, **values: Any) -> bool:
    """Write what came of a try; return False if another has written it first."""
    changed = connection.execute(
        outbox.update()
        .where(outbox.c.number == message.number, outbox.c.state == "pending")
        .where(outbox.c.n_tries == message.n_tries)
        .values(n_tries=message.n_tries + 1, **values)
    )
    return changed.rowcount == 1


def _found(connection: sa.Connection, query: sa.Select[Any], limit: int) -> list[Message]:
    return [Message(*row) for row in connection.execute(query.limit(limit))]

"""The labels of a desk: who said what of which payment, and from when on it is known.

Labels are only ever added; a correction is one more label. `after_position` is the payment after
which the features took a label in, so that the log gives the same features when it is run again.
Which of a payment's labels holds is decided by the rules of `toprank.payments.ledger`.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Number, Text, metadata
from toprank.payments.ledger import SOURCES, strength

labels = sa.Table(
    "labels",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("id", Text, nullable=False, index=True),
    sa.Column("card", Text, index=True),
    sa.Column("is_fraud", sa.Boolean, nullable=False),
    sa.Column("known_at", sa.BigInteger, nullable=False),
    sa.Column("source", Text, nullable=False),
    sa.Column("who", Text, nullable=False),
    sa.Column("after_position", sa.BigInteger, nullable=False, index=True),
    sa.Column("at", sa.BigInteger, nullable=False),
)

_OF_CARD = CompiledStatement(
    sa.select(labels).where(labels.c.card == sa.bindparam("card")).order_by(labels.c.number)
)

BEFORE = 0
"""The position of labels that the model's own history had when the desk was made."""


class DeskLabel(NamedTuple):
    """One label; numbers are in the order in which labels were added."""

    number: int
    id: str
    card: str | None
    is_fraud: bool
    known_at: int
    source: str
    who: str
    after_position: int
    at: int


def add(connection: sa.Connection, rows: Sequence[DeskLabel]) -> None:
    """Add labels."""
    if rows:
        connection.execute(labels.insert(), [row._asdict() for row in rows])


def after(connection: sa.Connection, number: int) -> list[DeskLabel]:
    """Return the labels after a number, in order."""
    return _found(connection, labels.c.number > number)


def last_number(connection: sa.Connection) -> int:
    """Return the number of the newest label, 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(labels.c.number))).scalar() or 0


def of_cards(connection: sa.Connection, cards: Iterable[str]) -> list[DeskLabel]:
    """Return the labels of these cards' payments."""
    found = [DeskLabel(*row) for card in cards for row in _OF_CARD.all(connection, card)]
    # the driver of SQLite knows no truth values
    return [row._replace(is_fraud=bool(row.is_fraud)) for row in found]


def of_payment(connection: sa.Connection, payment_id: str) -> list[DeskLabel]:
    """Return the labels of one payment."""
    return _found(connection, labels.c.id == payment_id)


def of_payments(connection: sa.Connection, ids: Iterable[str]) -> list[DeskLabel]:
    """Return the labels of payments."""
    return _found(connection, labels.c.id.in_(list(ids)))


def cards_called_fraud(connection: sa.Connection) -> set[str]:
    """Return the cards with a payment that anyone has called a fraud, corrected or not."""
    query = sa.select(labels.c.card).where(labels.c.is_fraud, labels.c.card.is_not(None))
    return set(connection.execute(query).scalars())


def people(connection: sa.Connection) -> set[str]:
    """Return who gave verdicts, as the audit calls them."""
    is_verdict = labels.c.source == "investigator"
    return set(connection.execute(sa.select(labels.c.who).where(is_verdict).distinct()).scalars())


def holding(rows: Iterable[DeskLabel]) -> dict[str, DeskLabel]:
    """Return the label that holds of each payment, by its id.

    >>> claim = DeskLabel(1, "p1", "A", True, 5, "claim", "", 1, 0)
    >>> verdict = claim._replace(is_fraud=False, known_at=9, source="investigator")
    >>> holding([verdict, claim])["p1"].is_fraud
    False
    """
    found: dict[str, DeskLabel] = {}
    for row in rows:
        before = found.get(row.id)
        if before is None or _strength(row) >= _strength(before):
            found[row.id] = row
    return found


def _strength(row: DeskLabel) -> int:
    return strength(row.known_at, SOURCES.index(row.source))


def _found(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[DeskLabel]:
    query = sa.select(labels).where(condition).order_by(labels.c.number)
    return [DeskLabel(*row) for row in connection.execute(query)]

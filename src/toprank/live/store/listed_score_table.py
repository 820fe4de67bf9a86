"""Payments that a model would put on the list, with its score as it was first made.

Of two models that score the same payments, both scores are kept if either model lists it. When
another model takes over, it scores payments on the list again; their first scores are here, also
of payments that fill the list or were drawn at random.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, insert_new, metadata
from toprank.live.store.digest_tables import DAY
from toprank.live.store.payment_log import payments, scores
from toprank.live.store.score_day_table import score_places

listed_scores = sa.Table(
    "listed_scores",
    metadata,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("model", Text, primary_key=True),  # its file
    sa.Column("at", sa.BigInteger, nullable=False),  # when the payment was received
    sa.Column("card", Text, nullable=False),
    sa.Column("suspicion", sa.Double, nullable=False),
    sa.Column("is_listed", sa.Boolean, nullable=False),  # by this model
    sqlite_with_rowid=False,
)


class ListedScore(NamedTuple):
    """What a model said of a payment that it, or another model, lists."""

    position: int
    model: str
    at: int
    card: str
    suspicion: float
    is_listed: bool


class ListedCard(NamedTuple):
    """A card that a model lists on a day, by the score of its most suspicious payment."""

    day: int
    card: str
    suspicion: float


def add(connection: sa.Connection, rows: Sequence[ListedScore]) -> None:
    """Add scores."""
    if rows:
        connection.execute(listed_scores.insert(), [row._asdict() for row in rows])


def keep_first(connection: sa.Connection, positions: Sequence[int]) -> None:
    """Keep the scores of payments that are about to be scored again.

    Scores that are not counted yet are left out: what is counted later are those that replace
    them, as if they were the first.
    """
    p, s = payments.c, scores.c
    is_counted = p.position <= sa.select(score_places.c.position).scalar_subquery()
    first = (
        sa.select(p.position, s.model, p.received_at, p.card, s.suspicion, sa.false())
        .join(scores, s.position == p.position)
        .where(p.position.in_(list(positions)), p.decision != "block", is_counted)
    )
    names = [column.name for column in listed_scores.c]
    connection.execute(insert_new(listed_scores).from_select(names, first))


def cards_by_day(connection: sa.Connection, model: str, first: int, most: int) -> list[ListedCard]:
    """Return the first cards of a model's list of each day, of payments from a position on."""
    c = listed_scores.c
    day, suspicion = c.at // DAY, sa.func.max(c.suspicion)
    place = sa.func.row_number().over(partition_by=day, order_by=(suspicion.desc(), c.card))
    query = (
        sa.select(day.label("day"), c.card, suspicion.label("suspicion"), place.label("place"))
        .where(c.position >= first, c.model == model, c.is_listed)
        .group_by(day, c.card)
        .subquery()
    )
    found = sa.select(query.c.day, query.c.card, query.c.suspicion).where(query.c.place <= most)
    return [ListedCard(*row) for row in connection.execute(found).all()]

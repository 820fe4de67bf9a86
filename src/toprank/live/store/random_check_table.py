"""Cards that were drawn at random to be checked, with the probability with which each was.

A draw is of one day of the desk: `n_drawn` of the `n_cards` cards that were active and not on the
list, by the hash of a random seed and the card, so that it can be repeated and not foreseen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

random_draws = sa.Table(
    "random_draws",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),  # cards active from here on
    sa.Column("n_cards", sa.Integer, nullable=False),
    sa.Column("n_drawn", sa.Integer, nullable=False),
    sa.Column("seed", Text, nullable=False),
)

random_checks = sa.Table(
    "random_checks",
    metadata,
    sa.Column("alert", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("day", sa.Integer, nullable=False, index=True),
    sa.Column("propensity", sa.Double, nullable=False),
)


class RandomDraw(NamedTuple):
    """A day's draw; each card of `n_cards` was drawn with the chance `n_drawn / n_cards`."""

    day: int
    at: int
    since: int
    n_cards: int
    n_drawn: int
    seed: str


def add(connection: sa.Connection, draw: RandomDraw, alerts: Sequence[int]) -> None:
    """Store a draw and the alerts that were opened for it."""
    connection.execute(random_draws.insert().values(draw._asdict()))
    propensity = draw.n_drawn / max(draw.n_cards, 1)
    rows = [{"alert": each, "day": draw.day, "propensity": propensity} for each in alerts]
    if rows:
        connection.execute(random_checks.insert(), rows)


def last_day(connection: sa.Connection) -> int | None:
    """Return the day of the last draw, None if there was none."""
    return connection.execute(sa.select(sa.func.max(random_draws.c.day))).scalar()


def is_random(connection: sa.Connection, alert: int) -> bool:
    """Return whether an alert was opened by a draw."""
    query = sa.select(random_checks.c.alert).where(random_checks.c.alert == alert)
    return connection.execute(query).first() is not None


def between(connection: sa.Connection, first: int, last: int) -> list[RandomDraw]:
    """Return the draws from one day to another, in order."""
    query = sa.select(random_draws).where(random_draws.c.day.between(first, last))
    return [RandomDraw(*row) for row in connection.execute(query.order_by(random_draws.c.day))]

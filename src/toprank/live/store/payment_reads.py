"""The log as those who check read it: by position, by card, from a moment on."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.store.payment_log import (
    LoggedPayment,
    StoredScore,
    last_position,
    payments,
    scores,
)


class CardRows(NamedTuple):
    """Some of a card's payments: the first and the last position, and how many they are."""

    first: int
    last: int
    n: int


def at(connection: sa.Connection, positions: Sequence[int]) -> list[LoggedPayment]:
    """Return the payments at positions, in the order of the log; without those purged."""
    query = sa.select(payments).where(payments.c.position.in_(list(positions)))
    found = connection.execute(query.order_by(payments.c.position))
    return [LoggedPayment(*row) for row in found]


def scores_at(connection: sa.Connection, positions: Sequence[int]) -> dict[int, StoredScore]:
    """Return the scores of payments, by position."""
    found = connection.execute(sa.select(scores).where(scores.c.position.in_(list(positions))))
    return {row.position: StoredScore(*row) for row in found}


def first_position(connection: sa.Connection) -> int:
    """Return the position of the oldest payment, 0 of an empty log."""
    return connection.execute(sa.select(sa.func.min(payments.c.position))).scalar() or 0


def first_received_at(connection: sa.Connection) -> int:
    """Return when the oldest payment was received, 0 of an empty log."""
    query = sa.select(payments.c.received_at).order_by(payments.c.position).limit(1)
    return connection.execute(query).scalar() or 0


def first_since(connection: sa.Connection, moment: int) -> int:
    """Return a position from which on payments were received at a moment or later.

    Payments are logged in the order in which they are received, so it is found by halving: there
    is no index, which would slow down every payment.
    """
    first, last = first_position(connection), last_position(connection)
    if not last:
        return 0
    at_or_after = (
        sa.select(payments.c.received_at)
        .where(payments.c.position >= sa.bindparam("place"))
        .order_by(payments.c.position)
        .limit(1)
    )

    def received(place: int) -> int:
        return connection.execute(at_or_after, {"place": place}).scalar_one()

    return int(bisect_left(range(first, last + 1), moment, key=received) + first)


def cards_from(connection: sa.Connection, position: int) -> list[str]:
    """Return the cards with a scored payment at a position or after it."""
    query = (
        sa.select(payments.c.card)
        .join(scores, scores.c.position == payments.c.position)
        .where(payments.c.position >= position)
        .distinct()
    )
    return list(connection.execute(query).scalars())


def rows_by_card(connection: sa.Connection, position: int) -> dict[str, CardRows]:
    """Return the scored payments of each card from a position on, the likeliest card first."""
    place = payments.c.position
    query = (
        sa.select(payments.c.card, sa.func.min(place), sa.func.max(place), sa.func.count())
        .join(scores, scores.c.position == payments.c.position)
        .where(payments.c.position >= position)
        .group_by(payments.c.card)
        .order_by(sa.func.max(scores.c.probability).desc(), payments.c.card)
    )
    return {card: CardRows(*rows) for card, *rows in connection.execute(query)}


def of_card_from(connection: sa.Connection, card: str, position: int) -> list[int]:
    """Return the positions of a card's payments from one on, in order."""
    query = sa.select(payments.c.position).where(
        payments.c.card == card, payments.c.position >= position
    )
    return sorted(connection.execute(query).scalars())


def n_after(connection: sa.Connection, cards: Iterable[str], position: int) -> dict[str, int]:
    """Return how many payments each of the cards has after a position, if any."""
    query = (
        sa.select(payments.c.card, sa.func.count())
        .where(payments.c.position > position, payments.c.card.in_(list(cards)))
        .group_by(payments.c.card)
    )
    return dict(connection.execute(query).tuples().all())


def newest_of_card(connection: sa.Connection, card: str) -> int:
    """Return the position of a card's newest payment, 0 if there is none."""
    query = sa.select(sa.func.max(payments.c.position)).where(payments.c.card == card)
    return connection.execute(query).scalar() or 0


def sample_since(
    connection: sa.Connection, moment: int, most: int
) -> list[tuple[NDArray[np.float64], float]]:
    """Return features and suspicion of scored payments received since a moment, evenly spaced."""
    first, last = first_since(connection, moment), last_position(connection)
    step = max((last - first + 1) // most, 1)
    query = (
        sa.select(payments.c.features, scores.c.suspicion)
        .join(scores, scores.c.position == payments.c.position)
        .where(payments.c.position.in_(range(first, last + 1, step)[:most]))
    )
    return [
        (np.frombuffer(row.features, "<f8"), row.suspicion) for row in connection.execute(query)
    ]

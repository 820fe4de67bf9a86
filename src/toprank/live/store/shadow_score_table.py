"""What a challenger said of live payments, beside the champion; it decides nothing."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Number, metadata
from toprank.live.store.model_table import file_name
from toprank.live.store.payment_log import payments, scores

shadow_scores = sa.Table(
    "shadow_scores",
    metadata,
    sa.Column("position", Number, primary_key=True, autoincrement=False),
    sa.Column("model", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("suspicion", sa.Double, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
)

_INSERT = CompiledStatement(shadow_scores.insert())


ONLINE = 0
"""The number of the online model, which is none of the numbered ones."""


def shadow_name(number: int) -> str:
    """Return the name of a model in shadow: that of its file.

    >>> shadow_name(2), shadow_name(ONLINE)
    ('0002.toprank', 'online.toprank')
    """
    return "online.toprank" if number == ONLINE else file_name(number)


class ShadowScore(NamedTuple):
    """What a challenger, by its number, said of the payment at a position."""

    position: int
    model: int
    suspicion: float
    probability: float


class BothScores(NamedTuple):
    """The chances that two models give to a card's payment."""

    card: str
    champion: float
    challenger: float


class ShadowCounts(NamedTuple):
    """Payments that a challenger has scored, and those it skipped since its first."""

    n_scored: int
    n_skipped: int


def add(connection: sa.Connection, rows: Sequence[ShadowScore]) -> None:
    """Add what a challenger said of payments."""
    if rows:
        _INSERT.many(connection, rows)


def counts(connection: sa.Connection, model: int, position: int) -> ShadowCounts:
    """Return how many payments from a position on a challenger has scored and skipped."""
    is_its = (shadow_scores.c.model == model) & (shadow_scores.c.position >= position)
    count, least = sa.func.count(), sa.func.min(shadow_scores.c.position)
    n_scored, first = connection.execute(sa.select(count, least).where(is_its)).one()
    if not n_scored:
        return ShadowCounts(0, 0)
    query = sa.select(count).select_from(scores).where(scores.c.position >= first)
    return ShadowCounts(n_scored, connection.execute(query).scalar_one() - n_scored)


def listed(
    connection: sa.Connection, model: int, position: int, alert_from: float
) -> list[BothScores]:
    """Return the payments from a position on that either model would put on the list."""
    is_listed = (scores.c.probability >= alert_from) | (shadow_scores.c.probability >= alert_from)
    query = (
        sa.select(payments.c.card, scores.c.probability, shadow_scores.c.probability)
        .join(scores, scores.c.position == payments.c.position)
        .join(shadow_scores, shadow_scores.c.position == payments.c.position)
        .where(shadow_scores.c.model == model, shadow_scores.c.position >= position, is_listed)
    )
    return [BothScores(*row) for row in connection.execute(query)]

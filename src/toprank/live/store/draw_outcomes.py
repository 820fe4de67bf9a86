"""What became of the cards of random draws, and of the frauds that could not be drawn."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store import digest_tables
from toprank.live.store.alert_table import alert_payments, alerts
from toprank.live.store.check_table import checks
from toprank.live.store.digest_tables import known_frauds
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import payments
from toprank.live.store.random_check_table import random_checks

_AT_ONCE = 500  # values in one statement


class DrawnCard(NamedTuple):
    """A card that was drawn; `check_at` is None if nobody came to it.

    `last_at` is when the newest payment was received that the investigator saw; without a check,
    the newest of the alert.
    """

    day: int
    card: str
    check_at: int | None
    last_at: int


class KnownFraud(NamedTuple):
    """A payment that is known as a fraud, and when it was received."""

    position: int
    at: int
    card: str
    source: str


class ListedSpan(NamedTuple):
    """When a card was on the list; `until` is None while it is. `drawn_on` if by a draw."""

    card: str
    since: int
    until: int | None
    drawn_on: int | None


def drawn_cards(connection: sa.Connection, first: int, last: int) -> list[DrawnCard]:
    """Return the cards of the draws of these days."""
    query = (
        sa.select(random_checks.c.alert, random_checks.c.day, alerts.c.card)
        .join(alerts, alerts.c.number == random_checks.c.alert)
        .where(random_checks.c.day.between(first, last))
    )
    rows = connection.execute(query).all()
    numbers = [row.alert for row in rows]
    seen = {row.alert: row for row in _first_checks(connection, numbers)}
    newest = dict(_newest(connection, numbers))
    newest |= {alert: row.seen for alert, row in seen.items()}
    times = _received(connection, newest.values())
    return [
        DrawnCard(
            row.day, row.card, seen[row.alert].at if row.alert in seen else None,
            times.get(newest.get(row.alert, 0), 0),
        )
        for row in rows
    ]  # fmt: skip


def frauds_since(connection: sa.Connection, moment: int) -> list[KnownFraud]:
    """Return the known frauds among payments received since a moment, as they are counted."""
    first = digest_tables.first_position(connection, moment)
    c = known_frauds.c
    query = sa.select(c.position, c.at, c.card, c.source).where(c.position >= first)
    return [KnownFraud(*row) for row in connection.execute(query) if row.at >= moment]


def listed_spans(connection: sa.Connection, cards: Sequence[str]) -> list[ListedSpan]:
    """Return when these cards were on the list."""
    c = alerts.c
    until = sa.case((c.state == "closed", c.updated_at))
    query = sa.select(c.card, c.opened_at, until, random_checks.c.day).join(
        random_checks, random_checks.c.alert == c.number, isouter=True
    )
    return [ListedSpan(*row) for row in _in_parts(connection, query, c.card, cards)]


def called_fraud(connection: sa.Connection, cards: Sequence[str]) -> dict[str, int]:
    """Return when each of these cards was first said to have a fraud."""
    c = labels.c
    query = sa.select(c.card, sa.func.min(c.at)).where(c.is_fraud).group_by(c.card)
    return {row[0]: row[1] for row in _in_parts(connection, query, c.card, cards)}


def found_by_list(connection: sa.Connection, first: int) -> set[int]:
    """Return the positions that checks of the list called fraud, from a day of the desk on."""
    c = checks.c
    is_final = c.state.in_(("pending", "finished"))
    query = sa.select(c.positions).where(
        c.day >= first, is_final, c.verdict == "fraud", ~c.is_random
    )
    return {each for text in connection.execute(query).scalars() for each in json.loads(text)}


def _first_checks(connection: sa.Connection, numbers: Sequence[int]) -> list[Any]:
    c = checks.c
    is_verdict = c.state.in_(("pending", "finished")) & c.corrects.is_(None)
    first = sa.select(sa.func.min(c.number)).where(is_verdict).group_by(c.alert)
    firsts = [row[0] for row in _in_parts(connection, first, c.alert, numbers)]
    return _in_parts(connection, sa.select(c.alert, c.at, c.seen), c.number, firsts)


def _newest(connection: sa.Connection, numbers: Sequence[int]) -> list[Any]:
    c = alert_payments.c
    query = sa.select(c.alert, sa.func.max(c.position)).group_by(c.alert)
    return [tuple(row) for row in _in_parts(connection, query, c.alert, numbers)]


def _received(connection: sa.Connection, positions: Iterable[int]) -> dict[int, int]:
    c = payments.c
    query = sa.select(c.position, c.received_at)
    return {row[0]: row[1] for row in _in_parts(connection, query, c.position, list(positions))}


def _in_parts(
    connection: sa.Connection, query: sa.Select[Any], column: sa.Column[Any], values: Sequence[Any]
) -> list[Any]:
    """Return the rows whose column has one of these values, some values at a time."""
    found: list[Any] = []
    for start in range(0, len(values), _AT_ONCE):
        some = column.in_(values[start : start + _AT_ONCE])
        found += connection.execute(query.where(some)).all()
    return found

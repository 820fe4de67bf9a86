"""A list that is never shorter than what can still be checked today.

A payment below `alert_from` puts no card on the list. Where few are above it, people would have
time left, and a new kind of fraud, of which the model suspects little yet, would not be seen. So
the list is filled with the best of the other cards of the last day. These are on it for as long as
they are among the best: when others are better, or the day has passed, they leave it again, unless
somebody has opened them or something new has happened.
"""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.checks.opened_cards import AlertFacts, not_listed, open_card
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import (
    alert_table,
    audit_chain,
    check_day_table,
    check_table,
    payment_reads,
)
from toprank.live.store.alert_table import alerts
from toprank.live.store.audit_chain import Action
from toprank.live.store.random_check_table import random_checks

JOB = "job:filled list"

_DAY = 86_400_000_000
_CLEARED = 14 * _DAY  # a card that was checked is not listed again for so little


class PlannedFill(NamedTuple):
    """The best cards of those that nothing has listed: to be on the list, and no others."""

    since: int  # by the desk's clock, from which on their payments were received
    cards: list[str]


def planned(connection: sa.Connection, now: Moment, settings: DeskSettings) -> PlannedFill | None:
    """Return which cards are to fill the list; None if that would change nothing.

    It reads a day of the log, so it is not for the thread that decides on payments.
    """
    filled = _filled(connection, settings)
    today = check_day_table.counted(connection, now.day)
    n_listed = alert_table.n_open(connection) - len(filled)
    n_wanted = settings.capacity - today.n_checks - today.n_random - n_listed
    since = now.desk - _DAY
    if n_wanted <= 0:
        return PlannedFill(since, []) if filled else None
    first = payment_reads.first_since(connection, since)
    cards = payment_reads.cards_by_probability(connection, first)
    cleared = check_table.cards_since(connection, now.desk - _CLEARED)
    free = set(not_listed(connection, cards)) - cleared
    best = [card for card in cards if card in free or card in filled][:n_wanted]
    return None if set(best) == set(filled) else PlannedFill(since, best)


def fill(
    connection: sa.Connection,
    plan: PlannedFill,
    facts: AlertFacts,
    now: Moment,
    settings: DeskSettings,
) -> int:
    """Let the list have the cards of a plan, and no others that nothing lists; return how many.

    Cards that have got on the list by themselves since it was planned stay as they are.
    """
    filled = _filled(connection, settings)
    leaving = {card: number for card, number in filled.items() if card not in plan.cards}
    _close(connection, list(leaving.values()), now)
    new = not_listed(connection, [card for card in plan.cards if card not in filled])
    first = payment_reads.first_since(connection, plan.since)
    for card in new:
        open_card(connection, card, None, first, facts, now, JOB)
    return len(new)


def _filled(connection: sa.Connection, settings: DeskSettings) -> dict[str, int]:
    """Return the cards on the list that neither rules nor the model as it is now would list.

    Those that somebody has opened or that have changed since are not among them.
    """
    c = alerts.c
    query = sa.select(c.card, c.number).where(
        c.state == "open",
        c.held_by.is_(None),
        c.rules == "[]",
        c.probability < settings.alert_from,
        c.updated_at == c.opened_at,
        c.number.not_in(sa.select(random_checks.c.alert)),
    )
    return {row.card: row.number for row in connection.execute(query)}


def _close(connection: sa.Connection, numbers: list[int], now: Moment) -> None:
    if not numbers:
        return
    connection.execute(
        alerts.update()
        .where(alerts.c.number.in_(numbers), alerts.c.state == "open")
        .values(state="closed", updated_at=now.desk)
    )
    closed = [Action(JOB, "alert closed", f"alert:{number}") for number in numbers]
    audit_chain.add_many(connection, now.wall, closed)

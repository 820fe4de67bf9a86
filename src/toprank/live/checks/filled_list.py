"""A list that is never shorter than what can still be checked today.

A payment below `alert_from` puts no card on the list. Where few are above it, people would have
time left, and a new kind of fraud, of which the model suspects little yet, would not be seen. So
the list is filled with the best of the other cards of the last day. These are on it for as long as
they are among the best: when others are better, or the day has passed, they leave it again, unless
somebody has opened them or something new has happened.
"""

from collections.abc import Collection
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
    filled_alert_table,
    payment_reads,
)
from toprank.live.store.alert_table import alerts
from toprank.live.store.audit_chain import Action

JOB = "job:filled list"

_DAY = 86_400_000_000
_CLEARED = 14 * _DAY  # a card that was checked is not listed again for so little


class PlannedFill(NamedTuple):
    """The best cards of those that nothing has listed: to be on the list, and no others.

    Of those that are on it already, the `outdated` ones have other payments by now.
    """

    since: int  # by the desk's clock, from which on their payments were received
    cards: list[str]
    outdated: set[str]


def planned(connection: sa.Connection, now: Moment, settings: DeskSettings) -> PlannedFill | None:
    """Return which cards are to fill the list; None if that would change nothing.

    It reads a day of the log, so it is not for the thread that decides on payments.
    """
    filled = filled_alert_table.open_below(connection, settings.alert_from)
    today = check_day_table.counted(connection, now.day)
    n_listed = alert_table.n_open(connection) - len(filled)
    n_wanted = settings.capacity - today.n_checks - today.n_random - n_listed
    since = now.desk - _DAY
    if n_wanted <= 0:
        return PlannedFill(since, [], set()) if filled else None
    first = payment_reads.first_since(connection, since)
    rows = payment_reads.rows_by_card(connection, first)
    cleared = check_table.cards_since(connection, now.desk - _CLEARED)
    free = set(not_listed(connection, list(rows))) - cleared
    best = [card for card in rows if card in free or card in filled][:n_wanted]
    outdated = {card for card in best if card in filled and filled[card].rows != rows[card]}
    if not outdated and set(best) == set(filled):
        return None
    return PlannedFill(since, best, outdated)


def fill(
    connection: sa.Connection,
    plan: PlannedFill,
    facts: AlertFacts,
    now: Moment,
    settings: DeskSettings,
) -> int:
    """Let the list have the cards of a plan, and no others that nothing lists; return how many.

    Cards that have got on the list by themselves since it was planned stay as they are, and so do
    those that somebody has opened.
    """
    filled = filled_alert_table.open_below(connection, settings.alert_from)
    staying = {card for card in filled if card in plan.cards and card not in plan.outdated}
    _close(connection, [filled[card].number for card in filled if card not in staying], now)
    new = not_listed(connection, [card for card in plan.cards if card not in staying])
    first = payment_reads.first_since(connection, plan.since)
    opened = [open_card(connection, card, None, first, facts, now, JOB) for card in new]
    numbers = [number for number in opened if number is not None]
    for number in numbers:
        filled_alert_table.add(connection, number)
    return len(numbers)


def _close(connection: sa.Connection, numbers: Collection[int], now: Moment) -> None:
    if not numbers:
        return
    filled_alert_table.remove(connection, numbers)
    connection.execute(
        alerts.update()
        .where(alerts.c.number.in_(list(numbers)), alerts.c.state == "open")
        .values(state="closed", updated_at=now.desk)
    )
    closed = [Action(JOB, "alert closed", f"alert:{number}") for number in numbers]
    audit_chain.add_many(connection, now.wall, closed)

"""Random checks: cards that nothing is suspected of, drawn with a known chance, and checked.

What the list misses cannot be estimated from the list. So once per day of the desk, a share of the
capacity is drawn uniformly from the cards that were active in the last day and are not on the
list. Each gets an alert that looks like any other: its reasons are those of its most suspicious
payment, and its place in the queue, among the first that the capacity allows for, is drawn as
well. Those that nobody came to are closed at the next draw; since places do not depend on the
card, the ones that were checked are a random sample, too.
"""

import hashlib
import heapq
import math
import secrets
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.checks.opened_cards import AlertFacts, not_listed, open_card
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import alert_table, audit_chain, payment_reads, random_check_table
from toprank.live.store.alert_table import alerts
from toprank.live.store.random_check_table import RandomDraw, random_checks

JOB = "job:random checks"

_DAY = 86_400_000_000
_SPARE = 10  # cards beyond those drawn, in case some get on the list meanwhile


class PlannedDraw(NamedTuple):
    """A draw of `n_drawn` of `n_cards` cards; `cards` are the first in order, and a few more."""

    seed: str
    since: int  # by the desk's clock, from which on cards were active
    n_cards: int
    n_drawn: int
    cards: list[str]


def planned(connection: sa.Connection, now: Moment, settings: DeskSettings) -> PlannedDraw | None:
    """Return today's draw, None if it has been made or the log does not go back a day yet.

    It reads a day of the log, so it is not for the thread that decides on payments.
    """
    if not settings.random_share or random_check_table.last_day(connection) == now.day:
        return None
    since = now.desk - _DAY
    # asked again and again on a new desk, so the quick question comes first
    if payment_reads.first_received_at(connection) >= since:
        return None
    first = payment_reads.first_since(connection, since)
    if first <= payment_reads.first_position(connection):
        return None
    eligible = not_listed(connection, payment_reads.cards_from(connection, first))
    seed = secrets.token_hex(16)
    n_drawn = min(_rounded(settings.random_share * settings.capacity, seed), len(eligible))
    chosen = heapq.nsmallest(
        n_drawn + _SPARE, eligible, key=lambda card: (place_of(seed, card), card)
    )
    return PlannedDraw(seed, since, len(eligible), n_drawn, chosen)


def draw(
    connection: sa.Connection,
    plan: PlannedDraw,
    facts: AlertFacts,
    now: Moment,
    settings: DeskSettings,
) -> int:
    """Open the alerts of a draw, unless today's has been made; return how many.

    Cards that have got on the list since it was planned give way to the next ones.
    """
    if random_check_table.last_day(connection) == now.day:
        return 0
    _close_unchecked(connection, now)
    cards = not_listed(connection, plan.cards)[: plan.n_drawn]
    first = payment_reads.first_since(connection, plan.since)
    places = _rank_values(connection, len(cards), plan.seed, settings)
    opened = [
        number
        for card, place in zip(cards, places, strict=True)
        if (number := open_card(connection, card, place, first, facts, now, JOB)) is not None
    ]
    drawn = RandomDraw(now.day, now.desk, plan.since, plan.n_cards, len(cards), plan.seed)
    random_check_table.add(connection, drawn, opened)
    details = {"cards": plan.n_cards, "drawn": len(cards)}
    audit_chain.add(connection, now.wall, JOB, "cards drawn", f"day:{now.day}", details)
    return len(cards)


def _rank_values(
    connection: sa.Connection, n: int, seed: str, settings: DeskSettings
) -> list[float]:
    """Return what orders each of the drawn cards: the value of an alert among the first ones."""
    query = sa.select(alerts.c.rank_value).where(alert_table.IS_LISTED)
    order = query.order_by(alerts.c.rank_value.desc()).limit(settings.capacity)
    values = list(connection.execute(order).scalars()) or [settings.alert_from]
    places = [place_of(seed, f"place {number}") for number in range(n)]
    return [values[int(place * len(values))] for place in places]


def _close_unchecked(connection: sa.Connection, now: Moment) -> None:
    """Close the alerts of earlier draws that nobody came to, and that nothing else has raised."""
    is_old = alerts.c.number.in_(sa.select(random_checks.c.alert)) & (
        alerts.c.updated_at == alerts.c.opened_at
    )
    is_left = is_old & (alerts.c.state == "open")
    connection.execute(alerts.update().where(is_left).values(state="closed", updated_at=now.desk))


def _rounded(number: float, seed: str) -> int:
    """Return one of the whole numbers around a number, so that it is right on average."""
    return math.floor(number + place_of(seed, "rounding"))


def place_of(seed: str, text: str) -> float:
    """Return a number from 0 to below 1 that seed and text give; all are equally likely."""
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48

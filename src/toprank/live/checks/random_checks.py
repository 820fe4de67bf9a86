"""Random checks: cards that nothing is suspected of, drawn with a known chance, and checked.

What the list misses cannot be estimated from the list. So once per day of the desk, a share of the
capacity is drawn uniformly from the cards that were active in the last day and are not on the
list. Each gets an alert that looks like any other: its reasons are those of its most suspicious
payment, and its place in the queue, among the first that the capacity allows for, is drawn as
well. Those that nobody came to are closed at the next draw; since places do not depend on the
card, the ones that were checked are a random sample, too.
"""

import hashlib
import json
import math
import secrets
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.alerting import SentencesAt, known_frauds
from toprank.live.engine.card_chance import card_chance
from toprank.live.store import alert_table, audit_chain, payment_reads, random_check_table
from toprank.live.store.alert_table import CardAlert, alerts
from toprank.live.store.random_check_table import RandomDraw, random_checks

JOB = "job:random checks"

_DAY = 86_400_000_000
_AT_ONCE = 500  # cards looked up in one statement


class AlertFacts(NamedTuple):
    """What an alert needs that is not in the database: reasons, the model, a payment's amount."""

    sentences_at: SentencesAt
    model: str
    amount: str


def is_due(connection: sa.Connection, now: Moment, settings: DeskSettings) -> bool:
    """Return whether today's draw is still to be made."""
    last = random_check_table.last_day(connection)
    return settings.random_share > 0 and (last is None or last < now.day)


def candidates(connection: sa.Connection, now: Moment) -> list[str]:
    """Return the cards that were active in the last day, those on the list included.

    It reads a day of the log, so it is not for the thread that decides on payments.
    """
    first = payment_reads.first_since(connection, now.desk - _DAY)
    return sorted(payment_reads.cards_from(connection, first))


def draw(
    connection: sa.Connection,
    cards: Sequence[str],
    facts: AlertFacts,
    now: Moment,
    settings: DeskSettings,
) -> int:
    """Draw today's random checks from candidates and open their alerts; return how many."""
    if not is_due(connection, now, settings):
        return 0
    _close_unchecked(connection, now)
    eligible = _not_listed(connection, cards)
    seed = secrets.token_hex(16)
    n_drawn = min(_rounded(settings.random_share * settings.capacity, seed), len(eligible))
    chosen = sorted(eligible, key=lambda card: _hash(seed, card))[:n_drawn]
    first = payment_reads.first_since(connection, now.desk - _DAY)
    places = _rank_values(connection, n_drawn, seed, settings)
    opened = [
        _open(connection, card, place, first, facts, now)
        for card, place in zip(chosen, places, strict=True)
    ]
    drawn = RandomDraw(now.day, now.desk, now.desk - _DAY, len(eligible), n_drawn, seed)
    random_check_table.add(connection, drawn, opened)
    details = {"cards": len(eligible), "drawn": n_drawn}
    audit_chain.add(connection, now.wall, JOB, "cards drawn", f"day:{now.day}", details)
    return n_drawn


def _not_listed(connection: sa.Connection, cards: Sequence[str]) -> list[str]:
    """Return the cards that have no alert which is not closed, and no known fraud."""
    eligible = []
    for start in range(0, len(cards), _AT_ONCE):
        some = cards[start : start + _AT_ONCE]
        listed = set(alert_table.open_of(connection, some)) | known_frauds(connection, some)
        eligible += [card for card in some if card not in listed]
    return eligible


def _rank_values(
    connection: sa.Connection, n: int, seed: str, settings: DeskSettings
) -> list[float]:
    """Return what orders each of the drawn cards: the value of an alert among the first ones."""
    query = sa.select(alerts.c.rank_value).where(alert_table.IS_LISTED)
    order = query.order_by(alerts.c.rank_value.desc()).limit(settings.capacity)
    values = list(connection.execute(order).scalars()) or [settings.alert_from]
    places = [_hash(seed, f"place {number}") for number in range(n)]
    return [values[int(place * len(values))] for place in places]


def _open(
    connection: sa.Connection,
    card: str,
    rank_value: float,
    first: int,
    facts: AlertFacts,
    now: Moment,
) -> int:
    """Open the alert of a drawn card, with all of its payments from a position on."""
    positions = payment_reads.of_card_from(connection, card, first)
    rows = payment_reads.at(connection, positions)
    scores = payment_reads.scores_at(connection, positions)
    top = max(
        rows,
        key=lambda row: scores[row.position].suspicion if row.position in scores else -math.inf,
    )
    score, sentences = scores.get(top.position), facts.sentences_at(connection, top.position)
    number = alert_table.next_number(connection)
    alert = CardAlert(
        number, card, "open", now.desk, now.desk,
        0.0 if score is None else score.probability,
        -math.inf if score is None else score.suspicion,
        top.position, sentences.reasons, sentences.less_suspicious, [], facts.model,
        sentences.features, card_chance([each.probability for each in scores.values()]),
        rank_value, len(rows),
        sum(json.loads(row.body).get(facts.amount) or 0.0 for row in rows),
        max(row.paid_at for row in rows),
    )  # fmt: skip
    alert_table.open_new(connection, [alert])
    alert_table.add_payments(connection, [(number, row.position) for row in rows])
    details = {"payments": positions, "rules": []}
    audit_chain.add(connection, now.wall, JOB, "alert opened", f"alert:{number}", details)
    return number


def _close_unchecked(connection: sa.Connection, now: Moment) -> None:
    """Close the alerts of earlier draws that nobody came to, and that nothing else has raised."""
    is_old = alerts.c.number.in_(sa.select(random_checks.c.alert)) & (
        alerts.c.updated_at == alerts.c.opened_at
    )
    is_left = is_old & (alerts.c.state == "open")
    connection.execute(alerts.update().where(is_left).values(state="closed", updated_at=now.desk))


def _rounded(number: float, seed: str) -> int:
    """Return one of the whole numbers around a number, so that it is right on average."""
    return math.floor(number + _hash(seed, "rounding"))


def _hash(seed: str, text: str) -> float:
    """Return a number from 0 to below 1 that seed and text give."""
    digest = hashlib.sha256(f"{seed} {text}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48

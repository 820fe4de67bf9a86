"""Search: what a text is the name of, a card or its last characters, a payment or an alert."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import alert_table, payment_log
from toprank.live.store.alert_table import CardAlert

SHORTEST_END = 4
"""Characters of a card's end that can be searched for."""

_LONGEST = 200


class Found(NamedTuple):
    """What a search found: an alert of a card, or a payment whose card has none."""

    card: str
    alert: int | None
    state: str | None
    payment: str | None  # its id, if it was found by that
    position: int | None
    at: int


def search(connection: sa.Connection, text: str, limit: int = 50) -> list[Found]:
    """Return what a text names, the newest alerts first: exactly, or cards that end with it.

    Cards are found by their end only where they have an alert.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return []
    found = [_of_alert(each) for each in _numbered(connection, text)]
    payment = payment_log.by_id(connection, text)
    if payment is not None:
        own = alert_table.of_card(connection, payment.card)
        rows = [_of_alert(each) for each in own] or [
            Found(payment.card, None, None, None, None, payment.paid_at)
        ]
        found += [row._replace(payment=payment.id, position=payment.position) for row in rows]
    found += [_of_alert(each) for each in alert_table.of_card(connection, text)]
    if not found:
        found = _of_payments(connection, text) or _by_end(connection, text, limit)
    return found[:limit]


def _numbered(connection: sa.Connection, text: str) -> list[CardAlert]:
    digits = text.removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        return []
    found = alert_table.by_number(connection, int(digits))
    return [] if found is None else [found]


def _of_payments(connection: sa.Connection, card: str) -> list[Found]:
    """Return a card that has payments and never had an alert."""
    rows = payment_log.of_card(connection, card, 0, 1)
    return [Found(row.card, None, None, None, row.position, row.paid_at) for row in rows]


def _by_end(connection: sa.Connection, text: str, limit: int) -> list[Found]:
    if len(text) < SHORTEST_END:
        return []
    found = alert_table.cards_ending(connection, text, limit)
    return [_of_alert(each) for each in found]


def _of_alert(alert: CardAlert) -> Found:
    return Found(alert.card, alert.number, alert.state, None, None, alert.opened_at)

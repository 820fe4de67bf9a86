"""Search: what a text is the name of, by what a caller on the phone can say."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

import sqlalchemy as sa

from toprank.live.store import (
    alert_table,
    alert_terminal_table,
    fraud_terminal_table,
    payment_log,
)
from toprank.live.store.alert_table import CardAlert

SHORTEST_END = 4
"""Characters of a card's end that can be searched for."""

_LONGEST_SEARCH = 200

FoundBy = Literal["alert", "payment", "card", "end of the card", "terminal"]


class Found(NamedTuple):
    """What a search found: an alert of a card, or a payment whose card has none.

    `by` is what the text is the name of. One text may be several: four digits can be the number of
    an alert, and the end of another card.
    """

    by: FoundBy
    card: str
    alert: int | None
    state: str | None
    payment: str | None  # its id, if it was found by that or by its terminal
    at: int


def search(connection: sa.Connection, text: str, limit: int = 50) -> list[Found]:
    """Return what a text names: an alert, a payment, a card, its last characters, a terminal.

    Cards are found by their end only where they have an alert; terminals where a payment of an
    alert or a known fraud was made at them.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_SEARCH:
        return []
    found: dict[tuple[int | None, str | None, str], Found] = {}
    for each in _all_found(connection, text, limit):
        found.setdefault((each.alert, each.payment, each.card), each)
    return list(islice(found.values(), limit))


def _all_found(connection: sa.Connection, text: str, limit: int) -> Iterator[Found]:
    yield from _numbered(connection, text)
    yield from _by_payment(connection, text)
    yield from _by_card(connection, text)
    yield from _by_terminal(connection, text, limit)
    if len(text) >= SHORTEST_END:
        for alert in alert_table.cards_ending(connection, text, limit):
            yield _of_alert(alert, "card" if alert.card == text else "end of the card")


def _numbered(connection: sa.Connection, text: str) -> Iterator[Found]:
    digits = text.removeprefix("#")
    if digits.isascii() and digits.isdigit() and len(digits) <= 12:
        alert = alert_table.by_number(connection, int(digits))
        if alert is not None:
            yield _of_alert(alert, "alert")


def _by_payment(connection: sa.Connection, text: str) -> Iterator[Found]:
    """Yield the alerts of the card that a payment was made with, or the payment alone."""
    payment = payment_log.by_id(connection, text)
    if payment is None:
        return
    own = [
        _of_alert(each, "payment") for each in alert_table.of_card(connection, payment.card)
    ] or [Found("payment", payment.card, None, None, None, payment.paid_at)]
    yield from (each._replace(payment=payment.id) for each in own)


def _by_card(connection: sa.Connection, text: str) -> Iterator[Found]:
    """Yield the alerts of a card, or the card alone if it has paid."""
    own = [_of_alert(each, "card") for each in alert_table.of_card(connection, text)]
    yield from own or (
        Found("card", row.card, None, None, None, row.paid_at)
        for row in payment_log.of_card(connection, text, 0, 1)
    )


def _by_terminal(connection: sa.Connection, text: str, limit: int) -> Iterator[Found]:
    """Yield alerts with a payment at a terminal, then frauds at it of cards without one."""
    listed = set()
    for number in alert_terminal_table.alerts_at(connection, text, limit):
        alert = alert_table.by_number(connection, number)
        if alert is not None:
            listed.add(alert.card)
            yield _of_alert(alert, "terminal")
    for each in fraud_terminal_table.at(connection, [text], 0, limit):
        if each.card not in listed:
            yield Found("terminal", each.card, None, None, each.id, each.paid_at)


def _of_alert(alert: CardAlert, by: FoundBy) -> Found:
    return Found(by, alert.card, alert.number, alert.state, None, alert.opened_at)

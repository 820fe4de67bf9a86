"""Other cards with frauds at the terminals of a card, from the labels that are known by now."""

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import fraud_terminal_table, label_table
from toprank.live.store.alert_table import alerts
from toprank.live.store.fraud_terminal_table import FraudPlace

_SPAN = 30 * 86_400_000_000
_MOST_FRAUDS = 500  # read
_MOST_CARDS = 20  # returned


class LinkedCard(NamedTuple):
    """Another card with frauds at a terminal of this one; `alert` is its newest, if any."""

    card: str
    terminal: str
    n_frauds: int
    last_at: int
    alert: int | None


def linked_cards(
    connection: sa.Connection, card: str, terminals: Iterable[str], now: int
) -> list[LinkedCard]:
    """Return other cards with frauds at terminals in the last 30 days, the newest frauds first."""
    places = fraud_terminal_table.at(connection, sorted(set(terminals)), now - _SPAN, _MOST_FRAUDS)
    frauds = _known_frauds(connection, [each for each in places if each.card != card], now)
    found: dict[tuple[str, str], LinkedCard] = {}
    for each in frauds:
        key = each.card, each.terminal
        before = found.get(key) or LinkedCard(*key, 0, each.paid_at, None)
        found[key] = before._replace(n_frauds=before.n_frauds + 1)
    listed = list(found.values())[:_MOST_CARDS]
    newest = _newest_alerts(connection, {each.card for each in listed})
    return [each._replace(alert=newest.get(each.card)) for each in listed]


def _known_frauds(
    connection: sa.Connection, places: list[FraudPlace], now: int
) -> list[FraudPlace]:
    """Return the payments whose label, of those known by now, is fraud."""
    labels = label_table.of_cards(connection, {each.card for each in places})
    held = label_table.holding(each for each in labels if each.known_at <= now)
    return [each for each in places if each.id in held and held[each.id].is_fraud]


def _newest_alerts(connection: sa.Connection, cards: set[str]) -> dict[str, int]:
    query = (
        sa.select(alerts.c.card, sa.func.max(alerts.c.number).label("number"))
        .where(alerts.c.card.in_(list(cards)))
        .group_by(alerts.c.card)
    )
    return {row.card: row.number for row in connection.execute(query)}

"""Blind checks: a share of the cards is decided on by the facts alone.

Reasons, rules and an estimated chance may lead whoever reads them. How much they do can only be
known if some cards are shown without them until their first verdict is final, and if it is chance
that decides which: then the two kinds of card differ in nothing else.

A card is drawn by a hash of its alert's number. So nothing is stored before the verdict, and
giving a card back does not draw it anew. The hash also takes the desk's first audit entry, so that
each desk draws other numbers.
"""

import hashlib
from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from toprank.live.store import alert_table, audit_chain, blind_check_table, check_table
from toprank.live.store.alert_table import CardAlert

_UNDECIDED = ("open", "taken", "snoozed", "decided")
_BYTES = 8


def blind_alerts(connection: sa.Connection, found: Sequence[CardAlert], share: float) -> set[int]:
    """Return the numbers of the alerts that are shown without reasons."""
    key = audit_chain.first_hash(connection)
    drawn = [each for each in found if _is_drawn(key, each.number, share)]
    return _undecided(connection, drawn)


def blind_cards(connection: sa.Connection, cards: Iterable[str], share: float) -> set[str]:
    """Return the cards whose open alert is shown without reasons."""
    found = alert_table.open_of(connection, cards) if share else {}
    blind = blind_alerts(connection, list(found.values()), share)
    return {card for card, alert in found.items() if alert.number in blind}


def record(connection: sa.Connection, alert: CardAlert, check: int, share: float) -> None:
    """Store whether a verdict was given without reasons, if it is one that could have been."""
    if share and _undecided(connection, [alert]):
        is_blind = _is_drawn(audit_chain.first_hash(connection), alert.number, share)
        blind_check_table.add(connection, check, alert.number, is_blind=is_blind)


def _is_drawn(key: str, alert: int, share: float) -> bool:
    digest = hashlib.sha256(f"{key} {alert}".encode()).digest()
    return int.from_bytes(digest[:_BYTES], "big") < share * 256**_BYTES


def _undecided(connection: sa.Connection, found: Sequence[CardAlert]) -> set[int]:
    """Return the alerts of which nobody could have read the reasons.

    Those of an escalated card are shown, since a senior is asked for advice.
    """
    numbers = {
        each.number for each in found if each.escalated_by is None and each.state in _UNDECIDED
    }
    if not numbers:
        return numbers
    known = check_table.of_alerts(connection, sorted(numbers))
    return numbers - {each.alert for each in known if each.state != "pending"}

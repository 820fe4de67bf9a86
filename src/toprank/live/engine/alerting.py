"""Scored payments become alerts: one per card, with the reasons of its most suspicious payment."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import alert_table, audit_chain, label_table
from toprank.live.store.alert_table import Alert
from toprank.live.store.payment_log import LoggedPayment

ACTOR = "job:scores"


class Suspect(NamedTuple):
    """A payment that puts its card on the list: by its probability, or by rules."""

    place: int
    row: LoggedPayment
    suspicion: float
    probability: float
    rules: list[str]


class Sentences(NamedTuple):
    """Why a payment is suspicious, and what makes it less so."""

    reasons: list[str]
    less_suspicious: list[str]


SentencesOf = Callable[[Sequence[int]], list[Sentences]]
"""Returns the reasons of payments, by their places among those that were scored."""


def raise_alerts(
    connection: sa.Connection,
    suspects: Sequence[Suspect],
    sentences_of: SentencesOf,
    model: str,
    now: int,
) -> int:
    """Open or update the alerts of suspects' cards; return how many were opened.

    Cards with a payment that is known as fraud are not listed again.
    """
    by_card: dict[str, list[Suspect]] = {}
    for each in suspects:
        by_card.setdefault(each.row.card, []).append(each)
    for card in known_frauds(connection, list(by_card)):
        del by_card[card]
    if not by_card:
        return 0
    before = alert_table.open_of(connection, by_card)
    top = {card: max(some, key=lambda each: each.suspicion) for card, some in by_card.items()}
    is_new_top = {
        card: card not in before or each.suspicion > before[card].suspicion
        for card, each in top.items()
    }
    explained = [card for card in top if is_new_top[card]]
    found = sentences_of([top[card].place for card in explained]) if explained else []
    sentences = dict(zip(explained, found, strict=True))
    for card, some in by_card.items():
        _raise_one(connection, card, some, before.get(card), sentences.get(card), model, now)
    return len(by_card) - len(before)


def known_frauds(connection: sa.Connection, cards: Sequence[str]) -> set[str]:
    """Return those of the cards that have a payment whose label is fraud."""
    held = label_table.holding(label_table.of_cards(connection, cards)).values()
    return {each.card for each in held if each.is_fraud and each.card is not None}


def close_decided(connection: sa.Connection, cards: Sequence[str], now: int, actor: str) -> int:
    """Close the alerts of cards with nothing left to find out; return how many.

    That is so if a payment of the card is known as fraud, or if all payments of the alert have a
    label.
    """
    open_alerts = alert_table.open_of(connection, cards)
    frauds = known_frauds(connection, list(open_alerts))
    decided = [
        card
        for card, alert in open_alerts.items()
        if card in frauds or not alert_table.n_unlabelled(connection, alert.number)
    ]
    if not decided:
        return 0
    for number in alert_table.close(connection, decided, now):
        audit_chain.add(connection, now, actor, "alert closed", f"alert:{number}")
    return len(decided)


def _raise_one(
    connection: sa.Connection,
    card: str,
    suspects: list[Suspect],
    before: Alert | None,
    sentences: Sentences | None,
    model: str,
    now: int,
) -> None:
    rules = sorted(
        {*(before.rules if before else ()), *(r for each in suspects for r in each.rules)}
    )
    top = max(suspects, key=lambda each: each.suspicion)
    if sentences is None:
        assert before is not None
        alert = before._replace(rules=rules, updated_at=now)
    else:
        alert = Alert(
            number=before.number if before else 0,
            card=card,
            state="open",
            opened_at=before.opened_at if before else now,
            updated_at=now,
            probability=top.probability,
            suspicion=top.suspicion,
            position=top.row.position,
            reasons=sentences.reasons,
            less_suspicious=sentences.less_suspicious,
            rules=rules,
            model=model,
        )
    if before is None:
        number, action = alert_table.open_new(connection, alert), "alert opened"
    else:
        alert_table.update(connection, alert)
        number, action = before.number, "alert updated"
    positions = [each.row.position for each in suspects]
    alert_table.add_payments(connection, number, positions)
    details = {"payments": positions, "rules": rules}
    audit_chain.add(connection, now, ACTOR, action, f"alert:{number}", details)


def rules_that_alert(matched: str) -> list[str]:
    """Return the names of the live rules in what a score stores of them."""
    return [name for name, _, state in json.loads(matched) if state == "live"]

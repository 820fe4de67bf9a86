"""Scored payments become alerts: one per card, with the reasons of its most suspicious payment."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.engine.card_chance import card_chance
from toprank.live.engine.rule_evidence import RuleEvidence
from toprank.live.store import (
    alert_table,
    alert_terminal_table,
    audit_chain,
    label_table,
    random_check_table,
)
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.audit_chain import Action
from toprank.live.store.payment_log import LoggedPayment, StoredScore

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
    features: list[str]  # of the reasons, empty where one is about several


SentencesOf = Callable[[Sequence[int]], list[Sentences]]
"""Returns the reasons of payments, by their places among those that were scored."""


SentencesAt = Callable[[sa.Connection, int], Sentences]
"""Returns the reasons of the payment at a position of the log."""


def raise_alerts(
    connection: sa.Connection,
    suspects: Sequence[Suspect],
    sentences_of: SentencesOf,
    model: str,
    now: int,
    amount: str,
    evidence: RuleEvidence,
) -> None:
    """Open or update the alerts of suspects' cards; `amount` is the field of a payment's amount.

    Cards with a payment that is known as fraud are not listed again. Those that an investigator
    was unsure of are, since something new has happened.
    """
    by_card = _unknown_cards(connection, suspects)
    if not by_card:
        return
    before = alert_table.open_of(connection, by_card)
    sentences = _sentences(by_card, before, sentences_of)
    chances = alert_table.open_chances(connection, [each.number for each in before.values()])
    after: dict[str, CardAlert] = {}
    number = alert_table.next_number(connection)
    for card, some in by_card.items():
        alert = before.get(card) or _new(number, card, now, model)
        number += card not in before
        if card in sentences:
            worst = _worst(some)
            alert = with_score(alert, worst.row.position, worst, sentences[card])
            alert = alert._replace(model=model)
        alert = _with_payments(alert, some, now, amount)
        after[card] = _ranked(alert, chances.get(alert.number, []), some, evidence)
    _store(connection, by_card, before, after)


def _unknown_cards(
    connection: sa.Connection, suspects: Sequence[Suspect]
) -> dict[str, list[Suspect]]:
    """Return the suspects by card, without cards that have a payment known as fraud."""
    by_card: dict[str, list[Suspect]] = {}
    for each in suspects:
        by_card.setdefault(each.row.card, []).append(each)
    for card in known_frauds(connection, list(by_card)) if by_card else ():
        del by_card[card]
    return by_card


def _sentences(
    by_card: Mapping[str, Sequence[Suspect]],
    before: Mapping[str, CardAlert],
    sentences_of: SentencesOf,
) -> dict[str, Sentences]:
    """Return the reasons of cards that are new on the list, or more suspicious than before."""
    worst = {card: _worst(some) for card, some in by_card.items()}
    explained = [
        card
        for card, each in worst.items()
        if card not in before or each.suspicion > before[card].suspicion
    ]
    if not explained:
        return {}
    found = sentences_of([worst[card].place for card in explained])
    return dict(zip(explained, found, strict=True))


def _worst(some: Sequence[Suspect]) -> Suspect:
    return max(some, key=lambda each: each.suspicion)


def _ranked(
    alert: CardAlert,
    chances: Sequence[float],
    some: Sequence[Suspect],
    evidence: RuleEvidence,
) -> CardAlert:
    """Return an alert with what its check is expected to find; `chances` are those of before."""
    model_chance = card_chance([*chances, *(each.probability for each in some)])
    expected = max(model_chance, evidence.chance(alert.rules, alert.probability))
    # a card that was drawn at random keeps its place, unless this is a better one
    rank_value = max(alert.rank_value, expected)
    return alert._replace(expected=expected, rank_value=rank_value)


def _store(
    connection: sa.Connection,
    by_card: Mapping[str, Sequence[Suspect]],
    before: Mapping[str, CardAlert],
    after: Mapping[str, CardAlert],
) -> None:
    """Write alerts that are new or have changed, with their payments and the audit."""
    alert_table.open_new(connection, [after[card] for card in after if card not in before])
    alert_table.update(connection, [after[card] for card in after if card in before])
    unsure = [alert.number for alert in before.values() if alert.state == "unsure"]
    alert_table.reopen(connection, unsure)
    places = {card: [each.row.position for each in some] for card, some in by_card.items()}
    pairs = [(after[card].number, place) for card, some in places.items() for place in some]
    alert_table.add_payments(connection, pairs)
    alert_terminal_table.add(connection, pairs)
    actions = [
        Action(
            ACTOR,
            "alert updated" if card in before else "alert opened",
            f"alert:{alert.number}",
            {"payments": places[card], "rules": alert.rules},
        )
        for card, alert in after.items()
    ]
    audit_chain.add_many(connection, wall_time(), actions)


def _new(number: int, card: str, now: int, model: str) -> CardAlert:
    return CardAlert(number, card, "open", now, now, 0.0, 0.0, 0, [], [], [], model, [])


def _with_payments(alert: CardAlert, some: Sequence[Suspect], now: int, amount: str) -> CardAlert:
    """Return an alert with further payments."""
    amounts = (json.loads(each.row.body).get(amount) or 0.0 for each in some)
    return alert._replace(
        rules=sorted({*alert.rules, *(rule for each in some for rule in each.rules)}),
        updated_at=now,
        n_payments=alert.n_payments + len(some),
        amount=alert.amount + sum(amounts),
        last_at=max(alert.last_at, *(each.row.paid_at for each in some)),
    )


def with_score(
    alert: CardAlert, position: int, top: Suspect | StoredScore, sentences: Sentences
) -> CardAlert:
    """Return an alert whose most suspicious payment is another one."""
    return alert._replace(
        probability=top.probability,
        suspicion=top.suspicion,
        position=position,
        reasons=sentences.reasons,
        less_suspicious=sentences.less_suspicious,
        reason_features=sentences.features,
    )


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
    numbers = alert_table.close(connection, decided, now)
    closed = [Action(actor, "alert closed", f"alert:{number}") for number in numbers]
    audit_chain.add_many(connection, wall_time(), closed)
    return len(decided)


def rank_again(
    connection: sa.Connection,
    cards: Sequence[str],
    sentences_at: SentencesAt,
    now: int,
    evidence: RuleEvidence,
) -> None:
    """Rank the alerts of cards by those of their payments that have no label yet."""
    found = alert_table.open_of(connection, cards).values()
    chances = alert_table.open_chances(connection, [alert.number for alert in found])
    for alert in found:
        top = alert_table.top_unlabelled(connection, alert.number)
        if top is None:
            continue
        expected = max(
            card_chance(chances[alert.number]), evidence.chance(alert.rules, top.probability)
        )
        if top.position == alert.position and expected == alert.expected:
            continue
        if top.position != alert.position:
            sentences = sentences_at(connection, top.position)
            alert = with_score(alert, top.position, top, sentences)
        is_drawn = random_check_table.is_random(connection, alert.number)
        again = alert._replace(
            expected=expected,
            rank_value=alert.rank_value if is_drawn else expected,
            updated_at=now,
        )
        alert_table.update(connection, [again])


def close_old(connection: sa.Connection, before: int, now: int) -> int:
    """Close alerts that nothing has happened to since a moment; return how many.

    Whoever was defrauded has said so by then, so the silence counts as genuine.
    """
    numbers = alert_table.close_unchanged(connection, before, now)
    closed = [Action(ACTOR, "alert expired", f"alert:{number}") for number in numbers]
    audit_chain.add_many(connection, wall_time(), closed)
    return len(numbers)


def rules_that_alert(matched: str) -> list[str]:
    """Return the names of the live rules in what a score stores of them."""
    return [name for name, _, state in json.loads(matched) if state == "live"]

"""Alerts that a job opens, of cards that no payment has put on the list by itself."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk_clock import Moment
from toprank.live.engine.alerting import SentencesAt, known_frauds
from toprank.live.engine.card_chance import card_chance
from toprank.live.store import (
    alert_table,
    alert_terminal_table,
    audit_chain,
    label_table,
    payment_reads,
)
from toprank.live.store.alert_table import CardAlert


class AlertFacts(NamedTuple):
    """What an alert needs that is not in the database: reasons, the model, a payment's amount."""

    sentences_at: SentencesAt
    model: str
    amount: str


def not_listed(connection: sa.Connection, cards: Sequence[str]) -> list[str]:
    """Return the cards that have no alert which is not closed, and no known fraud."""
    listed = alert_table.cards_not_closed(connection)
    suspects = label_table.cards_called_fraud(connection).intersection(cards)
    frauds = known_frauds(connection, sorted(suspects))
    return [card for card in cards if card not in listed and card not in frauds]


def open_card(
    connection: sa.Connection,
    card: str,
    rank_value: float | None,
    first: int,
    facts: AlertFacts,
    now: Moment,
    job: str,
) -> int | None:
    """Open the alert of a card, with all of its scored payments from a position on.

    `rank_value` is its place in the queue; None for that of its own chance. Return its number,
    None if the payments are gone.
    """
    scores = payment_reads.scores_at(
        connection, payment_reads.of_card_from(connection, card, first)
    )
    rows = payment_reads.at(connection, list(scores))
    if not rows:
        return None
    top = max(scores.values(), key=lambda each: each.suspicion)
    sentences = facts.sentences_at(connection, top.position)
    number = alert_table.next_number(connection)
    expected = card_chance([each.probability for each in scores.values()])
    alert = CardAlert(
        number, card, "open", now.desk, now.desk, top.probability, top.suspicion, top.position,
        sentences.reasons, sentences.less_suspicious, [], facts.model, sentences.features,
        expected, expected if rank_value is None else rank_value, len(rows),
        sum(json.loads(row.body).get(facts.amount) or 0.0 for row in rows),
        max(row.paid_at for row in rows),
    )  # fmt: skip
    alert_table.open_new(connection, [alert])
    pairs = [(number, row.position) for row in rows]
    alert_table.add_payments(connection, pairs)
    alert_terminal_table.add(connection, pairs)
    details = {"payments": [row.position for row in rows], "rules": []}
    audit_chain.add(connection, now.wall, job, "alert opened", f"alert:{number}", details)
    return number

"""What an investigator sees of a card: its payments, what is unusual, why it is listed, links."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.checks import card_reasons
from toprank.live.checks.card_reasons import CardReason, MatchedRule
from toprank.live.checks.check_errors import NoAlertError
from toprank.live.checks.linked_cards import LinkedCard, linked_cards
from toprank.live.checks.unusual_cells import CardPayment, unusual_cells
from toprank.live.desk import archive_of
from toprank.live.engine.desk_view import ModelledDesk
from toprank.live.messages import PaymentField
from toprank.live.store import (
    alert_table,
    check_table,
    label_table,
    note_table,
    outbox_table,
    payment_log,
    payment_reads,
)
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.check_table import Check
from toprank.live.store.label_table import DeskLabel
from toprank.live.store.note_table import AlertNote
from toprank.live.store.outbox_table import Message
from toprank.live.store.payment_log import LoggedPayment, StoredScore

DAYS = 30
"""Days of the card that are shown."""

BEFORE = 0
"""The position of payments from before the desk, which no verdict is about."""

_DAY = 86_400_000_000
_COMPARED_DAYS = 180  # whose payments say what is usual for the card
_MOST_PAYMENTS = 2_000
_MOST_TERMINALS = 20  # whose other cards are looked up


class TimelineRow(NamedTuple):
    """A payment of the card.

    `fields` are the others than time, amount, card, terminal and id. `label` is "fraud",
    "genuine" or None; `unusual` has the names of fields that are unusual for this card, "hour" of
    the time, with a sentence each. The position is `BEFORE` of payments from before the desk.
    """

    position: int
    id: str
    paid_at: int
    amount: float | None
    terminal: str
    fields: dict[str, Any]
    decision: str
    label: str | None
    probability: float | None
    is_suspicious: bool  # on the alert, and ticked at first
    unusual: dict[str, str]


class _Names(NamedTuple):
    """What the fields of payments are called."""

    amount: str
    terminal: str
    others: list[str]

    @classmethod
    def of(cls, fields: Sequence[PaymentField]) -> "_Names":
        roles = {each.role: each.name for each in fields if each.role is not None}
        others = [each.name for each in fields if each.role is None]
        return cls(roles["amount"], roles["terminal"], others)


class CardView(NamedTuple):
    """All that the page of a card shows."""

    alert: CardAlert
    payments: list[TimelineRow]  # the suspicious ones, the oldest first
    timeline: list[TimelineRow]  # 30 days, the newest first
    field_names: list[str]  # those of `TimelineRow.fields`
    reasons: list[CardReason]
    less_suspicious: list[str]
    rules: list[MatchedRule]
    linked: list[LinkedCard]
    chance: float
    notes: list[AlertNote]
    history: list[Check]  # checks of this card, the newest first
    messages: list[Message]  # requests to block it, with their outcome
    newest: int  # position of the card's newest payment, to notice later ones


def card_view(connection: sa.Connection, live: ModelledDesk, alert: int, now: int) -> CardView:
    """Return what is known of the card of an alert; `now` by the desk's clock.

    NoAlertError if there is none of this number.
    """
    found = alert_table.by_number(connection, alert)
    if found is None:
        raise NoAlertError(f"there is no alert {alert}.")
    names = _Names.of(live.fields)
    rows = _payments(connection, found, now) + _payments_before(connection, live, found, now)
    rows.sort(key=lambda row: (row.paid_at, row.position))
    positions = set(alert_table.positions_of(connection, alert))
    scores = payment_reads.scores_at(
        connection, [row.position for row in rows if row.paid_at > now - DAYS * _DAY]
    )
    held = label_table.holding(label_table.of_cards(connection, [found.card]))
    timeline = _timeline(rows, names, positions, scores, held)
    suspicious = [row for row in timeline if row.is_suspicious]
    earlier = [each.number for each in alert_table.of_card(connection, found.card)]
    assert live.model.state_ is not None and live.model.roles is not None
    features = live.model.state_.history.features
    return CardView(
        found,
        suspicious,
        [row for row in reversed(timeline) if row.paid_at > now - DAYS * _DAY],
        names.others,
        card_reasons.reasons(found, rows, features, live.model.roles),
        found.less_suspicious,
        card_reasons.matched_rules(
            connection, found, [scores[each] for each in positions if each in scores]
        ),
        linked_cards(
            connection, found.card, [row.terminal for row in suspicious[-_MOST_TERMINALS:]], now
        ),
        found.expected,
        note_table.of_alerts(connection, earlier),
        check_table.of_alerts(connection, earlier),
        outbox_table.of_alert(connection, alert),
        max((row.position for row in rows), default=0),
    )


def _payments(connection: sa.Connection, alert: CardAlert, now: int) -> list[LoggedPayment]:
    """Return the payments of a card in the log, with those of the alert."""
    since = now - _COMPARED_DAYS * _DAY
    rows = payment_log.of_card(connection, alert.card, since, _MOST_PAYMENTS)
    known = {row.position for row in rows}
    left = [
        each for each in alert_table.positions_of(connection, alert.number) if each not in known
    ]
    return rows + (payment_reads.at(connection, left) if left else [])


def _payments_before(
    connection: sa.Connection, live: ModelledDesk, alert: CardAlert, now: int
) -> list[LoggedPayment]:
    """Return the payments of a card from before the desk, while these are among the days shown.

    They are in a file, which takes longer to read than the log, and have no position.
    """
    if payment_reads.first_received_at(connection) < now - DAYS * _DAY:
        return []
    earlier = archive_of(live.desk, live.model).before_of_card(
        alert.card, now - _COMPARED_DAYS * _DAY
    )
    return [
        LoggedPayment(
            BEFORE, row["id"], alert.card, row["terminal"], row["paid_at"], row["paid_at"],
            json.dumps({name: value for name, value in row.items() if value is not None}),
            b"", "accept", "[]", 0,
        )
        for row in earlier[-_MOST_PAYMENTS:]
    ]  # fmt: skip


def _timeline(
    rows: Sequence[LoggedPayment],
    names: _Names,
    positions: set[int],
    scores: dict[int, StoredScore],
    held: dict[str, DeskLabel],
) -> list[TimelineRow]:
    bodies = [json.loads(row.body) for row in rows]
    frauds = {each for each, label in held.items() if label.is_fraud}
    compared = [
        CardPayment(
            row.paid_at,
            body.get(names.amount),
            {names.terminal: row.terminal}
            | {name: body[name] for name in names.others if isinstance(body.get(name), str)},
            row.position not in positions and row.id not in frauds,
        )
        for row, body in zip(rows, bodies, strict=True)
    ]
    unusual = unusual_cells(compared, names.amount)
    return [
        TimelineRow(
            row.position,
            row.id,
            row.paid_at,
            body.get(names.amount),
            row.terminal,
            {name: body[name] for name in names.others if name in body},
            row.decision,
            _label(held.get(row.id)),
            scores[row.position].probability if row.position in scores else None,
            row.position in positions,
            cells,
        )
        for row, body, cells in zip(rows, bodies, unusual, strict=True)
    ]


def _label(label: DeskLabel | None) -> str | None:
    if label is None:
        return None
    return "fraud" if label.is_fraud else "genuine"

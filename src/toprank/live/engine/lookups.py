"""Payments and alerts of a desk in plain values, for those who may read them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from toprank.live.engine.alerting import rules_that_alert
from toprank.live.store import alert_table, label_table, payment_log
from toprank.live.store.alert_table import CardAlert

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def payment(connection: sa.Connection, payment_id: str) -> dict[str, Any] | None:
    """Return what is known of a payment, None if there is none of this id."""
    row = payment_log.by_id(connection, payment_id)
    if row is None:
        return None
    score = payment_log.score_of(connection, row.position)
    held = label_table.holding(label_table.of_payment(connection, payment_id)).get(payment_id)
    return {
        "id": row.id,
        "card": row.card,
        "terminal": row.terminal,
        "paid_at": time_text(row.paid_at),
        "received_at": time_text(row.received_at),
        "decision": row.decision,
        "rules": [name for name, _, state in json.loads(row.matched) if state == "live"],
        "score": None
        if score is None
        else {
            "probability": score.probability,
            "rules": rules_that_alert(score.matched),
            "model": score.model,
            "scored_at": time_text(score.scored_at),
        },
        "label": None
        if held is None
        else {
            "is_fraud": held.is_fraud,
            "source": held.source,
            "known_at": time_text(held.known_at),
        },
    }


def alerts(
    connection: sa.Connection, state: str, limit: int, after: str | None
) -> list[dict[str, Any]]:
    """Return alerts of a state, the most probable first; `after` is the `cursor` of the last."""
    found = alert_table.in_order(connection, state, limit, None if after is None else place(after))
    ids = alert_table.payments_of(connection, [each.number for each in found])
    return [alert(each, ids[each.number]) for each in found]


def alert(each: CardAlert, ids: list[str]) -> dict[str, Any]:
    """Return an alert with the ids of its payments in plain values."""
    return {
        "alert": each.number,
        "card": each.card,
        "state": each.state,
        "payments": ids,
        "probability": each.probability,
        "reasons": each.reasons,
        "less_suspicious": each.less_suspicious,
        "rules": each.rules,
        "opened_at": time_text(each.opened_at),
        "updated_at": time_text(each.updated_at),
        "model": each.model,
        "cursor": f"{each.probability.hex()}_{each.number}",
    }


def place(cursor: str) -> tuple[float, int]:
    """Return the place that a cursor names; ValueError if it is none."""
    probability, _, number = cursor.partition("_")
    try:
        return float.fromhex(probability), int(number)
    except (ValueError, OverflowError):
        raise ValueError(
            f"cursor must be one that an earlier answer gave; got {cursor!r}."
        ) from None


def time_text(microseconds: int) -> str:
    """Return a time as ISO 8601 text, in UTC.

    >>> time_text(1_741_000_000_000_000)
    '2025-03-03T11:06:40+00:00'
    """
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()

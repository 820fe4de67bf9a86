"""What was decided of payments, the newest first, for those who look through them."""

import json
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.engine.alerting import rules_that_alert
from toprank.live.store import label_table, payment_reads
from toprank.live.store.label_table import labels
from toprank.live.store.payment_log import LoggedPayment, StoredScore, payments, scores

_MOST_LOOKED_AT = 200_000  # payments per page, however few of them are looked for


class DecisionRow(NamedTuple):
    """A payment and what was decided of it; `rules` blocked it, or put its card on the list."""

    position: int
    id: str
    card: str
    terminal: str
    paid_at: int
    received_at: int
    amount: float | None
    decision: str
    rules: list[str]
    probability: float | None
    label: str | None


class DecisionPage(NamedTuple):
    """Some rows, and what to give as `after` for those that follow; None if none do.

    A page may have few rows and others still follow: it ends after it has looked at many payments.
    """

    rows: list[DecisionRow]
    after: int | None


def decisions(
    connection: sa.Connection,
    amount: str,
    *,
    decision: str | None = None,
    rule: str | None = None,
    since: int | None = None,
    until: int | None = None,
    after: int | None = None,
    limit: int = 50,
) -> DecisionPage:
    """Return what was decided of payments; `amount` is the field of a payment's amount.

    Only those with a decision, of a rule that blocked them or put their card on the list, and
    received in a span of time, if these are given.
    """
    first, last = _span(connection, since, until, after)
    lowest = max(first, last - _MOST_LOOKED_AT)
    query = (
        sa.select(payments, scores)
        .join(scores, scores.c.position == payments.c.position, isouter=True)
        .where(payments.c.position > lowest, payments.c.position <= last)
    )
    if decision is not None:
        query = query.where(payments.c.decision == decision)
    if rule is not None:
        # its name as it is in JSON; what else contains it is left out below
        name = json.dumps(rule, ensure_ascii=False)
        query = query.where(payments.c.matched.contains(name) | scores.c.matched.contains(name))
    found = connection.execute(query.order_by(payments.c.position.desc()).limit(limit)).all()
    rows = [_row(row, amount) for row in found]
    rows = _labelled(connection, [each for each in rows if rule is None or rule in each.rules])
    end = found[-1][0] if len(found) == limit else lowest
    return DecisionPage(
        rows, end - 1 if len(found) == limit else (lowest if lowest > first else None)
    )


def _span(
    connection: sa.Connection, since: int | None, until: int | None, after: int | None
) -> tuple[int, int]:
    """Return the positions after which, and up to which, payments are looked at."""
    first = 0 if since is None else payment_reads.first_since(connection, since) - 1
    newest = connection.execute(sa.select(sa.func.max(payments.c.position))).scalar() or 0
    last = newest if until is None else payment_reads.first_since(connection, until) - 1
    return first, last if after is None else min(last, after)


def _row(row: Any, amount: str) -> DecisionRow:
    n = len(payments.c)
    payment = LoggedPayment(*row[:n])
    score = None if row[n] is None else StoredScore(*row[n:])
    blocking = [name for name, _, state in json.loads(payment.matched) if state == "live"]
    return DecisionRow(
        payment.position, payment.id, payment.card, payment.terminal, payment.paid_at,
        payment.received_at, json.loads(payment.body).get(amount), payment.decision,
        blocking + ([] if score is None else rules_that_alert(score.matched)),
        None if score is None else score.probability, None,
    )  # fmt: skip


def _labelled(connection: sa.Connection, rows: list[DecisionRow]) -> list[DecisionRow]:
    query = sa.select(labels).where(labels.c.id.in_([row.id for row in rows]))
    held = label_table.holding(
        label_table.DeskLabel(*row) for row in connection.execute(query.order_by(labels.c.number))
    )
    words = {each: "fraud" if label.is_fraud else "genuine" for each, label in held.items()}
    return [row._replace(label=words.get(row.id)) for row in rows]

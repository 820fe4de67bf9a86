"""Lists for pages: what one person checked on a day, and what was decided of payments."""

import json
from collections import Counter
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.checks import blind_checks
from toprank.live.engine.alerting import rules_that_alert
from toprank.live.store import check_table, label_table, payment_log, payment_reads
from toprank.live.store.alert_table import alerts
from toprank.live.store.check_table import Check
from toprank.live.store.payment_log import LoggedPayment, StoredScore, payments, scores

_MOST_LOOKED_AT = 500_000  # payments, however few of them are looked for


class DayCheck(NamedTuple):
    """A check with the card that it was about; the card is empty once it is purged."""

    check: Check
    card: str


class MyDay(NamedTuple):
    """The checks of a person on a day of the desk, the newest first, and their counts."""

    n_checks: int
    n_fraud: int
    n_genuine: int
    n_unsure: int
    checks: list[DayCheck]


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


def my_day(connection: sa.Connection, who: str, day: int) -> MyDay:
    """Return what a person checked on a day of the desk, counted from 1970; without undone ones.

    Corrections are in the list of the day of the check that they correct, and not counted.
    """
    found = check_table.of_day(connection, day, who)
    numbers = {each.alert for each in found}
    query = sa.select(alerts.c.number, alerts.c.card).where(alerts.c.number.in_(numbers))
    cards = {row.number: row.card for row in connection.execute(query)}
    counts = Counter(each.verdict for each in found if each.corrects is None)
    return MyDay(
        counts.total(), counts["fraud"], counts["genuine"], counts["unsure"],
        [DayCheck(each, cards.get(each.alert, "")) for each in found],
    )  # fmt: skip


def decisions(
    connection: sa.Connection,
    amount: str | None = None,
    *,
    decision: str | None = None,
    rule: str | None = None,
    since: int | None = None,
    until: int | None = None,
    after: int | None = None,
    limit: int = 50,
    blind_share: float = 0.0,
) -> list[DecisionRow]:
    """Return what was decided of payments, the newest first; `after` is the last position seen.

    `amount` is the field of a payment's amount. Only payments with a decision, of a rule (that
    blocked, or put the card on the list), received in a span of time, if these are given. However
    few there are, at most 500,000 payments are looked at. What rules say of cards that are shown
    without reasons is left out, also from what a rule finds.
    """
    found: list[DecisionRow] = []
    while True:
        some = _decisions(connection, amount, decision, rule, since, until, after, limit)
        blind = blind_checks.blind_cards(connection, {row.card for row in some}, blind_share)
        shown = [_without_rules(row) if row.card in blind else row for row in some]
        found += [row for row in shown if rule is None or row.rules]
        if len(some) < limit or len(found) >= limit:
            return found[:limit]
        after = some[-1].position


def _without_rules(row: DecisionRow) -> DecisionRow:
    return row._replace(rules=[], probability=None)


def _decisions(
    connection: sa.Connection,
    amount: str | None,
    decision: str | None,
    rule: str | None,
    since: int | None,
    until: int | None,
    after: int | None,
    limit: int,
) -> list[DecisionRow]:
    first, last = _places(connection, since, until, after)
    query = (
        sa.select(payments, scores)
        .join(scores, scores.c.position == payments.c.position, isouter=True)
        .where(payments.c.position.between(max(first, last - _MOST_LOOKED_AT), last))
    )
    if decision is not None:
        query = query.where(payments.c.decision == decision)
    if rule is not None:
        start = f"[{json.dumps(rule, ensure_ascii=False)},"  # of name, version and state
        is_live = payments.c.matched.contains(start, autoescape=True)
        query = query.where(is_live | scores.c.matched.contains(start, autoescape=True))
    found = connection.execute(query.order_by(payments.c.position.desc()).limit(limit)).all()
    held = label_table.holding(label_table.of_payments(connection, [row.id for row in found]))
    words = {each: "fraud" if label.is_fraud else "genuine" for each, label in held.items()}
    return [_decision(row, amount)._replace(label=words.get(row.id)) for row in found]


def _places(
    connection: sa.Connection, since: int | None, until: int | None, after: int | None
) -> tuple[int, int]:
    """Return the first and the last position that are looked at."""
    first = 0 if since is None else payment_reads.first_since(connection, since)
    if until is not None:
        last = payment_reads.first_since(connection, until) - 1
    else:
        last = payment_log.last_position(connection)
    return first, last if after is None else min(last, after - 1)


def _decision(row: Any, amount: str | None) -> DecisionRow:
    n = len(payments.c)
    payment = LoggedPayment(*row[:n])
    score = None if row[n] is None else StoredScore(*row[n:])
    rules = [name for name, _, state in json.loads(payment.matched) if state == "live"]
    rules += [] if score is None else rules_that_alert(score.matched)
    return DecisionRow(
        payment.position, payment.id, payment.card, payment.terminal, payment.paid_at,
        payment.received_at, None if amount is None else json.loads(payment.body).get(amount),
        payment.decision, rules, None if score is None else score.probability, None,
    )  # fmt: skip

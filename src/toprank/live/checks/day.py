"""Lists for pages: what one person checked on a day, what was decided of payments, a search."""

import json
from collections import Counter
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.engine.alerting import rules_that_alert
from toprank.live.store import alert_table, check_table, label_table, payment_log, payment_reads
from toprank.live.store.alert_table import CardAlert, alerts
from toprank.live.store.check_table import Check
from toprank.live.store.payment_log import LoggedPayment, StoredScore, payments, scores

SHORTEST_END = 4
"""Characters of a card's end that can be searched for."""

_LONGEST_SEARCH = 200
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


class Found(NamedTuple):
    """What a search found: an alert of a card, or a payment whose card has none."""

    card: str
    alert: int | None
    state: str | None
    payment: str | None  # its id, if it was found by that
    position: int | None
    at: int


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
) -> list[DecisionRow]:
    """Return what was decided of payments, the newest first; `after` is the last position seen.

    `amount` is the field of a payment's amount. Only payments with a decision, of a rule (that
    blocked, or put the card on the list), received in a span of time, if these are given. However
    few there are, at most 500,000 payments are looked at.
    """
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


def search(connection: sa.Connection, text: str, limit: int = 50) -> list[Found]:
    """Return what a text is the name of: a payment, an alert, a card or its last characters.

    Cards are found by their end only where they have an alert.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST_SEARCH:
        return []
    found = [_of_alert(each) for each in _numbered(connection, text)]
    payment = payment_log.by_id(connection, text)
    if payment is not None:
        own = [_of_alert(each) for each in alert_table.of_card(connection, payment.card)]
        rows = own or [Found(payment.card, None, None, None, None, payment.paid_at)]
        found += [row._replace(payment=payment.id, position=payment.position) for row in rows]
    found += [_of_alert(each) for each in alert_table.of_card(connection, text)]
    if not found:
        found = [
            Found(row.card, None, None, None, row.position, row.paid_at)
            for row in payment_log.of_card(connection, text, 0, 1)
        ]
    if not found and len(text) >= SHORTEST_END:
        found = [_of_alert(each) for each in alert_table.cards_ending(connection, text, limit)]
    return found[:limit]


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


def _numbered(connection: sa.Connection, text: str) -> list[CardAlert]:
    digits = text.removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        return []
    found = alert_table.by_number(connection, int(digits))
    return [] if found is None else [found]


def _of_alert(alert: CardAlert) -> Found:
    return Found(alert.card, alert.number, alert.state, None, None, alert.opened_at)

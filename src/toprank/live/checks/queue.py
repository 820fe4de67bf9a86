"""The queue: cards in the order of what a check of each is expected to find.

A check finds a fraud if any of the card's open payments is one: `card_chance`. Of equal cards,
the one that has waited longest comes first. What more checks are expected to find is corrected by
what the last days' checks have found: `kept_promise`. The order is not affected.
"""

from typing import NamedTuple

import sqlalchemy as sa
from scipy.special import expit, logit

from toprank.calibration.daily_shift import DailyShift
from toprank.live.checks import blind_checks
from toprank.live.checks.kept_promise import shift_now
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.store import alert_table, check_day_table
from toprank.live.store.alert_table import CardAlert, alerts
from toprank.live.store.check_day_table import CheckDay

NEXT = 10
"""Checks whose yield the header shows."""

WORTH = 0.05
"""A check is worth it while it finds a fraud more often than this."""

_WEEK = 7 * 86_400_000_000
_MOST_POINTS = 12  # of the curve
_LONGEST_CURVE = 1_000  # checks
_ROUNDING = 1e-12
_LONGEST_NUMBER = 12  # digits of an alert's


class QueueRow(NamedTuple):
    """A card in the queue; times by the desk's clock, `lease_until` by the machine's.

    `expected` is what the row is ordered by; a card that was drawn at random has that of its
    place, so that it looks like any other. `currency` is None: payments have one per desk.
    """

    alert: int
    card: str
    opened_at: int
    last_at: int
    n_payments: int
    amount: float
    currency: str | None
    why: str
    reasons: list[str]
    raised_by: list[str]  # names of rules, or "model"; none if `is_blind`
    expected: float
    held_by: str | None
    lease_until: int | None
    is_blind: bool = False

    @property
    def cursor(self) -> str:
        """What to give as `after` for the rows that follow; it does not say what is expected."""
        return str(self.alert)


class YieldPoint(NamedTuple):
    """The frauds that a number of checks is expected to find, and their range."""

    checks: int
    expected: float
    low: float
    high: float


class QueueHeader(NamedTuple):
    """What was found today, and what more checks would find.

    `worth_until` is the number of checks after which fewer than one in 20 is a fraud. `maturity`
    is the share of the last 7 days' alerts that are closed, None if there were none.
    """

    n_checked: int
    capacity: int
    n_found: int
    n_expected_so_far: float
    n_open: int
    next_n: int
    next_expected: float
    next_low: float
    next_high: float
    worth_until: int
    curve: list[YieldPoint]
    maturity: float | None
    days: list[CheckDay]  # with checks, of the last 30


def queue(
    connection: sa.Connection,
    limit: int = 50,
    after: str | None = None,
    *,
    is_escalated: bool = False,
    blind_share: float = 0.0,
) -> list[QueueRow]:
    """Return the cards of the queue in order, those that someone holds included.

    `after` is the `cursor` of the last row that was returned before, ValueError if it is none.
    With `is_escalated`, return those that wait for a senior. A `blind_share` of the cards has no
    reasons until there is a verdict.
    """
    place = None if after is None else _place(connection, after)
    found = alert_table.in_queue(connection, limit, place, is_escalated=is_escalated)
    blind = blind_checks.blind_alerts(connection, found, blind_share)
    return [_without_reasons(_row(each)) if each.number in blind else _row(each) for each in found]


def header(connection: sa.Connection, now: Moment, settings: DeskSettings) -> QueueHeader:
    """Return what is above the queue."""
    today = check_day_table.counted(connection, now.day)
    n_checked = today.n_checks + today.n_random
    n_left = max(settings.capacity - n_checked, NEXT)
    chances = _chances(connection, min(n_left, _LONGEST_CURVE))
    shift = shift_now(connection, now.day)
    curve = _curve(chances, shift)
    soon = _point(chances[:NEXT], shift)
    return QueueHeader(
        n_checked, settings.capacity, today.n_found + today.n_random_found, today.expected,
        alert_table.n_open(connection), *soon, _n_worth(connection, shift), curve,
        _maturity(connection, now), check_day_table.between(connection, now.day - 30, now.day),
    )  # fmt: skip


def _row(alert: CardAlert) -> QueueRow:
    return QueueRow(
        alert.number, alert.card, alert.opened_at, alert.last_at, alert.n_payments, alert.amount,
        None, alert.reasons[0] if alert.reasons else "", alert.reasons, alert.rules or ["model"],
        alert.rank_value, alert.held_by, alert.lease_until,
    )  # fmt: skip


def _without_reasons(row: QueueRow) -> QueueRow:
    return row._replace(why="", reasons=[], raised_by=[], is_blind=True)


def _chances(connection: sa.Connection, limit: int) -> list[float]:
    """Return the chances of the first free alerts, in the order of the queue."""
    query = (
        sa.select(alerts.c.expected)
        .where(alert_table.IS_LISTED, alerts.c.held_by.is_(None))
        .order_by(alerts.c.rank_value.desc(), alerts.c.number)
    )
    return list(connection.execute(query.limit(limit)).scalars())


def _curve(chances: list[float], shift: DailyShift) -> list[YieldPoint]:
    n = len(chances)
    n_points = min(n, _MOST_POINTS)
    ends = sorted({round(n * (place + 1) / n_points) for place in range(n_points)})
    return [_point(chances[:end], shift) for end in ends]


def _point(chances: list[float], shift: DailyShift) -> YieldPoint:
    """Return the frauds among cards, each of which is one with its own chance."""
    return YieldPoint(len(chances), *shift.expected(chances))


def _n_worth(connection: sa.Connection, shift: DailyShift) -> int:
    """Return how many cards are worth a check once their chances are corrected."""
    least = float(expit(logit(WORTH) - shift.mean)) - _ROUNDING
    is_worth = alert_table.IS_LISTED & (alerts.c.rank_value >= least)
    return connection.execute(sa.select(sa.func.count()).where(is_worth)).scalar_one()


def _maturity(connection: sa.Connection, now: Moment) -> float | None:
    is_closed = sa.case((alerts.c.state == "closed", 1.0), else_=0.0)
    query = sa.select(sa.func.avg(is_closed)).where(alerts.c.opened_at >= now.desk - _WEEK)
    return connection.execute(query).scalar()


def _place(connection: sa.Connection, cursor: str) -> tuple[float, int]:
    """Return the place of the alert that a cursor names; ValueError if it names none."""
    is_number = cursor.isascii() and cursor.isdigit() and len(cursor) <= _LONGEST_NUMBER
    alert = alert_table.by_number(connection, int(cursor)) if is_number else None
    if alert is None:
        raise ValueError(f"cursor must be one that an earlier page gave; got {cursor!r}.")
    return alert.rank_value, alert.number

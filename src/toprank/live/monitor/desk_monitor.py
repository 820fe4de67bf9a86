"""Figures of a desk over the last days, each with how mature it is; nothing is changed.

What the log says is read as `log_digest` has counted it, so that it is quick however long the log.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from toprank.live.checks.kept_promise import DayRange, day_ranges
from toprank.live.monitor.blind_comparison import BlindComparison, blind_comparison
from toprank.live.monitor.drawn_days import drawn_days
from toprank.live.monitor.missed_frauds import MissedFrauds, missed_frauds
from toprank.live.rules.rule_board import share_with_interval
from toprank.live.store import digest_tables
from toprank.live.store.alert_table import IS_LISTED, alerts
from toprank.live.store.check_day_table import CheckDay
from toprank.live.store.desk_database import sum_of
from toprank.live.store.digest_tables import DAY, HOUR, known_frauds, log_hours
from toprank.metrics.intervals import Interval

WEEK = 7 * DAY
N_HOURS, N_DAYS, N_WEEKS = 48, 30, 13


class HourCount(NamedTuple):
    """The payments of an hour that begins at `at`."""

    at: int
    n_payments: int
    n_blocked: int


class AlertDay(NamedTuple):
    """The alerts of a day, which is counted from 1970."""

    day: int
    n_opened: int
    n_closed: int


class CheckedDay(NamedTuple):
    """The ranked checks of a day: what they were expected to find, and found.

    `expected` is corrected by the outcomes of the days before; `counts.expected` is what the
    model's chances alone promised. `chance` is that of the range to hold.
    """

    counts: CheckDay
    expected: Interval
    is_held: bool
    chance: float

    @property
    def precision(self) -> Interval | None:
        """The share of frauds among the checks; None without any."""
        return share_with_interval(self.counts.n_found, self.counts.n_checks)


class LabelDelay(NamedTuple):
    """After how many days frauds became known by one source: half of them, and nine of ten."""

    source: str
    n_frauds: int
    median: float
    ninety: float


class WeekMaturity(NamedTuple):
    """The payments of seven days, those that have a label, and those whose label is final."""

    at: int
    n_payments: int
    n_labelled: int
    n_final: int


class DeskMonitor(NamedTuple):
    """All figures; lists are in order of time.

    Attributes
    ----------
    n_listed, oldest
        Alerts that are open or taken, and when the oldest of them was opened.
    maturity
        The share of the payments of the last `N_DAYS` whose label is final; None without any.
    missed
        What random checks say of the last `N_DAYS` before today; None without any.
    blind
        What was said of cards with and without reasons in the last `N_DAYS`.
    """

    hours: list[HourCount]
    alert_days: list[AlertDay]
    checked_days: list[CheckedDay]
    delays: list[LabelDelay]
    weeks: list[WeekMaturity]
    n_listed: int
    oldest: int | None
    maturity: float | None
    missed: MissedFrauds | None
    blind: BlindComparison


def desk_monitor(connection: sa.Connection, now: int, silence: int) -> DeskMonitor:
    """Return the figures at a moment; after `silence`, in microseconds, every label is final."""
    today = now // DAY
    n_listed, oldest = connection.execute(
        sa.select(sa.func.count(), sa.func.min(alerts.c.opened_at)).where(IS_LISTED)
    ).one()
    days = day_ranges(connection, today - N_DAYS + 1, today)
    return DeskMonitor(
        _hours(connection, now),
        _alert_days(connection, today),
        [_checked(each) for each in days],
        _delays(connection, now),
        _weeks(connection, now, silence),
        n_listed,
        oldest,
        _maturity(connection, now, silence),
        missed_frauds(drawn_days(connection, today - N_DAYS, today - 1)),
        blind_comparison(connection, today - N_DAYS + 1, today),
    )


def _hours(connection: sa.Connection, now: int) -> list[HourCount]:
    last = now - now % HOUR
    first = last - (N_HOURS - 1) * HOUR
    query = sa.select(log_hours).where(log_hours.c.hour.between(first, last))
    found = {row.hour: row for row in connection.execute(query)}
    return [
        HourCount(at, found[at].n_payments, found[at].n_blocked)
        if at in found
        else HourCount(at, 0, 0)
        for at in range(first, last + 1, HOUR)
    ]


def _alert_days(connection: sa.Connection, today: int) -> list[AlertDay]:
    first = today - N_DAYS + 1
    opened = _by_day(connection, alerts.c.opened_at, alerts.c.opened_at >= first * DAY)
    is_closed = (alerts.c.state == "closed") & (alerts.c.updated_at >= first * DAY)
    closed = _by_day(connection, alerts.c.updated_at, is_closed)
    return [AlertDay(day, opened[day], closed[day]) for day in range(first, today + 1)]


def _by_day(
    connection: sa.Connection, at: sa.Column[int], condition: sa.ColumnElement[bool]
) -> Counter[int]:
    day = at // DAY
    query = sa.select(day, sa.func.count()).where(condition).group_by(day)
    return Counter({row[0]: row[1] for row in connection.execute(query)})


def _checked(day: DayRange) -> CheckedDay:
    return CheckedDay(day.counts, day.expected, day.is_held, day.chance)


def _delays(connection: sa.Connection, now: int) -> list[LabelDelay]:
    first = digest_tables.first_position(connection, now - N_WEEKS * WEEK)
    columns = known_frauds.c
    query = sa.select(columns.source, columns.known_at - columns.at).where(
        columns.position >= first
    )
    by_source: defaultdict[str, list[int]] = defaultdict(list)
    for source, delay in connection.execute(query):
        by_source[source].append(max(delay, 0))
    return [
        LabelDelay(source, len(found), *(np.quantile(found, (0.5, 0.9)) / DAY).tolist())
        for source, found in sorted(by_source.items())
    ]


def _weeks(connection: sa.Connection, now: int, silence: int) -> list[WeekMaturity]:
    """Return the maturity of the last weeks; an hour is mature as a whole."""
    query = sa.select(log_hours).where(log_hours.c.hour >= now - N_WEEKS * WEEK)
    counts = [[0, 0, 0] for _ in range(N_WEEKS)]
    for row in connection.execute(query):
        week = counts[min(max((now - row.hour) // WEEK, 0), N_WEEKS - 1)]
        is_final = row.hour < now - silence
        week[0] += row.n_payments
        week[1] += row.n_labelled
        week[2] += row.n_payments if is_final else row.n_labelled
    return [
        WeekMaturity(now - (place + 1) * WEEK, *counts[place])
        for place in reversed(range(N_WEEKS))
    ]


def _maturity(connection: sa.Connection, now: int, silence: int) -> float | None:
    final = sa.case(
        (log_hours.c.hour < now - silence, log_hours.c.n_payments), else_=log_hours.c.n_labelled
    )
    query = sa.select(sum_of(final), sum_of(log_hours.c.n_payments)).where(
        log_hours.c.hour >= now - N_DAYS * DAY
    )
    n_final, n_payments = connection.execute(query).one()
    return n_final / n_payments if n_payments else None

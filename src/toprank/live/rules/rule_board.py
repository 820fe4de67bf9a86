"""The board: what every rule matched in a period and what became of it, the model as one row.

A payment is mature when it was received so long ago that silence counts as genuine. What is known
of the others is provisional: frauds among them have not all been reported yet.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.checks.queue import WORTH
from toprank.live.rules.rule_backtest import Outcomes
from toprank.live.store import alert_table, digest_tables, rule_table
from toprank.live.store.desk_database import sum_of
from toprank.live.store.digest_tables import DAY, known_frauds, log_hours, rule_days, rule_matches
from toprank.live.store.rule_table import StoredRule
from toprank.metrics.intervals import Interval
from toprank.metrics.shares import wilson_bounds
from toprank.wording import percent, plural

LEAST_PRECISION = WORTH
"""Below it, a check is not worth its time: the queue draws the line there, too."""
LEAST_DETECTION = 0.01
"""A rule that catches a smaller share of the cards with frauds is hardly missed."""
MOST_FALSE = 0.005
"""A rule that matches a larger share of the genuine payments disturbs too many people."""

Key = tuple[str, int]
"""Name and version of a rule."""


class WeekMatches(NamedTuple):
    """Matches of seven days; 0 is the week up to now, 1 the one before."""

    weeks_ago: int
    matches: Outcomes


class _Matches(NamedTuple):
    weeks_ago: int
    is_mature: bool
    outcomes: Outcomes


class BoardPeriod(NamedTuple):
    """The payments of a period, in microseconds; those before `mature_until` are mature."""

    since: int
    until: int
    mature_until: int
    n_payments: int
    n_mature: int
    n_mature_frauds: int
    n_fraud_cards: int

    @property
    def maturity(self) -> float:
        """The share of payments whose label is final; NaN without any."""
        return self.n_mature / self.n_payments if self.n_payments else float("nan")

    @property
    def n_mature_genuine(self) -> int:
        """The mature payments that are no frauds."""
        return self.n_mature - self.n_mature_frauds

    @property
    def n_weeks(self) -> int:
        """The number of weeks, the first of which may be shorter."""
        return (self.until // DAY - self.since // DAY) // 7 + 1


@dataclass(frozen=True)
class BoardRow:
    """The figures of one version of a rule, or of a model, whose version is 0.

    Attributes
    ----------
    rule
        The version as it is stored; None of a model.
    matches
        All matches.
    mature, provisional
        Matches of mature payments, and of the others.
    n_alerts
        Alerts of the period that the rule, in whichever version, had a part in.
    n_cards
        Cards with a known fraud that it matched.
    n_only
        Frauds that it matched, and neither another live rule nor the model.
    weeks
        Its matches by week, the oldest first.
    """

    name: str
    version: int
    rule: StoredRule | None
    period: BoardPeriod
    mature: Outcomes
    provisional: Outcomes
    n_alerts: int
    n_cards: int
    n_only: int
    weeks: list[WeekMatches]

    @property
    def state(self) -> str:
        """The state of the version; a model in use is live."""
        return "live" if self.rule is None else self.rule.state

    @property
    def kind(self) -> str:
        """What a match does: block or alert; "model" of a model."""
        return "model" if self.rule is None else self.rule.kind

    @cached_property
    def matches(self) -> Outcomes:
        """All matches."""
        return _sum([self.mature, self.provisional])

    @cached_property
    def mature_precision(self) -> Interval | None:
        """The share of frauds among the mature matches; None without any."""
        return share_with_interval(self.mature.fraud, self.mature.fraud + self.mature.genuine)

    @cached_property
    def provisional_precision(self) -> Interval | None:
        """The share of frauds among the other matches that have a label; None without any."""
        known = self.provisional.fraud + self.provisional.genuine
        return share_with_interval(self.provisional.fraud, known)

    @cached_property
    def detection_rate(self) -> Interval | None:
        """The share it caught of the cards with a known fraud; None without any."""
        return share_with_interval(self.n_cards, self.period.n_fraud_cards)

    @cached_property
    def false_alert_rate(self) -> Interval | None:
        """The share it matched of the mature genuine payments; None without any."""
        return share_with_interval(self.mature.genuine, self.period.n_mature_genuine)

    @cached_property
    def retire_reasons(self) -> list[str]:
        """Why one might retire the rule, as sentences; each is more than chance."""
        if self.rule is None or self.state not in ("shadow", "live"):
            return []
        return list(_retire_reasons(self))


class RuleBoard(NamedTuple):
    """The rows of a board: of models, rules in use, drafts, and retired rules that matched."""

    period: BoardPeriod
    rows: list[BoardRow]


def rule_board(
    connection: sa.Connection, now: int, silence: int, alert_from: float, n_days: int = 90
) -> RuleBoard:
    """Return the figures of the last days, from what has been counted of the log.

    `silence` is how long a payment without a label is not known yet, in microseconds; from
    `alert_from` on, a probability puts a card on the list.
    """
    period = _period(connection, now, silence, n_days)
    first = digest_tables.first_position(connection, period.since)
    counts = _counts(connection, period)
    cards, only = _frauds(connection, first)
    n_alerts = _alerts(connection, period.since, alert_from)
    rules = {(each.name, each.version): each for each in _stored(connection)}
    keys = [key for key in counts if key not in rules]
    keys += [key for key, rule in rules.items() if rule.state != "retired" or key in counts]
    rows = [
        _row(key, rules.get(key), period, counts[key], n_alerts, len(cards[key]), only[key])
        for key in keys
    ]
    return RuleBoard(period, rows)


def share_with_interval(part: int, whole: int) -> Interval | None:
    """Return a share with its 95 % interval, None of nothing.

    >>> share_with_interval(5, 10).value, share_with_interval(0, 0)
    (0.5, None)
    """
    if not whole:
        return None
    low, high = wilson_bounds(part / whole, whole)
    return Interval(part / whole, float(low), float(high))


def _retire_reasons(row: BoardRow) -> Iterable[str]:
    precision, detection = row.mature_precision, row.detection_rate
    false_alerts = row.false_alert_rate
    if precision is not None and precision.high < LEAST_PRECISION:
        yield (
            f"{percent(precision.value)} of its matches are fraud, at most "
            f"{percent(precision.high)}; a check is worth it from {percent(LEAST_PRECISION)} on."
        )
    if false_alerts is not None and false_alerts.low > MOST_FALSE:
        yield (
            f"it matches {percent(false_alerts.value)} of the genuine payments; "
            f"{percent(MOST_FALSE)} is the limit."
        )
    if detection is not None and detection.high < LEAST_DETECTION and not row.n_only:
        n_cards = row.period.n_fraud_cards
        yield (
            f"it caught {row.n_cards} of {n_cards:,} {plural('card', n_cards)} with a fraud, and "
            "none that others did not."
        )


def _period(connection: sa.Connection, now: int, silence: int, n_days: int) -> BoardPeriod:
    """Return the last days, today included; a day is mature as a whole."""
    since = max(now // DAY - n_days + 1, 0) * DAY
    mature_until = max((now - silence) // DAY * DAY, since)
    hours, frauds = log_hours.c, known_frauds.c
    n_payments = sa.select(sa.func.coalesce(sum_of(hours.n_payments), 0)).where(
        hours.hour >= since
    )
    first = digest_tables.first_position(connection, since)
    cards = sa.select(sa.func.count(frauds.card.distinct())).where(frauds.position >= first)
    n_frauds = sa.select(sa.func.count()).where(frauds.position >= first, frauds.at < mature_until)
    return BoardPeriod(
        since,
        now,
        mature_until,
        connection.execute(n_payments).scalar_one(),
        connection.execute(n_payments.where(hours.hour < mature_until)).scalar_one(),
        connection.execute(n_frauds).scalar_one(),
        connection.execute(cards).scalar_one(),
    )


def _counts(connection: sa.Connection, period: BoardPeriod) -> dict[Key, list[_Matches]]:
    """Return the matches of versions, by week and whether they are mature."""
    columns = rule_days.c
    weeks_ago = (period.until // DAY - columns.day) // 7
    is_mature = columns.day < period.mature_until // DAY
    sums = [sa.func.sum(each) for each in (columns.n_fraud, columns.n_genuine, columns.n_unknown)]
    query = (
        sa.select(columns.name, columns.version, weeks_ago, is_mature, *sums)
        .where(columns.day >= period.since // DAY)
        .group_by(columns.name, columns.version, weeks_ago, is_mature)
    )
    found: defaultdict[Key, list[_Matches]] = defaultdict(list)
    for name, version, week, mature, *counts in connection.execute(query):
        found[name, version].append(_Matches(week, bool(mature), Outcomes(*counts)))
    return found


def _frauds(
    connection: sa.Connection, first: int
) -> tuple[defaultdict[Key, set[str]], Counter[Key]]:
    """Return the cards whose frauds each version matched, and its frauds that no other found."""
    columns = rule_matches.c
    query = sa.select(
        columns.position, columns.name, columns.version, columns.is_live, columns.card
    ).where(columns.position >= first, digest_tables.IS_FRAUD)
    cards: defaultdict[Key, set[str]] = defaultdict(set)
    finders: defaultdict[int, set[str]] = defaultdict(set)
    pairs: list[tuple[int, Key]] = []
    for position, name, version, is_live, card in connection.execute(query):
        cards[name, version].add(card)
        pairs.append((position, (name, version)))
        if is_live:
            finders[position].add(name)
    only = Counter(key for position, key in pairs if not finders[position] - {key[0]})
    return cards, only


def _alerts(connection: sa.Connection, since: int, alert_from: float) -> Counter[str]:
    """Return how many alerts each rule had a part in; those of the model under its kind."""
    found: Counter[str] = Counter()
    for rules, is_by_model, count in alert_table.n_by_rules(connection, since, alert_from):
        for name in rules:
            found[name] += count
        if is_by_model:
            found["."] += count  # no rule can have this name
    return found


def _stored(connection: sa.Connection) -> list[StoredRule]:
    return rule_table.in_states(connection, ("draft", "shadow", "live", "retired"))


def _row(
    key: Key,
    rule: StoredRule | None,
    period: BoardPeriod,
    matches: list[_Matches],
    n_alerts: Counter[str],
    n_cards: int,
    n_only: int,
) -> BoardRow:
    mature = _sum(each.outcomes for each in matches if each.is_mature)
    newer = _sum(each.outcomes for each in matches if not each.is_mature)
    by_week: defaultdict[int, list[Outcomes]] = defaultdict(list)
    for each in matches:
        by_week[each.weeks_ago].append(each.outcomes)
    weeks = [WeekMatches(week, _sum(by_week[week])) for week in reversed(range(period.n_weeks))]
    silent = Outcomes(mature.fraud, mature.genuine + mature.unknown, 0)
    name = "." if rule is None else key[0]
    return BoardRow(*key, rule, period, silent, newer, n_alerts[name], n_cards, n_only, weeks)


def _sum(outcomes: Iterable[Outcomes]) -> Outcomes:
    return Outcomes(*(sum(column) for column in zip((0, 0, 0), *outcomes, strict=True)))

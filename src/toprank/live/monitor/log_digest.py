"""Counting the log: on from where it was left, a few payments and labels at a time.

Pages that read millions of payments at every view would be slow, and counting at every payment
would cost payments time. So the log is counted some time later, in transactions so short that
payments hardly wait for them. A payment is counted when it has been scored, a label when its
payment has been counted; a label that is corrected is counted anew.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.monitor import score_digest
from toprank.live.store import digest_tables, label_table
from toprank.live.store.desk_database import Database
from toprank.live.store.digest_tables import (
    DAY,
    HOUR,
    DigestPlace,
    known_frauds,
    log_hours,
    rule_days,
    rule_matches,
)
from toprank.live.store.label_table import DeskLabel, labels
from toprank.live.store.payment_log import payments, scores

AT_ONCE = 50
"""Payments and labels per transaction: milliseconds in which nobody else can write."""

_NONE = "[]"
_NOTHING = {"n_fraud": 0, "n_genuine": 0, "n_unknown": 0}
_ADD_TO_DAY = (
    rule_days.update()
    .where(
        rule_days.c.day == sa.bindparam("of_day"),
        rule_days.c.name == sa.bindparam("of_name"),
        rule_days.c.version == sa.bindparam("of_version"),
    )
    .values(
        n_fraud=rule_days.c.n_fraud + sa.bindparam("more_fraud"),
        n_genuine=rule_days.c.n_genuine + sa.bindparam("more_genuine"),
        n_unknown=rule_days.c.n_unknown + sa.bindparam("more_unknown"),
    )
)
_ADD_LABELLED = (
    log_hours.update()
    .where(log_hours.c.hour == sa.bindparam("of_hour"))
    .values(n_labelled=log_hours.c.n_labelled + sa.bindparam("more"))
)

DayOutcome = tuple[int, str, int, bool | None]
"""Day, name and version of a rule, and what became of payments that it matched."""


def catch_up(
    database: Database,
    alert_from: float,
    most_seconds: float = 60.0,
    pause: float = 0.0,
    at_once: int = AT_ONCE,
) -> bool:
    """Count what has not been counted; return False if the time was too short for all of it.

    `alert_from` is the probability from which on the model itself raises alerts. Between two
    transactions there is a pause, so that payments are not slowed down for long; where no payment
    can come in meanwhile, more may be counted `at_once`.
    """
    end = time.monotonic() + most_seconds
    while _is_behind(database):
        if time.monotonic() > end:
            return False
        count_some(database, alert_from, at_once)
        time.sleep(pause)
    return score_digest.catch_up(database, alert_from, end, pause)


def count_some(database: Database, alert_from: float, most: int = AT_ONCE) -> None:
    """Count some more payments, and labels of payments that have been counted.

    Payments are read before the transaction that writes. It writes nothing if another process has
    counted them meanwhile.
    """
    with database.reading() as connection:
        before = digest_tables.place(connection)
        start = before or _start(connection)
        some = _some_payments(connection, start.position, alert_from, most)
    with database.writing() as connection:
        if digest_tables.place(connection) != before:
            return
        _add_payments(connection, some)
        place = start._replace(position=some.last)
        digest_tables.set_place(connection, _count_labels(connection, place, most))


def _is_behind(database: Database) -> bool:
    with database.reading() as connection:
        place = digest_tables.place(connection)
        if place is None or _last_scored(connection) > place.position:
            return True
        return bool(_new_labels(connection, place, 1))


def _start(connection: sa.Connection) -> DigestPlace:
    """Return the place from which counting starts: after the labels from before the desk."""
    before = sa.select(sa.func.max(labels.c.number)).where(
        labels.c.after_position == label_table.BEFORE
    )
    return DigestPlace(0, connection.execute(before).scalar() or 0)


def _last_scored(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.max(scores.c.position))).scalar() or 0


# Payments


class _SomePayments(NamedTuple):
    """Payments up to a position: those of each hour, and the rules that matched them."""

    last: int
    hours: Sequence[Any] = ()
    matches: Sequence[dict[str, Any]] = ()


def _some_payments(
    connection: sa.Connection, after: int, alert_from: float, most: int
) -> _SomePayments:
    last = min(_last_scored(connection), after + most)
    if last <= after:
        return _SomePayments(after)
    is_new = payments.c.position.between(after + 1, last)
    hour = payments.c.received_at - payments.c.received_at % HOUR
    n_blocked = sa.func.sum(sa.case((payments.c.decision == "block", 1), else_=0))
    by_hour = sa.select(
        hour, sa.func.min(payments.c.position), sa.func.count(), n_blocked
    ).where(is_new).group_by(hour)  # fmt: skip
    matches = [
        *_matches(connection, payments.c.matched, is_new),
        *_matches(connection, scores.c.matched, is_new),
        *_model_matches(connection, is_new, alert_from),
    ]
    return _SomePayments(last, connection.execute(by_hour).all(), matches)


def _add_payments(connection: sa.Connection, some: _SomePayments) -> None:
    for hour in some.hours:
        _add_to_hour(connection, *hour)
    if some.matches:
        connection.execute(rule_matches.insert(), some.matches)
        _add_to_days(connection, Counter((*_day_of(each), None) for each in some.matches))


def _add_to_hour(
    connection: sa.Connection, hour: int, first: int, n_payments: int, n_blocked: int
) -> None:
    columns = log_hours.c
    changed = connection.execute(
        log_hours.update()
        .where(columns.hour == hour)
        .values(
            n_payments=columns.n_payments + n_payments, n_blocked=columns.n_blocked + n_blocked
        )
    )
    if not changed.rowcount:
        row = {"hour": hour, "first_position": first, "n_payments": n_payments}
        connection.execute(
            log_hours.insert().values(row | {"n_blocked": n_blocked, "n_labelled": 0})
        )


def _matches(
    connection: sa.Connection, matched: sa.Column[str], is_new: sa.ColumnElement[bool]
) -> Iterator[dict[str, Any]]:
    """Yield the rules that matched payments: of the log, or of the scores."""
    query = _of_payments(matched).where(is_new, matched != _NONE)
    for position, at, card, text in connection.execute(query):
        for name, version, state in json.loads(text):
            yield _match(position, name, version, state == "live", at, card)


def _model_matches(
    connection: sa.Connection, is_new: sa.ColumnElement[bool], alert_from: float
) -> Iterator[dict[str, Any]]:
    """Yield the payments that the model found suspicious enough for an alert."""
    query = _of_payments(scores.c.model).where(is_new, scores.c.probability >= alert_from)
    for position, at, card, model in connection.execute(query):
        yield _match(position, model, 0, True, at, card)


def _of_payments(column: sa.Column[str]) -> sa.Select[Any]:
    query = sa.select(payments.c.position, payments.c.received_at, payments.c.card, column)
    if column.table is payments:
        return query
    return query.join_from(payments, scores, scores.c.position == payments.c.position)


def _match(
    position: int, name: str, version: int, is_live: bool, at: int, card: str
) -> dict[str, Any]:
    return {
        "position": position, "name": name, "version": version, "is_live": is_live, "at": at,
        "card": card, "is_fraud": None,
    }  # fmt: skip


# Labels


def _count_labels(connection: sa.Connection, place: DigestPlace, most: int) -> DigestPlace:
    new = _new_labels(connection, place, most)
    if not new:
        return place
    ids = {row.id for row in new}
    query = sa.select(
        payments.c.id, payments.c.position, payments.c.received_at, payments.c.card
    ).where(payments.c.id.in_(ids))  # fmt: skip
    logged = connection.execute(query).all()
    given = [
        DeskLabel(*row)
        for row in connection.execute(sa.select(labels).where(labels.c.id.in_(ids)))
    ]
    # a label after this place is counted next time, and must not be counted as known before
    given = [each for each in given if each.number <= new[-1].number]
    held = label_table.holding(given)
    _judge(connection, {row.position: held[row.id].is_fraud for row in logged})
    _set_frauds(connection, [row.position for row in logged], [
        {"position": row.position, "at": row.received_at, "card": row.card,
         "known_at": held[row.id].known_at, "source": held[row.id].source}
        for row in logged if held[row.id].is_fraud
    ])  # fmt: skip
    known_before = {each.id for each in given if each.number <= place.label}
    hours = Counter(
        row.received_at - row.received_at % HOUR for row in logged if row.id not in known_before
    )
    if hours:
        rows = [{"of_hour": hour, "more": count} for hour, count in hours.items()]
        connection.execute(_ADD_LABELLED, rows)
    return place._replace(label=new[-1].number)


def _new_labels(connection: sa.Connection, place: DigestPlace, most: int) -> list[Any]:
    """Return the next labels whose payments, if they are in the log, have been counted."""
    query = (
        sa.select(labels.c.number, labels.c.id)
        .where(labels.c.number > place.label, labels.c.after_position <= place.position)
        .order_by(labels.c.number)
        .limit(most)
    )
    return list(connection.execute(query))


def _judge(connection: sa.Connection, outcomes: dict[int, bool]) -> None:
    """Write down what became of payments that rules matched."""
    query = sa.select(rule_matches).where(rule_matches.c.position.in_(outcomes))
    changes: Counter[DayOutcome] = Counter()
    for row in connection.execute(query).mappings():
        changes[*_day_of(row), row["is_fraud"]] -= 1
        changes[*_day_of(row), outcomes[row["position"]]] += 1
    _add_to_days(connection, changes)
    rows = [{"of_position": place, "outcome": outcome} for place, outcome in outcomes.items()]
    if rows:
        connection.execute(
            rule_matches.update()
            .where(rule_matches.c.position == sa.bindparam("of_position"))
            .values(is_fraud=sa.bindparam("outcome")),
            rows,
        )


def _day_of(match: Mapping[Any, Any]) -> tuple[int, str, int]:
    return match["at"] // DAY, match["name"], match["version"]


def _add_to_days(connection: sa.Connection, changes: Counter[DayOutcome]) -> None:
    """Add to the matches of days, by rule and outcome; None is the outcome that is not known."""
    by_day: defaultdict[tuple[int, str, int], Counter[bool | None]] = defaultdict(Counter)
    for (day, name, version, outcome), count in changes.items():
        by_day[day, name, version][outcome] += count
    columns = rule_days.c
    days = {day for day, _, _ in by_day}
    query = sa.select(columns.day, columns.name, columns.version).where(columns.day.in_(days))
    known = {tuple(row) for row in connection.execute(query)}
    new = [key for key in by_day if key not in known]
    if new:
        names = ("day", "name", "version")
        rows = [dict(zip(names, key, strict=True)) | _NOTHING for key in new]
        connection.execute(rule_days.insert(), rows)
    if by_day:
        connection.execute(
            _ADD_TO_DAY,
            [
                {"of_day": day, "of_name": name, "of_version": version, "more_fraud": counts[True],
                 "more_genuine": counts[False], "more_unknown": counts[None]}
                for (day, name, version), counts in by_day.items()
            ],
        )  # fmt: skip


def _set_frauds(
    connection: sa.Connection, positions: list[int], frauds: list[dict[str, Any]]
) -> None:
    """Replace what is known of these payments."""
    connection.execute(known_frauds.delete().where(known_frauds.c.position.in_(positions)))
    if frauds:
        connection.execute(known_frauds.insert(), frauds)

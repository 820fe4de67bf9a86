"""Checks: what an investigator said of an alert, and what became of it.

    pending -> finished                 the time for undoing is over, labels are written
    pending -> undone
    proposed -> pending | rejected      a correction of someone else's verdict, by a second person

A check is stored when it is decided, so that a restart finishes it. Corrections are checks, too.
"""

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from toprank.live.store.alert_table import alerts
from toprank.live.store.desk_database import Number, Text, metadata

Verdict = Literal["fraud", "genuine", "unsure"]
CheckState = Literal["pending", "finished", "undone", "proposed", "rejected"]

checks = sa.Table(
    "checks",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("alert", sa.BigInteger, nullable=False, index=True),
    sa.Column("who", Text, nullable=False),
    sa.Column("verdict", Text, nullable=False),
    sa.Column("positions", Text, nullable=False),  # of the payments it is about, as JSON
    sa.Column("reason_code", Text, nullable=False),
    sa.Column("note", Text, nullable=False),
    sa.Column("state", Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),  # by the desk's clock
    sa.Column("day", sa.Integer, nullable=False),
    sa.Column("decided_at", sa.BigInteger, nullable=False),  # by the machine's clock, as below
    sa.Column("due_at", sa.BigInteger, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),  # of the alert when it was decided
    sa.Column("is_random", sa.Boolean, nullable=False),
    sa.Column("seen", sa.BigInteger, nullable=False),  # the alert's newest payment then
    sa.Column("corrects", sa.BigInteger),
    sa.Column("approver", Text),
    sa.Index("checks_in_state", "state", "due_at"),
    sa.Index("checks_of_day", "day"),
    sa.Index("checks_of_person", "who", "day"),
)


class Check(NamedTuple):
    """One verdict; `corrects` is the number of the check that it corrects, if any."""

    number: int
    alert: int
    who: str
    verdict: Verdict
    positions: list[int]
    reason_code: str
    note: str
    state: CheckState
    at: int
    day: int
    decided_at: int
    due_at: int
    probability: float
    is_random: bool
    seen: int
    corrects: int | None = None
    approver: str | None = None


def add(connection: sa.Connection, check: Check) -> Check:
    """Store a check, whatever its number, and return it with the number that it gets."""
    values = check._asdict() | {"positions": json.dumps(check.positions)}
    del values["number"]
    key = connection.execute(checks.insert().values(values)).inserted_primary_key
    assert key is not None
    return check._replace(number=int(key[0]))


def by_number(connection: sa.Connection, number: int) -> Check | None:
    """Return a check, None if there is none of this number."""
    found = _found(connection, sa.select(checks).where(checks.c.number == number))
    return found[0] if found else None


def change_state(
    connection: sa.Connection, check: Check, state: CheckState, **values: Any
) -> bool:
    """Move a check on from the state it was read in; return False if it has left it since."""
    changed = connection.execute(
        checks.update()
        .where(checks.c.number == check.number, checks.c.state == check.state)
        .values(state=state, **values)
    )
    return changed.rowcount == 1


def due(connection: sa.Connection, wall: int, limit: int) -> list[Check]:
    """Return the checks that can no longer be undone, and are not finished yet."""
    is_due = (checks.c.state == "pending") & (checks.c.due_at <= wall)
    query = sa.select(checks).where(is_due).order_by(checks.c.due_at, checks.c.number)
    return _found(connection, query.limit(limit))


def of_alerts(connection: sa.Connection, numbers: Sequence[int]) -> list[Check]:
    """Return the checks of alerts, the newest first, without those that were undone."""
    of_these = checks.c.alert.in_(list(numbers)) & (checks.c.state != "undone")
    return _found(connection, sa.select(checks).where(of_these).order_by(checks.c.number.desc()))


def of_day(connection: sa.Connection, day: int, who: str | None = None) -> list[Check]:
    """Return the checks of a day of the desk that were not undone; of one person, if given."""
    query = sa.select(checks).where(
        checks.c.day == day, checks.c.state.in_(("pending", "finished"))
    )
    if who is not None:
        query = query.where(checks.c.who == who)
    return _found(connection, query.order_by(checks.c.number.desc()))


def cards_since(connection: sa.Connection, moment: int) -> set[str]:
    """Return the cards with a check since a moment of the desk that was not undone."""
    query = (
        sa.select(alerts.c.card)
        .join(checks, checks.c.alert == alerts.c.number)
        .where(checks.c.at >= moment, checks.c.state != "undone")
    )
    return set(connection.execute(query).scalars())


def in_state(connection: sa.Connection, state: CheckState) -> list[Check]:
    """Return the checks in a state, the oldest first."""
    query = sa.select(checks).where(checks.c.state == state).order_by(checks.c.number)
    return _found(connection, query)


def last_pending(connection: sa.Connection, who: str, wall: int) -> Check | None:
    """Return the last check of a person that can still be undone, None if none can."""
    is_pending = (checks.c.state == "pending") & (checks.c.due_at > wall)
    query = sa.select(checks).where(is_pending, checks.c.who == who)
    found = _found(connection, query.order_by(checks.c.number.desc()).limit(1))
    return found[0] if found else None


def has_decided(connection: sa.Connection, who: str) -> bool:
    """Return whether a person has ever given a verdict that holds."""
    query = sa.select(checks.c.number).where(checks.c.who == who, checks.c.state != "undone")
    return connection.execute(query.limit(1)).first() is not None


def _found(connection: sa.Connection, query: sa.Select[Any]) -> list[Check]:
    return [
        Check(**{**row._mapping, "positions": json.loads(row.positions)})
        for row in connection.execute(query)
    ]

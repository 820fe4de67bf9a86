"""Numbered sets of rules: which versions were evaluated, in which state, with which snoozes.

None ever changes, so that the number that a payment is logged with says what it was judged by.
"""

import json
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import rule_table, snooze_table
from toprank.live.store.desk_database import Text, metadata

rule_sets = sa.Table(
    "rule_sets",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("members", Text, nullable=False),
    sa.Column("last_snooze", sa.Integer, nullable=False),  # snoozes up to this number count
)


class RuleSetMember(NamedTuple):
    """A version in a set; its state is shadow or live."""

    name: str
    version: int
    state: str


def newest_number(connection: sa.Connection) -> int:
    """Return the number of the set that holds now; 0, the empty set, before the first."""
    return connection.execute(sa.select(sa.func.max(rule_sets.c.number))).scalar() or 0


def members(connection: sa.Connection, number: int) -> list[RuleSetMember]:
    """Return the versions of a set."""
    if number == 0:
        return []
    text = connection.execute(
        sa.select(rule_sets.c.members).where(rule_sets.c.number == number)
    ).scalar()
    if text is None:
        raise ValueError(f"rule set {number} must be one of this desk; it is not.")
    return [RuleSetMember(*each) for each in json.loads(text)]


def last_snooze(connection: sa.Connection, number: int) -> int:
    """Return the number of the last snooze that counts for a set."""
    query = sa.select(rule_sets.c.last_snooze).where(rule_sets.c.number == number)
    return connection.execute(query).scalar() or 0


def renew(connection: sa.Connection, at: int) -> int:
    """Return the number of the set as rules and snoozes are now: a new one if that has changed."""
    rules = rule_table.in_states(connection, ("shadow", "live"))
    now = [RuleSetMember(each.name, each.version, each.state) for each in rules]
    number = newest_number(connection)
    snooze = snooze_table.last_number(connection)
    if now == members(connection, number) and snooze == last_snooze(connection, number):
        return number
    row = {"number": number + 1, "at": at, "members": json.dumps(now), "last_snooze": snooze}
    connection.execute(rule_sets.insert().values(row))
    return number + 1

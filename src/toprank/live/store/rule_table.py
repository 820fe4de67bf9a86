"""Versions of rules: their content never changes, only the state they are in."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

RuleState = Literal["draft", "shadow", "live", "retired"]

rule_versions = sa.Table(
    "rule_versions",
    metadata,
    sa.Column("name", Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("text", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("author", Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("state", Text, nullable=False),
    sa.Column("approver", Text),
)


class StoredRule(NamedTuple):
    """A version of a rule as it is stored."""

    name: str
    version: int
    kind: Any
    text: str
    description: str
    author: str
    created_at: int
    state: RuleState
    approver: str | None


def add(connection: sa.Connection, rule: StoredRule) -> None:
    """Store a version."""
    connection.execute(rule_versions.insert().values(rule._asdict()))


def names(connection: sa.Connection) -> list[str]:
    """Return the names of all rules."""
    query = sa.select(rule_versions.c.name).distinct().order_by(rule_versions.c.name)
    return list(connection.execute(query).scalars())


def versions_of(connection: sa.Connection, name: str) -> list[StoredRule]:
    """Return all versions of a rule, the newest first."""
    found = sa.select(rule_versions).where(rule_versions.c.name == name)
    ordered = found.order_by(rule_versions.c.version.desc())
    return [StoredRule(*row) for row in connection.execute(ordered)]


def in_states(connection: sa.Connection, states: Iterable[RuleState]) -> list[StoredRule]:
    """Return the versions that are in one of these states, by name and version."""
    found = sa.select(rule_versions).where(rule_versions.c.state.in_(list(states)))
    ordered = found.order_by(rule_versions.c.name, rule_versions.c.version)
    return [StoredRule(*row) for row in connection.execute(ordered)]


def change_state(
    connection: sa.Connection,
    rule: StoredRule,
    state: RuleState,
    approver: str | None = None,
) -> bool:
    """Move a version on from the state it was read in; return False if it has left it since."""
    changed = connection.execute(
        rule_versions.update()
        .where(rule_versions.c.name == rule.name)
        .where(rule_versions.c.version == rule.version)
        .where(rule_versions.c.state == rule.state)
        .values(state=state, approver=approver)
    )
    return changed.rowcount == 1

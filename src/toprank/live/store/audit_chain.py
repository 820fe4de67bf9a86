"""Who did what, in a chain that shows any change: each entry contains the hash of the one before.

An entry is written in the transaction of the change that it describes, so neither is there without
the other. To alter or remove an entry, all later ones would have to be written anew; keeping the
newest hash elsewhere shows that, too.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.store.compiled_statement import CompiledStatement
from toprank.live.store.desk_database import Number, Text, metadata

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", Number, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", Text, nullable=False),
    sa.Column("action", Text, nullable=False),
    sa.Column("subject", Text, nullable=False),
    sa.Column("details", Text, nullable=False),
    sa.Column("hash", Text, nullable=False),
)

_IS_OF_RULE = sa.text("substr(subject, 1, 5) = 'rule:'")
# few entries are about rules: an index of them alone costs the others nothing
sa.Index(
    "audit_of_rules",
    audit.c.subject,
    audit.c.number,
    sqlite_where=_IS_OF_RULE,
    postgresql_where=_IS_OF_RULE,
)

_FIRST = "0" * 64
_LAST = CompiledStatement(
    sa.select(audit.c.number, audit.c.hash).where(
        audit.c.number == sa.select(sa.func.max(audit.c.number)).scalar_subquery()
    )
)
_INSERT = CompiledStatement(audit.insert())
_MOST_READ = 200_000


class AuditEntry(NamedTuple):
    """One action: when, by whom, what, on what, and further facts."""

    number: int
    at: int
    actor: str
    action: str
    subject: str
    details: dict[str, Any]
    hash: str


class Verified(NamedTuple):
    """How many entries the chain has, and its last hash."""

    n_entries: int
    hash: str


class AuditPage(NamedTuple):
    """Some entries, how many were looked at for them, and `before` of the page after."""

    entries: list[AuditEntry]
    n_read: int
    next: int | None


class BrokenChainError(ValueError):
    """An entry of the audit is not the one that was written."""


class Action(NamedTuple):
    """What is to be written of one action.

    `actor` is a kind and a name, such as "key:loader", "person:anna" or "job:breaker".
    """

    actor: str
    action: str
    subject: str
    details: dict[str, Any] | None = None


def add(
    connection: sa.Connection,
    at: int,
    actor: str,
    action: str,
    subject: str,
    details: dict[str, Any] | None = None,
) -> None:
    """Write an entry, in the transaction of what it describes: see `Action`."""
    add_many(connection, at, [Action(actor, action, subject, details)])


def add_many(connection: sa.Connection, at: int, actions: Iterable[Action]) -> None:
    """Write several entries, in the transaction of what they describe."""
    number, before = _LAST.one(connection) or (0, _FIRST)
    rows = []
    for each in actions:
        number += 1
        details = json.dumps(each.details or {}, sort_keys=True)
        row = (number, at, each.actor, each.action, each.subject, details)
        before = _hash(before, row)
        rows.append((*row, before))
    if rows:
        _INSERT.many(connection, rows)


def entries(connection: sa.Connection, since: int = 0) -> Iterator[AuditEntry]:
    """Yield the entries with a number above `since`, in order."""
    found = connection.execute(
        sa.select(audit).where(audit.c.number > since).order_by(audit.c.number)
    )
    for row in found:
        yield AuditEntry(**{**row._mapping, "details": json.loads(row.details)})


def page(
    connection: sa.Connection, filters: Mapping[str, str], before: int | None, limit: int
) -> AuditPage:
    """Return entries, the newest first; only those with these texts in the named columns.

    `before` is the number that all are below. At most `_MOST_READ` entries are looked at, so that
    a filter that fits nothing does not read a year of them; `next` is where to look further.
    """
    newest = n_entries(connection)
    end = newest + 1 if before is None else min(before, newest + 1)
    begin = max(end - _MOST_READ, 1)
    query = sa.select(audit).where(audit.c.number < end, audit.c.number >= begin)
    for name, text in filters.items():
        if text:
            query = query.where(audit.c[name].contains(text, autoescape=True))
    rows = connection.execute(query.order_by(audit.c.number.desc()).limit(limit)).all()
    last = rows[-1].number if len(rows) == limit else begin
    found = [AuditEntry(**{**row._mapping, "details": json.loads(row.details)}) for row in rows]
    return AuditPage(found, max(end - last, 0), last if last > 1 else None)


def of_rule(connection: sa.Connection, name: str) -> list[AuditEntry]:
    """Return what was done to the versions of a rule, the newest first."""
    subject = audit.c.subject
    is_of_it = (subject >= f"rule:{name}:") & (subject < f"rule:{name};")  # ; follows :
    found = connection.execute(
        sa.select(audit).where(_IS_OF_RULE, is_of_it).order_by(audit.c.number.desc())
    )
    return [AuditEntry(**{**row._mapping, "details": json.loads(row.details)}) for row in found]


def n_entries(connection: sa.Connection) -> int:
    """Return the number of entries."""
    return connection.execute(sa.select(sa.func.max(audit.c.number))).scalar() or 0


def first_hash(connection: sa.Connection) -> str:
    """Return the hash of the first entry; one without any entry is all zeros."""
    query = sa.select(audit.c.hash).order_by(audit.c.number).limit(1)
    return connection.execute(query).scalar() or _FIRST


def verify(connection: sa.Connection, expect: str | None = None) -> Verified:
    """Return the length and the last hash of the chain; BrokenChainError if it is broken.

    `expect` is a hash that must be in the chain, such as the last one of an earlier time.
    """
    before, expected, is_met = _FIRST, 1, expect is None
    for row in connection.execute(sa.select(audit).order_by(audit.c.number)):
        if row.number != expected:
            raise BrokenChainError(
                f"audit entry {expected} must follow entry {expected - 1}; found entry "
                f"{row.number}: entries are missing."
            )
        if row.hash != _hash(before, row[:-1]):
            raise BrokenChainError(
                f"audit entry {expected} must have the hash that its content and the entry before "
                f"give; it has another ({row.actor}, {row.action}): it was changed."
            )
        before, expected = row.hash, expected + 1
        is_met = is_met or before == expect
    if not is_met:
        raise BrokenChainError(
            f"the audit must contain the hash {expect}; it does not: entries were cut off or all "
            "of them written anew."
        )
    return Verified(expected - 1, before)


def _hash(before: str, row: Sequence[Any]) -> str:
    """Return the hash of an entry: of the one before, and of all of its columns."""
    return hashlib.sha256(json.dumps([before, *row]).encode()).hexdigest()

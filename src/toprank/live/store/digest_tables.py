"""What the log says, counted once so that pages need not read it again.

    log_hours        payments of an hour: how many, blocked, labelled
    rule_matches     a row per payment and rule that matched it; the model counts as a rule
    rule_days        the same by rule and day, with what became of the payments
    known_frauds     the payments of the log whose label that holds is fraud
    digest_places    one row: up to which payment and which label all of this has been counted

`toprank.live.monitor.log_digest` writes them; all can be made again from log, scores and labels.
"""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Number, Text, metadata

HOUR = 3_600_000_000  # microseconds
DAY = 24 * HOUR

log_hours = sa.Table(
    "log_hours",
    metadata,
    sa.Column("hour", Number, primary_key=True, autoincrement=False),  # its first microsecond
    sa.Column("first_position", sa.BigInteger, nullable=False),
    sa.Column("n_payments", sa.BigInteger, nullable=False),
    sa.Column("n_blocked", sa.BigInteger, nullable=False),
    sa.Column("n_labelled", sa.BigInteger, nullable=False),
)

rule_matches = sa.Table(
    "rule_matches",
    metadata,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("name", Text, primary_key=True),  # of the rule, or the file of the model
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),  # 0 of a model
    sa.Column("is_live", sa.Boolean, nullable=False),  # or in shadow
    sa.Column("at", sa.BigInteger, nullable=False),  # when the payment was received
    sa.Column("card", Text, nullable=False),
    sa.Column("is_fraud", sa.Boolean),  # null while there is no label
    sqlite_with_rowid=False,
)
# a board is about the frauds among the matches, which are few
IS_FRAUD = rule_matches.c.is_fraud.is_(sa.true())
sa.Index(
    "rule_matches_of_frauds",
    rule_matches.c.position,
    sqlite_where=IS_FRAUD,
    postgresql_where=IS_FRAUD,
)

rule_days = sa.Table(
    "rule_days",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),  # from 1970
    sa.Column("name", Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("n_fraud", sa.Integer, nullable=False),
    sa.Column("n_genuine", sa.Integer, nullable=False),
    sa.Column("n_unknown", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)

known_frauds = sa.Table(
    "known_frauds",
    metadata,
    sa.Column("position", Number, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("card", Text, nullable=False),
    sa.Column("known_at", sa.BigInteger, nullable=False),
    sa.Column("source", Text, nullable=False),
)

digest_places = sa.Table(
    "digest_places",
    metadata,
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("label", sa.BigInteger, nullable=False),
)


class DigestPlace(NamedTuple):
    """The last payment and the last label that have been counted."""

    position: int
    label: int


def place(connection: sa.Connection) -> DigestPlace | None:
    """Return up to where the log has been counted, None before the first time."""
    row = connection.execute(sa.select(digest_places)).first()
    return None if row is None else DigestPlace(*row)


def set_place(connection: sa.Connection, new: DigestPlace) -> None:
    """Write down up to where the log has been counted."""
    connection.execute(digest_places.delete())
    connection.execute(digest_places.insert().values(new._asdict()))


def first_position(connection: sa.Connection, since: int) -> int:
    """Return the position of the first counted payment of the hours from a moment on.

    Without any, it is one that no payment has.
    """
    query = sa.select(sa.func.min(log_hours.c.first_position)).where(log_hours.c.hour >= since)
    found = connection.execute(query).scalar()
    return 2**62 if found is None else found


def claim_delays(connection: sa.Connection, before: int) -> list[int]:
    """Return after how long frauds were claimed, of payments received before a moment."""
    c = known_frauds.c
    query = sa.select(c.known_at - c.at).where(c.source == "claim", c.at < before)
    return [max(delay, 0) for delay in connection.execute(query).scalars()]


def drop_before(connection: sa.Connection, moment: int) -> None:
    """Remove what was counted of the days before that of a moment."""
    day = moment // DAY
    connection.execute(rule_days.delete().where(rule_days.c.day < day))
    connection.execute(log_hours.delete().where(log_hours.c.hour < day * DAY))

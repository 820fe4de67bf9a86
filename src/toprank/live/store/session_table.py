"""Sessions: who is logged in. The cookie itself is not stored, only its hash."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("hash", Text, nullable=False, unique=True),
    sa.Column("name", Text, nullable=False, index=True),
    sa.Column("token", Text, nullable=False),  # what the forms of its pages send back
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),  # to the minute
    sa.Column("address", Text, nullable=False),
    sqlite_autoincrement=True,  # the number of an ended session is never that of another
)


class Session(NamedTuple):
    """A session as it is stored."""

    number: int
    hash: str
    name: str
    token: str
    made_at: int
    seen_at: int
    address: str


def add(
    connection: sa.Connection, hashed: str, name: str, token: str, at: int, address: str
) -> None:
    """Store a new session."""
    values = {
        "hash": hashed, "name": name, "token": token, "made_at": at, "seen_at": at,
        "address": address,
    }  # fmt: skip
    connection.execute(sessions.insert().values(values))


def all_sessions(connection: sa.Connection) -> list[Session]:
    """Return all sessions, the newest first."""
    query = sa.select(sessions).order_by(sessions.c.number.desc())
    return [Session(*row) for row in connection.execute(query)]


def by_hash(connection: sa.Connection, hashed: str) -> Session | None:
    """Return the session of a cookie, None if there is none."""
    row = connection.execute(sa.select(sessions).where(sessions.c.hash == hashed)).first()
    return None if row is None else Session(*row)


def state(connection: sa.Connection) -> tuple[int, int]:
    """Return what changes whenever a session begins or ends: numbers are never given again."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(sessions.c.number), 0))
    n_sessions, last = connection.execute(query).one()
    return n_sessions, last


def saw(connection: sa.Connection, seen: dict[str, int]) -> None:
    """Write when sessions were last used, by their hashes."""
    for hashed, at in seen.items():
        connection.execute(sessions.update().where(sessions.c.hash == hashed).values(seen_at=at))


def end(connection: sa.Connection, number: int) -> bool:
    """Remove one session; return whether it was there."""
    return connection.execute(sessions.delete().where(sessions.c.number == number)).rowcount == 1


def end_all(connection: sa.Connection, name: str) -> int:
    """Remove the sessions of a person; return how many."""
    return connection.execute(sessions.delete().where(sessions.c.name == name)).rowcount


def keep_newest(connection: sa.Connection, name: str, n_kept: int) -> None:
    """Remove the sessions of a person but for the newest ones."""
    theirs = sa.select(sessions.c.number).where(sessions.c.name == name)
    old = theirs.order_by(sessions.c.number.desc()).offset(n_kept)
    connection.execute(sessions.delete().where(sessions.c.number.in_(old)))


def drop_old(connection: sa.Connection, made_before: int, seen_before: int) -> None:
    """Remove the sessions that have ended by time."""
    is_old = (sessions.c.made_at < made_before) | (sessions.c.seen_at < seen_before)
    connection.execute(sessions.delete().where(is_old))

"""Accounts: the people of a desk, each with a role and the hash of a password."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", Text, primary_key=True),
    sa.Column("role", Text, nullable=False),
    sa.Column("password", Text),  # argon2's hash with its parameters; null before the first
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger),  # of the last login
    sa.Column("disabled_at", sa.BigInteger),
)


class Account(NamedTuple):
    """An account as it is listed."""

    name: str
    role: str
    has_password: bool
    made_at: int
    seen_at: int | None = None
    disabled_at: int | None = None


def add(connection: sa.Connection, name: str, role: str, at: int) -> None:
    """Store a new account, which has no password yet."""
    connection.execute(accounts.insert().values(name=name, role=role, made_at=at))


def all_accounts(connection: sa.Connection) -> list[Account]:
    """Return all accounts by name, disabled ones as well."""
    columns = (
        accounts.c.name, accounts.c.role, accounts.c.password.is_not(None), accounts.c.made_at,
        accounts.c.seen_at, accounts.c.disabled_at,
    )  # fmt: skip
    query = sa.select(*columns).order_by(accounts.c.name)
    return [Account(*row) for row in connection.execute(query)]


def password_of(connection: sa.Connection, name: str) -> str | None:
    """Return the hash of a password; None if there is no such account in use, or none yet."""
    is_theirs = (accounts.c.name == name) & accounts.c.disabled_at.is_(None)
    return connection.execute(sa.select(accounts.c.password).where(is_theirs)).scalar()


def role_of(connection: sa.Connection, name: str) -> str | None:
    """Return the role of an account that is in use; None if there is no such one."""
    is_theirs = (accounts.c.name == name) & accounts.c.disabled_at.is_(None)
    return connection.execute(sa.select(accounts.c.role).where(is_theirs)).scalar()


def change(connection: sa.Connection, name: str, **values: object) -> bool:
    """Change columns of an account that is in use; return whether there is such a one."""
    is_theirs = (accounts.c.name == name) & accounts.c.disabled_at.is_(None)
    return connection.execute(accounts.update().where(is_theirs).values(values)).rowcount == 1


def enable(connection: sa.Connection, name: str) -> bool:
    """Let a disabled account be in use again; return whether there is such a one."""
    is_theirs = (accounts.c.name == name) & accounts.c.disabled_at.is_not(None)
    changed = connection.execute(accounts.update().where(is_theirs).values(disabled_at=None))
    return changed.rowcount == 1


def n_active(connection: sa.Connection, role: str | None = None) -> int:
    """Return how many accounts are in use, of one role or of all."""
    query = sa.select(sa.func.count()).where(accounts.c.disabled_at.is_(None))
    if role is not None:
        query = query.where(accounts.c.role == role)
    return connection.execute(query).scalar_one()

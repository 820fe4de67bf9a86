"""Accounts: made with a one-time link instead of a password, changed, disabled.

Nobody ever knows the password of another: an account begins with a link, and whoever has it sets
the password. Every change of what an account may do ends all its sessions.
"""

import re
import secrets

import sqlalchemy as sa

from toprank.data import checks
from toprank.live.people.desk_roles import ROLES
from toprank.live.store import account_table, audit_chain, link_table, session_table
from toprank.live.store.account_table import Account
from toprank.live.store.secret_hash import hash_of

LINK_HOURS = 24
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 200

_NAME = re.compile("[a-z0-9](?:[a-z0-9.-]{0,38}[a-z0-9])?")
_HOUR = 3_600_000_000


class WeakPasswordError(ValueError):
    """A password that cannot be taken; the message says why."""


class EndedLinkError(ValueError):
    """A link that was used, replaced or is too old; or no link at all."""

    def __init__(self) -> None:
        super().__init__("This link was used already, or has ended; ask for a new one.")


def add(connection: sa.Connection, name: str, role: str, at: int, actor: str) -> str:
    """Make an account; return the secret of the link by which its person sets a password."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a person must have 1 to 40 small letters, digits, dots and hyphens, and "
            f"begin and end with a letter or digit; got {name!r}."
        )
    checks.one_of(role, "the role of a person", tuple(ROLES))
    if find(connection, name) is not None:
        raise ValueError(
            f"there is an account {name!r} already, perhaps a disabled one, which can be enabled "
            "again; names are unique."
        )
    account_table.add(connection, name, role, at)
    audit_chain.add(connection, at, actor, "account made", f"person:{name}", {"role": role})
    return new_link(connection, name, at, actor)


def find(connection: sa.Connection, name: str) -> Account | None:
    """Return an account, None if there is none of this name."""
    found = (each for each in account_table.all_accounts(connection) if each.name == name)
    return next(found, None)


def new_link(connection: sa.Connection, name: str, at: int, actor: str) -> str:
    """Return the secret of a new link for an account in use; the one before ends."""
    _in_use(connection, name)
    secret = secrets.token_urlsafe(32)
    link_table.replace(connection, name, hash_of(secret), at + LINK_HOURS * _HOUR)
    audit_chain.add(connection, at, actor, "link made", f"person:{name}")
    return secret


def change_role(connection: sa.Connection, name: str, role: str, at: int, actor: str) -> None:
    """Give an account another role, and end its sessions."""
    checks.one_of(role, "the role of a person", tuple(ROLES))
    account = _in_use(connection, name)
    if account.role == role:
        return
    _check_admin_left(connection, account)
    account_table.change(connection, name, role=role)
    session_table.end_all(connection, name)
    details = {"from": account.role, "to": role}
    audit_chain.add(connection, at, actor, "role changed", f"person:{name}", details)


def disable(connection: sa.Connection, name: str, at: int, actor: str) -> None:
    """Disable an account, with its sessions, its password and its link; `enable` undoes it."""
    _check_admin_left(connection, _in_use(connection, name))
    account_table.change(connection, name, disabled_at=at, password=None)
    session_table.end_all(connection, name)
    link_table.drop(connection, name)
    audit_chain.add(connection, at, actor, "account disabled", f"person:{name}")


def enable(connection: sa.Connection, name: str, at: int, actor: str) -> str:
    """Let a disabled account be used again, in its role; return the secret of a link.

    Its password of before is gone, so its person sets a new one.
    """
    if not account_table.enable(connection, name):
        disabled = [
            each.name
            for each in account_table.all_accounts(connection)
            if each.disabled_at is not None
        ]
        hint = checks.nearest_name(name, disabled)
        raise ValueError(f"there is no disabled account {name!r}{hint or '.'}")
    audit_chain.add(connection, at, actor, "account enabled", f"person:{name}")
    return new_link(connection, name, at, actor)


def set_by_link(connection: sa.Connection, secret: str, password_hash: str, at: int) -> str:
    """Set the password of a link's person, use the link up, and return the name."""
    name = link_table.use(connection, hash_of(secret), at)
    if name is None:
        raise EndedLinkError
    set_password(connection, name, password_hash, at)
    return name


def set_password(connection: sa.Connection, name: str, password_hash: str, at: int) -> None:
    """Store the hash of a new password, and end all sessions of its person."""
    account_table.change(connection, name, password=password_hash)
    link_table.drop(connection, name)
    session_table.end_all(connection, name)
    actor = f"person:{name}"
    audit_chain.add(connection, at, actor, "password set", actor)


def check_password(name: str, password: str) -> None:
    """Raise WeakPasswordError unless this can be the password of a person.

    Length is what makes a password hard to guess; rules on its characters make it hard to keep in
    mind, and are left out.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise WeakPasswordError(
            f"The password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; "
            f"this one has {len(password)}."
        )
    if password.lower() == name:
        raise WeakPasswordError("The password must not be your name.")


def _in_use(connection: sa.Connection, name: str) -> Account:
    account = find(connection, name)
    if account is None or account.disabled_at is not None:
        names = [
            each.name
            for each in account_table.all_accounts(connection)
            if each.disabled_at is None
        ]
        hint = checks.nearest_name(name, names)
        raise ValueError(f"there is no account {name!r} in use{hint or '.'}")
    return account


def _check_admin_left(connection: sa.Connection, account: Account) -> None:
    if account.role == "admin" and account_table.n_active(connection, "admin") == 1:
        raise ValueError(
            f"{account.name} is the only admin; make another one first, or nobody could change "
            "accounts on the pages."
        )

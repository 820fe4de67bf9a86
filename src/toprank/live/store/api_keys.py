"""API keys: who may send payments and labels, and read. Only the hash of a key is stored."""

import re
import secrets
import time
from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from toprank.data import checks
from toprank.live.store import audit_chain
from toprank.live.store.desk_database import Database, Text, metadata
from toprank.live.store.secret_hash import hash_of

SCOPES = ("payments", "labels", "read", "metrics")

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("hash", Text, primary_key=True),
    sa.Column("name", Text, nullable=False, unique=True),
    sa.Column("scopes", Text, nullable=False),  # separated by spaces
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger),  # to the hour
    sa.Column("revoked_at", sa.BigInteger),
)

_NAME = re.compile("[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_PREFIX_LENGTH = 12
_HOUR = 3_600_000_000


class ApiKey(NamedTuple):
    """A key as it is stored, without what would let anyone use it."""

    name: str
    scopes: frozenset[str]
    made_at: int
    used_at: int | None = None
    revoked_at: int | None = None


def add(connection: sa.Connection, name: str, scopes: Collection[str], at: int, actor: str) -> str:
    """Make a key and return it: it is never shown again."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a key must have 1 to 40 small letters, digits and hyphens, none of them "
            f"at its ends; got {name!r}."
        )
    for scope in scopes:
        checks.one_of(scope, "the scope of a key", SCOPES)
    if not scopes:
        raise ValueError(f"a key must have at least one of the scopes {', '.join(SCOPES)}.")
    if (
        connection.execute(sa.select(api_keys.c.name).where(api_keys.c.name == name)).first()
        is not None
    ):
        raise ValueError(
            f"there is a key {name!r} already, perhaps a revoked one; names are unique."
        )
    key = f"tr_{name[:_PREFIX_LENGTH]}_{secrets.token_urlsafe(32)}"
    written = " ".join(scope for scope in SCOPES if scope in scopes)
    connection.execute(
        api_keys.insert().values(hash=hash_of(key), name=name, scopes=written, made_at=at)
    )
    audit_chain.add(connection, at, actor, "key made", f"key:{name}", {"scopes": written})
    return key


def revoke(connection: sa.Connection, name: str, at: int, actor: str) -> None:
    """Revoke a key; ValueError if there is none of this name that is in use."""
    revoked = connection.execute(
        api_keys.update()
        .where(api_keys.c.name == name, api_keys.c.revoked_at.is_(None))
        .values(revoked_at=at)
    )
    if revoked.rowcount != 1:
        names = [each.name for each in all_keys(connection) if each.revoked_at is None]
        hint = checks.nearest_name(name, names)
        raise ValueError(f"there is no key {name!r} in use{hint or '.'}")
    audit_chain.add(connection, at, actor, "key revoked", f"key:{name}")


def all_keys(connection: sa.Connection) -> list[ApiKey]:
    """Return all keys, revoked ones as well, in the order in which they were made."""
    return [key for _, key in _rows(connection)]


class KeyRing:
    """The keys in use, in memory; `reload` reads them again.

    The hour in which a key was last used is written by `write_uses`, which is called now and then:
    a request writes nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[str, ApiKey] = {}
        self._used: dict[str, int] = {}
        self.reload()

    def reload(self) -> None:
        """Read the keys."""
        with self._database.reading() as connection:
            self._keys = {
                hashed: key for hashed, key in _rows(connection) if key.revoked_at is None
            }

    def find(self, key: str) -> ApiKey | None:
        """Return the key that was sent; None if there is no such key in use."""
        hashed = hash_of(key)
        found = self._keys.get(hashed)
        if found is not None:
            self._used[hashed] = time.time_ns() // 1_000
        return found

    def write_uses(self) -> None:
        """Write when keys were last used, if that was in another hour than is stored."""
        used, self._used = self._used, {}
        # requests may still be adding to it
        hours = {hashed: at - at % _HOUR for hashed, at in list(used.items())}
        news = {
            hashed: hour
            for hashed, hour in hours.items()
            if (known := self._keys.get(hashed)) is not None and known.used_at != hour
        }
        if not news:
            return
        with self._database.writing() as connection:
            for hashed, hour in news.items():
                connection.execute(
                    api_keys.update().where(api_keys.c.hash == hashed).values(used_at=hour)
                )
        self.reload()


def _rows(connection: sa.Connection) -> list[tuple[str, ApiKey]]:
    query = sa.select(api_keys).order_by(api_keys.c.made_at, api_keys.c.name)
    return [
        (row.hash, ApiKey(row.name, frozenset(row.scopes.split()), *row[3:]))
        for row in connection.execute(query)
    ]

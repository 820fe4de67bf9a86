"""Where the data of a desk are kept: in its folder, or in PostgreSQL at an address.

The settings of the desk say which. `TOPRANK_DATABASE` takes the place of an address there, so that
a password need not be written down.
"""

import os
from pathlib import Path

import sqlalchemy as sa

from toprank.live.desk_settings import NAME, DeskSettings

VARIABLE = "TOPRANK_DATABASE"
"""The variable of the environment with the address of a desk's database."""

_SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")


def address_of(folder: Path) -> sa.URL | None:
    """Return the address of a desk's database, None if its data are in its folder."""
    written = DeskSettings.read(folder).database if (folder / NAME).is_file() else ""
    if not written:
        return None
    given = os.environ.get(VARIABLE, "")
    return parsed(given, VARIABLE) if given else parsed(written, f"database in {folder / NAME}")


def parsed(text: str, name: str) -> sa.URL:
    """Return an address of PostgreSQL; ValueError, without its password, if it is none.

    >>> shown(parsed("postgresql://anna:secret@db.example/desk", "--database"))
    'postgresql://anna@db.example/desk'
    """
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError(
            f"{name} must be an address such as postgresql://user@host:5432/name; this one cannot "
            "be read."
        ) from None
    if url.drivername not in _SCHEMES or not url.database:
        raise ValueError(
            f"{name} must be an address such as postgresql://user@host:5432/name; "
            f"got {shown(url)}."
        )
    return url.set(drivername="postgresql+psycopg")


def shown(url: sa.URL) -> str:
    """Return an address without its password, as it is printed and stored."""
    scheme = url.drivername.partition("+")[0]
    hidden = {name: value for name, value in url.query.items() if name != "password"}
    # `set` leaves what is None as it is
    plain = sa.URL.create(scheme, url.username, None, url.host, url.port, url.database, hidden)
    return plain.render_as_string(hide_password=False)

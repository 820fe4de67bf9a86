"""One-time links to set a password with. The link itself is not stored, only its hash."""

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

links = sa.Table(
    "links",
    metadata,
    sa.Column("name", Text, primary_key=True),  # one per person: a new one replaces it
    sa.Column("hash", Text, nullable=False, unique=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)


def replace(connection: sa.Connection, name: str, hashed: str, until: int) -> None:
    """Store a link in place of the one that the person had."""
    drop(connection, name)
    connection.execute(links.insert().values(name=name, hash=hashed, until=until))


def drop(connection: sa.Connection, name: str) -> None:
    """Remove the link of a person."""
    connection.execute(links.delete().where(links.c.name == name))


def name_of(connection: sa.Connection, hashed: str, at: int) -> str | None:
    """Return whose link this is; None if there is no such link, or it has ended."""
    is_it = (links.c.hash == hashed) & (links.c.until > at)
    return connection.execute(sa.select(links.c.name).where(is_it)).scalar()


def use(connection: sa.Connection, hashed: str, at: int) -> str | None:
    """Use up a link and return whose it was; None if it was not there to be used."""
    is_it = (links.c.hash == hashed) & (links.c.until > at)
    return connection.execute(links.delete().where(is_it).returning(links.c.name)).scalar()

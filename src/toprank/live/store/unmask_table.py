"""Cards that somebody sees whole, for a while and for a reason."""

import sqlalchemy as sa

from toprank.live.store.desk_database import Text, metadata

unmasks = sa.Table(
    "unmasks",
    metadata,
    sa.Column("who", Text, primary_key=True),
    sa.Column("card", Text, primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)


def put(connection: sa.Connection, who: str, card: str, until: int) -> None:
    """Store until when somebody sees a card."""
    is_it = (unmasks.c.who == who) & (unmasks.c.card == card)
    connection.execute(unmasks.delete().where(is_it))
    connection.execute(unmasks.insert().values(who=who, card=card, until=until))


def cards_of(connection: sa.Connection, who: str, at: int) -> set[str]:
    """Return the cards that somebody sees at a moment."""
    is_seen = (unmasks.c.who == who) & (unmasks.c.until > at)
    return set(connection.execute(sa.select(unmasks.c.card).where(is_seen)).scalars())


def drop_ended(connection: sa.Connection, at: int) -> None:
    """Remove what has ended before a moment: a card is kept no longer than needed."""
    connection.execute(unmasks.delete().where(unmasks.c.until <= at))

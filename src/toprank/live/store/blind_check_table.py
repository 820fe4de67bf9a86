"""Which first verdicts were given without reasons, and which of the others could have been."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.check_table import checks
from toprank.live.store.desk_database import metadata

blind_checks = sa.Table(
    "blind_checks",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),  # of the check
    sa.Column("alert", sa.BigInteger, nullable=False, index=True),
    sa.Column("is_blind", sa.Boolean, nullable=False),
)


class SaidOfCards(NamedTuple):
    """What was said of some cards, and the frauds that the model expected among them."""

    n_fraud: int = 0
    n_genuine: int = 0
    n_unsure: int = 0
    expected: float = 0.0

    @property
    def n_checks(self) -> int:
        """All of them."""
        return self.n_fraud + self.n_genuine + self.n_unsure


def add(connection: sa.Connection, check: int, alert: int, *, is_blind: bool) -> None:
    """Store how the first verdict on an alert was given."""
    values = {"number": check, "alert": alert, "is_blind": is_blind}
    connection.execute(blind_checks.insert().values(values))


def said(connection: sa.Connection, first: int, last: int) -> dict[bool, SaidOfCards]:
    """Return what was said on days of the desk, by whether it was without reasons.

    Cards that were drawn at random are left out: nothing was suspected of them.
    """
    c, b = checks.c, blind_checks.c
    query = (
        sa.select(b.is_blind, c.verdict, sa.func.count(), sa.func.sum(c.probability))
        .join(checks, c.number == b.number)
        .where(c.day.between(first, last), c.state == "finished", sa.not_(c.is_random))
        .group_by(b.is_blind, c.verdict)
    )
    found = {True: SaidOfCards(), False: SaidOfCards()}
    for is_blind, verdict, n, expected in connection.execute(query):
        before = found[bool(is_blind)]
        found[bool(is_blind)] = before._replace(
            **{f"n_{verdict}": n, "expected": before.expected + expected}
        )
    return found

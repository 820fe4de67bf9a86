"""Verdicts of the last days, and whether the labels that hold by now say the opposite."""

import json
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.check_table import checks
from toprank.live.store.digest_tables import known_frauds


class VerdictOutcome(NamedTuple):
    """A final verdict; contradicted if the labels of its payments say the opposite by now."""

    who: str
    probability: float
    is_fraud: bool
    is_contradicted: bool

    @property
    def is_unlikely(self) -> bool:
        """Whether the model would have said the opposite."""
        return self.is_fraud != (self.probability >= 0.5)


def verdicts_since(connection: sa.Connection, first: int) -> list[VerdictOutcome]:
    """Return the verdicts fraud and genuine from a day of the desk on, without corrections."""
    c = checks.c
    query = sa.select(c.who, c.probability, c.verdict, c.positions).where(
        c.day >= first, c.state == "finished", c.corrects.is_(None), c.verdict != "unsure"
    )
    rows = [(*row[:3], json.loads(row[3])) for row in connection.execute(query)]
    places = [each for *_, positions in rows for each in positions]
    if not places:
        return []
    frauds = set(
        connection.execute(
            sa.select(known_frauds.c.position).where(known_frauds.c.position >= min(places))
        ).scalars()
    )
    return [
        VerdictOutcome(
            who, probability, verdict == "fraud",
            (verdict == "fraud") != any(each in frauds for each in positions),
        )
        for who, probability, verdict, positions in rows
    ]  # fmt: skip

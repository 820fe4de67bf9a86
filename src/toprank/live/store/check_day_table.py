"""Per day of the desk, how many frauds its checks were expected to find, and found.

It is kept when the checks themselves are purged. Random checks are counted apart: they were not
promised to find any. The chances of the checked cards are kept as counts by log-odds, in tenths:
what a day found says how far they are off.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store.check_table import checks
from toprank.live.store.desk_database import Text, metadata

check_days = sa.Table(
    "check_days",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("n_checks", sa.Integer, nullable=False),
    sa.Column("n_found", sa.Integer, nullable=False),
    sa.Column("expected", sa.Double, nullable=False),
    sa.Column("variance", sa.Double, nullable=False),
    sa.Column("n_random", sa.Integer, nullable=False),
    sa.Column("n_random_found", sa.Integer, nullable=False),
    sa.Column("chances", Text, nullable=False),  # [[tenths of log-odds, cards], ...]
)

_LARGEST = 100  # tenths of log-odds


class CheckDay(NamedTuple):
    """The checks of a day; `variance` is that of the number of frauds among them."""

    day: int
    n_checks: int = 0
    n_found: int = 0
    expected: float = 0.0
    variance: float = 0.0
    n_random: int = 0
    n_random_found: int = 0
    chances: str = "[]"

    @property
    def probabilities(self) -> list[float]:
        """The chances of the checked cards, each to a tenth of log-odds."""
        return [
            1 / (1 + math.exp(-tenths / 10))
            for tenths, count in json.loads(self.chances)
            for _ in range(count)
        ]


def counted(connection: sa.Connection, day: int) -> CheckDay:
    """Return what the checks of a day amount to; of each, the newest correction counts."""
    c = checks.c
    newest = (
        sa.select(sa.func.max(c.number).label("number"))
        .where(c.day == day, c.state.in_(("pending", "finished")))
        .group_by(sa.func.coalesce(c.corrects, c.number))
        .subquery()
    )
    rows = connection.execute(
        sa.select(c.verdict, c.probability, c.is_random).join(newest, newest.c.number == c.number)
    ).all()
    ranked = [row for row in rows if not row.is_random]
    drawn = [row for row in rows if row.is_random]
    return CheckDay(
        day,
        len(ranked),
        sum(row.verdict == "fraud" for row in ranked),
        sum(row.probability for row in ranked),
        sum(row.probability * (1 - row.probability) for row in ranked),
        len(drawn),
        sum(row.verdict == "fraud" for row in drawn),
        _counted_chances(row.probability for row in ranked),
    )


def renew(connection: sa.Connection, day: int) -> None:
    """Count the checks of a day again."""
    connection.execute(check_days.delete().where(check_days.c.day == day))
    connection.execute(check_days.insert().values(counted(connection, day)._asdict()))


def between(connection: sa.Connection, first: int, last: int) -> list[CheckDay]:
    """Return the days from one to another that had checks, in order."""
    query = sa.select(check_days).where(check_days.c.day.between(first, last))
    return [CheckDay(*row) for row in connection.execute(query.order_by(check_days.c.day))]


def _counted_chances(probabilities: Iterable[float]) -> str:
    """Return chances as counts, by tenths of their log-odds."""
    counts = Counter(_tenths(each) for each in probabilities)
    return json.dumps(sorted(counts.items()), separators=(",", ":"))


def _tenths(probability: float) -> int:
    if not 0 < probability < 1:
        return _LARGEST if probability >= 1 else -_LARGEST
    tenths = round(10 * math.log(probability / (1 - probability)))
    return max(-_LARGEST, min(tenths, _LARGEST))

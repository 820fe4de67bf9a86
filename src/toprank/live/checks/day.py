"""What one person checked on a day."""

from collections import Counter
from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import check_table
from toprank.live.store.alert_table import alerts
from toprank.live.store.check_table import Check


class DayCheck(NamedTuple):
    """A check with the card that it was about; the card is empty once it is purged."""

    check: Check
    card: str


class MyDay(NamedTuple):
    """The checks of a person on a day of the desk, the newest first, and their counts."""

    n_checks: int
    n_fraud: int
    n_genuine: int
    n_unsure: int
    checks: list[DayCheck]


def my_day(connection: sa.Connection, who: str, day: int) -> MyDay:
    """Return what a person checked on a day of the desk, counted from 1970; without undone ones.

    Corrections are in the list of the day of the check that they correct, and not counted.
    """
    found = check_table.of_day(connection, day, who)
    numbers = {each.alert for each in found}
    query = sa.select(alerts.c.number, alerts.c.card).where(alerts.c.number.in_(numbers))
    cards = {row.number: row.card for row in connection.execute(query)}
    counts = Counter(each.verdict for each in found if each.corrects is None)
    return MyDay(
        counts.total(), counts["fraud"], counts["genuine"], counts["unsure"],
        [DayCheck(each, cards.get(each.alert, "")) for each in found],
    )  # fmt: skip

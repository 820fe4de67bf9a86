"""The offer to undo the last verdict, on the pages that are shown after it."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.desk_clock import Moment
from toprank.live.pages.page_templates import masked
from toprank.live.store import alert_table, check_table


class UndoBanner(NamedTuple):
    """Which check can be undone, for how many seconds more."""

    check: int
    text: str
    seconds: int


def undo_banner(connection: sa.Connection, who: str, now: Moment) -> UndoBanner | None:
    """Return the offer for the last verdict of a person, None if there is nothing to undo."""
    found = check_table.last_pending(connection, who, now.wall)
    if found is None:
        return None
    alert = alert_table.by_number(connection, found.alert)
    card = "" if alert is None else f"{masked(alert.card)}: "
    n = len(found.positions)
    payments = "1 payment" if n == 1 else f"{n} payments"
    seconds = (found.due_at - now.wall) // 1_000_000
    return UndoBanner(found.number, f"{card}{found.verdict}, {payments}.", seconds)

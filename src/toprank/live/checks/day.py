"""What one person did on a day, and what was decided of payments, in lists for pages."""

from typing import NamedTuple

import sqlalchemy as sa

from toprank.live.store import check_table
from toprank.live.store.check_table import Check


class MyDay(NamedTuple):
    """The checks of a person on a day of the desk, the newest first, and their counts."""

    n_checks: int
    n_fraud: int
    n_genuine: int
    n_unsure: int
    checks: list["DayCheck"]


class DayCheck(NamedTuple):
    """A check with the card that it was about."""

    check: Check
    card: str


class DecisionRow(NamedTuple):
    """A payment and what was decided of it; `rules` blocked it, or put its card on the list."""

    position: int
    id: str
    card: str
    terminal: str
    paid_at: int
    received_at: int
    amount: float | None
    decision: str
    rules: list[str]
    probability: float | None
    label: str | None


class Found(NamedTuple):
    """What a search found: an alert of a card, or a payment."""

    card: str
    alert: int | None
    state: str | None
    payment: str | None  # its id, if it was found by that
    position: int | None
    at: int


def my_day(connection: sa.Connection, who: str, day: int) -> MyDay:
    """Return what a person checked on a day of the desk, counted from 1970."""
    raise NotImplementedError


def decisions(
    connection: sa.Connection,
    amount: str | None = None,
    *,
    decision: str | None = None,
    rule: str | None = None,
    since: int | None = None,
    until: int | None = None,
    after: int | None = None,
    limit: int = 50,
) -> list[DecisionRow]:
    """Return what was decided of payments, the newest first; `after` is the last position seen.

    `amount` is the field of a payment's amount. Only payments with a decision, of a rule (that
    blocked, or raised an alert), received in a span of time, if these are given.
    """
    raise NotImplementedError


def search(connection: sa.Connection, text: str, limit: int = 50) -> list[Found]:
    """Return what a text is the name of: a card or its last characters, a payment, an alert."""
    raise NotImplementedError

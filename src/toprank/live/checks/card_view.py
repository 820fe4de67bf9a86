"""What an investigator sees of a card: its payments, what is unusual, why it is listed, links."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.engine.live_desk import LiveDesk
from toprank.live.store.alert_table import CardAlert
from toprank.live.store.check_table import Check
from toprank.live.store.note_table import AlertNote
from toprank.live.store.outbox_table import Message


class TimelineRow(NamedTuple):
    """A payment of the card.

    `fields` are the others than time, amount, card, terminal and id. `label` is "fraud",
    "genuine" or None; `unusual` has the names of fields that are unusual for this card, "hour" of
    the time, with a sentence each in `why`.
    """

    position: int
    id: str
    paid_at: int
    amount: float | None
    terminal: str
    fields: dict[str, Any]
    decision: str
    label: str | None
    probability: float | None
    is_suspicious: bool  # on the alert, and ticked at first
    unusual: dict[str, str]


class CardReason(NamedTuple):
    """A sentence, the feature it is about (or empty), and the payments that it filters."""

    text: str
    feature: str
    positions: list[int]


class MatchedRule(NamedTuple):
    """A rule that put the card on the list, and how many of its last checked alerts were frauds."""

    name: str
    version: int
    n_checked: int
    n_frauds: int


class LinkedCard(NamedTuple):
    """Another card with frauds at a terminal of this one; `alert` is its newest, if any."""

    card: str
    terminal: str
    n_frauds: int
    last_at: int
    alert: int | None


class CardView(NamedTuple):
    """All that the page of a card shows."""

    alert: CardAlert
    payments: list[TimelineRow]  # the suspicious ones, the oldest first
    timeline: list[TimelineRow]  # 30 days, the newest first
    field_names: list[str]
    reasons: list[CardReason]
    less_suspicious: list[str]
    rules: list[MatchedRule]
    linked: list[LinkedCard]
    chance: float
    notes: list[AlertNote]
    history: list[Check]  # checks of this card, the newest first
    messages: list[Message]  # requests to block it, with their outcome
    newest: int  # position of the card's newest payment, to notice later ones


def card_view(connection: sa.Connection, live: LiveDesk, alert: int, now: int) -> CardView:
    """Return what is known of the card of an alert; `now` by the desk's clock.

    NoAlertError if there is none of this number.
    """
    raise NotImplementedError

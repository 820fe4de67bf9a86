"""What the buttons of a card's page do: verdicts, undo, corrections, and actions on the card."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks import actions, check_verdicts, claims
from toprank.live.checks.check_errors import TakenError
from toprank.live.pages.card_page import GivenVerdict, shown_card
from toprank.live.pages.check_requests import (
    change,
    decider,
    holder,
    moment_of,
    number_in,
    sentence,
)
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.store import alert_table

_DAY = 86_400_000_000


async def decide(page: PageRequest) -> Response:
    """Store a verdict on the ticked payments, and open the next card."""
    positions = [int(each) for each in page.form.get("position", []) if _is_number(each)]
    given = (page.field("verdict"), positions, page.field("reason_code"), page.field("note"))
    return await _then_next(page, check_verdicts.decide, *given)


async def escalate(page: PageRequest) -> Response:
    """Hand the card to the seniors with the note, and open the next card."""

    def work(connection, number, who, now, settings):
        actions.escalate(connection, number, who, page.field("note"), now)

    return await _then_next(page, work)


async def snooze(page: PageRequest) -> Response:
    """Keep the card out of the queue for some days, and open the next card."""
    days = page.field("days", "7")

    def work(connection, number, who, now, settings):
        until = now.desk + (int(days) if _is_number(days) else 7) * _DAY
        actions.snooze(connection, number, who, page.field("note"), until, now)

    return await _then_next(page, work)

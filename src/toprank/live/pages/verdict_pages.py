"""What the buttons of a card's page do: verdicts, undo, corrections, and actions on the card."""

from collections.abc import Callable

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks import actions, check_verdicts, claims
from toprank.live.checks.check_errors import CheckError, NoAlertError, TakenError
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.pages.card_page import GivenVerdict, shown_card
from toprank.live.pages.check_requests import (
    change,
    decider,
    holder,
    moment_of,
    number_in,
    refusals,
)
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.pages.shown_values import capital
from toprank.live.store import alert_table
from toprank.wording import plural

_DAY = 86_400_000_000

Work = Callable[[sa.Connection, Moment], object]


async def decide(page: PageRequest) -> Response:
    """Store a verdict on the ticked payments."""
    alert, who, settings = number_in(page), page.person.actor, page.desk.settings
    verdict, code, note = (page.field(name) for name in ("verdict", "reason_code", "note"))
    return await _then_next(
        page,
        lambda connection, now: check_verdicts.decide(
            connection, alert, who, verdict, _ticked(page), code, note, now, settings
        ),
    )


async def escalate(page: PageRequest) -> Response:
    """Hand the card to the seniors, with the note."""
    alert, who, note = number_in(page), page.person.actor, page.field("note")
    return await _then_next(
        page,
        lambda connection, now: actions.escalate(connection, alert, who, note, now),
        "The card before is escalated: a senior decides it.",
    )


async def snooze(page: PageRequest) -> Response:
    """Keep the card out of the queue for some days, with the note as the reason."""
    alert, who, note = number_in(page), page.person.actor, page.field("note")
    days = page.field("days", "7")
    if not _is_number(days):
        raise PageError(422, f"Days must be a number; got {days[:20]!r}.")
    return await _then_next(
        page,
        lambda connection, now: actions.snooze(
            connection, alert, who, note, now.desk + int(days) * _DAY, now
        ),
        f"The card before is snoozed for {int(days)} {plural('day', int(days))}.",
    )


async def block(page: PageRequest) -> Response:
    """Ask for the card to be blocked; the page shows what came of it."""
    alert, now, settings = number_in(page), moment_of(page.desk), page.desk.settings
    reason = page.field("note") or page.field("reason_code") or "suspected fraud"
    try:
        await _alone(page, actions.block_card, alert, page.person.actor, reason, now, settings)
    except CheckError as error:
        return await shown_card(page, alert, _given(page, capital(str(error))))
    return page.redirect(f"/alerts/{alert}", flash="A request to block the card is being sent.")


async def note(page: PageRequest) -> Response:
    """Add a note to an alert; nothing else changes, and ticks stay as they are."""
    alert, who, now = number_in(page), page.person.actor, moment_of(page.desk)
    try:
        await _alone(page, actions.add_note, alert, who, page.field("note"), now)
    except CheckError as error:
        return await shown_card(page, alert, _given(page, capital(str(error))))
    return page.redirect(f"/alerts/{alert}", flash="The note is added.")


async def undo(page: PageRequest) -> Response:
    """Take back a verdict; its card is open again."""
    now, settings = moment_of(page.desk), page.desk.settings
    check = await change(
        page, check_verdicts.undo, number_in(page), page.person.actor, now, settings
    )
    return page.redirect(f"/alerts/{check.alert}", flash="The verdict is undone.")


async def correct(page: PageRequest) -> Response:
    """Correct a verdict; that of somebody else waits for a second person."""
    now, who, settings = moment_of(page.desk), page.person.actor, page.desk.settings
    verdict, code, text = (page.field(name) for name in ("verdict", "reason_code", "note"))
    check = await change(
        page, check_verdicts.correct, number_in(page), who, verdict, code, text, now, settings
    )
    flash = (
        "The correction waits for a second person."
        if check.state == "proposed"
        else "The verdict is corrected."
    )
    return page.redirect(f"/alerts/{check.alert}", flash=flash)


async def approve(page: PageRequest) -> Response:
    """Let a correction count that somebody else proposed."""
    now, who, settings = moment_of(page.desk), page.person.actor, page.desk.settings
    check = await change(page, check_verdicts.approve, number_in(page), who, now, settings)
    return page.redirect(f"/alerts/{check.alert}", flash="The correction is approved.")


async def reject(page: PageRequest) -> Response:
    """Drop a proposed correction."""
    now, who = moment_of(page.desk), page.person.actor
    check = await change(page, check_verdicts.reject, number_in(page), who, now)
    return page.redirect(f"/alerts/{check.alert}", flash="The correction is rejected.")


async def _alone(page: PageRequest, work: Callable[..., object], *arguments: object) -> None:
    """Do something with a card that stays open; a CheckError is for the page of the card."""

    def whole() -> None:
        with page.desk.database.writing() as connection:
            work(connection, *arguments)

    with refusals(of=NoAlertError):
        await page.desk.run(whole)


async def _then_next(page: PageRequest, work: Work, says: str | None = None) -> Response:
    """Do something that ends the check of a card, and open the next card, both or neither."""
    now, who, settings = moment_of(page.desk), page.person.actor, page.desk.settings

    def whole() -> int | None:
        with page.desk.database.writing() as connection:
            work(connection, now)
            return _next_card(connection, who, now, settings)

    try:
        following = await page.desk.run(whole)
    except (TakenError, NoAlertError) as error:
        return page.redirect("/queue", flash=capital(str(error)))
    except ValueError as error:
        return await shown_card(page, number_in(page), _given(page, capital(str(error))))
    if following is None:
        return page.redirect("/queue", flash=says or "No card is left to check.")
    return page.redirect(f"/alerts/{following}", flash=says)


def _next_card(
    connection: sa.Connection, who: str, now: Moment, settings: DeskSettings
) -> int | None:
    """Return the card that a person holds already, or else the next one, now theirs."""
    held = alert_table.held_by(connection, who)
    if held:
        return claims.renew(connection, held[0], who, now, settings).alert
    taken = claims.claim_next(connection, who, now, settings)
    return None if taken is None else taken.alert


def _given(page: PageRequest, error: str) -> GivenVerdict:
    """Return what was in the form of a verdict, to be shown again with what is wrong."""
    return GivenVerdict(page.field("reason_code"), page.field("note"), _ticked(page), error)


def _ticked(page: PageRequest) -> list[int]:
    return [int(each) for each in page.form.get("position", []) if _is_number(each)]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 18


VERDICT_PAGES = [
    PageRoute("POST", "/alerts/{number:int}/decide", "check.decide", decide, holder),
    PageRoute("POST", "/alerts/{number:int}/escalate", "check.escalate", escalate),
    PageRoute("POST", "/alerts/{number:int}/snooze", "card.snooze", snooze),
    PageRoute("POST", "/alerts/{number:int}/block", "card.block", block),
    PageRoute("POST", "/alerts/{number:int}/note", "check.decide", note, holder),
    PageRoute("POST", "/checks/{number:int}/undo", "check.undo", undo, decider),
    PageRoute("POST", "/checks/{number:int}/correct", "check.correct", correct, decider),
    PageRoute("POST", "/checks/{number:int}/approve", "check.take_over", approve),
    PageRoute("POST", "/checks/{number:int}/reject", "check.take_over", reject),
]

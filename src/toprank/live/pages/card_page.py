"""The page of a card: facts first, then reasons, then the verdict; the chance last and small."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks import blind_checks, card_view, check_verdicts, claims
from toprank.live.checks.card_view import CardReason, CardView, TimelineRow
from toprank.live.checks.check_errors import TakenError
from toprank.live.desk_clock import Moment
from toprank.live.pages import shown_values
from toprank.live.pages.check_requests import (
    alert_of,
    change,
    field_names,
    look,
    moment_of,
    number_in,
)
from toprank.live.pages.page_kit import PageDesk, PageError, PageRequest, PageRoute
from toprank.live.pages.page_templates import masked
from toprank.live.pages.shown_values import capital
from toprank.live.pages.time_line import time_line, usual_range
from toprank.live.pages.undo_banner import UndoBanner, undo_banner
from toprank.live.people import unmasking
from toprank.live.people.desk_roles import Person
from toprank.live.store import audit_chain, check_table

_DAY = 86_400_000_000
_N_SHOWN = 12  # payments of the time line, until all are asked for
_N_LINKED = 4  # cards shown per terminal
_SNOOZE_DAYS = (1, 7, 30, 90, 180)


class GivenVerdict(NamedTuple):
    """What a form had that could not be taken as it is, to be shown again."""

    reason_code: str = ""
    note: str = ""
    positions: Sequence[int] | None = None
    error: str = ""


class _LoadedCard(NamedTuple):
    view: CardView
    undo: UndoBanner | None
    is_unmasked: bool
    has_decided: bool
    is_blind: bool


async def card_page(page: PageRequest) -> Response:
    """Return the page of an alert's card."""
    return await shown_card(page, number_in(page))


async def shown_card(
    page: PageRequest, number: int, given: GivenVerdict | None = None
) -> Response:
    """Return the page of a card; with `given`, what was wrong with a verdict is shown as well."""
    person, now = page.person, moment_of(page.desk)
    await change(page, _saw, page.desk, number, person, now)
    loaded = await look(page, _load, page.desk, number, person, now)
    view, alert = loaded.view, loaded.view.alert
    # what is not to be seen does not get into the page, nor into its picture by an address
    reason = None if loaded.is_blind else _chosen(view.reasons, page.query.get("reason", ""))
    timeline = _listed(view.timeline, reason, is_all="all" in page.query)
    suspicious = {each.position for each in view.payments}
    is_mine = alert.state == "taken" and alert.held_by == person.actor
    return page.render(
        "card.html",
        200 if given is None else 422,
        view=view,
        alert=alert,
        shown_card=alert.card if loaded.is_unmasked else masked(alert.card),
        situation=_situation(view, person, now),
        undo=loaded.undo,
        undo_seconds=page.desk.settings.undone // 1_000_000,
        is_mine=is_mine,
        is_blind=loaded.is_blind,
        is_first=is_mine and not loaded.has_decided,
        suspicious=suspicious,
        roles=field_names(page.desk),
        timeline=timeline,
        n_left_out=0 if reason else len(view.timeline) - len(timeline),
        reason=reason,
        plot=time_line(
            view.timeline,
            suspicious,
            usual_range(view.timeline, suspicious),
            page.now - card_view.DAYS * _DAY,
            page.now,
            None if reason is None else reason.positions,
        ),
        reason_codes=check_verdicts.REASON_CODES,
        snooze_days=_SNOOZE_DAYS,
        n_linked=_N_LINKED,
        given=given or GivenVerdict(),
        may_claim=person.may("check.claim"),
        may_note=not is_mine and person.may("check.decide", alert.held_by),
        may_take_over=person.may("check.take_over"),
        may_unmask=person.may("card.unmask") and not loaded.is_unmasked,
        may_snooze=person.may("card.snooze"),
    )


async def unmask(page: PageRequest) -> Response:
    """Let the person see the whole id of a card for a while, for the reason they give."""
    number = number_in(page)

    def work(connection: sa.Connection) -> None:
        card = alert_of(connection, number).card
        unmasking.unmask(connection, page.person, card, page.field("reason"), f"alert:{number}")

    try:
        await change(page, work)
    except ValueError as error:
        raise PageError(422, capital(str(error))) from None
    return page.redirect(f"/alerts/{number}")


def _saw(
    connection: sa.Connection, desk: PageDesk, number: int, person: Person, now: Moment
) -> None:
    """Write who has seen the card, and renew the lease of whoever holds it."""
    alert = alert_of(connection, number)
    if alert.held_by == person.actor:
        with suppress(TakenError):  # the lease is over; the page says so
            claims.expire(connection, now)
            claims.renew(connection, number, person.actor, now, desk.settings)
    audit_chain.add(connection, now.wall, person.actor, "card viewed", f"alert:{number}")


def _load(
    connection: sa.Connection, desk: PageDesk, number: int, person: Person, now: Moment
) -> _LoadedCard:
    assert desk.live is not None
    view = card_view.card_view(connection, desk.live, number, now.desk)
    return _LoadedCard(
        view,
        undo_banner(connection, person.actor, now),
        view.alert.card in unmasking.unmasked_cards(connection, person),
        check_table.has_decided(connection, person.actor),
        bool(blind_checks.blind_alerts(connection, [view.alert], desk.settings.blind_share)),
    )


def _situation(view: CardView, person: Person, now: Moment) -> list[str]:
    """Return what the alert is at, in a few phrases."""
    alert = view.alert
    found = [f"Alert raised {shown_values.ago(alert.opened_at, now.desk)}"]
    if alert.state == "taken" and alert.held_by is not None:
        is_mine = alert.held_by == person.actor
        left = ((alert.lease_until or now.wall) - now.wall) // 60_000_000
        name = shown_values.person_name(alert.held_by)
        found.append(f"yours for {left} more min" if is_mine else f"open at {name}")
    else:
        found.append(_STATES.get(alert.state, alert.state))
    if alert.state == "snoozed" and alert.hidden_until is not None:
        found[-1] += f" until {shown_values.when(alert.hidden_until, now.desk)}"
    n = len(view.history)
    if n:
        found.append("1 earlier check" if n == 1 else f"{n} earlier checks")
    return found


_STATES = {
    "open": "in the queue",
    "decided": "decided, and can still be undone",
    "unsure": "left as unsure",
    "snoozed": "snoozed",
    "escalated": "waiting for a senior",
    "closed": "closed",
}


def _chosen(reasons: Sequence[CardReason], text: str) -> CardReason | None:
    """Return the reason that an address names by its number."""
    is_number = text.isascii() and text.isdigit() and len(text) < 4
    return reasons[int(text) - 1] if is_number and 1 <= int(text) <= len(reasons) else None


def _listed(
    rows: Sequence[TimelineRow], reason: CardReason | None, *, is_all: bool
) -> list[TimelineRow]:
    """Return the payments that the table shows: those of a reason, all, or the newest."""
    if reason is not None:
        return [each for each in rows if each.position in reason.positions]
    return list(rows if is_all else rows[:_N_SHOWN])


CARD_PAGES = [
    PageRoute("GET", "/alerts/{number:int}", "card.view", card_page),
    PageRoute("POST", "/alerts/{number:int}/unmask", "card.unmask", unmask),
]

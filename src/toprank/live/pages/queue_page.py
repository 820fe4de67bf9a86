"""The queue: which cards to check next, and what checking them is expected to find."""

from typing import NamedTuple

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks import check_verdicts, claims, queue
from toprank.live.checks.queue import QueueHeader, QueueRow
from toprank.live.pages.check_requests import alert_of, change, holder, look, moment_of, number_in
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute
from toprank.live.pages.undo_banner import UndoBanner, undo_banner
from toprank.live.pages.yield_curve import yield_curve
from toprank.live.people.desk_roles import authorize
from toprank.live.store import alert_table
from toprank.live.store.check_table import Check

_N_ROWS = 50


class _LoadedQueue(NamedTuple):
    rows: list[QueueRow]
    header: QueueHeader
    newest: int
    undo: UndoBanner | None
    proposed: list[Check]


async def queue_page(page: PageRequest) -> Response:
    """Return the cards to check, with what they are expected to hold."""
    return await _list(page, is_escalated=False)


async def escalated_page(page: PageRequest) -> Response:
    """Return the cards that wait for a senior."""
    return await _list(page, is_escalated=True)


async def _list(page: PageRequest, *, is_escalated: bool) -> Response:
    now, after = moment_of(page.desk), page.query.get("after")

    def read(connection: sa.Connection) -> _LoadedQueue:
        try:
            rows = queue.queue(
                connection, _N_ROWS, after, is_escalated=is_escalated,
                blind_share=page.desk.settings.blind_share,
            )  # fmt: skip
        except ValueError as error:
            raise PageError(400, str(error)) from None
        return _LoadedQueue(
            rows,
            queue.header(connection, now, page.desk.settings),
            alert_table.next_number(connection) - 1,
            undo_banner(connection, page.person.actor, now),
            check_verdicts.proposed(connection) if is_escalated else [],
        )

    loaded = await look(page, read)
    rows, header = loaded.rows, loaded.header
    first = page.query.get("first", "1")
    return page.render(
        "queue.html",
        rows=rows,
        header=header,
        worth=_worth(header),
        curve=yield_curve(header.curve, header.worth_until),
        first=int(first) if first.isascii() and first.isdigit() and len(first) < 10 else 1,
        more=rows[-1].cursor if len(rows) == _N_ROWS else None,
        newest=loaded.newest,
        undo=loaded.undo,
        who=page.person.actor,
        proposed=loaded.proposed,
        may_claim=page.person.may("check.claim"),
        may_take_over=page.person.may("check.take_over"),
        is_escalated=is_escalated,
    )


async def claim(page: PageRequest) -> Response:
    """Take a card and open it; the queue says who has it, if somebody does."""
    number, now = number_in(page), moment_of(page.desk)

    def take(connection: sa.Connection) -> None:
        is_escalated = alert_of(connection, number).state == "escalated"
        authorize(page.person, "check.take_over" if is_escalated else "check.claim")
        claims.claim(connection, number, page.person.actor, now, page.desk.settings)

    try:
        await change(page, take)
    except PageError as error:
        if error.status != 409:
            raise
        return page.redirect("/queue", flash=error.message)
    return page.redirect(f"/alerts/{number}")


async def claim_next(page: PageRequest) -> Response:
    """Take the first free card of the queue and open it."""
    now = moment_of(page.desk)
    taken = await change(page, claims.claim_next, page.person.actor, now, page.desk.settings)
    if taken is None:
        return page.redirect("/queue", flash="No card is free at the moment.")
    return page.redirect(f"/alerts/{taken.alert}")


async def take_over(page: PageRequest) -> Response:
    """Take a card that somebody else holds."""
    number, now = number_in(page), moment_of(page.desk)
    await change(page, claims.take_over, number, page.person.actor, now, page.desk.settings)
    return page.redirect(f"/alerts/{number}")


async def release(page: PageRequest) -> Response:
    """Give a card back."""
    now = moment_of(page.desk)
    await change(page, claims.release, number_in(page), page.person.actor, now)
    return page.redirect("/queue")


async def renew(page: PageRequest) -> Response:
    """Renew the lease of a card, since its holder is doing something."""
    now = moment_of(page.desk)
    await change(page, claims.renew, number_in(page), page.person.actor, now, page.desk.settings)
    return Response(status_code=204)


def _worth(header: QueueHeader) -> str:
    if not header.worth_until:
        return "Fewer than 1 in 20 of them is expected to be a fraud."
    return (
        f"After {header.worth_until:,} more checks, fewer than 1 in 20 is expected to be a fraud."
    )


QUEUE_PAGES = [
    PageRoute("GET", "/queue", "queue.view", queue_page),
    PageRoute("GET", "/escalated", "check.take_over", escalated_page),
    PageRoute("POST", "/queue/next", "check.claim", claim_next),
    PageRoute("POST", "/alerts/{number:int}/claim", "check.claim", claim),
    PageRoute("POST", "/alerts/{number:int}/take-over", "check.take_over", take_over),
    PageRoute("POST", "/alerts/{number:int}/release", "check.release", release, holder),
    PageRoute("POST", "/alerts/{number:int}/renew", "check.decide", renew, holder),
]

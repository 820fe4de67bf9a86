"""The page on which people search for a card, a payment, a terminal or an alert."""

import sqlalchemy as sa
from starlette.responses import Response

from toprank.live.checks.desk_search import Found, search
from toprank.live.desk_clock import wall_time
from toprank.live.pages.check_requests import change
from toprank.live.pages.page_kit import PageRequest, PageRoute
from toprank.live.store import audit_chain

_LONGEST = 200


async def search_page(page: PageRequest) -> Response:
    """Return what a text names; the audit has that it was searched for, and what was shown."""
    text = page.query.get("q", "").strip()[:_LONGEST]
    found: list[Found] = []
    if text:
        found = await change(page, _search, page.person.actor, text)
    return page.render("search.html", text=text, found=found)


def _search(connection: sa.Connection, who: str, text: str) -> list[Found]:
    found = search(connection, text)
    # what was typed may be a card, and the audit names none
    details = {"alerts": [each.alert for each in found if each.alert is not None]}
    audit_chain.add(connection, wall_time(), who, "searched", f"{len(found)} found", details)
    return found


SEARCH_PAGES = [PageRoute("GET", "/search", "search.view", search_page)]

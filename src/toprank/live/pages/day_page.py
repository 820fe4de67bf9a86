"""My day: what one person has checked on a day of the desk."""

from starlette.responses import Response

from toprank.live.checks.day import my_day
from toprank.live.pages.check_requests import look
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute

_DAY = 86_400_000_000


async def day_page(page: PageRequest) -> Response:
    """Return the checks of the person who asks, of today or another day."""
    today = page.now // _DAY
    text = page.query.get("day", str(today))
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise PageError(400, f"There is no day {text[:20]!r}.")
    day = min(int(text), today)
    counts = await look(page, my_day, page.person.actor, day)
    return page.render(
        "day.html",
        counts=counts,
        day_start=day * _DAY,
        before=day - 1,
        after=day + 1 if day < today else None,
    )


DAY_PAGES = [PageRoute("GET", "/day", "day.view", day_page)]

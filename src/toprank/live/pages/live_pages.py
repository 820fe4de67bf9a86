"""The streams that keep open pages up to date, by Server-Sent Events."""

from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from toprank.live.pages.check_requests import number_in
from toprank.live.pages.live_updates import LiveUpdates, Watched
from toprank.live.pages.page_kit import PageError, PageRequest, PageRoute

_PATIENCE = 10.0  # seconds after which a line is sent, to notice a browser that has left
_AGAIN = "retry: 2000\n\n"  # milliseconds until a browser connects again


async def queue_stream(page: PageRequest) -> Response:
    """Say when new cards are on the list."""
    return _stream(page, Watched(None, _seen(page)))


async def alert_stream(page: PageRequest) -> Response:
    """Say when the card of an alert has paid again."""
    return _stream(page, Watched(number_in(page), _seen(page)))


def _stream(page: PageRequest, watched: Watched) -> Response:
    updates = page.desk.updates
    if updates.is_full:
        raise PageError(503, "Too many pages are open to be kept up to date.")
    headers = {"x-accel-buffering": "no"}  # a proxy must hand over each line at once
    return StreamingResponse(
        _events(page, updates, watched), media_type="text/event-stream", headers=headers
    )


async def _events(page: PageRequest, updates: LiveUpdates, watched: Watched) -> AsyncIterator[str]:
    yield _AGAIN
    async for text in updates.news(watched, _PATIENCE):
        if not page.is_current():
            yield "event: over\ndata: logged out\n\n"
            return
        yield f"event: changed\ndata: {text}\n\n" if text else ": nothing new\n\n"


def _seen(page: PageRequest) -> int:
    text = page.query.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


LIVE_PAGES = [
    PageRoute("GET", "/live/queue", "queue.view", queue_stream, is_use=False),
    PageRoute("GET", "/live/alert/{number:int}", "card.view", alert_stream, is_use=False),
]

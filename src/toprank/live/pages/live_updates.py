"""What is new for the pages that are open: one look at the database for all of them.

A page says what it watches and up to where it has seen it. While any page is open, one task asks
twice a second whether the database has changed, and only then what is new; each page gets what is
new for it. Payments do not know of it, and a hundred pages cost hardly more than one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from dataclasses import dataclass, field

import sqlalchemy as sa

from toprank.live.store import alert_table, payment_log
from toprank.live.store.desk_database import Database

_log = logging.getLogger("toprank.live")

_MOST_WATCHERS = 500
_BETWEEN_LOOKS = 0.5  # seconds
_MOST_NEW = 20  # payments of one card that are counted


@dataclass(frozen=True)
class Watched:
    """What a page shows: the alert of a number, or the queue; `seen` is the newest it has.

    Of an alert that is the position of its card's newest payment, of the queue the number of the
    newest alert.
    """

    alert: int | None
    seen: int


@dataclass(eq=False)
class _Watcher:
    watched: Watched
    news: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(maxsize=8))
    text: str = ""


class LiveUpdates:
    """Keeps open pages up to date.

    Parameters
    ----------
    database
        Where everything that can be new is written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._is_over, self._is_new_watcher = False, False

    @property
    def is_full(self) -> bool:
        """Whether no more pages can be kept up to date."""
        return len(self._watchers) >= _MOST_WATCHERS

    async def news(self, watched: Watched, patience: float) -> AsyncIterator[str]:
        """Yield sentences about what is new, and an empty text after `patience` seconds without.

        It ends when the server stops.
        """
        watcher = _Watcher(watched)
        self._watchers.add(watcher)
        self._is_new_watcher = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_again_and_again())
        try:
            while not self._is_over:
                try:
                    text = await asyncio.wait_for(watcher.news.get(), patience)
                except TimeoutError:
                    text = ""
                if text is None:
                    return
                yield text
        finally:
            self._watchers.discard(watcher)

    def stop(self) -> None:
        """End what is open, so that the server need not wait for it."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
        for each in self._watchers:
            _put(each, None)

    async def _look_again_and_again(self) -> None:
        with self._database.engine.connect() as connection:
            seen: int | None = None
            while self._watchers:
                try:
                    version = await asyncio.to_thread(_data_version, connection)
                    # a page may have missed something between its making and its first look
                    if version != seen or self._is_new_watcher:
                        self._is_new_watcher = False
                        await self._look()
                    seen = version
                except Exception:
                    _log.exception("open pages could not be kept up to date; it is tried again.")
                await asyncio.sleep(_BETWEEN_LOOKS)

    async def _look(self) -> None:
        watchers = list(self._watchers)
        watched = {each.watched for each in watchers}
        found = await asyncio.to_thread(self._sentences, watched)
        for each in watchers:
            text = found[each.watched]
            if text and text != each.text:
                each.text = text
                _put(each, text)

    def _sentences(self, watched: Collection[Watched]) -> dict[Watched, str]:
        with self._database.reading() as connection:
            newest = alert_table.next_number(connection) - 1
            return {
                each: _of_queue(newest - each.seen)
                if each.alert is None
                else _of_alert(connection, each.alert, each.seen)
                for each in watched
            }


def _of_queue(n_new: int) -> str:
    if n_new <= 0:
        return ""
    return "A new card is on the list." if n_new == 1 else f"{n_new:,} new cards are on the list."


def _of_alert(connection: sa.Connection, number: int, seen: int) -> str:
    alert = alert_table.by_number(connection, number)
    if alert is None:
        return ""
    rows = payment_log.of_card(connection, alert.card, 0, _MOST_NEW)
    n_new = sum(each.position > seen for each in rows)
    if not n_new:
        return ""
    return "This card has paid again." if n_new == 1 else f"This card has paid {n_new} more times."


def _data_version(connection: sa.Connection) -> int:
    """Return a number that changes whenever another connection commits."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    return int(raw.execute("PRAGMA data_version").fetchone()[0])


def _put(watcher: _Watcher, text: str | None) -> None:
    """Hand over a text, in place of the oldest if a browser does not keep up."""
    if watcher.news.full():
        with suppress(asyncio.QueueEmpty):
            watcher.news.get_nowait()
    watcher.news.put_nowait(text)

"""What is new for the pages that are open: one look at the database for all of them.

A page says what it watches and up to where it has seen it. While any page is open, one task asks
every second whether the database has changed, and only then what is new; each page gets what is
new for it. Payments do not know of it, and a hundred pages cost hardly more than one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import sqlalchemy as sa

from toprank.live.store import alert_table, payment_log, payment_reads
from toprank.live.store.desk_database import Database

_log = logging.getLogger("toprank.live")

_MOST_WATCHERS = 500
_BETWEEN_LOOKS = 1.0  # seconds


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
    card: str | None = None  # of the alert, once it has been looked up
    n_new: int = 0
    news: asyncio.Queue[str | None] = field(default_factory=lambda: asyncio.Queue(maxsize=8))


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
        self._position = 0  # the last payment that was looked at
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
            is_working = True
            while self._watchers:
                try:
                    version = await asyncio.to_thread(self._database.n_changes, connection)
                    # a page may have missed something between its making and its first look
                    if version != seen or self._is_new_watcher:
                        self._is_new_watcher = False
                        await self._look()
                    seen, is_working = version, True
                except Exception:
                    if is_working:
                        _log.exception("open pages cannot be kept up to date; it is tried again.")
                    is_working = False
                    connection.invalidate()  # it may be broken; the next look has another one
                await asyncio.sleep(_BETWEEN_LOOKS)

    async def _look(self) -> None:
        for watcher, n_new in (await asyncio.to_thread(self._counted, [*self._watchers])).items():
            if n_new > watcher.n_new:
                watcher.n_new = n_new
                _put(watcher, _sentence(watcher.watched, n_new))

    def _counted(self, watchers: list[_Watcher]) -> dict[_Watcher, int]:
        """Return how much is new for each page; few queries, however many pages there are."""
        with self._database.reading() as connection:
            newest = alert_table.next_number(connection) - 1
            position = payment_log.last_position(connection)
            cards = {each.card for each in watchers if each.card}
            paid = payment_reads.n_after(connection, cards, self._position) if cards else {}
            found = {}
            for each in watchers:
                if each.watched.alert is None:
                    found[each] = newest - each.watched.seen
                elif each.card is None:  # its page is new
                    found[each] = _looked_up(connection, each)
                else:
                    found[each] = each.n_new + paid.get(each.card, 0)
        self._position = position
        return found


def _looked_up(connection: sa.Connection, watcher: _Watcher) -> int:
    """Remember the card of a page; return how many payments the page has not shown."""
    number = watcher.watched.alert
    alert = None if number is None else alert_table.by_number(connection, number)
    watcher.card = "" if alert is None else alert.card
    return len(payment_reads.of_card_from(connection, watcher.card, watcher.watched.seen + 1))


def _sentence(watched: Watched, n_new: int) -> str:
    if watched.alert is None:
        is_one = n_new == 1
        return "A new card is on the list." if is_one else f"{n_new:,} new cards are on the list."
    return "This card has paid again." if n_new == 1 else f"This card has paid {n_new} more times."


def _put(watcher: _Watcher, text: str | None) -> None:
    """Hand over a text, in place of the oldest if a browser does not keep up."""
    if watcher.news.full():
        with suppress(asyncio.QueueEmpty):
            watcher.news.get_nowait()
    watcher.news.put_nowait(text)

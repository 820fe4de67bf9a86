"""The pages of a desk, served beside the process that takes its payments."""

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress

from toprank.live.desk import Desk
from toprank.live.engine.desk_view import DeskView, EngineElsewhere
from toprank.live.messages import PaymentField, TimeRange
from toprank.live.pages.page_kit import PageDesk
from toprank.live.store.api_keys import KeyRing

_log = logging.getLogger("toprank.live")

_BETWEEN_LOOKS = 0.5  # seconds; a revoked key or an ended session is known in less than one
_LOOKS_PER_WRITE = 600  # when keys and sessions were last used is written every five minutes


class PagesService:
    """What is served; it starts and closes with the application.

    Parameters
    ----------
    desk
        The folder, whose data are in PostgreSQL. It is closed at the end.
    card_key
        The file of the key of cards, if the model was fitted with one.
    """

    def __init__(self, desk: Desk, card_key: str | os.PathLike[str] | None = None) -> None:
        if not desk.database.is_shared:
            raise ValueError(
                f"--pages-only is for a desk whose data are in PostgreSQL; those of {desk.folder} "
                f"are in its folder; move them with: toprank desk move {desk.folder} --to ADDRESS"
            )
        self._desk, self._view = desk, DeskView(desk, card_key)
        self.engine = EngineElsewhere(self._view)
        self.keys = KeyRing(desk.database)
        self.pages = PageDesk(
            desk.database, desk.settings, self.now,
            live=self._view, engine=self.engine, keys=self.keys,
        )  # fmt: skip
        self._task: asyncio.Task[None] | None = None

    @property
    def fields(self) -> list[PaymentField]:
        """The fields of its payments."""
        return self._view.fields

    @property
    def is_tokenising(self) -> bool:
        """Whether cards are stored as keyed hashes."""
        return self._view.model.stored_cards_.fingerprint is not None

    @property
    def times(self) -> TimeRange:
        """How far from now the time of a payment may be."""
        return self._desk.settings.times

    def now(self) -> int:
        """Return the desk's time in microseconds."""
        return self._view.now()

    async def start(self) -> None:
        """Begin to follow what others change."""
        self._task = asyncio.create_task(self._follow_changes())

    async def close(self) -> None:
        """Write what is only known here, then close everything."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._try(self._write_uses)
        self._view.model.close()
        self._desk.close()

    async def _follow_changes(self) -> None:
        while True:
            for _ in range(_LOOKS_PER_WRITE):
                await asyncio.sleep(_BETWEEN_LOOKS)
                was_ready = self.engine.is_ready
                self.engine.is_ready = await self._try(self._look, is_logged=was_ready)
                if self.engine.is_ready and not was_ready:
                    _log.warning("the database can be read again.")
            await self._try(self._write_uses)

    async def _try(self, work: Callable[[], None], *, is_logged: bool = True) -> bool:
        """Return whether something could be done in a thread; an error ends nothing else."""
        try:
            await asyncio.to_thread(work)
        except Exception as error:
            if is_logged:
                _log.error("the database cannot be used; it is tried again: %s", error)
            return False
        return True

    def _look(self) -> None:
        if self._view.look():
            self.keys.reload()
            self.pages.sessions.reload()

    def _write_uses(self) -> None:
        self.keys.write_uses()
        self.pages.sessions.write_uses()

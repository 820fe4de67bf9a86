"""What checks ask for beside the payments: requests to others, a full list, random draws."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from toprank.live.checks import filled_list, outbox, random_checks
from toprank.live.desk_clock import Moment
from toprank.live.desk_settings import DeskSettings
from toprank.live.engine.decision_engine import DecisionEngine

_log = logging.getLogger("toprank.live")

_BETWEEN = 1.0  # seconds
_LONGEST = 5.0  # seconds without a look, if nothing has changed
_FILL = 600_000_000  # microseconds of the desk's time until the list is filled again

Result = TypeVar("Result")


class CheckJobs:
    """Does what is due again and again, in threads: payments do not wait for it.

    Parameters
    ----------
    engine
        The engine, which opens the alerts of a draw between two turns.
    between
        Seconds between two looks at what is due.
    """

    def __init__(self, engine: DecisionEngine, between: float = _BETWEEN) -> None:
        self._engine, self._between = engine, between
        self._filled_at = -_FILL - 1  # by the desk's clock

    async def run(self) -> None:
        """Work until it is cancelled."""
        live, n_changes, looked = self._engine.desk, -1, 0.0
        database, settings = live.desk.database, live.settings
        while True:
            await asyncio.sleep(self._between)
            # most of the time there is nothing to do, and to look would keep payments waiting
            is_late = time.monotonic() - looked > _LONGEST
            if n_changes == live.n_changes and not is_late and not self._is_fill_due():
                continue
            n_changes, looked = live.n_changes, time.monotonic()
            await self._done(lambda: outbox.deliver(database, settings))
            # cards that fill the list cannot be drawn at random
            await self._fill_list()
            plan = await self._done(lambda: self._read(random_checks.planned))
            if plan is not None:
                await self._engine.draw_random_checks(plan)

    def _is_fill_due(self) -> bool:
        return self._engine.desk.now() - self._filled_at > _FILL

    async def _fill_list(self) -> None:
        if self._is_fill_due():
            now = self._engine.desk.now()
            plan = await self._done(lambda: self._read(filled_list.planned))
            if plan is None or await self._engine.fill_list(plan) is not None:
                self._filled_at = now

    def _read(
        self, plan: Callable[[sa.Connection, Moment, DeskSettings], Result | None]
    ) -> Result | None:
        live = self._engine.desk
        with live.desk.database.reading() as connection:
            return plan(connection, live.moment(), live.settings)

    async def _done(self, work: Callable[[], Result]) -> Result | None:
        """Return what a job returns; None if it failed: the others go on, and so does the loop."""
        try:
            return await asyncio.to_thread(work)
        except Exception:
            _log.exception("what checks ask for could not be done; it is tried again.")
            return None

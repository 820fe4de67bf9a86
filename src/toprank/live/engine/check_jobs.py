"""What checks ask for beside the payments: requests to other systems, and random draws."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TypeVar

from toprank.live.checks import outbox, random_checks
from toprank.live.checks.random_checks import PlannedDraw
from toprank.live.engine.decision_engine import DecisionEngine

_log = logging.getLogger("toprank.live")

_BETWEEN = 1.0  # seconds
_LONGEST = 5.0  # seconds without a look, if nothing has changed

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

    async def run(self) -> None:
        """Work until it is cancelled."""
        desk, n_changes, looked = self._engine.desk.desk, -1, 0.0
        while True:
            await asyncio.sleep(self._between)
            # most of the time there is nothing to do, and to look would keep payments waiting
            is_late = time.monotonic() - looked > _LONGEST
            if n_changes == self._engine.desk.n_changes and not is_late:
                continue
            n_changes, looked = self._engine.desk.n_changes, time.monotonic()
            await self._done(lambda: outbox.deliver(desk.database, desk.settings))
            plan = await self._done(self._planned)
            if plan is not None:
                await self._engine.draw_random_checks(plan)

    def _planned(self) -> PlannedDraw | None:
        live = self._engine.desk
        with live.desk.database.reading() as connection:
            return random_checks.planned(connection, live.moment(), live.settings)

    async def _done(self, work: Callable[[], Result]) -> Result | None:
        """Return what a job returns; None if it failed: the others go on, and so does the loop."""
        try:
            return await asyncio.to_thread(work)
        except Exception:
            _log.exception("what checks ask for could not be done; it is tried again.")
            return None

"""What a running desk does when its models change: load, swap, shadow, rank open alerts again.

Models are loaded in a thread. The swap is one assignment between two turns of the engine, so every
payment is scored by one model or the other, and no answer waits. Open alerts follow a few at a
time. If the server is killed meanwhile, the next start finds the ones that are left.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from toprank.live.engine.live_desk import LiveDesk
from toprank.live.engine.served_model import ServedModel, load_beside
from toprank.live.engine.shadow_model import ShadowModel
from toprank.live.messages import BusyError
from toprank.live.store import alert_table, model_table
from toprank.live.store.model_table import ModelsInUse

_log = logging.getLogger("toprank.live")

_BETWEEN = 0.25  # seconds between two looks
_PAUSE = 0.02  # seconds between two groups of alerts, in which payments are answered
_AT_ONCE = 8  # alerts: their reasons take milliseconds, for which payments wait

Result = TypeVar("Result")


class ModelJobs:
    """Follows the champion and the challenger of a desk, beside its engine.

    Parameters
    ----------
    live
        The desk, whose engine runs in the same event loop.
    between
        Seconds between two looks.
    """

    def __init__(self, live: LiveDesk, between: float = _BETWEEN) -> None:
        self._live, self._between = live, between
        self._wanted: ModelsInUse | None = None
        self._n_changes: int | None = None
        self._unreadable: set[str] = set()  # files, until something changes
        self._ranked_by = ""  # the model by which all open alerts are ranked
        self._left: list[int] = []

    async def run(self) -> None:
        """Work until it is cancelled."""
        while True:
            await asyncio.sleep(_PAUSE if self._left else self._between)
            try:
                await self.step()
            except BusyError:
                continue  # another process writes: later
            except Exception:
                _log.exception("the models of the desk could not be followed; tried again.")

    async def step(self) -> None:
        """Do what is due, in the event loop; what is slow, in a thread."""
        live = self._live
        if not live.is_sound:
            return
        if self._n_changes != live.n_changes:
            self._n_changes = live.n_changes
            self._wanted = await asyncio.to_thread(self._read, model_table.in_use)
            self._unreadable.clear()
        wanted = self._wanted
        if wanted is None:
            return
        if wanted.champion != live.model_name:
            loaded = await self._loaded(wanted.champion)
            if loaded is not None and live.use_model(loaded):
                _log.info("payments are scored by model %s now.", loaded.name)
        await self._follow_challenger(wanted)
        await self._rank_some()

    async def _follow_challenger(self, wanted: ModelsInUse) -> None:
        live, number = self._live, wanted.number
        if live.shadow is not None and live.shadow.number != number:
            live.shadow = None
        if live.shadow is None and wanted.challenger is not None and number is not None:
            loaded = await self._loaded(wanted.challenger)
            if loaded is not None:
                live.shadow = ShadowModel(number, loaded.scorer)

    async def _loaded(self, file: str) -> ServedModel | None:
        """Return the model in a file; None if it cannot be read, or the desk was read again."""
        live = self._live
        if file in self._unreadable:
            return None
        in_use, path = live.model, live.desk.path_of(file)
        try:
            found = await asyncio.to_thread(load_beside, in_use, path, live.fields)
        except Exception:
            self._unreadable.add(file)
            _log.exception("model %s cannot be used; the one in use goes on scoring.", file)
            return None
        return found if live.model.state_ is in_use.state_ else None

    async def _rank_some(self) -> None:
        """Rank a few of the open alerts that another model has ranked."""
        live = self._live
        if self._ranked_by != live.model_name:
            name = live.model_name
            self._left = await asyncio.to_thread(
                self._read, lambda connection: alert_table.open_by_others(connection, name)
            )
            self._ranked_by = name
        if self._left:
            some, self._left = self._left[:_AT_ONCE], self._left[_AT_ONCE:]
            try:
                live.rescore(some)
            except BusyError:
                self._left = some + self._left
                raise

    def _read(self, work: Callable[[sa.Connection], Result]) -> Result:
        with self._live.desk.database.reading() as connection:
            return work(connection)

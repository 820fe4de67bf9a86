"""A live desk with its engine, its keys and its pages, as the application needs it."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from toprank.live.engine.alarm_jobs import AlarmJobs
from toprank.live.engine.check_jobs import CheckJobs
from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.engine.model_jobs import ModelJobs
from toprank.live.engine.online_jobs import OnlineJobs
from toprank.live.learning.nightly_retrain import NightlyRetrain
from toprank.live.messages import PaymentField, TimeRange
from toprank.live.monitor.alarm_readings import Answers
from toprank.live.pages.page_kit import PageDesk
from toprank.live.store.api_keys import KeyRing
from toprank.live.streams.desk_streams import DeskStreams, check_libraries
from toprank.live.streams.ended_tasks import end_task
from toprank.live.upkeep_schedule import UpkeepSchedule
from toprank.live.web.payment_reader import PaymentReader
from toprank.live.web.service_metrics import ServiceMetrics

_log = logging.getLogger("toprank.live")

_PAYMENTS = "POST /v1/payments"
_BETWEEN_RELOADS = 0.5  # seconds; a revoked key or a disabled account is known in less than one
_RELOADS_PER_WRITE = 600  # when keys and sessions were last used is written every five minutes


class DeskService:
    """What is served; it starts and closes with the application.

    Parameters
    ----------
    live
        The desk, ready to decide. It is closed at the end.
    """

    def __init__(self, live: LiveDesk) -> None:
        self._live = live
        self.engine = DecisionEngine(live)
        self.keys = KeyRing(live.desk.database)
        self.pages = PageDesk(
            live.desk.database, live.settings, live.now,
            live=live, engine=self.engine, keys=self.keys,
        )  # fmt: skip
        self._tasks: list[asyncio.Task[None]] = []
        check_libraries(live.settings)
        self._upkeep = UpkeepSchedule(live.desk, live.history.position)
        self._nightly = NightlyRetrain(live.desk)

    @property
    def fields(self) -> list[PaymentField]:
        """The fields of its payments."""
        return self._live.fields

    @property
    def is_tokenising(self) -> bool:
        """Whether cards are stored as keyed hashes."""
        return self._live.model.stored_cards_.fingerprint is not None

    @property
    def times(self) -> TimeRange:
        """How far from now the time of a payment may be."""
        return self._live.settings.times

    def now(self) -> int:
        """Return the desk's time in microseconds."""
        return self._live.now()

    async def start(self) -> None:
        """Begin to decide, to follow changes of keys and people, and to do what checks ask for."""
        streams = self._streams()
        streams.begin()
        await self.engine.start()
        jobs = (
            self._follow_changes(),
            CheckJobs(self.engine).run(),
            ModelJobs(self._live).run(),
            OnlineJobs(self._live).run(),
            AlarmJobs(self._live, self._answers).run(),
            *streams.jobs(),
        )
        self._tasks = [asyncio.create_task(each) for each in jobs]

    def _streams(self) -> DeskStreams:
        """Return what reads and writes the streams of the settings."""
        if self.pages.metrics is None:
            self.pages.metrics = ServiceMetrics(self.engine.facts)
        reader = PaymentReader(self.fields, self.is_tokenising, self.times)
        return DeskStreams(self.engine, reader, self.pages.metrics)

    def _answers(self) -> Answers | None:
        """Return how long payments waited for answers since the start; None if nobody measures."""
        return None if self.pages.metrics is None else self.pages.metrics.answers(_PAYMENTS)

    async def close(self) -> None:
        """Answer and score what is waiting, then close everything."""
        # what has come from a stream is stored when it is answered, or comes again
        await self.engine.stop()
        for task in self._tasks:
            await end_task(task)
        with _logged("the use of keys and sessions could not be written"):
            self._write_uses()
        self._upkeep.stop()
        self._nightly.stop()
        with _logged("no snapshot could be written; the next start reads more of the log"):
            self._live.close()
        self._live.desk.close()

    async def _follow_changes(self) -> None:
        """Read keys and sessions again when something has changed: perhaps they have.

        To read them all the time would keep payments waiting.
        """
        n_changes = 0
        while True:
            for _ in range(_RELOADS_PER_WRITE):
                await asyncio.sleep(_BETWEEN_RELOADS)
                if n_changes != self._live.n_changes:
                    n_changes = self._live.n_changes
                    with _logged("keys and sessions could not be read again"):
                        await asyncio.to_thread(self._reload)
                with _logged("upkeep could not be started"):
                    self._upkeep.check(self._live.history.position)
                with _logged("the nightly retrain could not be started"):
                    now = self._live.now()
                    if self._nightly.is_due(now):
                        await asyncio.to_thread(self._nightly.check, now)
            with _logged("the use of keys and sessions could not be written"):
                await asyncio.to_thread(self._write_uses)

    def _reload(self) -> None:
        self.keys.reload()
        self.pages.sessions.reload()

    def _write_uses(self) -> None:
        self.keys.write_uses()
        self.pages.sessions.write_uses()


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log an error and go on: the rest must not end with it."""
    try:
        yield
    except Exception:
        _log.exception("%s.", what)

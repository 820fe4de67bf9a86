"""Looking at the desk's figures every few minutes, and raising alarms; payments do not wait."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import numpy as np

from toprank.live.engine.live_desk import LiveDesk
from toprank.live.monitor import alarm_readings, alarm_watch, log_digest, verdict_guard
from toprank.live.monitor.alarm_readings import AlarmReading, Answers
from toprank.live.monitor.desk_monitor import desk_monitor
from toprank.live.store import payment_reads, verdict_outcomes
from toprank.live.store.alarm_table import DeskAlarm
from toprank.live.store.digest_tables import DAY
from toprank.live.store.reason_counts import first_reasons
from toprank.workflow.usual_rows import SUSPICION, ShiftWatch

_log = logging.getLogger("toprank.live")

_BETWEEN = 300.0  # seconds
_COUNTING = (4.0, 0.02)  # seconds in all, and between two transactions
_MOST_ROWS = 2_000  # payments of a day that are compared with the training rows
_RECENT, _BEFORE = 7, 28  # days of alerts whose reasons are compared


class AlarmJobs:
    """Looks at what alarms are about, again and again, in a thread.

    Parameters
    ----------
    live
        The desk.
    answers
        Returns how long answers took since the server started, if it is measured.
    between
        Seconds between two looks.
    """

    def __init__(
        self,
        live: LiveDesk,
        answers: Callable[[], Answers | None] = lambda: None,
        between: float = _BETWEEN,
    ) -> None:
        self._live, self._answers, self._between = live, answers, between

    async def run(self) -> None:
        """Work until it is cancelled."""
        while True:
            await asyncio.sleep(self._between)
            try:
                await asyncio.to_thread(self.look)
            except Exception:
                _log.exception("alarms could not be looked at; it is tried again.")

    def look(self) -> list[DeskAlarm]:
        """Return the alarms that are raised now."""
        desk, settings = self._live.desk, self._live.settings
        log_digest.catch_up(desk.database, settings.alert_from, *_COUNTING)
        readings = list(self._readings())
        return alarm_watch.look(desk.database, readings, self._live.moment(), settings)

    def _readings(self) -> Iterator[AlarmReading]:
        live, now = self._live, self._live.now()
        silence = int(live.settings.silent / np.timedelta64(1, "us"))
        today = now // DAY
        with live.desk.database.reading() as connection:
            figures = desk_monitor(connection, now, silence)
            yield from alarm_readings.of_figures(figures, now, live.settings)
            first = today - verdict_guard.N_DAYS
            yield from verdict_guard.of_verdicts(
                verdict_outcomes.verdicts_since(connection, first)
            )
            middle = now - _RECENT * DAY
            yield from alarm_readings.of_reasons(
                first_reasons(connection, middle, now),
                first_reasons(connection, now - _BEFORE * DAY, middle),
            )
        yield from self._shift(now)
        answers = self._answers()
        if answers is not None:
            yield from alarm_readings.of_answers(answers, live.settings.most_seconds)

    def _shift(self, now: int) -> Iterator[AlarmReading]:
        """Yield how unlike the training rows the last day's payments are."""
        usual, state = self._live.model.usual_rows_, self._live.model.state_
        if usual is None or state is None:
            return
        with self._live.desk.database.reading() as connection:
            rows = payment_reads.sample_since(connection, now - DAY, _MOST_ROWS)
        if not rows:
            return
        watch = ShiftWatch(usual, state.history.names)
        watch.see(
            np.stack([features for features, _ in rows]),
            np.array([suspicion for _, suspicion in rows]),
        )
        shifted = watch.shifted()
        yield from alarm_readings.of_shift(shifted.pop(SUSPICION, None), shifted)

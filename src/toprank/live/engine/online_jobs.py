"""Teaching the online model beside the engine: in a thread, a lesson at a time."""

import asyncio
import logging
import threading
import time

import numpy as np

from toprank.live.desk import archive_of
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.engine.online_model import FILE, OnlineModel
from toprank.live.store import lesson_reads

_log = logging.getLogger("toprank.live")

AT_ONCE = 200
"""Lessons that are read together."""

_BETWEEN = 1.0  # seconds between two looks for lessons
_PAUSE = 0.0002  # seconds after each lesson, in which payments are answered
_SAVED_EVERY = 300.0  # seconds


class OnlineJobs:
    """Teaches the online model of a desk whatever becomes known, if its settings want one.

    Parameters
    ----------
    live
        The desk; it scores with the model once there is one.
    between, pause
        Seconds between two looks, and after each lesson.
    """

    def __init__(self, live: LiveDesk, between: float = _BETWEEN, pause: float = _PAUSE) -> None:
        self._live, self._between, self._pause = live, between, pause
        self._path = live.desk.path_of(FILE)
        self._turn, self._is_over = threading.Lock(), False
        self._saved_at = time.monotonic()

    async def run(self) -> None:
        """Work until it is cancelled; then save."""
        if not self._live.settings.online:
            return
        try:
            while True:
                try:
                    n_lessons = await asyncio.to_thread(self.step)
                except Exception:
                    _log.exception("the online model could not learn; it is tried again.")
                    n_lessons = 0
                await asyncio.sleep(0 if n_lessons else self._between)
        finally:
            try:
                self.stop()
            except OSError:  # the lessons since the last time are learned again after the start
                _log.exception("the online model could not be saved.")

    def step(self) -> int:
        """Learn from some lessons; return how many there were. For a thread."""
        with self._turn:
            model = self._live.online or self._opened()
            if model is None:
                return 0
            if self._live.online is None:
                model.warm_up()
                self._live.online = model
            silence = int(self._live.settings.silent / np.timedelta64(1, "us"))
            with self._live.desk.database.reading() as connection:
                lessons = lesson_reads.next_lessons(connection, model.place, silence, AT_ONCE)
            for each in lessons:
                if self._is_over:
                    break
                model.learn(each)
                time.sleep(self._pause)
            if lessons and time.monotonic() - self._saved_at > _SAVED_EVERY:
                self._save(model)
            return len(lessons)

    def stop(self) -> None:
        """Save what was learned; nothing is learned after it."""
        self._is_over = True
        with self._turn:
            if self._live.online is not None:
                self._save(self._live.online)

    def _save(self, model: OnlineModel) -> None:
        model.save(self._path)
        self._saved_at = time.monotonic()

    def _opened(self) -> OnlineModel | None:
        """Return the model as it was saved, or one that knows what was before the desk.

        None if it is stopped before that: a part of the past must not be saved as all of it.
        """
        live = self._live
        assert live.model.state_ is not None
        features, learner = live.model.state_.history.names, live.settings.online_learner
        found = OnlineModel.read(self._path, live.fields, features, learner)
        if found is not None:
            return found
        with live.desk.database.reading() as connection:
            place = lesson_reads.first_place(connection)
        model = OnlineModel(live.fields, features, place, learner)
        for row in archive_of(live.desk, live.model).before():
            if self._is_over:
                return None
            model.learn_row(model.values_of(row), row["is_fraud"])
            time.sleep(self._pause)
        return model

"""The engine: payments that wait together are decided together, and scored a moment later.

One thread does all of it, in turns: a few payments are decided, then a few are scored if nobody
waits for an answer or the model is falling behind. So a payment waits for at most one other turn,
and what is slow, such as a file of a thousand payments, is divided into turns. Scores are gathered
for a moment: eight payments together take the model hardly longer than one.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from toprank.live.checks.filled_list import PlannedFill
from toprank.live.checks.random_checks import PlannedDraw
from toprank.live.engine.live_desk import Also, LiveDesk
from toprank.live.messages import Answer, BusyError, ConflictError, LabelGiven, Payment
from toprank.payments.features.past import LabelCounts

_log = logging.getLogger("toprank.live")

AT_ONCE = 64
"""Payments that are decided in one turn at most."""

_OF_A_FILE = 500  # in one turn while nobody else sends payments
_ALONE = 1.0  # seconds without others after which that is so
_SCORED_AT_ONCE = 64
_SCORED_OF_A_FILE = 256
_GATHERING = 0.05  # seconds that scores wait for more
_LONGEST_LAG = 0.25  # seconds that scores may wait for answers
_WATCH = 0.25  # seconds between two looks for changes made by others
_FINISHING = 1.0  # seconds between two looks for verdicts that can no longer be undone


@dataclass(eq=False)
class _Request:
    """Payments that came together, and the answers that they have so far."""

    payments: Sequence[Payment]
    future: asyncio.Future[Any]
    answers: list[Answer | ConflictError] = field(default_factory=list)
    also: Also | None = None

    @property
    def n_left(self) -> int:
        return len(self.payments) - len(self.answers)

    def finish(self) -> None:
        """Give the answers to whoever waits for them."""
        if self.future.done():
            return  # the client has left
        if self.also is not None:
            self.future.set_result(self.answers)
            return
        conflicts = [each for each in self.answers if isinstance(each, ConflictError)]
        if conflicts:
            self.future.set_exception(conflicts[0])
        else:
            self.future.set_result([each for each in self.answers if isinstance(each, Answer)])

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class DecisionEngine:
    """Decides on payments and scores them, for one desk; runs in an event loop.

    Parameters
    ----------
    desk
        The desk, ready to decide.
    """

    def __init__(self, desk: LiveDesk) -> None:
        self.desk = desk
        self._single: deque[_Request] = deque()
        self._large: deque[_Request] = deque()
        self._n_waiting = 0
        self._saw_single = -_ALONE  # when a payment came that was not of a file
        self._finished = -_FINISHING
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_stopping = False

    # For the routes

    @property
    def is_ready(self) -> bool:
        """Whether payments are taken in."""
        is_running = self._task is not None and not self._task.done()
        return is_running and not self._is_stopping and self.desk.is_sound

    @property
    def n_waiting(self) -> int:
        """The number of payments that wait for their answer."""
        return self._n_waiting

    async def decide(self, payments: Sequence[Payment]) -> list[Answer]:
        """Return the answers of payments, once they are in the log.

        BusyError where too many are waiting; ConflictError where one has the id of another, in
        which case the others are taken in.
        """
        return await self._decided(_Request(payments, asyncio.get_running_loop().create_future()))

    async def take(self, payments: Sequence[Payment], also: Also) -> list[Answer | ConflictError]:
        """Return the answers of a stream's payments; conflicts are among them.

        `also` is called with all answers, in the commit of the last of them. BusyError as for
        `decide`; then `also` has not been committed, but some of the payments may be in the log.
        """
        if payments:
            future = asyncio.get_running_loop().create_future()
            return await self._decided(_Request(payments, future, also=also))
        if not self.is_ready:
            raise BusyError(2.0)
        return self.desk.decide([], also)

    async def _decided(self, request: _Request) -> Any:
        """Return the answers of a request that is put with those that wait."""
        payments, settings = request.payments, self.desk.settings
        if not self.is_ready:
            raise BusyError(2.0)
        # a request that is larger than the limit is taken if no other waits
        if self._n_waiting and self._n_waiting + len(payments) > settings.most_waiting:
            raise BusyError(1.0)
        if self.desk.n_unscored > settings.most_unscored:
            raise BusyError(5.0)
        (self._single if len(payments) <= AT_ONCE else self._large).append(request)
        self._n_waiting += len(payments)
        self._wake.set()
        return await request.future

    async def label(
        self,
        labels: Sequence[LabelGiven],
        who: str,
        also: Callable[[sa.Connection, LabelCounts], None] | None = None,
    ) -> LabelCounts:
        """Add labels; return what became of them. `also` writes more in the same commit."""
        if not self.is_ready:
            raise BusyError(2.0)
        try:
            return self.desk.label(labels, who, also)
        except BusyError:
            raise
        except Exception as error:  # memory may have labels that the database has not
            self.desk.recover(error)
            raise BusyError(2.0) from None

    async def draw_random_checks(self, plan: PlannedDraw) -> int | None:
        """Open the alerts of a random draw, one per day; return how many, None if it failed."""
        return self._opened(lambda: self.desk.draw_random_checks(plan))

    async def fill_list(self, plan: PlannedFill) -> int | None:
        """Open the alerts of cards that fill the list; return how many, None if it failed."""
        return self._opened(lambda: self.desk.fill_list(plan))

    def _opened(self, work: Callable[[], int]) -> int | None:
        """Return how many alerts a job has opened; None if it could not: it comes again."""
        if not self.is_ready:
            return None
        try:
            return work()
        except BusyError:
            return None  # another process writes: later
        except Exception:
            _log.exception("cards could not be put on the list.")
            return None

    def payment(self, payment_id: str, who: str) -> dict[str, Any] | None:
        """Return what is known of a payment, None if there is none of this id; audited."""
        return self.desk.payment(payment_id, who)

    def alerts(self, state: str, limit: int, after: str | None, who: str) -> list[dict[str, Any]]:
        """Return alerts of a state, the most probable first; audited.

        `after` is the cursor of the last alert that was returned before.
        """
        return self.desk.alerts(state, limit, after, who)

    def facts(self) -> dict[str, Any]:
        """Return what the engine is doing."""
        return self.desk.facts() | {"waiting": self._n_waiting, "is_ready": self.is_ready}

    # The loop

    async def start(self) -> None:
        """Begin to take in payments."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Answer and score what is waiting, then stop."""
        self._is_stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        watched = time.monotonic()
        while True:
            if self._n_waiting:
                self._decide_some()
                # let the routes send answers and bring what came in meanwhile
                await asyncio.sleep(0)
            can_score = True
            if self._is_scoring_due():
                can_score = self._score_some() > 0
                await asyncio.sleep(0)
            if time.monotonic() - watched > _WATCH:
                self._watch()
                watched = time.monotonic()
            if self._n_waiting or (can_score and self._is_scoring_due()):
                continue
            if self._is_stopping:
                return  # what could not be scored is tried again after a restart
            is_gathering = can_score and self.desk.n_unscored
            await self._wait(_GATHERING - self.desk.lag() if is_gathering else _WATCH)

    def _is_scoring_due(self) -> bool:
        """Return whether payments should be scored now."""
        n_unscored = self.desk.n_unscored
        if not n_unscored or not self.desk.is_sound:
            return False
        if self._n_waiting:
            return self.desk.lag() > _LONGEST_LAG
        is_gathered = n_unscored >= _SCORED_AT_ONCE or self.desk.lag() >= _GATHERING
        return is_gathered or self._is_stopping

    async def _wait(self, seconds: float) -> None:
        """Wait for a payment, at most for so long."""
        self._wake.clear()
        timer = asyncio.get_running_loop().call_later(max(seconds, 0.001), self._wake.set)
        await self._wake.wait()
        timer.cancel()

    def _watch(self) -> None:
        """Notice what others have changed; if nobody waits, finish checks and forget."""
        try:
            self.desk.notice_changes()
            if not self._n_waiting and self.desk.is_sound:
                if time.monotonic() - self._finished > _FINISHING:
                    self._finished = time.monotonic()
                    self.desk.finish_checks()
                self.desk.purge_if_due()
        except BusyError:
            pass  # another process writes: later
        except Exception as error:
            self.desk.recover(error)

    def _score_some(self) -> int:
        """Score the payments that have waited longest; return how many.

        One that the model fails on must not keep the others waiting: it is left unscored.
        """
        most = _SCORED_OF_A_FILE if self._is_file_alone() else _SCORED_AT_ONCE
        for score in (self.desk.score_some, self.desk.score_one_by_one):
            try:
                return score(most)
            except BusyError:
                return 0
            except sa.exc.SQLAlchemyError:
                _log.exception("scores could not be written; they are tried again.")
                return 0
            except Exception:
                _log.exception("payments could not be scored; they are tried one by one.")
        return 0

    def _decide_some(self) -> None:
        """Decide on the payments that came first, singles before files."""
        taken = self._taken()
        payments = [each for _, some in taken for each in some]
        try:
            answers = self.desk.decide(payments, _written_with(taken))
        except Exception as error:  # the log could not be written
            for request, _ in taken:
                request.fail(BusyError(2.0))
                self._forget(request)
            if not isinstance(error, BusyError):
                self.desk.recover(error)
            return
        start = 0
        for request, some in taken:
            request.answers += answers[start : start + len(some)]
            start += len(some)
            self._n_waiting -= len(some)
            if not request.n_left:
                self._forget(request)
                request.finish()

    def _taken(self) -> list[tuple[_Request, Sequence[Payment]]]:
        """Return the requests of this turn, each with the payments that are decided now."""
        taken: list[tuple[_Request, Sequence[Payment]]] = []
        room = _OF_A_FILE if self._is_file_alone() else AT_ONCE
        for request in [*self._single, *list(self._large)[:1]]:
            if room <= 0:
                break
            if request.n_left > room and taken and len(request.payments) <= AT_ONCE:
                break  # few payments are decided in one turn, or in the next
            start = len(request.answers)
            some = request.payments[start : start + room]
            taken.append((request, some))
            room -= len(some)
        return taken

    def _is_file_alone(self) -> bool:
        """Return whether nobody has sent anything but files for a while."""
        if self._single:
            self._saw_single = time.monotonic()
        return time.monotonic() - self._saw_single > _ALONE

    def _forget(self, request: _Request) -> None:
        """Remove a request that is answered, or failed with some of its payments left."""
        queue = self._single if len(request.payments) <= AT_ONCE else self._large
        self._n_waiting -= request.n_left
        with suppress(ValueError):
            queue.remove(request)


def _written_with(taken: Sequence[tuple[_Request, Sequence[Payment]]]) -> Also | None:
    """Return what requests that end with this turn ask to be written with it."""
    if all(request.also is None for request, _ in taken):
        return None

    def write(connection: sa.Connection, answers: Sequence[Answer | ConflictError]) -> None:
        start = 0
        for request, some in taken:
            own = answers[start : start + len(some)]
            start += len(some)
            if request.also is not None and request.n_left == len(some):
                request.also(connection, [*request.answers, *own])

    return write

"""Payments and labels from streams into the engine: each counts once.

How far a stream was read is stored in the commit of what followed from it. So after a crash it is
read from there on, and a payment that is read twice all the same is known by its id. A message
that cannot be taken in is stored as rejected, with the reason, and holds up no other.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from toprank.live.engine.decision_engine import DecisionEngine
from toprank.live.messages import Answer, BusyError, ConflictError, LabelGiven, Payment
from toprank.live.store import stream_position_table, stream_reject_table
from toprank.live.store.stream_reject_table import StreamReject
from toprank.live.streams import stream_reading
from toprank.live.streams.stream_contracts import BrokerError, StreamMessage, StreamSource
from toprank.live.streams.stream_reading import read_messages
from toprank.live.streams.stream_watcher import StreamWatcher
from toprank.live.web.label_reader import label_given
from toprank.live.web.payment_reader import PaymentReader
from toprank.payments.features.past import LabelCounts

_log = logging.getLogger("toprank.live")

_AT_ONCE = 500
_WAIT = 0.5  # seconds that a source waits for messages
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0  # seconds after a failure, doubled up to


class StreamIntake:
    """Reads a stream into the engine until it is cancelled; `take` is what its kinds differ in."""

    def __init__(
        self, source: StreamSource, engine: DecisionEngine, watcher: StreamWatcher
    ) -> None:
        self.source, self._engine, self._watcher = source, engine, watcher
        self._fault = ""
        self.n_ends = 0
        """How often all that there was had been taken in."""

    async def run(self) -> None:
        """Read for ever; where the broker or the database fails, begin again where it was."""
        pause = _FIRST_PAUSE
        try:
            while True:
                try:
                    await self._open()
                    pause = _FIRST_PAUSE
                    while True:
                        await self._take_some()
                except BrokerError as error:
                    self._note(str(error))
                except Exception as error:
                    _log.exception("messages of %s could not be taken in.", self.source.name)
                    self._note(str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            await self.source.close()

    def _note(self, fault: str) -> None:
        """Write why nothing is read to the log, once."""
        self._watcher.saw_connection(self.source.name, False)
        if fault != self._fault:
            _log.warning("%s (It is tried again every few seconds.)", fault)
        self._fault = fault

    async def _open(self) -> None:
        live = self._engine.desk
        with live.desk.database.reading() as connection:
            taken = stream_position_table.of_stream(connection, self.source.name)
        await self.source.open(taken)
        for each in self.source.notes:
            _log.warning("%s", each)
        if self._fault:
            _log.warning("%s is read again.", self.source.name)
        self._fault = ""
        self._watcher.saw_connection(self.source.name, True)

    async def _take_some(self) -> None:
        messages = await self.source.poll(_AT_ONCE, _WAIT)
        while messages:
            try:
                rejects = await self.take(messages)
            except BusyError as error:
                await asyncio.sleep(error.retry_after)
                continue
            await self.source.commit(stream_reading.newest_offsets(messages))
            if rejects:
                self._watcher.saw_rejects(self.source.name, len(rejects))
                folder = str(self._engine.desk.desk.folder)
                _log.warning("%s", stream_reading.summary(rejects, folder))
            break
        if len(messages) < _AT_ONCE:
            self.n_ends += 1

    async def take(self, messages: Sequence[StreamMessage]) -> list[StreamReject]:
        """Take messages in; return those that were rejected. BusyError if it must come again."""
        raise NotImplementedError

    def store(
        self, connection: sa.Connection, taken: dict[int, int], rejects: Sequence[StreamReject]
    ) -> None:
        """Write how far the stream was read, in the commit of what followed from that."""
        stream_position_table.put(connection, self.source.name, taken)
        stream_reject_table.add(connection, rejects)


class PaymentIntake(StreamIntake):
    """Reads payments, which the engine decides."""

    def __init__(
        self,
        source: StreamSource,
        engine: DecisionEngine,
        watcher: StreamWatcher,
        reader: PaymentReader,
    ) -> None:
        super().__init__(source, engine, watcher)
        self._reader = reader

    async def take(self, messages: Sequence[StreamMessage]) -> list[StreamReject]:
        """Take payments in."""
        name, now = self.source.name, self._engine.desk.now()

        def read(item: Any) -> Payment:
            return self._reader.payment(item, now)

        found = read_messages(name, messages, read)
        conflicts: list[StreamReject] = []

        def also(connection: sa.Connection, answers: Sequence[Answer | ConflictError]) -> None:
            conflicts.extend(
                stream_reading.conflict(name, message, answer.payment_id)
                for message, answer in zip(found.messages, answers, strict=True)
                if isinstance(answer, ConflictError)
            )
            self.store(connection, found.taken, [*found.rejects, *conflicts])

        answers = await self._engine.take(found.items, also)
        self._watcher.saw_answers([each for each in answers if isinstance(each, Answer)])
        return [*found.rejects, *conflicts]


class LabelIntake(StreamIntake):
    """Reads labels; those of payments that are still on their way wait for them.

    `payments` is what reads the stream of payments, if there is one.
    """

    def __init__(
        self,
        source: StreamSource,
        engine: DecisionEngine,
        watcher: StreamWatcher,
        payments: StreamIntake | None,
    ) -> None:
        super().__init__(source, engine, watcher)
        self._payments = payments

    async def take(self, messages: Sequence[StreamMessage]) -> list[StreamReject]:
        """Take labels in."""
        name, now = self.source.name, self._engine.desk.now()

        def read(item: Any) -> LabelGiven:
            return label_given(item, now)

        found = read_messages(name, messages, read)
        await self._wait_for_payments([each.id for each in found.items])
        unknown: list[StreamReject] = []

        def also(connection: sa.Connection, counts: LabelCounts) -> None:
            unknown.extend(
                stream_reading.unknown(name, found.messages[place], found.items[place].id)
                for place in counts.unknown
            )
            self.store(connection, found.taken, [*found.rejects, *unknown])

        counts = await self._engine.label(found.items, f"stream:{name}", also)
        self._watcher.saw_labels(counts)
        return [*found.rejects, *unknown]

    async def _wait_for_payments(self, ids: Sequence[str]) -> None:
        """Return when all payments are known, or all that the broker has were taken in."""
        if self._payments is None:
            return
        # the payments that were there by now are in when two reads have come to the end
        until = self._payments.n_ends + 2
        while self._payments.n_ends < until and self._engine.desk.unknown_of(ids):
            await asyncio.sleep(0.05)

"""A partition at work: inputs in order, through its history, to pages for the next stage."""

import asyncio
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.live.desk import clock_of, fields_of
from toprank.live.messages import LabelGiven
from toprank.live.stages.ordered_merge import NumberedItem, OrderedMerge
from toprank.live.stages.partition_states import (
    InputPlace,
    PartitionState,
    load_state,
    store_state,
)
from toprank.live.stages.stage_pages import StagePage
from toprank.live.stages.stage_partitions import StageModel, StagePartition, TakenRow
from toprank.live.stages.stage_streams import StageStreams
from toprank.live.streams.ended_tasks import end_task
from toprank.live.streams.nats_stream import NatsSource
from toprank.live.streams.stream_contracts import BrokerError, StreamMessage
from toprank.live.web import strict_json
from toprank.live.web.label_reader import label_given
from toprank.live.web.payment_reader import PaymentReader
from toprank.live.web.request_errors import RequestError

LABELS = "labels"

_AT_ONCE = 500
_MOST_WAITING = 5_000  # entries of an input that wait for the others
_WAIT = 0.1  # seconds that an input waits for messages
_NOTHING = np.empty(0)

Item = TakenRow | LabelGiven


def partition_of(key: str, n_partitions: int) -> int:
    """Return the partition of a key, such as a card.

    >>> partition_of("card-7", 4)
    1
    """
    return zlib.crc32(key.encode()) % n_partitions


class PartitionRun(ABC):
    """A partition of a stage, from its stored state on; the stages say what goes in and out.

    Parameters
    ----------
    streams, model
        The broker, and the model and rules.
    number
        The partition.
    folder
        Where its history is kept while it is read and written.
    every
        Payments between two stored states.
    """

    stage: str

    def __init__(
        self, streams: StageStreams, model: StageModel, number: int, folder: Path, every: int
    ) -> None:
        self._streams, self._model, self.number, self._every = streams, model, number, every
        self._name = f"{self.stage}.{number}"
        self._path = folder / f"{self._name}.history"
        self._came = asyncio.Event()
        self._places: dict[str, deque[InputPlace]] = {}
        self._is_stopping = False
        self._merged: OrderedMerge[Item]
        self._partition: StagePartition

    @abstractmethod
    def _inputs(self) -> dict[str, NatsSource]:
        """Return what is read, by name; the labels are among them."""

    @abstractmethod
    async def _read(
        self, name: str, messages: Sequence[StreamMessage], until: int
    ) -> tuple[list[NumberedItem[Item]], int]:
        """Return what is in messages of an input, and the number up to which it is complete."""

    @abstractmethod
    async def _open_outputs(self) -> None:
        """Find out what was published already."""

    @abstractmethod
    async def _publish(
        self, since: int, rows: list[TakenRow], features: NDArray[np.float64]
    ) -> None:
        """Publish rows and their features, up to what was released."""

    def stop(self) -> None:
        """Let `run` store the state and return."""
        self._is_stopping = True
        self._came.set()

    async def run(self) -> None:
        """Work until it is stopped; BrokerError or PartitionLostError if it cannot."""
        state = await load_state(self._streams, self._name, self._path)
        has_state = state is not None
        state = state or PartitionState(0, {})
        self._partition = await asyncio.to_thread(
            self._model.partition, self.stage, self._path if has_state else None
        )
        inputs = self._inputs()
        begin = {name: state.inputs.get(name, InputPlace()) for name in inputs}
        self._places = {name: deque([place]) for name, place in begin.items()}
        self._merged = OrderedMerge(
            {name: each.until for name, each in begin.items()}, state.until
        )
        await self._open_outputs()
        reading = []
        try:
            for name, source in inputs.items():
                await source.open({0: begin[name].offset})
                reading.append(asyncio.create_task(self._follow(name, source)))
            await self._work(reading)
        finally:
            for task in reading:
                with suppress(Exception):  # it was raised already, or comes again
                    await end_task(task)
            for source in inputs.values():
                await source.close()
            self._path.unlink(missing_ok=True)

    async def _follow(self, name: str, source: NatsSource) -> None:
        """Add the messages of an input for ever; not too far ahead of the others."""
        while True:
            if self._merged.n_waiting(name) > _MOST_WAITING:
                await asyncio.sleep(0.01)
                continue
            messages = await source.poll(_AT_ONCE, _WAIT)
            until = await source.complete_until() if len(messages) < _AT_ONCE else 0
            entries, complete = await self._read(name, messages, until)
            self._merged.add(name, entries, complete)
            if messages:
                await source.commit({0: messages[-1].offset})
            self._came.set()

    async def _work(self, reading: Sequence[asyncio.Task]) -> None:
        n_taken, since = 0, self._merged.until
        while not self._is_stopping:
            await self._came.wait()
            self._came.clear()
            for task in reading:
                if task.done():
                    task.result()  # raises what has ended it
            entries = self._merged.released()
            for start in range(0, len(entries), _AT_ONCE):
                some = entries[start : start + _AT_ONCE]
                rows, features = await asyncio.to_thread(self._partition.take, some)
                is_last = start + len(some) == len(entries)
                until = self._merged.until if is_last else some[-1].number
                await self._publish_until(since, until, rows, features)
                since, n_taken = until, n_taken + len(some)
            if self._merged.until > since:
                empty = np.empty((0, len(self._partition.names)))
                await self._publish_until(since, self._merged.until, [], empty)
                since = self._merged.until
            if n_taken >= self._every:
                await self._store()
                n_taken = 0
        if n_taken:
            await self._store()

    async def _publish_until(
        self, since: int, until: int, rows: list[TakenRow], features: NDArray[np.float64]
    ) -> None:
        self._until = until
        await self._publish(since, rows, features)

    async def _store(self) -> None:
        """Store the state; what was published of it is at the broker by now."""
        until = self._merged.until
        inputs = {}
        for name, places in self._places.items():
            while len(places) > 1 and places[1].until <= until:
                places.popleft()
            inputs[name] = places[0]
        await asyncio.to_thread(self._partition.save, self._path)
        await store_state(self._streams, self._name, PartitionState(until, inputs), self._path)

    def _labels(
        self, messages: Sequence[StreamMessage], until: int
    ) -> tuple[list[NumberedItem[Item]], int]:
        """Return labels; those that are none were rejected by the first stage."""
        found: list[NumberedItem[Item]] = []
        for each in messages:
            label = label_of(each)
            if isinstance(label, LabelGiven):
                found.append(NumberedItem(each.offset, label))
        return found, self._complete(LABELS, messages, until)

    def _complete(self, name: str, messages: Sequence[StreamMessage], until: int) -> int:
        """Return the number up to which an input of the stream of payments is complete."""
        complete = max([until, *(each.offset for each in messages)])
        places = self._places[name]
        if complete > places[-1].until:
            places.append(InputPlace(complete, complete))
            while len(places) > 1 and places[1].until <= self._merged.until:
                places.popleft()
        return complete


def label_of(message: StreamMessage) -> LabelGiven | RequestError:
    """Return the label in a message, known from when the broker got it if it says nothing else."""
    try:
        label = label_given(strict_json.parsed(message.body), message.at)
    except RequestError as error:
        return error
    known = message.at if label.known_at is None else label.known_at
    return LabelGiven(label.id, label.is_fraud, known, label.source)


class TerminalRun(PartitionRun):
    """A partition of the terminal stage: payments in, with features of terminals to the cards."""

    stage = "terminal"

    def _inputs(self) -> dict[str, NatsSource]:
        desk, model = self._model.desk, self._model.model
        is_tokenising = model.stored_cards_.fingerprint is not None
        self._reader = PaymentReader(fields_of(model), is_tokenising, desk.settings.times)
        with desk.database.reading() as connection:
            self._clock = clock_of(desk, model, connection)
        return {
            "payments": self._streams.source("payments", f"{self.number}.>"),
            LABELS: self._streams.source("payments", LABELS),
        }

    async def _read(
        self, name: str, messages: Sequence[StreamMessage], until: int
    ) -> tuple[list[NumberedItem[Item]], int]:
        if name == LABELS:
            for each in messages if self.number == 0 else ():
                label = label_of(each)
                if isinstance(label, RequestError):
                    await self._streams.reject(each.offset, label.message)
            return self._labels(messages, until)
        found: list[NumberedItem[Item]] = []
        is_wall = self._model.desk.settings.clock == "wall"
        for each in messages:
            now = each.at if is_wall else self._clock.now()
            try:
                payment = self._reader.payment(strict_json.parsed(each.body), now)
            except RequestError as error:
                await self._streams.reject(each.offset, error.message)
                continue
            self._clock.see(payment.paid_at)
            stored = self._model.stored.stored(payment)
            found.append(NumberedItem(each.offset, TakenRow(each.offset, stored, _NOTHING)))
        return found, self._complete(name, messages, until)

    async def _open_outputs(self) -> None:
        n = self._streams.n_partitions
        self._pages = [self._streams.pages("cards", f"{card}.{self.number}") for card in range(n)]
        for each in self._pages:
            await each.open()

    async def _publish(
        self, since: int, rows: list[TakenRow], features: NDArray[np.float64]
    ) -> None:
        n = self._streams.n_partitions
        places = np.array([partition_of(each.payment.card, n) for each in rows], dtype=int)
        pages = []
        for card in range(n):
            own = np.flatnonzero(places == card)
            bodies = [(rows[i].number, rows[i].payment.body) for i in own.tolist()]
            pages.append(StagePage(since, self._until, bodies, features[own]))
        writing = zip(self._pages, pages, strict=True)
        await asyncio.gather(*(writer.write(page) for writer, page in writing))


class CardRun(PartitionRun):
    """A partition of the card stage: pages of all terminal partitions in, decisions out."""

    stage = "card"

    def _inputs(self) -> dict[str, NatsSource]:
        pages = {
            str(each): self._streams.source("cards", f"{self.number}.{each}")
            for each in range(self._streams.n_partitions)
        }
        return {**pages, LABELS: self._streams.source("payments", LABELS)}

    async def _read(
        self, name: str, messages: Sequence[StreamMessage], until: int
    ) -> tuple[list[NumberedItem[Item]], int]:
        if name == LABELS:
            return self._labels(messages, until)
        found: list[NumberedItem[Item]] = []
        places = self._places[name]
        for each in messages:
            page = StagePage.of(each.body)
            if page.since > places[-1].until:
                raise BrokerError(
                    f"pages of {self._streams.prefix}.cards.{self.number}.{name} are missing from "
                    f"{places[-1].until:,} to {page.since:,}: the broker has dropped them."
                )
            found += self._rows(page)
            places.append(InputPlace(each.offset, page.until))
        return found, places[-1].until

    def _rows(self, page: StagePage) -> Iterable[NumberedItem[Item]]:
        for (number, body), features in zip(page.rows, page.features, strict=True):
            yield NumberedItem(number, TakenRow(number, self._model.payment(body), features))

    async def _open_outputs(self) -> None:
        self._decisions = self._streams.pages("decisions", str(self.number))
        await self._decisions.open()

    async def _publish(
        self, since: int, rows: list[TakenRow], features: NDArray[np.float64]
    ) -> None:
        page = await asyncio.to_thread(self._decided, since, rows, features)
        await self._decisions.write(page)

    def _decided(self, since: int, rows: list[TakenRow], features: NDArray[Any]) -> StagePage:
        before = np.array([each.before for each in rows]).reshape(-1, self._model.n_terminal)
        whole = self._model.whole(before, features)
        return StagePage(since, self._until, self._model.decided(rows, whole), whole)


RUNS: dict[str, type[PartitionRun]] = {"terminal": TerminalRun, "card": CardRun}
"""The stages."""

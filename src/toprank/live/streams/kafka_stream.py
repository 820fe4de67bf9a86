"""Kafka: a topic that is read, all of its partitions by one desk, and one that is written to.

The library works with threads of its own and blocks, so it is called in threads. Options of
librdkafka follow the address: kafka://host:9093/payments?security.protocol=SASL_SSL.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError, OutMessage, StreamMessage

_TIMEOUT = 5.0  # seconds for an answer of the broker
_LOOK = 30.0  # seconds between two looks for new partitions
_ID = "id"  # the header that has a message's id
_UNREACHABLE = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)
# the library reconnects by itself after these
_PASSING = (KafkaError._PARTITION_EOF, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)


class KafkaSource:
    """A topic of Kafka that is read: see `StreamSource`."""

    def __init__(self, address: StreamAddress) -> None:
        self._address, self.name = address, address.shown
        self.notes: list[str] = []
        self._consumer: Consumer | None = None
        self._partitions: set[int] = set()
        self._looked = 0.0

    async def open(self, taken: Mapping[int, int]) -> None:
        """Begin after the offsets taken."""
        await self.close()
        self.notes = []
        await asyncio.to_thread(self._open, taken)

    def _open(self, taken: Mapping[int, int]) -> None:
        # offsets are the desk's; the group only shows them to who looks at the broker
        settings = {
            "group.id": "toprank",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        self._consumer = consumer = Consumer(_config(self._address) | settings)
        with _broker_errors(self.name):
            self._partitions = set(_partitions_of(consumer, self._address))
            places = [self._begin(consumer, each, taken) for each in sorted(self._partitions)]
            consumer.assign(places)
        self._looked = time.monotonic()

    def _begin(
        self, consumer: Consumer, partition: int, taken: Mapping[int, int]
    ) -> TopicPartition:
        """Return where a partition is read from, with a note if messages are missing there."""
        place = TopicPartition(self._address.name, partition)
        low, high = consumer.get_watermark_offsets(place, timeout=_TIMEOUT)
        if partition not in taken:
            place.offset = OFFSET_BEGINNING
            return place
        begin = taken[partition] + 1
        where = f"partition {partition} of {self.name}"
        if begin > high:
            self.notes.append(
                f"{where} ends before message {begin:,}, which was to be next: the topic was made "
                "anew, and is read from its beginning."
            )
            begin = low
        elif begin < low:
            self.notes.append(
                f"{where} begins with message {low:,}; messages from {begin:,} on were dropped "
                "before they were read."
            )
            begin = low
        place.offset = begin
        return place

    async def poll(self, most: int, seconds: float) -> list[StreamMessage]:
        """Return messages as soon as there are some."""
        return await asyncio.to_thread(self._poll, most, seconds)

    def _poll(self, most: int, seconds: float) -> list[StreamMessage]:
        consumer = self._opened()
        with _broker_errors(self.name):
            if time.monotonic() - self._looked > _LOOK:
                self._look_for_partitions(consumer)
            # to wait for `most` would keep those waiting that are there already
            first = consumer.poll(seconds)
            found = [first] if first is not None else []
            if first is not None and most > 1:
                found += consumer.consume(most - 1, timeout=0.005)
        return [self._message(each) for each in found if not self._is_passing(each)]

    def _look_for_partitions(self, consumer: Consumer) -> None:
        self._looked = time.monotonic()
        new = set(_partitions_of(consumer, self._address)) - self._partitions
        places = [TopicPartition(self._address.name, each, OFFSET_BEGINNING) for each in new]
        if places:
            consumer.incremental_assign(places)
            self._partitions |= new

    def _is_passing(self, message: Message) -> bool:
        error = message.error()
        if error is not None and error.code() not in _PASSING:
            raise BrokerError(f"{self.name}: {error.str()}.")
        return error is not None

    def _message(self, message: Message) -> StreamMessage:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        return StreamMessage(
            message.value() or b"", partition, offset, message.timestamp()[1] * 1000
        )

    async def commit(self, taken: Mapping[int, int]) -> None:
        """Store the offsets in the group `toprank`, for those who look at the broker."""
        consumer = self._opened()
        places = [TopicPartition(self._address.name, *each) for each in _next(taken)]
        with _broker_errors(self.name):
            consumer.commit(offsets=places, asynchronous=True)

    def _opened(self) -> Consumer:
        if self._consumer is None:
            raise BrokerError(f"the connection to {self.name} has ended.")
        return self._consumer

    async def close(self) -> None:
        """End the connection."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(Exception):
                await asyncio.to_thread(consumer.close)


class KafkaSink:
    """A topic of Kafka that is written to: see `StreamSink`."""

    def __init__(self, address: StreamAddress) -> None:
        self._address, self.name = address, address.shown
        self._producer: Producer | None = None
        self._there: set[str] = set()

    async def open(self, n_recent: int) -> None:
        """Connect, and read the ids of the last messages of each partition."""
        await self.close()
        await asyncio.to_thread(self._open, n_recent)

    def _open(self, n_recent: int) -> None:
        config = _config(self._address)
        consumer = Consumer(config | {"group.id": "toprank", "enable.auto.commit": False})
        try:
            with _broker_errors(self.name):
                self._there = self._recent(consumer, n_recent)
        finally:
            consumer.close()
        self._producer = Producer(
            config | {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 20_000}
        )

    def _recent(self, consumer: Consumer, n_recent: int) -> set[str]:
        left = {}
        for partition in _partitions_of(consumer, self._address):
            place = TopicPartition(self._address.name, partition)
            low, high = consumer.get_watermark_offsets(place, timeout=_TIMEOUT)
            if high > low:
                left[partition] = (max(low, high - n_recent), high)
        places = [TopicPartition(self._address.name, each, left[each][0]) for each in left]
        consumer.assign(places)
        found: set[str] = set()
        until = time.monotonic() + 2 * _TIMEOUT
        while left:
            if time.monotonic() > until:
                raise BrokerError(f"the last messages of {self.name} could not be read.")
            for each in consumer.consume(1_000, timeout=0.1):
                if each.error() is not None:
                    continue
                found |= {
                    str(value, "utf-8") for name, value in each.headers() or () if name == _ID
                }
                partition, offset = each.partition(), each.offset()
                if partition in left and offset is not None and offset + 1 >= left[partition][1]:
                    del left[partition]
        return found

    async def publish(self, messages: Sequence[OutMessage]) -> None:
        """Return when the topic has all messages."""
        await asyncio.to_thread(self._publish, messages)

    def _publish(self, messages: Sequence[OutMessage]) -> None:
        producer = self._producer
        if producer is None:
            raise BrokerError(f"the connection to {self.name} has ended.")
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failed.append(error)

        with _broker_errors(self.name):
            for each in messages:
                if each.id not in self._there:
                    _send(producer, self._address.name, each, delivered)
            n_left = producer.flush(25.0)
        if failed or n_left:
            reason = failed[0].str() if failed else "no answer in time"
            raise BrokerError(f"{self.name}: {reason}.")

    async def close(self) -> None:
        """End the connection."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            await asyncio.to_thread(producer.flush, 1.0)


def _send(
    producer: Producer, topic: str, message: OutMessage, delivered: Callable[[Any, Any], None]
) -> None:
    """Send a message, once there is room for it."""
    headers: Any = [(_ID, message.id.encode())]
    for _ in range(100):
        try:
            producer.produce(
                topic, message.body, message.key, headers=headers, on_delivery=delivered
            )
            return
        except BufferError:
            producer.poll(0.1)
    raise BrokerError("the broker takes no messages.")


def _next(taken: Mapping[int, int]) -> list[tuple[int, int]]:
    return [(partition, offset + 1) for partition, offset in taken.items()]


def _partitions_of(consumer: Consumer, address: StreamAddress) -> list[int]:
    """Return the partitions of a topic; BrokerError if there is no such topic."""
    topics = consumer.list_topics(timeout=_TIMEOUT).topics
    if address.name not in topics or topics[address.name].error is not None:
        known = ", ".join(sorted(each for each in topics if not each.startswith("__"))) or "none"
        raise BrokerError(
            f"there is no topic {address.name!r} at {address.shown}; there are: {known}."
        )
    return list(topics[address.name].partitions)


def _config(address: StreamAddress) -> dict[str, Any]:
    login = {"sasl.username": address.user, "sasl.password": address.password}
    return {
        "bootstrap.servers": ",".join(address.servers),
        "client.id": "toprank",
        "allow.auto.create.topics": False,
        "logger": _silent(),
        **(login if address.user else {}),
        **dict(address.options),
    }


def _silent() -> Any:
    """Return a log that shows nothing: faults are noticed where the connection is used."""
    import logging

    log = logging.getLogger("toprank.live.kafka")
    log.setLevel(logging.CRITICAL + 1)
    return log


@contextmanager
def _broker_errors(name: str) -> Iterator[None]:
    """Turn errors of the library into ours, which name the stream."""
    try:
        yield
    except KafkaException as error:
        fault = error.args[0] if error.args else None
        if fault is None or fault.code() in _UNREACHABLE:
            raise BrokerError(f"cannot connect to {name}: no broker answers there.") from error
        raise BrokerError(f"{name}: {fault.str()}.") from error

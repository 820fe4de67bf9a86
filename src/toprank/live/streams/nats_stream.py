"""NATS JetStream: a subject of a stream that is read, and one that is written to.

Messages of all partitions are in one order, so a source has the partition 0, and its offsets are
the stream's sequence numbers. Each opening makes a consumer of its own that begins after the last
offset taken; the broker removes it a minute after the connection has ended.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import nats
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError, ServiceUnavailableError

from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError, OutMessage, StreamMessage

_TIMEOUT = 5.0  # seconds for an answer of the server
_PING = 10  # seconds between two signs of life
_FORGOTTEN = 60.0  # seconds after which the server removes a consumer that nobody reads
_CHECK = 10.0  # seconds without messages after which the consumer is looked for
_AT_ONCE = 200  # messages sent before their answers are awaited


class NatsConnection:
    """A connection to a server with JetStream, and the stream that has the subject."""

    def __init__(self, address: StreamAddress, stream: str = "") -> None:
        self._address, self.name, self._stream = address, address.shown, stream
        self._client: Any = None
        self.streams: JetStreamContext
        self.info: api.StreamInfo

    async def open(self, make: Callable[[], Awaitable[None]] | None = None) -> None:
        """Connect, and find the stream, after `make`; BrokerError says what is missing."""
        await self.close()
        faults: list[Exception] = []

        async def note(error: Exception) -> None:
            del faults[:]  # what happens later is noticed where the connection is used
            faults.append(error)

        try:
            self._client = await nats.connect(
                [f"nats://{each}" for each in self._address.servers],
                name="toprank",
                connect_timeout=int(_TIMEOUT),
                allow_reconnect=False,  # the reader begins anew, where it has stored that it was
                max_reconnect_attempts=1,  # of the first connection
                reconnect_time_wait=0,
                ping_interval=_PING,
                max_outstanding_pings=2,
                error_cb=note,
                **_login(self._address),
            )
        except (nats.errors.Error, OSError, ValueError) as error:
            reason = faults[0] if faults else error
            raise BrokerError(f"cannot connect to {self.name}: {_words(reason)}.") from error
        with broker_errors(self.name):
            self.streams = self._client.jetstream(timeout=_TIMEOUT, publish_async_max_pending=1000)
            if make is not None:
                await make()
            self.info = await self._found()

    async def _found(self) -> api.StreamInfo:
        if self._stream:
            return await self.streams.stream_info(self._stream)
        try:
            stream = await self.streams.find_stream_name_by_subject(self._address.name)
        except NotFoundError:
            known = [subject for each in await self.streams.streams_info()
                     for subject in each.config.subjects or []]  # fmt: skip
            raise BrokerError(
                f"no JetStream stream of {self.name} has the subject {self._address.name!r}; "
                f"there are: {', '.join(sorted(known)) or 'none'}."
            ) from None
        return await self.streams.stream_info(stream)

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return str(self.info.config.name)

    def check_connected(self) -> None:
        """Raise if the connection has ended."""
        if self._client is None or not self._client.is_connected:
            raise BrokerError(f"the connection to {self.name} has ended.")

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            with suppress(Exception):
                await self._client.close()
            self._client = None


class NatsSource:
    """A subject of JetStream that is read: see `StreamSource`.

    With the name of a stream, the subject of the address may be a pattern of several in it.
    """

    def __init__(self, address: StreamAddress, stream: str = "") -> None:
        self._address, self.name = address, address.shown
        self.notes: list[str] = []
        self._connection = NatsConnection(address, stream)

    async def open(self, taken: Mapping[int, int]) -> None:
        """Begin after an offset."""
        await self._connection.open()
        info = self._connection.info
        begin = taken.get(0, 0) + 1
        self.notes = []
        if info.config.retention != api.RetentionPolicy.LIMITS:
            raise BrokerError(
                f"the stream {self._connection.stream!r} of {self.name} must keep its messages "
                f"(--retention limits); it has {info.config.retention!s}, which drops them."
            )
        if begin > info.state.last_seq + 1:
            self.notes.append(
                f"{self.name} ends at message {info.state.last_seq:,}, before message "
                f"{begin:,}, which was to be next: the stream was made anew, and is read from its "
                "beginning."
            )
            begin = 1
        elif 1 < begin < info.state.first_seq:
            self.notes.append(
                f"{self.name} begins with message {info.state.first_seq:,}; messages from "
                f"{begin:,} on were dropped before they were read."
            )
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(begin, 1),
            ack_policy=api.AckPolicy.ALL,
            ack_wait=600.0,
            max_ack_pending=100_000,
            inactive_threshold=_FORGOTTEN,
        )
        with broker_errors(self.name):
            self._read = await self._connection.streams.pull_subscribe(
                self._address.name, stream=self._connection.stream, config=config
            )
        self._last, self._n_read, self._silent = begin - 1, 0, 0.0
        self._newest: Msg | None = None

    async def poll(self, most: int, seconds: float) -> list[StreamMessage]:
        """Return messages as soon as there are some."""
        try:
            with broker_errors(self.name):
                found = await self._read.fetch(max(most, 2), timeout=seconds)
        except BrokerError as error:
            self._connection.check_connected()
            if not isinstance(error.__cause__, TimeoutError):
                raise
            await self._check_consumer(seconds)
            return []
        self._silent = 0.0
        messages = []
        for each in found:
            place = each.metadata.sequence
            self._n_read += 1
            if place.consumer != self._n_read:
                raise BrokerError(f"messages of {self.name} were lost on their way.")
            if place.stream > self._last:  # others have come before, and were kept
                self._last = place.stream
                at = int(each.metadata.timestamp.timestamp() * 1e6)
                messages.append(StreamMessage(each.data, 0, place.stream, at))
        self._newest = found[-1] if found else self._newest
        return messages

    async def complete_until(self) -> int:
        """Return the sequence number of the stream up to which all messages were returned.

        Those of other subjects of the stream count, too: it grows while there is none of this one.
        """
        with broker_errors(self.name):
            info = await self._connection.streams.stream_info(self._connection.stream)
            state = await self._read.consumer_info()
        n_sent = state.delivered.consumer_seq if state.delivered else 0
        if state.num_pending == 0 and n_sent == self._n_read:
            self._last = max(self._last, info.state.last_seq)
        return self._last

    async def _check_consumer(self, seconds: float) -> None:
        """Raise if the server has no consumer any more: nothing would come for ever."""
        self._silent += seconds
        if self._silent >= _CHECK:
            self._silent = 0.0
            with broker_errors(self.name):
                await self._read.consumer_info()

    async def commit(self, taken: Mapping[int, int]) -> None:
        """Acknowledge all messages so far, which `nats consumer info` shows."""
        if self._newest is not None:
            with broker_errors(self.name):
                await self._newest.ack()
            self._newest = None

    async def close(self) -> None:
        """End the connection."""
        await self._connection.close()


class NatsSink:
    """A subject of JetStream that is written to: see `StreamSink`."""

    def __init__(self, address: StreamAddress) -> None:
        self._address, self.name = address, address.shown
        self._connection = NatsConnection(address)
        self._there: set[str] = set()

    async def open(self, n_recent: int) -> None:
        """Connect, and read the ids of the last messages."""
        await self._connection.open()
        state = self._connection.info.state
        self._there = set()
        if not state.messages:
            return
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(state.last_seq - n_recent + 1, 1),
            ack_policy=api.AckPolicy.NONE,
            headers_only=True,
            inactive_threshold=_FORGOTTEN,
        )
        with broker_errors(self.name):
            read = await self._connection.streams.pull_subscribe(
                self._address.name, stream=self._connection.stream, config=config
            )
            for _ in range((await read.consumer_info()).num_pending or 0):
                (message,) = await read.fetch(1, timeout=_TIMEOUT)
                self._there.add((message.headers or {}).get(api.Header.MSG_ID, ""))
            await read.unsubscribe()

    async def publish(self, messages: Sequence[OutMessage]) -> None:
        """Return when the stream has all messages."""
        new = [each for each in messages if each.id not in self._there]
        for start in range(0, len(new), _AT_ONCE):
            self._connection.check_connected()
            with broker_errors(self.name):
                sent = [
                    await self._connection.streams.publish_async(
                        self._address.name, each.body, headers={api.Header.MSG_ID.value: each.id}
                    )
                    for each in new[start : start + _AT_ONCE]
                ]
                await asyncio.wait_for(asyncio.gather(*sent), 2 * _TIMEOUT)

    async def close(self) -> None:
        """End the connection."""
        await self._connection.close()


@contextmanager
def broker_errors(name: str) -> Iterator[None]:
    """Turn errors of the library into ours, which name the stream."""
    try:
        yield
    except (ServiceUnavailableError, NoRespondersError) as error:
        raise BrokerError(
            f"the server of {name} must have JetStream on (nats-server -js); it has not."
        ) from error
    except (TimeoutError, nats.errors.Error, OSError, ValueError) as error:
        raise BrokerError(f"{name}: {_words(error)}.") from error


def _words(error: Exception) -> str:
    """Return what an error of the library says, as part of a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).removeprefix("nats: ").rstrip(".") or type(error).__name__


def _login(address: StreamAddress) -> dict[str, Any]:
    options = dict(address.options)
    login: dict[str, Any] = {}
    if address.user and address.password:
        login = {"user": address.user, "password": address.password}
    elif address.user:
        login = {"token": address.user}
    if "credentials" in options:
        login["user_credentials"] = options["credentials"]
    if options.get("tls") == "true":
        import ssl

        login["tls"] = ssl.create_default_context()
    return login

"""What workers share on a NATS server: streams, leases and states, all with one prefix.

bank.payments.<partition>.<terminal>   payments, and bank.payments.labels: in one order
bank.cards.<partition>.<from>          payments with the features of their terminals
bank.decisions.<partition>             decisions, scores and all features
bank.rejects                           what could not be taken in, with the reason
"""

import json
from typing import Any

from nats.js import api
from nats.js.errors import APIError, NotFoundError

from toprank.live.stages.stage_pages import StagePage
from toprank.live.streams.nats_stream import NatsConnection, NatsSource, broker_errors
from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError

LEASE = 10.0
"""Seconds after which the partitions of a worker that gives no sign of life are free."""

_KINDS = ("payments", "cards", "decisions", "rejects")
_LARGEST = 700_000  # bytes of a message; a server takes 1 MiB unless it is set
_FORGOTTEN = 60.0  # seconds after which a server forgets what nobody reads from any more
_WRONG_LAST = 10071  # what a server calls a message that does not follow the one that was named


class PartitionLostError(Exception):
    """Another worker has written to what a partition alone writes to: it has taken it over."""


class StageStreams:
    """A connection to the streams of a prefix, which `open` makes where they are missing.

    Parameters
    ----------
    address
        The server, and the prefix in place of a subject.
    n_partitions
        Partitions of each stage; fixed when the streams are made.
    """

    def __init__(self, address: StreamAddress, n_partitions: int) -> None:
        self.address, self.prefix, self.n_partitions = address, address.name, n_partitions
        self._connection = NatsConnection(address, f"{self.prefix}-payments")
        self.leases: Any = None
        self.states: Any = None

    async def open(self) -> None:
        """Connect; BrokerError if the streams were made with other partitions."""
        await self._connection.open(self._make)
        with broker_errors(self.address.shown):
            made = json.loads(self._connection.info.config.description or "{}")
            streams = self._connection.streams
            self.leases = await streams.key_value(f"{self.prefix}-workers")
            self.states = await streams.object_store(f"{self.prefix}-states")
        if made.get("partitions") != self.n_partitions:
            raise BrokerError(
                f"--partitions must be {made.get('partitions')}, with which the streams of "
                f"{self.address.shown} were made; got {self.n_partitions}."
            )

    async def _make(self) -> None:
        """Make what is missing; the stream of payments comes last, so that it is all there."""
        streams = self._connection.streams
        try:
            await streams.stream_info(f"{self.prefix}-payments")
            return
        except NotFoundError:
            pass
        await streams.create_key_value(bucket=f"{self.prefix}-workers", ttl=LEASE)
        await streams.create_object_store(f"{self.prefix}-states")
        for kind in reversed(_KINDS):
            suffix = "" if kind == "rejects" else ".>"
            await streams.add_stream(
                name=f"{self.prefix}-{kind}",
                subjects=[f"{self.prefix}.{kind}{suffix}"],
                description=json.dumps({"partitions": self.n_partitions}),
            )

    async def chunks_of(self, found: api.ObjectInfo) -> Any:
        """Return what the chunks of a state can be fetched from, in order."""
        bucket = f"{self.prefix}-states"
        config = api.ConsumerConfig(ack_policy=api.AckPolicy.NONE, inactive_threshold=_FORGOTTEN)
        return await self._connection.streams.pull_subscribe(
            f"$O.{bucket}.C.{found.nuid}", stream=f"OBJ_{bucket}", config=config
        )

    def source(self, kind: str, place: str) -> NatsSource:
        """Return what reads some subjects of a stream, such as `2.>` of payments."""
        address = self.address._replace(name=f"{self.prefix}.{kind}.{place}")
        return NatsSource(address, f"{self.prefix}-{kind}")

    def pages(self, kind: str, place: str) -> "PageWriter":
        """Return what writes pages to one subject of a stream."""
        return PageWriter(self, f"{self.prefix}-{kind}", f"{self.prefix}.{kind}.{place}")

    async def publish(self, subject: str, body: bytes, headers: dict[str, str]) -> int:
        """Publish a message; return its sequence number."""
        self._connection.check_connected()
        with broker_errors(self.address.shown):
            return (await self._connection.streams.publish(subject, body, headers=headers)).seq

    async def reject(self, number: int, reason: str) -> None:
        """Publish why a message of the stream of payments could not be taken in."""
        body = json.dumps({"sequence": number, "reason": reason}).encode()
        await self.publish(
            f"{self.prefix}.rejects", body, {api.Header.MSG_ID.value: f"reject:{number}"}
        )

    async def last(self, stream: str, subject: str) -> tuple[int, bytes] | None:
        """Return sequence number and body of the last message of a subject, None if none is."""
        with broker_errors(self.address.shown):
            try:
                found = await self._connection.streams.get_last_msg(stream, subject)
            except NotFoundError:
                return None
        return int(found.seq or 0), found.data or b""

    async def close(self) -> None:
        """End the connection."""
        await self._connection.close()


class PageWriter:
    """The only writer of a subject: each page follows the last one, or is refused.

    A worker that has lost a partition without knowing it cannot write to it any more, and one that
    has taken it over repeats nothing that is there.
    """

    def __init__(self, streams: StageStreams, stream: str, subject: str) -> None:
        self._streams, self._stream, self._subject = streams, stream, subject
        self._sequence = self.until = 0

    async def open(self) -> None:
        """Find out what is there."""
        last = await self._streams.last(self._stream, self._subject)
        if last is not None:
            self._sequence, self.until = last[0], StagePage.of(last[1]).until

    async def write(self, page: StagePage) -> None:
        """Publish what is new in a page, in several messages if it is large."""
        if page.until <= self.until:
            return
        for part in page.after(self.until).parts(_LARGEST):
            headers = {api.Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: str(self._sequence)}
            try:
                self._sequence = await self._streams.publish(self._subject, part.body(), headers)
            except BrokerError as error:
                cause = error.__cause__
                if isinstance(cause, APIError) and cause.err_code == _WRONG_LAST:
                    raise PartitionLostError(self._subject) from None
                raise
            self.until = part.until

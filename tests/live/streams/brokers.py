"""Brokers to test with: a real NATS server, Kafka's mock cluster, and one in memory."""

import asyncio
import shutil
import socket
import subprocess
import time
from contextlib import suppress

import pytest

from toprank.live.streams.broker_adapters import sink_at, source_at
from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError, StreamMessage


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def nats_binary():
    """The server; the test is skipped where it is not installed."""
    found = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if found is None:
        pytest.skip("nats-server is not installed (apt-get install nats-server)")
    return found


class NatsServer:
    """A server with JetStream in a folder; `start` it again after `kill`."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        self._process = None

    def start(self):
        command = [
            nats_binary(),
            "-js",
            "-a",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-sd",
            str(self.folder),
        ]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            time.sleep(0.02)
        raise AssertionError("nats-server did not start")

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def address(self, name):
        return f"nats://127.0.0.1:{self.port}/{name}"

    def make(self, name, **settings):
        self._managed(lambda streams: streams.add_stream(name=name, subjects=[name], **settings))

    def drop(self, name):
        self._managed(lambda streams: streams.delete_stream(name))

    def _managed(self, work):
        import nats

        async def connected():
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            try:
                await work(client.jetstream())
            finally:
                await client.close()

        asyncio.run(connected())

    def send(self, name, bodies):
        import nats

        async def connected():
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            streams = client.jetstream()
            sent = [await streams.publish_async(name, body) for body in bodies]
            await asyncio.gather(*sent)
            await client.close()

        asyncio.run(connected())


class KafkaMock:
    """The mock cluster of the client library: Kafka's protocol, in this process's memory."""

    def __init__(self):
        kafka = pytest.importorskip("confluent_kafka")
        self._holder = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "-"})
        (broker,) = self._holder.list_topics(timeout=10).brokers.values()
        self._server = f"{broker.host}:{broker.port}"

    def address(self, name):
        return f"kafka://{self._server}/{name}"

    def make(self, name):
        self._holder.list_topics(name, timeout=10)  # the mock makes topics that are asked for

    def send(self, name, bodies):
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._server})
        for body in bodies:
            producer.produce(name, body, key=body[:8])
        assert producer.flush(20) == 0


class MemoryBroker:
    """Streams in lists, for tests of what reads and writes them; `is_down` ends connections."""

    def __init__(self):
        self.streams, self.is_down = {}, False

    def source(self, name):
        return MemorySource(self, name)

    def sink(self, name):
        return MemorySink(self, name)

    def make(self, name):
        self.streams[name] = []

    def send(self, name, bodies):
        self.streams[name] += [("", body) for body in bodies]

    def check(self, name):
        if self.is_down or name not in self.streams:
            raise BrokerError(f"memory://{name} cannot be reached.")


class MemorySource:
    def __init__(self, broker, stream):
        self._broker, self._stream, self.name, self.notes = (
            broker,
            stream,
            f"memory://{stream}",
            [],
        )

    async def open(self, taken):
        self._broker.check(self._stream)
        self._next = taken.get(0, 0)

    async def poll(self, most, seconds):
        self._broker.check(self._stream)
        found = self._broker.streams[self._stream][self._next : self._next + most]
        if not found:
            await asyncio.sleep(min(seconds, 0.01))
        places = range(self._next + 1, self._next + 1 + len(found))
        self._next += len(found)
        return [StreamMessage(body, 0, at) for at, (_, body) in zip(places, found, strict=True)]

    async def commit(self, taken):
        self._broker.check(self._stream)

    async def close(self):
        pass


class MemorySink:
    def __init__(self, broker, stream):
        self._broker, self._stream, self.name = broker, stream, f"memory://{stream}"

    async def open(self, n_recent):
        self._broker.check(self._stream)
        self._there = {each for each, _ in self._broker.streams[self._stream][-n_recent:]}

    async def publish(self, messages):
        for each in messages:
            self._broker.check(self._stream)
            if each.id not in self._there:
                self._broker.streams[self._stream].append((each.id, each.body))

    async def close(self):
        pass


class AtAddresses:
    """A broker whose adapters are those of the package."""

    def __init__(self, server):
        self.server = server
        self.make, self.send = server.make, server.send

    def source(self, name):
        return source_at(StreamAddress.of(self.server.address(name), "payments_from"))

    def sink(self, name):
        return sink_at(StreamAddress.of(self.server.address(name), "decisions_to"))

"""What every adapter of a broker promises, held to a real NATS server and Kafka's mock cluster."""

import asyncio
import itertools

import pytest

from live.streams.brokers import AtAddresses, free_port
from toprank.live.streams.broker_adapters import sink_at, source_at
from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError, OutMessage
from toprank.live.streams.stream_reading import newest_offsets

names = (f"stream-{number}" for number in itertools.count())


@pytest.fixture
def name(broker):
    made = next(names)
    broker.make(made)
    return made


async def read_all(source, n, most=100):
    """Messages until there are as many, or none comes any more."""
    found = []
    for _ in range(60):
        found += await source.poll(most, 0.3)
        if len(found) >= n:
            break
    return found


def bodies_of(messages):
    return [each.body for each in messages]


def out(number, key="card"):
    return OutMessage(f"decision:{number}", key, b"%d" % number)


def test_a_source_reads_every_message_once_and_those_of_a_partition_in_order(broker, name):
    sent = [b"%d" % number for number in range(250)]
    broker.send(name, sent)

    async def work():
        source = broker.source(name)
        await source.open({})
        found = await read_all(source, len(sent))
        assert await source.poll(10, 0.1) == []
        await source.close()
        await source.close()
        return found

    found = asyncio.run(work())
    assert sorted(bodies_of(found), key=int) == sent
    for partition in {each.partition for each in found}:
        own = [each for each in found if each.partition == partition]
        offsets = [each.offset for each in own]
        assert offsets == list(range(offsets[0], offsets[0] + len(own)))
        assert [int(each.body) for each in own] == sorted(int(each.body) for each in own)


def test_a_source_that_is_opened_with_offsets_goes_on_after_them(broker, name):
    broker.send(name, [b"%d" % number for number in range(40)])

    async def work():
        source = broker.source(name)
        await source.open({})
        first = (await read_all(source, 40, most=7))[:25]
        await source.commit(newest_offsets(first))
        await source.open(newest_offsets(first))
        rest = await read_all(source, 15)
        await source.close()
        return first, rest

    first, rest = asyncio.run(work())
    # the reader's offsets count, not what the broker was said
    assert sorted(int(each.body) for each in [*first, *rest]) == list(range(40))


def test_messages_that_come_while_a_source_waits_are_returned_at_once(broker, name):
    async def work():
        source = broker.source(name)
        await source.open({})
        assert await source.poll(10, 0.1) == []
        loop = asyncio.get_running_loop()
        sending = loop.run_in_executor(None, broker.send, name, [b"1"])
        began = loop.time()
        found = await read_all(source, 1)
        await sending
        await source.close()
        return found, loop.time() - began

    found, seconds = asyncio.run(work())
    assert bodies_of(found) == [b"1"] and seconds < 5


def test_a_sink_publishes_each_message_once_however_often_it_is_asked_to(broker, name):
    async def work():
        sink = broker.sink(name)
        await sink.open(100)
        await sink.publish([out(number) for number in range(20)])
        await sink.open(100)  # as after a crash before it was stored that they were published
        await sink.publish([out(number) for number in range(10, 30)])
        await sink.close()
        source = broker.source(name)
        await source.open({})
        found = await read_all(source, 30)
        found += await source.poll(10, 0.2)
        await source.close()
        return found

    assert [int(each.body) for each in asyncio.run(work())] == list(range(30))


def test_a_stream_that_is_not_there_is_named_with_those_that_are(broker, name):
    async def work(made):
        with pytest.raises(BrokerError, match="nowhere"):
            await made.open({} if hasattr(made, "poll") else 10)
        await made.close()

    asyncio.run(work(broker.source("nowhere")))
    asyncio.run(work(broker.sink("nowhere")))


@pytest.mark.parametrize("scheme", ["nats", "kafka"])
def test_a_broker_that_is_not_there_is_named_within_seconds(scheme):
    address = StreamAddress.of(f"{scheme}://bank:secret@127.0.0.1:{free_port()}/payments", "x")

    async def work(made):
        with pytest.raises(BrokerError, match=r"cannot connect to .*/payments: no") as error:
            await asyncio.wait_for(made.open({} if hasattr(made, "poll") else 10), 30)
        assert "secret" not in str(error.value)
        await made.close()

    asyncio.run(work(source_at(address)))
    asyncio.run(work(sink_at(address)))


def test_a_nats_stream_that_was_made_anew_is_read_from_its_beginning(nats_server):
    made = next(names)
    nats_server.make(made)
    nats_server.send(made, [b"1", b"2"])

    async def work():
        source = AtAddresses(nats_server).source(made)
        await source.open({0: 40})
        found = await read_all(source, 2)
        await source.close()
        return found, source.notes

    found, (note,) = asyncio.run(work())
    assert bodies_of(found) == [b"1", b"2"] and "made anew" in note


def test_messages_that_the_broker_dropped_before_they_were_read_are_noted(nats_server):
    made = next(names)
    nats_server.make(made, max_msgs=3)
    nats_server.send(made, [b"%d" % number for number in range(1, 9)])

    async def work():
        source = AtAddresses(nats_server).source(made)
        await source.open({0: 2})
        found = await read_all(source, 3)
        await source.close()
        return found, source.notes

    found, (note,) = asyncio.run(work())
    assert bodies_of(found) == [b"6", b"7", b"8"] and "from 3 on were dropped" in note


def test_a_nats_stream_that_does_not_keep_its_messages_is_refused(nats_server):
    made = next(names)
    nats_server.make(made, retention="workqueue")

    async def work():
        source = AtAddresses(nats_server).source(made)
        with pytest.raises(BrokerError, match=r"must keep its messages.*workqueue"):
            await source.open({})
        await source.close()

    asyncio.run(work())

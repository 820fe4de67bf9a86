"""Workers on a real NATS server: equal to one process, also when they are killed."""

import asyncio
import random
import time

import pytest

from live.stages.stage_processes import StageProcess, decisions, send
from live.stages.test_stage_partitions import by_one_process
from live.streams.brokers import NatsServer
from live.streams.conftest import nats_server  # noqa: F401
from toprank.live.messages import LabelGiven
from toprank.live.stages.ordered_merge import NumberedItem
from toprank.live.stages.partition_leases import PartitionLeases
from toprank.live.stages.partition_run import partition_of
from toprank.live.stages.partition_states import (
    InputPlace,
    PartitionState,
    load_state,
    store_state,
)
from toprank.live.stages.stage_partitions import StageModel, TakenRow
from toprank.live.stages.stage_streams import PartitionLostError, StageStreams
from toprank.live.stages.stage_worker import StageWorker
from toprank.live.streams.stream_address import StreamAddress
from toprank.live.streams.stream_contracts import BrokerError

N = 4


def message_of(item):
    """An entry as a message: the subject's rest, and its body."""
    if isinstance(item, LabelGiven):
        body = {"id": item.id, "is_fraud": item.is_fraud, "known_at": item.known_at / 1e6}
        return "labels", body
    payment = item.payment
    place = partition_of(payment.terminal, N)
    return f"{place}.x", payment.body | {"paid_at": payment.paid_at / 1e6}


def made_entries(later, n):
    found = []
    for place, each in enumerate(later[:n]):
        found.append(TakenRow(0, each, None))
        if place % 20 == 19:
            found.append(LabelGiven(later[place - 7].id, place % 3 == 0, each.paid_at, "claim"))
        if place % 50 == 49:
            found.append(TakenRow(0, later[place - 30], None))  # comes again
    return [NumberedItem(number, item) for number, item in enumerate(found, start=1)]


def check_equal(desk, entries, found):
    expected = by_one_process(desk, entries)
    got = {row["id"]: (features, row["suspicion"]) for row, features in found.values()}
    assert got.keys() == expected.keys()
    assert got == expected


async def wait_for(server, prefix, n, seconds):
    until = time.monotonic() + seconds
    while True:
        try:
            found = await decisions(server, prefix)
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            found = {}
        if len(found) >= n:
            return found
        assert time.monotonic() < until, f"{len(found)} of {n} payments were decided"
        await asyncio.sleep(0.3)


def test_two_workers_in_one_process_give_what_one_process_gives(
    desk,
    later,
    nats_server,  # noqa: F811
):
    server, prefix = f"nats://127.0.0.1:{nats_server.port}", "bank"
    entries = made_entries(later, 300)
    model = StageModel(desk)

    async def work():
        address = StreamAddress.of(f"{server}/{prefix}", "x")
        workers = [
            StageWorker(stage, StageStreams(address, N), model, every=40)
            for stage in ("terminal", "card")
        ]
        running = [asyncio.create_task(each.run()) for each in workers]
        await asyncio.sleep(1)
        await send(server, prefix, [message_of(each.item) for each in entries])
        await send(server, prefix, [("0.x", {"tx": "broken"}), ("labels", {"id": "no-flag"})])
        found = await wait_for(server, prefix, 300, 60)
        for each in workers:
            each.stop()
        await asyncio.gather(*running)
        rejected = await StageStreamsRejects(server, prefix).read()
        return found, rejected

    found, rejected = asyncio.run(work())
    check_equal(desk, entries, found)
    assert [each["sequence"] for each in rejected] == [len(entries) + 1, len(entries) + 2]
    assert "is required" in rejected[0]["reason"]


class StageStreamsRejects:
    def __init__(self, server, prefix):
        self._server, self._prefix = server, prefix

    async def read(self):
        import json

        import nats

        client = await nats.connect(self._server)
        streams = client.jetstream()
        subject, stream = f"{self._prefix}.rejects", f"{self._prefix}-rejects"
        read = await streams.pull_subscribe(subject, stream=stream)
        found = [json.loads(each.data) for each in await read.fetch(10, timeout=1)]
        await client.close()
        return sorted(found, key=lambda each: each["sequence"])


def test_other_partitions_than_the_streams_have_are_refused(nats_server):  # noqa: F811
    address = StreamAddress.of(f"nats://127.0.0.1:{nats_server.port}/fixed", "x")

    async def work():
        first, other = StageStreams(address, 3), StageStreams(address, 5)
        await first.open()
        with pytest.raises(BrokerError, match=r"--partitions must be 3, .*got 5"):
            await other.open()
        await first.close()
        await other.close()

    asyncio.run(work())


def test_a_worker_that_has_lost_a_partition_cannot_write_to_it(nats_server):  # noqa: F811
    import numpy as np

    from toprank.live.stages.stage_pages import StagePage

    address = StreamAddress.of(f"nats://127.0.0.1:{nats_server.port}/fenced", "x")

    def page(since, until):
        return StagePage(since, until, [(until, {"id": until})], np.zeros((1, 2)))

    async def work():
        streams = StageStreams(address, 2)
        await streams.open()
        old, new = streams.pages("decisions", "1"), streams.pages("decisions", "1")
        await old.open()
        await old.write(page(0, 5))
        await new.open()
        await new.write(page(0, 5))  # there already
        await new.write(page(5, 9))
        with pytest.raises(PartitionLostError):
            await old.write(page(5, 8))
        await streams.close()
        return await decisions(f"nats://127.0.0.1:{nats_server.port}", "fenced")

    assert sorted(asyncio.run(work())) == [5, 9]


def test_a_large_state_comes_back_whole(nats_server, tmp_path):  # noqa: F811
    address = StreamAddress.of(f"nats://127.0.0.1:{nats_server.port}/states", "x")
    stored, loaded = tmp_path / "stored", tmp_path / "loaded"
    stored.write_bytes(b"\n" + random.Random(0).randbytes(20_000_000))
    state = PartitionState(7, {"a": InputPlace(3, 7)})

    async def work():
        streams = StageStreams(address, 1)
        await streams.open()
        assert await load_state(streams, "card.0", loaded) is None
        await store_state(streams, "card.0", state, stored)
        assert await load_state(streams, "card.0", loaded) == state
        await streams.close()

    asyncio.run(work())
    assert loaded.read_bytes() == stored.read_bytes()


def test_a_lease_that_another_worker_has_by_now_is_left_to_it(nats_server):  # noqa: F811
    address = StreamAddress.of(f"nats://127.0.0.1:{nats_server.port}/leases", "x")

    async def work():
        streams = StageStreams(address, 1)
        await streams.open()
        late, new = (PartitionLeases(streams, "card", name) for name in ("late", "new"))
        assert await late.renew() == [] and late.held == {0}
        await streams.leases.delete("card.partition.0")  # it has ended: its worker was away
        await new.renew()
        await late.release(0)
        assert late.held == set() and new.held == {0}
        assert await new.renew() == [] and new.held == {0}
        await streams.close()

    asyncio.run(work())


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["terminal", "card"])
def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost_or_doubled(
    desk, later, killed, tmp_path
):
    broker = NatsServer(tmp_path / "nats").start()
    address, server = broker.address("bank"), f"nats://127.0.0.1:{broker.port}"
    entries = made_entries(later, 600)
    messages = [message_of(each.item) for each in entries]
    workers = {
        (stage, place): StageProcess(desk.folder, stage, address, snapshot_every=50)
        for stage in ("terminal", "card")
        for place in range(2)
    }
    for each in workers.values():
        each.wait_for_partitions()

    async def work():
        third = len(messages) // 3
        await send(server, "bank", messages[:third])
        await wait_for(server, "bank", 100, 120)
        await send(server, "bank", messages[third : 2 * third])
        await asyncio.sleep(0.2)
        workers.pop((killed, 0)).kill()
        await send(server, "bank", messages[2 * third :])
        return await wait_for(server, "bank", 600, 180)

    found = asyncio.run(work())
    for each in workers.values():
        code, _ = each.stop()
        assert code == 0
    check_equal(desk, entries, found)
    broker.kill()

"""A server that reads and writes a real broker, both of them killed in the middle of the load."""

import asyncio
import json
import random
import threading
import time

import pytest

from live import desks
from live.served_desk import ServedProcess
from live.streams.brokers import KafkaMock, NatsServer
from live.streams.test_stream_intake import body
from toprank.live.desk import Desk
from toprank.live.log_replay import replay
from toprank.live.store import payment_log, stream_reject_table
from toprank.live.streams.broker_adapters import source_at
from toprank.live.streams.stream_address import StreamAddress

N_KILLS = 5


async def everything(address):
    """All messages of a stream."""
    source = source_at(StreamAddress.of(address, "decisions_to"))
    await source.open({})
    found, n_silent = [], 0
    while n_silent < 3:
        some = await source.poll(1_000, 0.3)
        n_silent = 0 if some else n_silent + 1
        found += some
    await source.close()
    return [json.loads(each.body) for each in found]


def killed_while_loaded(server, folder, send, payments, between=lambda: None):
    """Send payments and kill the server again and again; then let it finish them."""
    drawn = random.Random(5)
    sending = threading.Thread(target=send, args=(payments,))
    sending.start()
    for _ in range(N_KILLS):
        server.start()
        time.sleep(drawn.uniform(0.3, 1.0))
        server.kill()
        between()
    server.start()
    sending.join()
    wait_until(lambda: n_logged(folder) == len(payments))


def wait_until(is_so, seconds=90):
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it did not come to be so"
        time.sleep(0.1)


def n_logged(folder):
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        return payment_log.last_position(connection)


def check_whole(folder, payments, decisions):
    """Nothing is lost or doubled, in the log and among the decisions."""
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        ids = [row.id for row in payment_log.after(connection, 0)]
        assert stream_reject_table.newest(connection, 10) == []
    expected = [each.id for each in payments]
    assert sorted(ids) == sorted(expected)
    assert sorted(each["id"] for each in decisions) == sorted(expected)
    with Desk.open(folder) as desk:
        assert replay(desk).differences == []


@pytest.mark.slow
def test_killed_servers_lose_and_double_nothing_that_a_nats_server_has(
    model_file, later, tmp_path
):
    broker = NatsServer(tmp_path / "nats").start()
    broker.make("payments")
    broker.make("decisions", duplicate_window=0.1)  # ids must be known without the broker's help
    settings = {"payments_from": broker.address("payments"),
                "decisions_to": broker.address("decisions")}  # fmt: skip
    desks.new_desk(tmp_path / "desk", model_file, **settings).close()
    server = ServedProcess(tmp_path / "desk", "")
    payments = later[:900]

    def send(some):
        for start in range(0, len(some), 15):
            for _ in range(100):
                try:
                    broker.send("payments", [body(each) for each in some[start : start + 15]])
                    break
                except Exception:
                    time.sleep(0.2)
            time.sleep(0.1)

    kills = iter([False, False, True, False, False])

    def between():
        if next(kills):  # the broker, too
            broker.kill()
            time.sleep(0.3)
            broker.start()

    killed_while_loaded(server, tmp_path / "desk", send, payments, between)
    decisions = broker.address("decisions")
    wait_until(lambda: len(asyncio.run(everything(decisions))) >= len(payments))
    server.stop()
    published = asyncio.run(everything(decisions))
    broker.kill()
    check_whole(tmp_path / "desk", payments, published)


@pytest.mark.slow
def test_killed_servers_lose_and_double_nothing_that_kafkas_mock_cluster_has(
    model_file, later, tmp_path
):
    broker = KafkaMock()
    for name in ("payments", "decisions"):
        broker.make(name)
    settings = {"payments_from": broker.address("payments"),
                "decisions_to": broker.address("decisions")}  # fmt: skip
    desks.new_desk(tmp_path / "desk", model_file, **settings).close()
    server = ServedProcess(tmp_path / "desk", "")
    payments = later[:600]

    def send(some):
        for start in range(0, len(some), 15):
            broker.send("payments", [body(each) for each in some[start : start + 15]])
            time.sleep(0.1)

    killed_while_loaded(server, tmp_path / "desk", send, payments)
    decisions = broker.address("decisions")
    wait_until(lambda: len(asyncio.run(everything(decisions))) >= len(payments))
    server.stop()
    check_whole(tmp_path / "desk", payments, asyncio.run(everything(decisions)))

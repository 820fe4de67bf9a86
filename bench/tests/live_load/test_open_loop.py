"""The load: sent when it is due, whatever the server does, and timed from then."""

import asyncio
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from toprank_bench.live_load.open_loop import (
    LOST,
    Due,
    OpenLoop,
    poisson_times,
    request_bytes,
)
from toprank_bench.live_load.trivial_replies import trivial_server

REQUEST = request_bytes("POST", "/v1/payments", "tr_key", b"{}")
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


@contextmanager
def served(answer):
    """A server in a thread; `answer(number)` are the pieces of an answer, none hang up."""
    loop, ready, count = asyncio.new_event_loop(), threading.Event(), iter(range(10**6))
    address = []

    class Protocol(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            pieces = answer(next(count))
            if not pieces:
                self.transport.abort()
            for place, piece in enumerate(pieces):
                loop.call_later(0.02 * place, self.transport.write, piece)

    async def start():
        server = await loop.create_server(Protocol, "127.0.0.1", 0)
        address.append(server.sockets[0].getsockname())

    def run():
        loop.run_until_complete(start())
        loop.call_soon(ready.set)
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def due_at(times, tag=""):
    return [Due(at, REQUEST, tag) for at in times]


def test_every_request_is_sent_when_it_is_due_and_answered():
    times = poisson_times(300, 1.0, seed=1)
    with trivial_server(0.0) as address:
        replies = OpenLoop(address).run(due_at(times))
    assert [each.due for each in replies] == times.tolist()
    assert {each.status for each in replies} == {200}
    late = np.array([each.sent - each.due for each in replies])
    assert late.min() >= 0 and np.median(late) < 0.01


def test_a_server_that_stops_for_a_while_is_charged_for_all_that_was_due_meanwhile():
    def answer(number):
        if number == 10:
            time.sleep(0.5)
        return [ANSWER]

    with served(answer) as address:
        replies = OpenLoop(address, n_connections=2).run(due_at(np.arange(0, 1, 0.01)))
    slow = [each for each in replies if each.seconds > 0.1]
    # 0.4 s of requests, most of which could not even be sent
    assert len(slow) >= 35
    assert sum(each.sent - each.due > 0.05 for each in slow) >= 30


def test_requests_on_connections_that_break_are_lost_and_the_others_are_answered():
    with served(lambda number: [] if number in (3, 7) else [ANSWER]) as address:
        replies = OpenLoop(address, n_connections=4).run(due_at(np.arange(0, 0.4, 0.02)))
    assert sorted(each.status for each in replies) == [LOST] * 2 + [200] * 18


def test_when_the_server_has_gone_the_rest_is_lost_soon():
    with served(lambda number: []) as address:
        begin = time.monotonic()
        replies = OpenLoop(address, n_connections=3, patience=0.2).run(due_at([0, 0.1, 0.2, 0.3]))
    assert {each.status for each in replies} == {LOST} and time.monotonic() - begin < 5


def test_a_body_is_kept_for_requests_with_a_tag():
    with served(lambda number: [ANSWER]) as address:
        replies = OpenLoop(address).run([Due(0, REQUEST), Due(0.01, REQUEST, "poll")])
    assert [(each.tag, each.body) for each in replies] == [("", b""), ("poll", b"{}")]


def test_an_answer_in_pieces_is_put_together():
    pieces = [ANSWER[:20], ANSWER[20:-1], ANSWER[-1:]]
    with served(lambda number: pieces) as address:
        (reply,) = OpenLoop(address).run(due_at([0], "poll"))
    assert (reply.status, reply.body) == (200, b"{}") and reply.seconds > 0.03


@pytest.mark.parametrize("rate", [50, 1000])
def test_poisson_times_have_their_rate_and_come_at_random(rate):
    times = poisson_times(rate, 20, seed=3, start=5)
    assert times.size == pytest.approx(20 * rate, rel=0.2)
    assert times.min() >= 5 and times.max() <= 25
    gaps = np.diff(times)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.2)

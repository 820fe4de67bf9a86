"""Load in an open loop: requests are sent at moments fixed in advance, whatever comes back.

A request's time counts from the moment at which it was due, also if no connection was free or this
process was late. So a server that stops for a second is charged for all requests of that second.
"""

import gc
import os
import select
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import httptools
import numpy as np
from numpy.typing import NDArray

LOST = 0
"""The status of a request whose connection broke, or that was not answered in time."""


class Due(NamedTuple):
    """A request and the second, from the start, at which it is due.

    The answer's body is kept if the request has a tag.
    """

    at: float
    request: bytes
    tag: str = ""


class Reply(NamedTuple):
    """What came back for a request; seconds are from the start."""

    due: float
    sent: float
    done: float
    status: int
    body: bytes
    tag: str

    @property
    def seconds(self) -> float:
        """The time that it took, from the moment at which it was due."""
        return self.done - self.due


def poisson_times(
    rate: float, seconds: float, seed: int, start: float = 0.0
) -> NDArray[np.float64]:
    """Return moments between `start` and `start + seconds`, so many per second on average.

    >>> times = poisson_times(100, 30, seed=1)
    >>> bool(np.all(np.diff(times) >= 0)), 2800 < times.size < 3200
    (True, True)
    """
    generator = np.random.default_rng(seed)
    n_times = generator.poisson(rate * seconds)
    return start + np.sort(generator.uniform(0, seconds, n_times))


def request_bytes(method: str, path: str, key: str = "", body: bytes | None = None) -> bytes:
    """Return a whole request of HTTP."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if key:
        head += f"Authorization: Bearer {key}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + (body or b"")


class OpenLoop:
    """Sends requests to one server over connections that stay open.

    Parameters
    ----------
    address
        Host and port.
    n_connections
        How many requests can be under way.
    patience
        Seconds after the last request is due at which the rest is given up.
    """

    def __init__(
        self, address: tuple[str, int], n_connections: int = 64, patience: float = 10.0
    ) -> None:
        self._address, self._patience, self._n_left = address, patience, n_connections
        self._idle: list[_Connection] = []  # opened when needed: servers close unused ones
        self._busy: dict[socket.socket, _Connection] = {}

    def run(self, due: Iterable[Due]) -> list[Reply]:
        """Send all requests; return what came back, in the order in which they were due."""
        requests = sorted(due, key=lambda each: each.at)
        replies: list[Reply | None] = [None] * len(requests)
        gc.collect()
        gc.disable()
        try:
            self._run(requests, replies)
        finally:
            gc.enable()
            self.close()
        return [
            reply or Reply(each.at, np.nan, np.nan, LOST, b"", each.tag)
            for reply, each in zip(replies, requests, strict=True)
        ]

    def close(self) -> None:
        """Close all connections."""
        for each in [*self._idle, *self._busy.values()]:
            each.socket.close()

    def _run(self, requests: Sequence[Due], replies: list[Reply | None]) -> None:
        clock = time.perf_counter
        start = clock()
        waiting: deque[int] = deque()
        number, n_requests = 0, len(requests)
        give_up = (requests[-1].at if requests else 0.0) + self._patience
        while number < n_requests or waiting or self._busy:
            now = clock() - start
            while number < n_requests and requests[number].at <= now:
                waiting.append(number)
                number += 1
            while waiting and (connection := self._free()):
                place = waiting.popleft()
                self._send(connection, place, requests[place].request, clock() - start)
            next_at = requests[number].at if number < n_requests else give_up
            if now > give_up or (waiting and not self._busy):  # the server has gone
                return
            # `select` waits to the microsecond; `poll` and `epoll` round up to milliseconds
            readable, _, _ = select.select(self._busy, (), (), max(next_at - (clock() - start), 0))
            for each in readable:
                self._receive(self._busy[each], requests, replies, clock() - start)

    def _free(self) -> "_Connection | None":
        """Return a connection to send a request on, None if all are in use."""
        if self._idle:
            return self._idle.pop()
        if not self._n_left:
            return None
        self._n_left -= 1
        try:
            return _Connection(self._address)
        except OSError:
            return None

    def _send(self, connection: "_Connection", place: int, request: bytes, now: float) -> None:
        connection.place, connection.sent = place, now
        try:
            connection.socket.sendall(request)
        except OSError:
            connection.socket.close()  # the server has gone; the request is lost
            return
        self._busy[connection.socket] = connection

    def _receive(
        self, connection: "_Connection", requests: Sequence[Due],
        replies: list[Reply | None], now: float,
    ) -> None:  # fmt: skip
        try:
            received = connection.socket.recv(1 << 20)
        except OSError:
            received = b""
        if not received:
            del self._busy[connection.socket]
            connection.socket.close()
            return
        connection.feed(received)
        if connection.is_complete:
            del self._busy[connection.socket]
            due = requests[connection.place]
            body = b"".join(connection.pieces) if due.tag else b""
            replies[connection.place] = Reply(
                due.at, connection.sent, now, connection.status, body, due.tag
            )
            self._idle.append(connection)


class _Connection:
    """A connection that stays open, and the answer that is coming in on it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.place, self.sent = -1, 0.0
        self.status, self.pieces, self.is_complete = LOST, list[bytes](), False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, received: bytes) -> None:
        self._parser.feed_data(received)

    # What the parser calls

    def on_message_begin(self) -> None:
        self.pieces, self.is_complete = [], False

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        self.status, self.is_complete = self._parser.get_status_code(), True


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Let this process run on one core alone meanwhile; None leaves it as it is."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

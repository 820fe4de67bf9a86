"""A real server on a real socket: limits below the application, and how it stops."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from live.web.fake_desk import payment
from toprank.live.web.batches import LARGEST_BATCH
from toprank.live.web.http_protocol import LARGEST_HEAD

SCRIPT = Path(__file__).with_name("serve_fake.py")


class Served(NamedTuple):
    """A server in a process of its own."""

    process: subprocess.Popen
    key: str
    address: tuple

    @property
    def head(self):
        """The first headers of a request with the key."""
        return (
            "POST /v1/payments HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {self.key}\r\n"
        ).encode()

    def connect(self):
        return socket.create_connection(self.address, timeout=10)

    def ask(self, *pieces):
        """Send bytes; return the status and the error of what comes back."""
        with self.connect() as connection:
            with contextlib.suppress(ConnectionError):
                for piece in pieces:
                    connection.sendall(piece)
            return reply_of(connection)


@contextlib.contextmanager
def served(folder):
    process = subprocess.Popen(
        [sys.executable, SCRIPT, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        key, address = process.stdout.readline().split()
        parts = urlsplit(address)
        yield Served(process, key, (parts.hostname, parts.port))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with served(tmp_path_factory.mktemp("desk")) as found:
        yield found


def reply_of(connection):
    """The status and the JSON of an answer, headers in between checked for a banner."""
    received = b""
    while b"\r\n\r\n" not in received or not received.endswith(b"}"):
        piece = connection.recv(65_536)
        if not piece:
            break
        received += piece
    head, _, content = received.partition(b"\r\n\r\n")
    assert b"uvicorn" not in head and b"\r\nserver:" not in head.lower()
    return int(head.split()[1]), json.loads(content)


def request_of(served, value):
    body = json.dumps(value).encode()
    return served.head + b"content-length: %d\r\n\r\n" % len(body) + body


def test_a_payment_is_answered(running):
    status, answer = running.ask(request_of(running, payment()))
    assert (status, answer["decision"]) == (200, "accept")


def test_a_chunked_body_without_end_is_refused(running):
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    head = running.head + b"transfer-encoding: chunked\r\n\r\n"
    status, answer = running.ask(head, *[piece] * (LARGEST_BATCH // 65_536 + 1), b"0\r\n\r\n")
    assert (status, answer["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("sent", ["", "POST /v1", "body"])
def test_a_client_that_stops_half_way_is_not_waited_for(running, sent):
    begun = running.head + b"content-length: 5\r\n\r\n{" if sent == "body" else sent.encode()
    begin = time.monotonic()
    status, answer = running.ask(begun)
    assert (status, answer["error"]["code"]) == (408, "too_slow")
    assert time.monotonic() - begin < 5


def test_headers_that_come_one_by_one_are_not_waited_for(running):
    with running.connect() as connection:
        connection.sendall(running.head)
        begin = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begin < 3:
                connection.sendall(b"x: y\r\n")
                time.sleep(0.1)
        assert time.monotonic() - begin < 3


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * LARGEST_HEAD + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"x" * (20 * LARGEST_HEAD),
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * LARGEST_HEAD,
    ],
    ids=["address", "one header", "many headers"],
)
def test_large_headers_are_refused(running, head):
    status, answer = running.ask(head)
    assert (status, answer["error"]["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01", b"nonsense\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n"]
)
def test_what_is_not_http_gets_an_error_in_the_shape_of_all(running, sent):
    status, answer = running.ask(sent)
    assert (status, answer["error"]["code"]) == (400, "not_http")


def test_a_large_body_before_the_next_request_is_not_taken_for_its_headers(running):
    large = request_of(running, {"payments": [payment(tx=f"n{i}") for i in range(900)]})
    small = request_of(running, payment(tx="next"))
    with running.connect() as connection:
        connection.sendall(large + small[:40])
        time.sleep(0.2)
        connection.sendall(small[40:])
        text = b""
        while b'"id":"next"' not in text and (piece := connection.recv(1 << 20)):
            text += piece
    assert len(re.findall(rb"HTTP/1.1 200", text)) == 2


def test_more_connections_than_allowed_are_refused(running):
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(running.connect()) for _ in range(55)]
        status, answer = reply_of(connections[-1])
    assert (status, answer["error"]["code"]) == (503, "busy")
    time.sleep(0.1)
    assert running.ask(request_of(running, payment(tx="later")))[0] == 200


@pytest.mark.parametrize(
    "stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=str
)
def test_stopped_it_answers_what_it_began_then_closes_the_desk(tmp_path, stop):
    with served(tmp_path) as running:
        with running.connect() as connection:
            connection.sendall(request_of(running, payment(shop="slow")))
            time.sleep(0.3)
            os.kill(running.process.pid, stop)
            time.sleep(0.3)
            with pytest.raises(OSError):
                running.connect()
            status, _ = reply_of(connection)
        out, errors = running.process.communicate(timeout=10)
    assert status == 200
    assert out.split() == ["closed", "returned"]
    assert (running.process.returncode, errors) == (0, "")

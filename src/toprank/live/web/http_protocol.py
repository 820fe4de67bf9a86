"""The protocol of HTTP with limits that uvicorn's has only with its slower parser.

Without them, a client that never ends its headers is waited for without end, and headers of any
size are kept in memory. What is not HTTP gets an error in the shape of all others.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

LARGEST_HEAD = 32 << 10
"""Bytes of a request's first line and headers together."""
MOST_CONNECTIONS = 1_000
HEAD_TIMEOUT = 10.0
"""Seconds in which they must have come."""


class _HeadTooLargeError(Exception):
    """Stops the parser."""


class LimitedHttp(HttpToolsProtocol):
    """uvicorn's protocol for one connection, with limits for what comes before a body."""

    _is_in_head = True
    _n_begun = 0  # requests
    _n_received = 0  # bytes of a head that came in pieces
    _n_parsed = 0  # bytes of its address and headers
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin a connection; its first request must come in time."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(503, "busy", "too many connections are open.")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        n_begun = self._n_begun
        super().data_received(data)
        if not self._is_in_head or self.transport.is_closing():
            return
        if self._n_begun == n_begun:
            # all of it is in the head of one request; the parser keeps a header to itself until
            # it is whole
            self._n_received += len(data)
        if self._n_received > LARGEST_HEAD:
            self._refuse_head()
        elif self._head_timer is None:
            self._await_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._is_in_head, self._n_received, self._n_parsed = True, 0, 0
        self._n_begun += 1

    def on_url(self, url: bytes) -> None:
        """Take in a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._is_in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, and close the connection."""
        if self._n_parsed > LARGEST_HEAD:
            self._refuse_head()
        else:
            self._refuse(400, "not_http", "the request must be HTTP/1.1; it cannot be read.")

    def _count(self, n_bytes: int) -> None:
        self._n_parsed += n_bytes
        if self._n_parsed > LARGEST_HEAD:
            raise _HeadTooLargeError

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT, self._refuse_slow)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse_slow(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            message = f"the headers must come within {HEAD_TIMEOUT:g} s."
            self._refuse(408, "too_slow", message)
        else:
            self.transport.close()

    def _refuse_head(self) -> None:
        message = f"the headers must have at most {LARGEST_HEAD >> 10} KiB."
        self._refuse(431, "headers_too_large", message)

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answer below the application, which never sees the request."""
        if self.transport.is_closing():
            return
        content = json.dumps({"error": {"code": code, "message": message}}).encode()
        self.transport.write(
            STATUS_LINE[status]
            + b"content-type: application/json\r\n"
            + b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
            + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(content)
            + content
        )
        self.transport.close()

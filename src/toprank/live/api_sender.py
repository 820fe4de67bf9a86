"""Clients of a server: one connection, and patience while the server is busy."""

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_PATIENCE = 30.0  # seconds for a server that is busy
_IDLE = 30.0  # seconds after which a connection is opened anew: servers close idle ones
_TIMEOUT = 60.0  # seconds


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: http.client.HTTPMessage
    text: str


class KeptConnection:
    """One connection to a server, which is opened again after a pause."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(
            str(urlsplit(address).netloc), timeout=_TIMEOUT
        )
        self._used = time.monotonic()

    def ask(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Reply:
        """Return the answer to a request."""
        if time.monotonic() - self._used > _IDLE:
            self._connection.close()
        self._connection.request(method, path, body, dict(headers))
        answer = self._connection.getresponse()
        text = answer.read().decode()
        self._used = time.monotonic()
        return Reply(answer.status, answer.headers, text)


class Sender:
    """Asks a server with an API key, again while it is busy.

    Parameters
    ----------
    address, key
        The server, and the API key.
    """

    def __init__(self, address: str, key: str) -> None:
        self._connection = KeptConnection(address)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a request; ConnectionError if the server stays busy."""
        return json.loads(self.text(method, path, body))

    def text(self, method: str, path: str, body: Any = None) -> str:
        """Return the answer to a request as it came; ConnectionError as for `ask`."""
        written = None if body is None else json.dumps(body)
        give_up = time.monotonic() + _PATIENCE
        while time.monotonic() < give_up:
            reply = self._connection.ask(method, path, written, self._headers)
            if reply.status != 503:
                return reply.text
            time.sleep(0.5)
        raise ConnectionError("the server is busy.")

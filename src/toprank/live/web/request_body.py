"""The body of a request, read within limits of size, time and memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from toprank.live.messages import BusyError
from toprank.live.web.batches import LARGEST_BATCH, LARGEST_ITEM, too_large
from toprank.live.web.request_errors import RequestError

_MOST_READ = 3 * LARGEST_BATCH
_CLOSE = {"Connection": "close"}


class BodyReader:
    """Reads bodies; large ones only a few at a time, so that memory stays bounded.

    Parameters
    ----------
    timeout
        Seconds in which a body must have come.
    most_large
        Bodies above the size of one payment that may be in memory at a time.
    """

    def __init__(self, timeout: float = 10.0, most_large: int = 4) -> None:
        self._timeout, self._most_large, self._n_large = timeout, most_large, 0

    @asynccontextmanager
    async def body(self, scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
        """Yield the body of a request with JSON in it; it counts as in memory until the end."""
        _check_headers(scope)
        pieces: list[bytes] = []
        n_bytes, is_large = 0, False
        try:
            try:
                async with asyncio.timeout(self._timeout):
                    async for piece in _pieces(receive):
                        n_bytes += len(piece)
                        if n_bytes > _MOST_READ:
                            break
                        if n_bytes > LARGEST_BATCH:
                            # a client that is still sending reads no answer: what it sends is
                            # discarded for a while
                            pieces.clear()
                            continue
                        if n_bytes > LARGEST_ITEM and not is_large:
                            self._take_place()
                            is_large = True
                        pieces.append(piece)
            except TimeoutError:
                raise _too_slow(self._timeout) from None
            if n_bytes > LARGEST_BATCH:
                raise _too_large()
            yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
        finally:
            self._n_large -= is_large

    def _take_place(self) -> None:
        if self._n_large >= self._most_large:
            raise BusyError(1)
        self._n_large += 1


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b"")


def _check_headers(scope: Scope) -> None:
    """Raise if the headers say already that the body cannot be read."""
    content_type, n_types = b"", 0
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type, n_types = value, n_types + 1
        elif name == b"content-length":
            # httptools takes digits alone; other servers may not
            if not value.isdigit() or len(value) > 20 or int(value) > LARGEST_BATCH:
                raise _too_large()
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise _wrong_type(
                "content-encoding", value, "identity: compressed bodies are not read"
            )
    kind, _, parameter = content_type.lower().partition(b";")
    charset = parameter.strip().removeprefix(b"charset=").strip(b'"')
    if n_types != 1 or kind.strip() != b"application/json" or charset not in (b"", b"utf-8"):
        raise _wrong_type("content-type", content_type, "application/json")


def _too_slow(seconds: float) -> RequestError:
    return RequestError(
        408, "too_slow", f"the body must come within {seconds:g} s.", headers=_CLOSE
    )


def _too_large() -> RequestError:
    error = too_large(LARGEST_BATCH, "the body")
    error.headers.update(_CLOSE)
    return error


def _wrong_type(name: str, value: bytes, expected: str) -> RequestError:
    error = RequestError.invalid(name, value.decode("latin-1"), expected, "unsupported_type")
    error.status = 415
    return error

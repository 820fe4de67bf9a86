"""The server of an application: uvicorn, with its limits set."""

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from toprank.live.web.http_protocol import LimitedHttp

_KEEP_ALIVE = 75  # seconds; longer than proxies keep theirs, so that they close first
_GRACE = 30  # seconds for answers that are under way when the server is stopped


def run(
    app: ASGIApp,
    host: str = "127.0.0.1",
    port: int = 8321,
    started: Callable[[str], None] | None = None,
    stopping: Callable[[], None] | None = None,
) -> None:
    """Serve an application until SIGTERM or Ctrl-C.

    Then no connection is accepted any more, requests that are under way get their answer, and the
    application closes its desk. `started` is called with the address when requests are accepted,
    and `stopping` when no more are: it ends answers that would go on for ever. Port 0 takes a free
    one.
    """
    listening = _listen(host, port)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{listening.getsockname()[1]}"
    with _signals_taken():
        _Server(config_of(app), address, started, stopping).run([listening])


def config_of(app: ASGIApp) -> uvicorn.Config:
    """Return how uvicorn serves an application."""
    return uvicorn.Config(
        app,
        loop="asyncio" if sys.platform == "win32" else "uvloop",
        http=LimitedHttp,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level=logging.ERROR,  # what clients do wrong is counted, not logged
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here depends on who a proxy says the client is
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, which reports when it accepts requests, and when it stops to."""

    def __init__(
        self,
        config: uvicorn.Config,
        address: str,
        started: Callable[[str], None] | None,
        stopping: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._address, self._report, self._stopping = address, started, stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it."""
        await super().startup(sockets)
        if self.started and self._report is not None:
            self._report(self._address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, when what would go on for ever has ended."""
        if self._stopping is not None:
            self._stopping()
        await super().shutdown(sockets)


@contextmanager
def _signals_taken() -> Iterator[None]:
    """Let `run` return after a signal: uvicorn raises it once more when it has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, signal.SIG_IGN) for each in HANDLED_SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; OSError says why there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(
            error.errno,
            f"cannot listen on port {port}: {error.strerror}; choose another one with --port",
            host,
        ) from None
    listening.setblocking(False)
    return listening

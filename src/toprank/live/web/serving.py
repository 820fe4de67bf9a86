"""A desk from its folder to a server that listens."""

import gc
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from toprank.live.desk import SERVE_LOCK, Desk
from toprank.live.engine.live_desk import LiveDesk
from toprank.live.store import account_table
from toprank.live.web.application import create_app
from toprank.live.web.desk_service import DeskService
from toprank.live.web.gate import LOOPBACK
from toprank.live.web.pages_service import PagesService
from toprank.live.web.server import run
from toprank.payments.history_store.writer_lock import WriterLock

_SWITCH = 0.0001  # seconds: other threads let an answer through after this


class Serving:
    """A desk that is about to be served; its payments are taken by one process alone.

    Parameters
    ----------
    folder, card_key
        The desk, and the file of the key of its cards.
    host, port
        Where to listen.
    pages_only
        Whether another process takes the payments.

    Attributes
    ----------
    notes
        What whoever starts the server should know, in sentences.
    has_people
        Whether anybody has an account.
    """

    def __init__(
        self,
        folder: Path,
        host: str = "127.0.0.1",
        port: int = 8321,
        card_key: str | os.PathLike[str] | None = None,
        *,
        pages_only: bool = False,
    ) -> None:
        desk = Desk.open(folder)
        self._lock: WriterLock | None = None
        try:
            if pages_only:
                self._served: LiveDesk | PagesService = PagesService(desk, card_key)
            else:
                self._lock = WriterLock(folder / SERVE_LOCK, folder, wait=0.0)
                self._served = LiveDesk(desk, card_key)
        except BaseException:
            self._release()
            raise
        self._host, self._port = host, port
        self.notes = []
        with desk.database.reading() as connection:
            self.has_people = account_table.n_active(connection) > 0
        if host not in LOOPBACK:
            self.notes.append(
                f"{host} can be reached from other machines, and what is sent is not encrypted; "
                "use it only behind a proxy that ends TLS."
            )

    def run(self, started: Callable[[str], None] | None = None) -> None:
        """Serve until SIGTERM or Ctrl-C, then close the desk."""
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
        hosts = LOOPBACK if self._host in LOOPBACK else None
        service = DeskService(self._served) if isinstance(self._served, LiveDesk) else self._served
        app = create_app(service, hosts)
        sys.setswitchinterval(_SWITCH)
        # what was loaded stays: looking through it for garbage would keep payments waiting
        gc.collect()
        gc.freeze()
        try:
            run(app, self._host, self._port, started, service.pages.updates.stop)
        finally:
            self._release()

    def _release(self) -> None:
        """Let others serve the desk."""
        if self._lock is not None:
            self._lock.release()

"""When a running desk has its snapshots written, and its database tidied."""

import logging
import subprocess
import threading
import time

from toprank.live.desk import Desk
from toprank.live.monitor import log_digest
from toprank.live.upkeep import start_process

_log = logging.getLogger("toprank.live")

_BETWEEN_CHECKPOINTS = 10.0  # seconds: each waits for the disk, and commits wait with it
_CHECKPOINTS_PER_TRUNCATION = 6
_CHECKPOINTS_PER_COUNT = 1
_COUNTING = (4.0, 0.02)  # seconds in all, and between two transactions
_DAY = 86_400.0  # seconds after which what is too old is removed, however few payments came


class UpkeepSchedule:
    """Starts upkeep when it is due, one process at a time.

    A thread of its own moves the database's write-ahead log into the database: at a commit, that
    would keep a payment waiting for the disk. The same thread counts the log for the board
    and the monitor.

    Parameters
    ----------
    desk
        The desk. Its database has a connection per thread.
    position
        The payment of the newest snapshot.
    """

    def __init__(self, desk: Desk, position: int) -> None:
        self._desk, self._position = desk, position
        self._process: subprocess.Popen[bytes] | None = None
        self._started = time.monotonic()
        self._is_over = threading.Event()
        self._tidying = threading.Thread(target=self._tidy, daemon=True)
        self._tidying.start()

    def check(self, position: int) -> None:
        """Start upkeep if enough payments have come since the last time, or a day has passed."""
        if self._process is not None:
            if self._process.poll() is None:
                return
            if self._process.returncode:
                _log.error("upkeep failed; it is tried again later.")
            self._process = None
        is_long = position - self._position >= self._desk.settings.snapshot_every
        if is_long or time.monotonic() - self._started > _DAY:
            self._position, self._started = position, time.monotonic()
            self._process = start_process(self._desk.folder)

    def stop(self) -> None:
        """End the thread; a process that is running is left to finish its work."""
        self._is_over.set()
        self._tidying.join()

    def _tidy(self) -> None:
        n_done = 0
        while not self._is_over.wait(_BETWEEN_CHECKPOINTS):
            n_done += 1
            try:
                self._desk.database.checkpoint()
                if n_done % _CHECKPOINTS_PER_TRUNCATION == 0:
                    self._desk.database.truncate_log()
                if n_done % _CHECKPOINTS_PER_COUNT == 0:
                    alert_from = self._desk.settings.alert_from
                    log_digest.catch_up(self._desk.database, alert_from, *_COUNTING)
            except Exception:
                _log.exception("the database could not be tidied; it is tried again.")

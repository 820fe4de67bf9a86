"""What a desk does beside its payments: snapshots, archive, counting, forgetting what is too old.

It runs in a process of its own, so that payments do not wait: `python -m toprank.live.upkeep`.
Nothing in memory is shared. It reads the last snapshot and the log after it, as a restart would.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from toprank.live.desk import Desk, archive_of, stored_payments
from toprank.live.engine.live_history import LiveHistory
from toprank.live.monitor import log_digest
from toprank.live.retention import Purged, purge
from toprank.live.store import payment_log, purge_table

_LONGEST_COUNT, _PAUSE = 600.0, 0.01  # seconds


def keep_up(desk: Desk) -> Purged:
    """Write a snapshot and the archive, count the log, then remove what is too old to keep."""
    with desk.tidying():
        return _kept_up(desk)


def _kept_up(desk: Desk) -> Purged:
    model, snapshot = desk.load_newest()
    with desk.database.reading() as connection:
        end = payment_log.last_position(connection)
        live = LiveHistory.caught_up(model, snapshot, connection, stored_payments(model), end)
        last_purge = purge_table.last(connection, live.place.purge_number)
        archive_of(desk, model).add_from(connection, is_complete=True)
    if live.place != snapshot:
        desk.snapshots.write(live.history, live.place)
    log_digest.catch_up(desk.database, desk.settings.alert_from, _LONGEST_COUNT, _PAUSE)
    if last_purge is None:
        return Purged()
    return purge(desk, model, live.place, last_purge.forget)


def start_process(folder: Path) -> subprocess.Popen[bytes]:
    """Start `keep_up` in a process of its own, which gives way to others."""
    command = [sys.executable, "-m", "toprank.live.upkeep", os.fspath(folder)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=keep_up.__doc__)
    parser.add_argument("folder", type=Path)
    os.nice(10)
    with Desk.open(parser.parse_args().folder) as opened:
        keep_up(opened)

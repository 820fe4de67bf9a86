"""A training every night, by a process of its own that gives way to payments.

`retrain_hour` in `desk.toml` says when, by the desk's clock. A server that starts later on that
day makes up for it. Whatever happens to the process, the server goes on scoring; what came of it
is in the table of models.
"""

import argparse
import logging
import os
import subprocess
import sys
from pathlib import Path

from toprank.live.desk import Desk
from toprank.live.desk_clock import wall_time
from toprank.live.learning import model_life
from toprank.live.learning.retraining import give_way, is_training, retrain, spare_cores
from toprank.live.store import model_table

ACTOR = "job:nightly retrain"

_log = logging.getLogger("toprank.live")

_DAY, _HOUR = 86_400_000_000, 3_600_000_000  # microseconds


class NightlyRetrain:
    """Starts a training once per day of the desk, one at a time.

    Parameters
    ----------
    desk
        The desk. Its database has a connection per thread.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._process: subprocess.Popen[bytes] | None = None
        self._looked_on = -1  # the day on which it was last started, or found to be done

    def is_due(self, now: int) -> bool:
        """Return whether there is something to do at a time of the desk; takes no time."""
        if self._process is not None:
            return self._process.poll() is not None
        hour = self._desk.settings.retrain_hour
        return hour is not None and now // _DAY > self._looked_on and now % _DAY >= hour * _HOUR

    def check(self, now: int) -> None:
        """Do what is due: start a training, or note how one has ended. For a thread."""
        if self._process is not None:
            code, self._process = self._process.wait(), None
            if code:
                self._note_failure(code)
            return
        self._looked_on = now // _DAY
        if not self._is_done_on(now // _DAY):
            self._process = start_process(self._desk)

    def stop(self) -> None:
        """End a training that is running: the next one resumes it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _is_done_on(self, day: int) -> bool:
        """Return whether a training was begun on a day, and not just interrupted."""
        with self._desk.database.reading() as connection:
            last = model_table.newest_of(connection, ACTOR)
        if last is None or last.asked_on < day:
            return False
        return last.state != "training" or is_training(self._desk.folder)

    def _note_failure(self, code: int) -> None:
        _log.error("the nightly retrain ended with code %s; the next one is tomorrow.", code)
        with self._desk.database.writing() as connection:
            left = model_table.in_state(connection, "training")
            if left is not None and left.who == ACTOR and not is_training(self._desk.folder):
                why = f"its process ended with code {code}"
                model_life.fail(connection, wall_time(), left, why)


def start_process(desk: Desk) -> subprocess.Popen[bytes]:
    """Start a training in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "toprank.live.learning.nightly_retrain",
        os.fspath(desk.folder),
    ]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def main() -> None:
    """Train a challenger of the desk in a folder, within the minutes of its settings."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    give_way()
    with Desk.open(parser.parse_args().folder) as desk:
        try:
            retrain(desk, ACTOR, minutes=desk.settings.retrain_minutes, n_jobs=spare_cores())
        except (ValueError, OSError) as error:
            sys.exit(f"the nightly retrain failed: {error}")


if __name__ == "__main__":
    main()

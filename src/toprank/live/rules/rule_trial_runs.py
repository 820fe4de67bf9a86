"""Backtests and suggestions for pages: one at a time, in a process of its own.

They read months of payments, which would keep payments waiting in the process that answers them.
The process reads the trial from the database and writes there what came of it:
`python -m toprank.live.rules.rule_trial_runs FOLDER NUMBER`.
"""

import argparse
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from toprank.live.desk_clock import wall_time
from toprank.live.rules.rule_backtest import LEAST_MATURITY, RuleBacktest
from toprank.live.rules.rule_fields import RuleError
from toprank.live.store import audit_chain, rule_trial_table
from toprank.live.store.desk_database import Database
from toprank.live.store.rule_trial_table import RuleTrial, TrialTask
from toprank.payments.history_store.writer_lock import WriterLock, is_locked

_STOPPED = "it was stopped before it was finished; start it again."
_DAY = 86_400_000_000
_KEPT = 180 * _DAY
_LONGEST_START = 60_000_000  # microseconds until the process of a trial has begun

LOCK = "trial.lock"
"""The file that is locked while a trial is running."""

Start = Callable[[Path, int], "subprocess.Popen[bytes]"]


class TrialBusyError(ValueError):
    """Another trial is running; the message is a sentence."""


class RuleTrials:
    """Starts trials and says how they are doing; usable from several threads.

    Parameters
    ----------
    database
        That of the desk; the desk is in the folder that it is in.
    start
        Starts the process of a trial.
    """

    def __init__(self, database: Database, start: Start | None = None) -> None:
        self._database, self._start = database, start or start_process
        self._process: subprocess.Popen[bytes] | None = None
        self._number: int | None = None  # of the last trial that was started here
        self._lock = threading.Lock()

    def start(
        self,
        task: TrialTask,
        who: str,
        text: str,
        kind: str,
        rule: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> int:
        """Start a trial and return its number; TrialBusyError while another is running.

        Options are `since` and `until`, days as ISO text, and `allow_immature`.
        """
        at = wall_time()
        trial = RuleTrial(0, task, rule, text, kind, options or {}, who, at, "running")
        with self._lock:
            if self._is_running():
                raise TrialBusyError("another backtest is running; try again in a moment.")
            with self._database.writing() as connection:
                self._end_stopped(connection)
                rule_trial_table.drop_before(connection, at - _KEPT)
                number = rule_trial_table.add(connection, trial)
                audit_chain.add(
                    connection, at, who, f"rule.{task}", f"trial:{number}",
                    {"rule": rule, "text": text, **trial.options},
                )  # fmt: skip
            self._process = self._start(self._database.folder, number)
            self._number = number
        return number

    def find(self, number: int) -> RuleTrial | None:
        """Return a trial, None if there is none of this number."""
        with self._lock:
            is_running = self._is_running()  # before the row is read, or it would be too early
        found = self._read(number)
        if found is not None and found.state == "running" and not is_running:
            with self._database.writing() as connection:
                self._end_stopped(connection)
            found = self._read(number)
        return found

    def wait(self) -> None:
        """Wait for the trial that is running, if any."""
        if self._process is not None:
            self._process.wait()

    def _read(self, number: int) -> RuleTrial | None:
        with self._database.reading() as connection:
            return rule_trial_table.by_number(connection, number)

    def _is_running(self) -> bool:
        """Return whether a trial is running, in a shared database also one of another server."""
        if self._process is not None and self._process.poll() is None:
            return True
        return self._database.is_shared and is_locked(self._database.folder / LOCK)

    def _end_stopped(self, connection: sa.Connection) -> None:
        """Say of trials whose process has ended that they have, too."""
        for number, started in rule_trial_table.running(connection).items():
            is_theirs = self._database.is_shared and number != self._number
            if is_theirs and started > wall_time() - _LONGEST_START:
                continue  # its process may not have the lock yet
            rule_trial_table.finish(connection, number, wall_time(), error=_STOPPED)


def start_process(folder: Path, number: int) -> subprocess.Popen[bytes]:
    """Start a trial in a process of its own, which gives way to others."""
    command = [sys.executable, "-m", "toprank.live.rules.rule_trial_runs", os.fspath(folder)]
    return subprocess.Popen([*command, str(number)], stdin=subprocess.DEVNULL)


def run_trial(folder: Path, number: int) -> None:
    """Run a trial, and store what came of it."""
    from toprank.live.rules.desk_rules import DeskRules  # loads what models need

    with DeskRules.open(folder) as desk:
        database = desk.desk.database
        with database.reading() as connection:
            trial = rule_trial_table.by_number(connection, number)
        assert trial is not None
        outcome: dict[str, Any] = {"error": _STOPPED}
        try:
            outcome = {"result": _result(desk, trial)}
        except ValueError as error:  # a sentence
            outcome = {"error": str(error)}
        except Exception as error:
            outcome = {"error": f"it failed: {type(error).__name__}; the server's log has more."}
            raise
        finally:
            with database.writing() as connection:
                rule_trial_table.finish(connection, number, wall_time(), **outcome)


def _result(desk: Any, trial: RuleTrial) -> Any:
    days = {
        name: date.fromisoformat(trial.options[name])
        for name in ("since", "until")
        if trial.options.get(name)
    }
    least = 0.0 if trial.options.get("allow_immature") else LEAST_MATURITY
    if trial.task == "suggest":
        found = desk.suggest(trial.kind, least_maturity=least, **days)
        return [
            {"text": each.text, "grown_precision": each.grown_precision,
             "later": _without_cards(each.later)}
            for each in found
        ]  # fmt: skip
    options = {"least_maturity": least, "version_of": trial.rule, **days}
    return _without_cards(desk.backtest(trial.text, trial.kind, **options))


def _without_cards(found: RuleBacktest) -> dict[str, Any]:
    """Return a backtest in plain values; whole cards are kept in no more places than needed."""
    values = found.to_json()
    for each in values["examples"]:
        each["card"] = each["card"][-4:]
    return values


def check_days(since: str, until: str) -> dict[str, str]:
    """Return the days of a period as options; RuleError if one of them is none.

    >>> check_days("2025-03-01", "")
    {'since': '2025-03-01'}
    """
    found = {}
    for name, text in (("since", since), ("until", until)):
        if not text:
            continue
        try:
            found[name] = date.fromisoformat(text).isoformat()
        except ValueError:
            raise RuleError(f"a day must be as 2025-03-31; got {text[:20]!r}.") from None
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=run_trial.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("number", type=int)
    arguments = parser.parse_args()
    os.nice(10)
    lock = WriterLock(arguments.folder / LOCK, arguments.folder, wait=1.0)
    try:
        run_trial(arguments.folder, arguments.number)
    finally:
        lock.release()

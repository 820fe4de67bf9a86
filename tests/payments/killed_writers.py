"""Processes that are killed at a chosen step of what they write to disk.

A child is forked, which costs milliseconds, and kills itself with SIGKILL before its nth call that
changes a file: no `finally` of ours runs, as after `kill -9`.
"""

import functools
import os
import signal
import sqlite3
import sys
import warnings

CALLS = (
    "open", "pwrite", "ftruncate", "fsync", "replace", "rename", "unlink", "remove", "mkdir",
    "rmdir", "chmod",
)  # fmt: skip
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _Steps:
    """Counts the calls that change files, and kills the process before one of them."""

    def __init__(self, kill_at):
        self.n_done, self._kill_at = 0, kill_at

    def __call__(self):
        self.n_done += 1
        if self.n_done == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def _watched(call, step):
    @functools.wraps(call)
    def counted(*given, **named):
        is_read = call.__name__ == "open" and not (given[1] & CHANGES)
        if not is_read:
            step()
        return call(*given, **named)

    return counted


def _watched_connection(step):
    class Connection(sqlite3.Connection):
        def execute(self, statement, *given):
            if statement.startswith(("BEGIN IMMEDIATE", "COMMIT")):
                step()
            found = super().execute(statement, *given)
            if statement == "COMMIT":
                step()
            return found

    return Connection


def _watch(step):
    for name in CALLS:
        setattr(os, name, _watched(getattr(os, name), step))
    connect = sqlite3.connect
    kind = _watched_connection(step)
    sqlite3.connect = lambda *given, **named: connect(*given, factory=kind, **named)


def in_a_child(change, kill_at=0):
    """Make a change in a process of its own; return its exit status and its number of steps."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, none of which the child uses
        child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(said or 0)
    status = 1
    try:
        step = _Steps(kill_at)
        _watch(step)
        change()
        os.write(writing, str(step.n_done).encode())
        status = 0
    except BaseException as error:
        print(repr(error), file=sys.__stderr__, flush=True)
    finally:
        os._exit(status)


def steps_of(change):
    """Return how many steps a change takes that nobody interrupts."""
    status, n_steps = in_a_child(change)
    assert status == 0
    assert n_steps
    return n_steps

"""Processes that write a store, started or killed by a test.

Run as `python writer_processes.py NAME FOLDER NUMBER`; see `started`.
"""

import itertools
import os
import subprocess
import sys

from toprank.payments.history_store import HistoryStore


def started(name, folder, number=0, **options):
    """Start one of the functions below in a process of its own."""
    return subprocess.Popen([sys.executable, __file__, name, folder, str(number)], **options)


def hold(folder, _):
    """Keep the folder until a line comes in."""
    with HistoryStore.open(folder, mode="write"):
        print("open", flush=True)
        sys.stdin.readline()


def add(folder, first):
    """Add 15 payments, each in a session of its own."""
    for number in range(first, first + 15):
        with HistoryStore.open(folder, mode="write", wait=120) as store:
            store.one(payment(number))
            if number % 4 == 0:
                store.compact()


def create(folder, n_steps):
    """Create a folder and end after a number of steps."""
    HistoryStore.create(folder, fresh(), rows=table(0, 4), on_step=_ending_after(n_steps))


def convert(folder, n_steps):
    """Open a file of the previous version and end after a number of steps."""
    HistoryStore.open(folder, mode="write", on_step=_ending_after(n_steps))


def write_for_ever(folder, _):
    """Make changes that depend on the number of rows, and report them, until killed."""
    with HistoryStore.open(folder, mode="write") as store:
        print("open", flush=True)
        while True:
            n = store.n_rows
            if n % 7 == 0:
                store.remember(table(n, n + 3))
            else:
                store.one(payment(n))
            if n % 5 == 0:
                store.label(f"p{n}", n % 2 == 0, payment(n)["at"])
            if n % 23 == 0:
                store.compact()
            print("done", store.n_rows, flush=True)


def _ending_after(n_steps):
    count = itertools.count(1)
    return lambda name: os._exit(9) if next(count) == n_steps else None


if __name__ == "__main__":
    from payments_made import fresh, payment, table  # which is next to this file

    globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]))

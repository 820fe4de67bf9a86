"""Processes that write a store, started or killed by a test."""

import itertools
import os

from fork_server import fork_server
from payments.history_store.payments_made import fresh, payment, table
from toprank.payments.history_store import HistoryStore


def started(function, folder, number=0):
    """Start one of the functions below; return its process and a connection to it."""
    context = fork_server()
    here, there = context.Pipe()
    process = context.Process(target=function, args=(there, folder, number))
    process.start()
    there.close()  # so that the end of the process ends what it sends
    return process, here


def exit_code(function, folder, number):
    """Run one of the functions below until it ends."""
    process, _ = started(function, folder, number)
    process.join(120)
    return process.exitcode


def all_sent(connection):
    """Return what a process sent until its end."""
    try:
        while True:
            yield connection.recv()
    except EOFError:
        return


def hold(connection, folder, _):
    """Keep the folder until something comes in."""
    with HistoryStore.open(folder, mode="write"):
        connection.send("open")
        connection.recv()


def add(_, folder, first):
    """Add 15 payments, each in a session of its own."""
    for number in range(first, first + 15):
        with HistoryStore.open(folder, mode="write", wait=120) as store:
            store.one(payment(number))
            if number % 4 == 0:
                store.compact()


def create(_, folder, n_steps):
    """Create a folder and end after a number of steps."""
    HistoryStore.create(folder, fresh(), rows=table(0, 4), on_step=_ending_after(n_steps))


def convert(_, folder, n_steps):
    """Open a file of the previous version and end after a number of steps."""
    HistoryStore.open(folder, mode="write", on_step=_ending_after(n_steps))


def write_for_ever(connection, folder, _):
    """Make changes that depend on the number of rows, and send it after each, until killed."""
    with HistoryStore.open(folder, mode="write") as store:
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
            connection.send(store.n_rows)


def _ending_after(n_steps):
    count = itertools.count(1)
    return lambda name: os._exit(9) if next(count) == n_steps else None

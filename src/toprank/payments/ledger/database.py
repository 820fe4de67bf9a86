"""The table of labels in SQLite, with an index on the row's id, for many threads and processes.

A file is in WAL mode: it can be read while another process writes. After a crash, each transaction
is there completely or not at all, and once it has returned it is on disk. The table allows nothing
but adding, so a label's number in it, 1 for the first, never changes.

Reading and writing have a connection each, and a lock each, so that a thread that waits for
another process to finish writing does not keep other threads from reading.
"""

import os
import sqlite3
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toprank.payments.ledger.entries import Entries, StoredLabel

APPLICATION_ID = 0x74726C62  # identifies the file as ours
FORMAT = 2
LABELS_AT_ONCE = 100_000
_BULK = 10_000  # labels
_CACHE = (
    64 * 1024
)  # KiB per connection: the index of millions of labels is too large for SQLite's 2 MB
WAIT_FOR_OTHERS = 30  # seconds

_WAYS_OUT = {
    "SQLITE_CORRUPT": "; it is damaged: restore the folder that it is in from a copy",
    "SQLITE_NOTADB": "; it is another file, or damaged: restore its folder from a copy",
    "SQLITE_CANTOPEN": "; check that it is a file, not a folder, which you may read and write",
    "SQLITE_READONLY": "; give yourself the right to write it and its folder",
    "SQLITE_FULL": "; make room on its disk, and try again",
    "SQLITE_IOERR": "; check its disk, and restore its folder from a copy if it is damaged",
}
"""What to do about an error of SQLite, by how its name begins."""

# Without AUTOINCREMENT, which costs a second write per row: since nothing is deleted, the next
# number is one more than the last anyway.
_TABLE = """
CREATE TABLE labels (
    entry INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    is_positive INTEGER NOT NULL,
    known INTEGER NOT NULL,         -- microseconds from 1970, UTC
    source TEXT NOT NULL,
    confidence REAL NOT NULL,
    who TEXT NOT NULL
)
"""
_INDEX = "CREATE INDEX labels_of_id ON labels (id)"
_REFUSAL = """
CREATE TRIGGER no_{change} BEFORE {change} ON labels
BEGIN SELECT RAISE(ABORT, 'labels are only ever added; append a correction'); END
"""
_FIELDS = "id, is_positive, known, source, confidence, who"
_APPEND = f"INSERT INTO labels ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?)"
_OF_ID = f"SELECT {_FIELDS} FROM labels WHERE id = ? ORDER BY entry"
_AFTER = f"SELECT {_FIELDS}, entry FROM labels WHERE entry > ? ORDER BY entry LIMIT ?"
_LAST = "SELECT coalesce(max(entry), 0) FROM labels"
_COUNT = "SELECT count(*) FROM labels"


class LedgerError(ValueError):
    """A ledger cannot be read or written now; the message names its file and the reason."""


class LabelDatabase:
    """The labels in the file at `path`; with None, in memory until the object ends."""

    def __init__(self, path: Path | None) -> None:
        self.name = "the ledger in memory" if path is None else str(path)
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"the folder of {path} must exist for a ledger to be made in it.")
        self._writer = _Channel(path, self.name)
        with self._writer.use() as connection:
            _make_ready(connection, self.name)
        self._reader = self._writer if path is None else _Channel(path, self.name)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._reader.close()
        self._writer.close()

    def add(self, entries: Entries) -> None:
        """Add labels, all or none."""
        with self.writing() as transaction:
            transaction.add(entries.stored())

    @contextmanager
    def writing(self) -> "Iterator[Transaction]":
        """Yield a transaction that is committed at the end, or rolled back after an error."""
        with self._writer.use() as connection, _transaction(connection):
            yield Transaction(connection)

    def of_ids(self, ids: Iterable[str]) -> dict[str, list[StoredLabel]]:
        """Return all labels of some rows, those of each in the order they were added."""
        with self._reader.use() as connection:
            return {each: _of_id(connection, each) for each in ids}

    def after(self, position: int, most: int) -> Entries:
        """Return the labels that follow number `position`, at most `most`."""
        with self._reader.use() as connection:
            found = connection.execute(_AFTER, (position, most)).fetchall()
        return Entries.of_stored(found)

    def parts_after(self, position: int) -> list[Entries]:
        """Return all labels that follow number `position`, in parts."""
        parts: list[Entries] = []
        # one query per part, so that other threads can read in between
        while len((part := self.after(position, LABELS_AT_ONCE)).ids):
            parts.append(part)
            position = int(part.numbers[-1])
        return parts

    def last(self) -> int:
        """Return the number of the last label, 0 where there is none."""
        with self._reader.use() as connection:
            return connection.execute(_LAST).fetchone()[0]

    def count(self) -> int:
        """Return how many labels there are."""
        with self._reader.use() as connection:
            return connection.execute(_COUNT).fetchone()[0]


class MemoryDatabase(LabelDatabase):
    """A database in memory, which writes labels to its table only when a row is looked up.

    Looks at many rows at once use columns, so a ledger with only such looks never pays for the
    table.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self._turn = threading.RLock()
        self._last = 0
        self._unwritten: list[Entries] = []
        self._starts: list[int] = []  # the position before each of them

    def add(self, entries: Entries) -> None:
        """Keep labels, to be written when needed."""
        with self._turn:
            numbers = np.arange(self._last, self._last + len(entries.ids)) + 1
            self._unwritten.append(entries._replace(numbers=numbers))
            self._starts.append(self._last)
            self._last += len(entries.ids)

    @contextmanager
    def writing(self) -> "Iterator[Transaction]":
        """Yield a transaction that is committed at the end, or rolled back after an error."""
        with self._turn:
            self._write()
            with super().writing() as transaction:
                yield transaction
            self._last = super().last()

    def of_ids(self, ids: Iterable[str]) -> dict[str, list[StoredLabel]]:
        """Return all labels of some rows, those of each in the order they were added."""
        with self._turn:
            self._write()
            return super().of_ids(ids)

    def after(self, position: int, most: int) -> Entries:
        """Return the labels that follow number `position`, at most `most`."""
        with self._turn:
            self._write()
            return super().after(position, most)

    def parts_after(self, position: int) -> list[Entries]:
        """Return all labels that follow number `position`, in parts."""
        with self._turn:
            place = bisect_left(self._starts, position)
            if place < len(self._starts) and self._starts[place] == position:
                return self._unwritten[place:]
            return [] if position == self._last else super().parts_after(position)

    def last(self) -> int:
        """Return the number of the last label, 0 where there is none."""
        return self._last

    def count(self) -> int:
        """Return how many labels there are."""
        return self._last

    def _write(self) -> None:
        if self._unwritten:
            with super().writing() as transaction:
                for entries in self._unwritten:
                    transaction.add(entries.stored())
            self._unwritten, self._starts = [], []


class Transaction:
    """What may be done while writing: reading labels, including those just added, and adding."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_id(self, row_id: str) -> list[StoredLabel]:
        """Return all labels of a row."""
        return _of_id(self._connection, row_id)

    def add(self, labels: Sequence[StoredLabel]) -> None:
        """Add labels."""
        is_bulk = (
            len(labels) >= _BULK and len(labels) > self._connection.execute(_LAST).fetchone()[0]
        )
        if is_bulk:  # sorting the ids once is faster than finding the place of each in the index
            self._connection.execute("DROP INDEX labels_of_id")
        self._connection.executemany(_APPEND, labels)
        if is_bulk:
            self._connection.execute(_INDEX)


def _of_id(connection: sqlite3.Connection, row_id: str) -> list[StoredLabel]:
    return [StoredLabel(*row) for row in connection.execute(_OF_ID, (row_id,))]


class _Channel:
    """One connection with its lock, whose errors name the file."""

    def __init__(self, path: Path | None, name: str) -> None:
        self._name, self._lock, self._process = name, threading.Lock(), os.getpid()
        self._connection: sqlite3.Connection | None = None
        with _in_words(name):
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=WAIT_FOR_OTHERS,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.execute(f"PRAGMA cache_size = -{_CACHE}")

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, to one thread at a time."""
        with self._lock, _in_words(self._name):
            if self._connection is None:
                raise LedgerError(f"{self._name} must be open to be used; it was closed.")
            if self._process != os.getpid():  # SQLite's files must not be shared by a fork
                raise LedgerError(
                    f"{self._name} must be opened in the process that uses it; this process was "
                    "forked from the one that did."
                )
            yield self._connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Turn errors of SQLite into sentences that name the file and the way out."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise LedgerError(
                f"{name} must be free to be written; another process has been writing to it for "
                f"more than {WAIT_FOR_OTHERS} s; try again when that is done."
            ) from error
        way_out = next((way for begin, way in _WAYS_OUT.items() if code.startswith(begin)), "")
        raise LedgerError(
            f"{name} must be a label ledger that can be read and written; SQLite says: "
            f"{error}{way_out}."
        ) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is written within the block; after an error, roll it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# Creating and converting the table


def _make_ready(connection: sqlite3.Connection, name: str) -> None:
    _check_ours(connection, name)
    _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
    if _number(connection, "user_version") == FORMAT:
        return
    with _transaction(connection):
        made = _number(connection, "user_version")  # another process may have been faster
        if made == FORMAT:
            return
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        if made == 1:
            connection.execute("ALTER TABLE labels RENAME TO older_labels")
            for change in ("UPDATE", "DELETE"):
                connection.execute(f"DROP TRIGGER no_{change}")
        connection.execute(_TABLE)
        if made == 1:  # whose ids could be numbers, and were not indexed
            connection.execute(
                f"INSERT INTO labels (entry, {_FIELDS}) SELECT entry, CAST(id AS TEXT), "
                "is_positive, known, source, confidence, who FROM older_labels ORDER BY entry"
            )
            connection.execute("DROP TABLE older_labels")
        connection.execute(_INDEX)
        for change in ("UPDATE", "DELETE"):
            connection.execute(_REFUSAL.format(change=change))


def _check_ours(connection: sqlite3.Connection, name: str) -> None:
    filled = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if filled and _number(connection, "application_id") != APPLICATION_ID:
        raise LedgerError(f"{name} must be a label ledger; it is a database of something else.")
    made = _number(connection, "user_version")
    if made > FORMAT:
        raise LedgerError(
            f"{name} must be a ledger of format {FORMAT} or older; got {made}. Update toprank."
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


def _patiently(change: Callable[[], Any]) -> None:
    """Try again until it works: SQLite refuses it at once while others have the file open."""
    until = time.monotonic() + WAIT_FOR_OTHERS
    while True:
        try:
            change()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)

"""A label ledger in one SQLite file, which other processes may read and add to meanwhile.

The file is in WAL mode. Each `append` is one transaction: after a crash it is there whole or not
at all, and once `append` has returned it is there. The table refuses to be changed other than by
adding, so what was read once holds for ever and only new entries are read.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from toprank.transactions.ledger.entries import SOURCES, Entries, check_kind, ids_of
from toprank.transactions.ledger.ledgers import Ledger

APPLICATION_ID = 0x74726C62  # marks the file as ours
FORMAT = 1
ENTRIES_AT_ONCE = 100_000
WAIT_FOR_OTHERS = 30  # seconds

_CODES = {source: code for code, source in enumerate(SOURCES)}

_TABLE = """
CREATE TABLE IF NOT EXISTS labels (
    entry INTEGER PRIMARY KEY AUTOINCREMENT,
    id NOT NULL,                    -- a whole number or text
    is_positive INTEGER NOT NULL,
    known INTEGER NOT NULL,         -- microseconds from 1970, UTC
    source TEXT NOT NULL,
    confidence REAL NOT NULL,
    who TEXT NOT NULL
)
"""
_REFUSAL = """
CREATE TRIGGER IF NOT EXISTS no_{change} BEFORE {change} ON labels
BEGIN SELECT RAISE(ABORT, 'labels are only ever added; append a correction'); END
"""
_APPEND = (
    "INSERT INTO labels (id, is_positive, known, source, confidence, who) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
_READ = (
    "SELECT entry, id, is_positive, known, source, confidence, who FROM labels "
    "WHERE entry > ? ORDER BY entry"
)


class SqliteLedger(Ledger):
    """A ledger that lasts, in the SQLite file at `path`; made if it is not there.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SqliteLedger(f"{folder.name}/labels.db") as ledger:
    ...     ledger.append([1, 2], [True, False], known="2025-01-05", source="claim", who="desk 4")
    ...     ledger.as_known("2025-02-01", ids=[2, 1, 3]).is_positive
    2
    array([False,  True, False])
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._last_entry = 0
        self._connection = _opened(Path(path))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _store(self, entries: Entries) -> None:
        ids = entries.ids.to_pylist()
        known = entries.known.astype(np.int64).tolist()
        sources = [SOURCES[code] for code in entries.source_code.tolist()]
        labels, confidences = entries.is_positive.tolist(), entries.confidence.tolist()
        rows = zip(ids, labels, known, sources, confidences, entries.who.to_pylist(), strict=True)
        with _writing(self._connection):
            first = self._connection.execute("SELECT id FROM labels LIMIT 1").fetchone()
            if first is not None:
                check_kind(entries.ids, ids_of(first).type)
            self._connection.executemany(_APPEND, rows)

    def _catch_up(self) -> None:
        cursor = self._connection.execute(_READ, (self._last_entry,))
        while rows := cursor.fetchmany(ENTRIES_AT_ONCE):
            numbers, ids, labels, known, sources, confidences, who = zip(*rows, strict=True)
            entries = Entries(
                ids_of(ids),
                np.array(labels, dtype=bool),
                np.array(known, dtype="datetime64[us]"),
                np.array([_CODES[source] for source in sources], dtype=np.int8),
                np.array(confidences),
                pa.array(who, pa.large_string()),
            )
            self._take_in(entries)
            self._last_entry = numbers[-1]


def _opened(path: Path) -> sqlite3.Connection:
    if not path.absolute().parent.is_dir():
        raise ValueError(f"the folder of {path} must exist for a ledger to be made in it.")
    connection = sqlite3.connect(path, timeout=WAIT_FOR_OTHERS, isolation_level=None)
    try:
        _check_ours(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        _make_table(connection)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ValueError(f"{path} must be a label ledger; SQLite says: {error}.") from None
    except ValueError:
        connection.close()
        raise
    return connection


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    marked = connection.execute("PRAGMA application_id").fetchone()[0]
    made = connection.execute("PRAGMA user_version").fetchone()[0]
    filled = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if filled and marked != APPLICATION_ID:
        raise ValueError(f"{path} must be a label ledger; it is a database of something else.")
    if made > FORMAT:
        raise ValueError(
            f"{path} must be a ledger of format {FORMAT} or older; got {made}. Update toprank."
        )


def _make_table(connection: sqlite3.Connection) -> None:
    with _writing(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute(_TABLE)
        for change in ("UPDATE", "DELETE"):
            connection.execute(_REFUSAL.format(change=change))


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Keep what is written inside if all of it goes well, and nothing otherwise."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")

"""The ledger beside a history: labels are added to it first, then read from it by the history.

All that the store asks of a ledger is here. A position is the number of the last entry seen, and
entries are only ever added: what lies behind a position never changes.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.transactions.features import cells
from toprank.transactions.ledger import SqliteLedger

_AFTER = (
    "SELECT entry, id, is_positive, known, source FROM labels "
    "WHERE entry > ? AND entry <= ? ORDER BY entry"
)
_LAST = "SELECT coalesce(max(entry), 0) FROM labels"
_END = 2**62


class NewLabels(NamedTuple):
    """Labels as the ledger has them, in the order they were added."""

    ids: list[str]
    is_positive: NDArray[np.bool_]
    known: NDArray[np.datetime64]
    source: list[str]


class LabelLedger:
    """The ledger in the file at `path`; a reader of a history needs no file and makes none."""

    def __init__(self, path: Path, is_writer: bool, mode: int = 0o600) -> None:
        self._path = path
        self._ledger: SqliteLedger | None = None
        if is_writer:
            path.touch(mode=mode)  # SQLite's own files beside it take its mode
            self._ledger = SqliteLedger(path)

    @property
    def ledger(self) -> SqliteLedger:
        """The ledger itself, for what was known when."""
        if self._ledger is None:
            self._ledger = SqliteLedger(self._path)
        return self._ledger

    @property
    def position(self) -> int:
        """The number of the last entry; 0 before the first."""
        return self._rows(_LAST)[0][0] if self._path.exists() else 0

    def add(self, row_id: Any, is_positive: ArrayLike, known: Any, source: Any, who: Any) -> None:
        """Add labels of rows, all or none."""
        self.ledger.append(ids_of(row_id), is_positive, known=known, source=source, who=who)

    def between(self, start: int, stop: int = _END) -> NewLabels:
        """Return the entries after the position `start`, up to `stop`."""
        found = self._rows(_AFTER, start, stop) if self._path.exists() else []
        _, ids, labels, known, sources = zip(*found, strict=True) if found else ([],) * 5
        return NewLabels(
            [str(each) for each in ids],
            np.array(labels, dtype=bool),
            np.array(known, dtype=np.int64).view("datetime64[us]"),
            list(sources),
        )

    def close(self) -> None:
        """Close the file."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def _rows(self, question: str, *values: int) -> Sequence[Any]:
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return connection.execute(question, values).fetchall()


def ids_of(row_id: Any) -> list[str]:
    """Return ids, one or many, as the texts by which a history knows its rows."""
    given = np.atleast_1d(np.asarray(row_id, dtype=object)).tolist()
    ids = [cells.id_text(each, "row_id") for each in given]
    if None in ids:
        raise ValueError(
            f"row_id must not be missing; {ids.count(None)} of {len(ids)} are; drop those rows."
        )
    return [str(each) for each in ids]


def moment_known(known_at: Any, until: np.datetime64 | None) -> Any:
    """Return when labels became known: as given, or now, by the clock of the payments.

    That is the time of the latest payment: no payment before it knew of them, all after it may.
    """
    if known_at is not None:
        return known_at
    return np.datetime64(datetime.now(UTC).replace(tzinfo=None), "us") if until is None else until

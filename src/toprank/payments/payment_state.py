"""What a payment model knows of the past: its history, its label ledger and the rows themselves.

It is kept in memory, as here, or in a folder by `HistoryStore`; both behave the same.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from typing import Any, Protocol

import pyarrow as pa
from numpy.typing import ArrayLike

from toprank.payments.features import History
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store.history_store import FeaturesOf
from toprank.payments.history_store.key_rows import rows_of_keys
from toprank.payments.history_store.replayed import apply_labels, record_labels
from toprank.payments.history_store.row_archive import first_of_each_id
from toprank.payments.ledger import Ledger, MemoryLedger


class PaymentState(Protocol):
    """A history, a ledger and the rows, changed together."""

    @property
    def history(self) -> History: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def notes(self) -> list[str]: ...

    def looking(self) -> AbstractContextManager[FeaturesOf]:
        """Yield a function that returns features of tables; none of them is remembered."""

    def look(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, without remembering it."""

    def remembering(self) -> AbstractContextManager[FeaturesOf]:
        """Yield a function that returns features of tables and remembers them: all or none."""

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember the row."""

    def take_in(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember it: permanently with the next `settle`."""

    def settle(self, note: Any = None) -> None:
        """Keep the rows that were taken in permanently, and `note` with them."""

    def label(
        self, row_id: Any, is_positive: ArrayLike, known_at: Any, source: str, who: str
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger and the history."""

    def rows(self) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came."""

    def rows_of(self, column: str, texts: Sequence[str], since: Any = None) -> pa.Table:
        """Return the remembered rows whose key, such as the card, is one of these texts."""

    def close(self) -> None:
        """Close all files."""


class MemoryState:
    """The state of a model that has not been saved yet."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.ledger: Ledger = MemoryLedger()
        self.notes: list[str] = []
        self._tables: list[pa.Table] = []
        self._turn = threading.RLock()  # even a look adds the row and removes it again

    @contextmanager
    def looking(self) -> Iterator[FeaturesOf]:
        """Yield a function that returns features of tables; none of them is remembered."""
        with self._turn, self.history.looking():
            yield self.history.batch

    def look(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, without remembering it."""
        with self._turn:
            return self.history.look(row)

    @contextmanager
    def remembering(self) -> Iterator[FeaturesOf]:
        """Yield a function that returns features of tables and remembers them: all or none."""
        with self._turn:
            yield from self._remembering()

    def _remembering(self) -> Iterator[FeaturesOf]:
        # an empty history needs no copy to be restored, so `fit` makes none
        before = None if self.history.until is None else deepcopy(self.history)
        tables: list[pa.Table] = []

        def features_of(rows: pa.Table) -> pa.Table:
            features = self.history.batch(rows)
            tables.append(rows)
            return features

        try:
            yield features_of
        except BaseException:
            self.history = self.history if before is None else before
            raise
        self._tables += tables

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember the row."""
        with self._turn:
            features = self.history.one(row)
            self._tables.append(pa.Table.from_pylist([dict(row)]))
            return features

    take_in = one

    def settle(self, note: Any = None) -> None:
        """Do nothing: rows in memory end with the object."""

    def label(
        self, row_id: Any, is_positive: ArrayLike, known_at: Any, source: str, who: str
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger and the history."""
        with self._turn:
            start = self.ledger.position
            others = record_labels(
                self.history, self.ledger, row_id, is_positive, known_at, source, who
            )
            counts = apply_labels(self.history, self.ledger, start, self.ledger.position)
        return others._replace(
            n_new=counts.n_new,
            n_corrected=counts.n_corrected,
            n_known=counts.n_known + others.n_known,
            n_overruled=counts.n_overruled,
        )

    def rows(self) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came."""
        tables = self._tables or [pa.table({})]
        rows = pa.concat_tables(tables, promote_options="permissive")
        return first_of_each_id(rows, self.history.row_id)

    def rows_of(self, column: str, texts: Sequence[str], since: Any = None) -> pa.Table:
        """Return the remembered rows whose key, such as the card, is one of these texts."""
        return rows_of_keys(self.rows(), column, texts, self.history.time, since)

    def close(self) -> None:
        """Do nothing: no file is open."""

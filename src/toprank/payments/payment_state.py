"""What a payment model knows of the past: its history, its label ledger and the rows themselves.

In memory as here, or in a folder as `HistoryStore` keeps it; both do the same.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from toprank.data.tables.ids import id_texts
from toprank.payments.features import History
from toprank.payments.features.past import LabelCounts
from toprank.payments.history_store.history_store import FeaturesOf
from toprank.payments.ledger import Ledger, MemoryLedger


class PaymentState(Protocol):
    """A history, a ledger and the rows, changed together."""

    @property
    def history(self) -> History: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def notes(self) -> list[str]: ...

    def remembering(self) -> AbstractContextManager[FeaturesOf]:
        """Give features of tables that are remembered, all of them once the block has ended."""

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember the row."""

    def take_in(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember it: for good with the next `settle`."""

    def settle(self, note: Any = None) -> None:
        """Have rows that were taken in where they are to last."""

    def label(
        self, row_id: Any, is_positive: ArrayLike, known_at: Any, source: str, who: str
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger and the history."""

    def rows(self) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came."""

    def close(self) -> None:
        """Let go of what is held open."""


class MemoryState:
    """The state of a model that has not been saved yet."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.ledger: Ledger = MemoryLedger()
        self.notes: list[str] = []
        self._tables: list[pa.Table] = []

    @contextmanager
    def remembering(self) -> Iterator[FeaturesOf]:
        """Give features of tables that are remembered."""

        def features_of(rows: pa.Table) -> pa.Table:
            features = self.history.batch(rows)
            self._tables.append(rows)
            return features

        yield features_of

    def one(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Return the features of one row, and remember the row."""
        features = self.history.one(row)
        self._tables.append(pa.Table.from_pylist([dict(row)]))
        return features

    take_in = one

    def settle(self, note: Any = None) -> None:
        """Nothing lasts longer than the object."""

    def label(
        self, row_id: Any, is_positive: ArrayLike, known_at: Any, source: str, who: str
    ) -> LabelCounts:
        """Add labels of remembered rows to the ledger and the history."""
        ids, labels = id_texts(row_id, "row_id"), np.atleast_1d(is_positive)
        is_known = self.history.knows(ids)
        if is_known.any():
            known = ids.filter(pa.array(is_known)).to_pylist()
            self.ledger.record(known, labels[is_known], known=known_at, source=source, who=who)
        return self.history.label(ids.to_pylist(), labels, known_at, source=source)

    def rows(self) -> pa.Table:
        """Return the remembered rows with all their columns, in the order they came."""
        return pa.concat_tables(self._tables, promote_options="permissive")

    def close(self) -> None:
        """Nothing is held open."""


@contextmanager
def looking(history: History) -> Iterator[FeaturesOf]:
    """Give features of tables that see each other, and remember nothing of them afterwards."""
    with history.looking():
        yield history.batch

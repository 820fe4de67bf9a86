"""What labels come to at a moment, whatever they are kept in; and the ledger in memory."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from toprank.splits.moments import moment_of
from toprank.transactions.ledger.entries import (
    NO_SOURCE,
    SILENCE,
    SOURCES,
    Entries,
    Entry,
    check_kind,
    ids_of,
)
from toprank.transactions.ledger.known import Known


class Ledger(ABC):
    """Labels that are only ever added, and what they come to at a moment.

    A ledger's ids are either all whole numbers or all text. Moments are UTC.
    """

    def __init__(self) -> None:
        self._parts: list[Entries] = []
        self._index: _Index | None = None

    def append(
        self,
        ids: ArrayLike,
        is_positive: ArrayLike,
        *,
        known: Any,
        source: Any,
        confidence: ArrayLike = 1.0,
        who: Any = "",
    ) -> int:
        """Add a label for each of `ids` and return how many; either all are added or none.

        `known` is when it became known and `source` one of "investigator", "claim" and "silence".
        Everything but `ids` may be one value for all. To correct a label, append the right one.
        """
        if np.size(ids) == 0:
            return 0
        entries = Entries.of(ids, is_positive, known, source, confidence, who)
        self._store(entries)
        return len(entries.ids)

    def as_known(self, moment: Any, ids: ArrayLike | None = None) -> Known:
        """Return the labels known before `moment` of the rows `ids`, or of all that have one.

        A date is the moment its day begins.
        """
        moment = moment_of(moment, "moment")
        index = self._indexed()
        if ids is None:
            holding = index.holding(moment) if index else np.empty(0, dtype=np.int64)
            labelled = np.flatnonzero(holding >= 0)
            all_ids = index.ids.take(pa.array(labelled)) if index else pa.array([], pa.int64())
            return _view(moment, _as_numpy(all_ids), index, holding[labelled])
        rows = np.atleast_1d(np.asarray(ids))
        if index is None or rows.size == 0:
            return _view(moment, rows, None, np.full(rows.size, -1))
        place = index.places(ids_of(ids))
        # one more place at the end, for rows the ledger has never seen: -1 leads there
        return _view(moment, rows, index, np.append(index.holding(moment), -1)[place])

    def history(self, row_id: int | str) -> list[Entry]:
        """Return all labels of one row in the order they were added."""
        index = self._indexed()
        if index is None:
            return []
        place = index.places(ids_of([row_id]))[0]
        return [_entry(index.entries, i) for i in np.flatnonzero(index.place == place)]

    def __len__(self) -> int:
        index = self._indexed()
        return 0 if index is None else len(index.entries.ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of what the ledger holds open."""

    @abstractmethod
    def _store(self, entries: Entries) -> None:
        """Keep the entries, or none of them."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Take in what others have added."""

    def _take_in(self, entries: Entries) -> None:
        if self._parts:
            check_kind(entries.ids, self._parts[0].ids.type)
        self._parts.append(entries)
        self._index = None

    def _indexed(self) -> "_Index | None":
        self._catch_up()
        if self._index is None and self._parts:
            self._parts = [Entries.joined(self._parts)]
            self._index = _Index.of(self._parts[0])
        return self._index


class MemoryLedger(Ledger):
    """A ledger that lasts as long as the process.

    >>> ledger = MemoryLedger()
    >>> ledger.append(["a", "b"], [False, True], known="2025-01-05", source="investigator")
    2
    >>> ledger.append("a", True, known="2025-02-01", source="claim")  # a correction
    1
    >>> ledger.as_known("2025-01-20", ids=["a", "b", "c"]).is_positive
    array([False,  True, False])
    >>> ledger.as_known("2025-03-01", ids=["a", "b", "c"]).source
    array(['claim', 'investigator', ''], dtype='<U12')
    """

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def _store(self, entries: Entries) -> None:
        self._take_in(entries)

    def _catch_up(self) -> None:
        pass  # nobody else can add to it


class _Index(NamedTuple):
    """The entries, the distinct ids, and the order that decides which entry holds."""

    entries: Entries
    ids: pa.Array
    place: NDArray[np.int64]  # of each entry's id among the distinct ones
    order: NDArray[np.int64]  # entries by rising claim to be the label

    @classmethod
    def of(cls, entries):
        encoded = entries.ids.dictionary_encode()
        place = encoded.indices.to_numpy().astype(np.int64)
        speaks = entries.source_code != SILENCE
        # equal in all three, the entry added last comes last
        order = np.lexsort((-entries.source_code, entries.known, speaks))
        return cls(entries, encoded.dictionary, place, order)

    def holding(self, moment):
        """Return for each distinct id the entry that holds, or -1."""
        known = self.order[self.entries.known[self.order] < moment]
        entry = np.full(len(self.ids), -1)
        entry[self.place[known]] = known  # of several for one id the last one stays
        return entry

    def places(self, ids):
        """Return the place of each id among the distinct ones, or -1."""
        check_kind(ids, self.ids.type)
        found = pc.index_in(ids, value_set=self.ids)
        return pc.fill_null(found, -1).to_numpy().astype(np.int64)


def _view(moment, ids, index, holding):
    """Return what the entries `holding`, one per id and -1 for none, say."""
    has_label = holding >= 0
    if index is None:
        n_rows = holding.size
        no_time = np.full(n_rows, np.datetime64("NaT", "us"))
        no_source = np.full(n_rows, NO_SOURCE, dtype=np.int8)
        return Known(
            moment, ids, has_label, np.zeros(n_rows, bool), no_source, np.zeros(n_rows), no_time
        )
    entries = index.entries
    return Known(
        moment,
        ids,
        has_label,
        entries.is_positive[holding] & has_label,
        np.where(has_label, entries.source_code[holding], np.int8(NO_SOURCE)),
        np.where(has_label, entries.confidence[holding], 0.0),
        np.where(has_label, entries.known[holding], np.datetime64("NaT", "us")),
    )


def _entry(entries, i):
    return Entry(
        entries.ids[i].as_py(),
        bool(entries.is_positive[i]),
        entries.known[i],
        SOURCES[entries.source_code[i]],
        float(entries.confidence[i]),
        entries.who[i].as_py(),
    )


def _as_numpy(ids):
    if pa.types.is_integer(ids.type):
        return ids.to_numpy()
    return np.array(ids.to_pylist(), dtype=str)

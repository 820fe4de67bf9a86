"""Ledgers: labels that are only ever added, and those that hold at a moment.

Both kinds keep their labels in the same table of SQLite, one in a file and one in memory. A look
at a few rows uses its index; a look at many uses columns in memory, which first read what was
added to the table since the last such look.
"""

import threading
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.payments.ledger.as_known import Known
from toprank.payments.ledger.database import LabelDatabase, MemoryDatabase, Transaction
from toprank.payments.ledger.entries import Entries, Entry, StoredLabel, ids_of
from toprank.payments.ledger.holding import SILENCE, SOURCES, holds
from toprank.payments.ledger.label_columns import LabelColumns
from toprank.splits.moments import moment_of

OUTCOMES = ("new", "known", "corrected")

_FEW_ROWS = 100  # always looked up one by one
_LABELS_PER_LOOK_UP = 50  # that columns process in the time of one look-up


class RecordedLabels(NamedTuple):
    """What became of labels that were recorded: how many of each outcome, and which of each id.

    - "new": written, and it does not contradict the label that held before, if there was one;
    - "known": not written, since the label that held was the same, from the same source and with
      the same confidence; or since it is silence, where there was a verdict or claim;
    - "corrected": written, and it holds instead of a verdict or claim to the contrary.
    """

    n_new: int
    n_known: int
    n_corrected: int
    outcome: NDArray[np.str_]


class Ledger:
    """Labels that are only ever added, and those that hold at a moment.

    Ids are those of `toprank.data.tables.ids`: 7 and "7" are one row. Moments are UTC. Several
    threads may use a ledger at once.
    """

    def __init__(self, database: LabelDatabase) -> None:
        self._database = database
        self._columns, self._columns_turn = LabelColumns(), threading.Lock()

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
        self._database.add(entries)
        return len(entries.ids)

    def take_over(self, entries: Entries) -> None:
        """Add labels that another ledger's `entries_after` returned."""
        self._database.add(entries)

    def record(
        self,
        ids: ArrayLike,
        is_positive: ArrayLike,
        *,
        known: Any,
        source: Any,
        confidence: ArrayLike = 1.0,
        who: Any = "",
    ) -> RecordedLabels:
        """Add those labels that are not known yet, and return what became of each.

        Each is compared with the label that holds when it becomes known, including those before it
        in `ids`. All is one transaction: if two processes record the same labels at once, they are
        written once. `RecordedLabels` explains the outcomes.

        >>> ledger = MemoryLedger()
        >>> both = {"known": "2025-01-05", "source": "investigator"}
        >>> ledger.record([7, 8], [True, False], **both).outcome.tolist()
        ['new', 'new']
        >>> ledger.record(["7", "8", "9"], [False, False, True], **both)[:3]
        (1, 1, 1)
        """
        outcome: list[str] = []
        if np.size(ids):
            entries = Entries.of(ids, is_positive, known, source, confidence, who)
            with self._database.writing() as transaction:
                outcome = [_recorded(label, transaction) for label in entries.stored()]
        n_new, n_known, n_corrected = map(outcome.count, OUTCOMES)
        return RecordedLabels(n_new, n_known, n_corrected, np.array(outcome, dtype=str))

    def as_known(self, moment: Any, ids: ArrayLike | None = None) -> Known:
        """Return the labels known before `moment` of the rows `ids`, or of all that have one.

        A date is the moment its day begins. Without `ids`, those of the answer are texts.
        """
        moment = moment_of(moment, "moment")
        if ids is None:
            with self._columns_turn:
                return self._caught_up().all_known(moment)
        given = np.atleast_1d(np.asarray(ids))
        if given.size == 0:
            return Known.of_labels(moment, given, [])
        rows = ids_of(ids)
        if len(rows) <= max(_FEW_ROWS, self.position // _LABELS_PER_LOOK_UP):
            texts = rows.cast(pa.large_string()).to_pylist()
            labels, just_before = self._database.of_ids(texts), int(moment.view(np.int64)) - 1
            held = {each: _holding(of_row, just_before) for each, of_row in labels.items()}
            return Known.of_labels(moment, given, [held[each] for each in texts])
        with self._columns_turn:
            return self._caught_up().known(moment, given, rows)

    def history(self, row_id: int | str) -> list[Entry]:
        """Return all labels of one row in the order they were added."""
        texts = ids_of([row_id]).cast(pa.large_string()).to_pylist()
        return [label.entry() for label in self._database.of_ids(texts)[texts[0]]]

    @property
    def position(self) -> int:
        """The number of the last label: the first has 1, and an empty ledger is at 0."""
        return self._database.last()

    def entries_after(self, position: int, most: int | None = None) -> Entries:
        """Return the labels added after the one numbered `position`, at most `most`.

        For a store that follows a ledger: it starts at 0, and continues at `numbers[-1]` of the
        labels it got. Labels are numbered in the order they become visible, so none is missed.

        >>> ledger = MemoryLedger()
        >>> ledger.append(["a", "b"], [True, False], known="2025-01-05", source="claim")
        2
        >>> missed = ledger.entries_after(1)
        >>> missed.ids.to_pylist(), missed.numbers.tolist(), ledger.position
        (['b'], [2], 2)
        """
        position = checks.whole_number(position, "position", 0)
        most = 2**62 if most is None else checks.whole_number(most, "most", 1)
        return self._database.after(position, most)

    def __len__(self) -> int:
        return self._database.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger's files; a second call does nothing."""
        self._database.close()

    def _caught_up(self) -> LabelColumns:
        self._columns.take_in(self._database.parts_after(self._columns.position))
        return self._columns


class MemoryLedger(Ledger):
    """A ledger in memory, which ends with the object.

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

    def __init__(self) -> None:
        super().__init__(MemoryDatabase())


class SqliteLedger(Ledger):
    """A ledger in the SQLite file at `path`, which is created if it does not exist.

    Other processes may read the same file and add to it at the same time. A file of an earlier
    version is converted when it is opened.

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
        super().__init__(LabelDatabase(Path(path)))


def _recorded(label: StoredLabel, transaction: Transaction) -> str:
    """Add a label unless it is known, and return what became of it."""
    held = _holding(transaction.of_id(label.id), label.known)
    outcome = "new" if held is None else _outcome(label, held)
    if outcome != "known":
        transaction.add([label])
    return outcome


def _holding(labels: list[StoredLabel], moment: int) -> StoredLabel | None:
    """Return the one of a row's labels that holds just after a moment, in microseconds."""
    held = None
    for each in labels:
        if each.known <= moment and (held is None or _holds(each, held)):
            held = each
    return held


def _outcome(label: StoredLabel, held: StoredLabel) -> str:
    has_spoken = held.source != SOURCES[SILENCE]
    if has_spoken and label.source == SOURCES[SILENCE]:
        return "known"
    if label.is_positive == held.is_positive:
        is_same = (label.source, label.confidence) == (held.source, held.confidence)
        return "known" if is_same else "new"
    return "corrected" if has_spoken and _holds(label, held) else "new"


def _holds(label: StoredLabel, over: StoredLabel) -> bool:
    return holds(label.known, SOURCES.index(label.source), over.known, SOURCES.index(over.source))

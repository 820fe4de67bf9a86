"""Labels as columns in memory, for questions about many rows at once.

New labels are merged in. What was computed before is kept: the distinct ids, the place of each
label's id among them, and the labels in order of their strength.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.payments.ledger.as_known import Known
from toprank.payments.ledger.distinct_ids import DistinctIds
from toprank.payments.ledger.entries import NO_SOURCE, Entries
from toprank.payments.ledger.holding import by_strength, strength


class LabelColumns:
    """The labels added so far, and those that hold at a moment."""

    def __init__(self) -> None:
        self.position = 0
        """The number of the last label added."""
        self._ids = DistinctIds()
        self._place = np.empty(0, dtype=np.int64)  # of each label's id
        self._is_positive = np.empty(0, dtype=bool)
        self._known = np.empty(0, dtype="datetime64[us]")
        self._source_code = np.empty(0, dtype=np.int8)
        self._confidence = np.empty(0)
        self._strength = np.empty(0, dtype=np.int64)
        self._order = np.empty(0, dtype=np.int64)  # labels by increasing strength

    def take_in(self, parts: list[Entries]) -> None:
        """Add labels that follow those added before."""
        if not parts:
            return
        entries = Entries.joined(parts)
        self.position = int(entries.numbers.max(initial=0))
        place = self._ids.take_in(entries.ids)
        strengths = strength(entries.known.view(np.int64), entries.source_code)
        self._place = np.concatenate([self._place, place])
        self._is_positive = np.concatenate([self._is_positive, entries.is_positive])
        self._known = np.concatenate([self._known, entries.known])
        self._source_code = np.concatenate([self._source_code, entries.source_code])
        self._confidence = np.concatenate([self._confidence, entries.confidence])
        self._strength = np.concatenate([self._strength, strengths])
        self._order = by_strength(self._strength, self._order)

    def all_known(self, moment: np.datetime64) -> Known:
        """Return the labels known before a moment of all rows that have one."""
        label = self._holding(moment)
        labelled = np.flatnonzero(label >= 0)
        return self._view(moment, self._ids.texts(labelled), label[labelled])

    def known(self, moment: np.datetime64, given: NDArray, ids: pa.Array) -> Known:
        """Return the labels known before a moment of rows, whose ids are texts or numbers."""
        # one more at the end, for rows without a label: place -1 is there
        label = np.append(self._holding(moment), -1)
        return self._view(moment, given, label[self._ids.places(ids)])

    def _holding(self, moment: np.datetime64) -> NDArray[np.int64]:
        """Return for each distinct id the label that holds, or -1."""
        known = self._order[self._known[self._order] < moment]
        label = np.full(len(self._ids), -1)
        label[self._place[known]] = known  # of several labels for one id, the last one is kept
        return label

    def _view(self, moment: np.datetime64, ids: NDArray, label: NDArray[np.int64]) -> Known:
        """Return the view of labels, given by their place, one per id and -1 for none."""
        has_label = label >= 0

        def of_labels(column: NDArray, where_none: Any) -> NDArray:
            filled = np.full(label.size, where_none, dtype=column.dtype)
            filled[has_label] = column[label[has_label]]
            return filled

        return Known(
            moment,
            ids,
            has_label,
            of_labels(self._is_positive, False),
            of_labels(self._source_code, NO_SOURCE),
            of_labels(self._confidence, 0.0),
            of_labels(self._known, np.datetime64("NaT", "us")),
        )

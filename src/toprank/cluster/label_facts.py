"""The labels of a large table, and the number of rows of each class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.cluster.partition_rows import counted_rows
from toprank.data import inputs

_KEPT_LABELS = 3  # one more than is allowed


class LabelFacts(NamedTuple):
    """How often each label occurs in one partition, not counting rows of zero weight."""

    values: NDArray
    counts: NDArray[np.int64]


def facts_of_labels(frame: Any, labels: Any, weight: Any) -> LabelFacts:
    """Return the labels of one partition, at most three of them: more than two are refused."""
    values, _, _ = counted_rows(frame, labels, weight)
    distinct, counts = np.unique(values, return_counts=True)
    return LabelFacts(distinct[:_KEPT_LABELS], counts[:_KEPT_LABELS])


def classes_of(facts: list[LabelFacts], positive_label: Any = None) -> tuple[NDArray, Any]:
    """Return both classes in sorted order, and the positive one, by the rule of every `fit`.

    >>> classes, positive = classes_of([LabelFacts(np.array([0, 1]), np.array([97, 3]))])
    >>> classes.tolist(), int(positive)
    ([0, 1], 1)
    """
    filled = [part for part in facts if part.values.size]
    if not filled:
        raise ValueError("X must have at least one row with a positive weight; got none.")
    classes, place = np.unique(
        np.concatenate([part.values for part in filled]), return_inverse=True
    )
    counts = np.bincount(place, np.concatenate([part.counts for part in filled]))
    # two of the more frequent class and one of the rarer class are as good as all rows
    few = np.repeat(classes, np.where(counts > counts.min(), 2, 1))
    labels = inputs.read_labels(few, positive_label)
    return labels.classes, labels.positive


class ClassCounts(NamedTuple):
    """How many rows of each class every partition has."""

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    @classmethod
    def of(cls, facts: list[LabelFacts], positive: Any) -> ClassCounts:
        """Return the counts of partitions with these labels."""
        positives = [int(part.counts[part.values == positive].sum()) for part in facts]
        rows = [int(part.counts.sum()) for part in facts]
        return cls(np.array(positives), np.array(rows) - np.array(positives))

    @property
    def n_rows(self) -> NDArray[np.int64]:
        return self.positives + self.negatives

    def with_rows(self) -> ClassCounts:
        """Return the counts of the partitions that have rows."""
        some = self.n_rows > 0
        return ClassCounts(self.positives[some], self.negatives[some])

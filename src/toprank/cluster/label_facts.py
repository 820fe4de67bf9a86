"""What the labels of a large table are, and how many there are of either class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.cluster.partition_rows import counted_rows
from toprank.data import inputs

_KEPT_LABELS = 3  # one more than may be


class LabelFacts(NamedTuple):
    """How often each label comes in one partition, rows of no weight left out."""

    values: NDArray
    counts: NDArray[np.int64]


def facts_of_labels(frame: Any, labels: Any, weight: Any) -> LabelFacts:
    """Return the labels of one partition, at most three of them: more than two are refused."""
    values, _, _ = counted_rows(frame, labels, weight)
    distinct, counts = np.unique(values, return_counts=True)
    return LabelFacts(distinct[:_KEPT_LABELS], counts[:_KEPT_LABELS])


def classes_of(facts: list[LabelFacts], positive_label: Any = None) -> tuple[NDArray, Any]:
    """Return both classes in sorted order, and the positive one, as any `fit` has it.

    >>> classes, positive = classes_of([LabelFacts(np.array([0, 1]), np.array([97, 3]))])
    >>> classes.tolist(), int(positive)
    ([0, 1], 1)
    """
    held = [part for part in facts if part.values.size]
    if not held:
        raise ValueError("X must hold at least one row of some weight; got none.")
    classes, place = np.unique(np.concatenate([part.values for part in held]), return_inverse=True)
    counts = np.bincount(place, np.concatenate([part.counts for part in held]))
    # two of the more frequent and one of the rarer say the same as all rows
    few = np.repeat(classes, np.where(counts > counts.min(), 2, 1))
    labels = inputs.read_labels(few, positive_label)
    return labels.classes, labels.positive


class ClassCounts(NamedTuple):
    """How many rows of either class each partition holds."""

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]

    @classmethod
    def of(cls, facts: list[LabelFacts], positive: Any) -> ClassCounts:
        """Return those of the partitions with these labels."""
        positives = [int(part.counts[part.values == positive].sum()) for part in facts]
        rows = [int(part.counts.sum()) for part in facts]
        return cls(np.array(positives), np.array(rows) - np.array(positives))

    @property
    def n_rows(self) -> NDArray[np.int64]:
        return self.positives + self.negatives

    def held(self) -> ClassCounts:
        """Return those of the partitions that hold rows."""
        some = self.n_rows > 0
        return ClassCounts(self.positives[some], self.negatives[some])

"""The labels of a stream: each gets a place when it first appears.

Place 0 is the reference class, against which the raw scores of all others are measured, so two
classes need one score. The positive label has place 1.
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables.columns import shortened
from toprank.data.tables.positive_class import may_name_itself, named_by_itself, opposite_of

Label = bool | int | float | str


class Classes:
    """The classes seen so far.

    >>> classes = Classes(positive_label="fraud")
    >>> classes.place("fraud"), classes.place("genuine"), classes.places
    (1, 0, {'fraud': 1, 'genuine': 0})
    """

    def __init__(self, positive_label: Label | None = None, most: int | None = None):
        self.positive_label = positive_label
        self.most = most
        self.places: dict[Label, int] = {}
        self.positive = positive_label
        """The positive label: given, known by its name, or expected."""
        self._has_words = True  # earlier versions recognised 1 and true alone

    @property
    def n_outputs(self) -> int:
        """How many raw scores a row has: one for every place but the first."""
        return max(1, *self.places.values()) if self.places else 1

    def copy(self) -> "Classes":
        """Return the same classes; additions to one do not affect the other."""
        again = Classes(self.positive_label, self.most)
        again.places, again.positive = dict(self.places), self.positive
        again._has_words = self._has_words
        return again

    def sorted(self) -> NDArray:
        """Return the labels in sorted order, as scikit-learn does."""
        return np.array(sorted(self.places))

    def place(self, label: Any) -> int:
        """Return the place of a label; a new one gets the lowest free place."""
        known = self.places.get(label) if label.__hash__ is not None else None
        if known is not None:
            return known
        label = self._checked(label)
        taken = set(self.places.values())
        if self._is_positive(label) and 1 not in taken:
            place = 1
        else:
            kept = {1} if self.positive_label is not None else set()
            place = next(i for i in range(len(taken) + 2) if i not in taken | kept)
        if self.most is not None and len(taken) == self.most:
            raise ValueError(
                f"labels must be of {self.most} classes; got {shortened(label)} in addition to "
                f"{' and '.join(map(shortened, self.places))}."
            )
        self.places[label] = place
        self.positive = self._found_positive()
        return place

    def places_of(self, labels: Iterable[Any]) -> NDArray[np.int64]:
        """Return the place of every label, in their order."""
        return np.array([self.place(label) for label in labels], dtype=np.int64)

    @classmethod
    def restored(cls, positive_label: Any, most: int | None, pairs: Any) -> Self:
        """Return the classes of a file, each [label, place]; raises ValueError if unfit."""
        pairs = list(pairs)
        for has_words in (True, False):
            classes = cls(positive_label, most)
            classes._has_words = has_words
            wrong = [label for label, place in pairs if classes.place(label) != place]
            if not wrong:
                return classes
        raise ValueError(f"place of label {shortened(wrong[0])} must be the next free one.")

    def _found_positive(self) -> Label | None:
        if self.positive_label is not None:
            return self.positive_label
        labels = list(self.places)
        if len(labels) > 2 or not (self._has_words or all(each in (0, 1, -1) for each in labels)):
            return None
        if len(labels) == 2:
            return named_by_itself(labels)
        return labels[0] if may_name_itself(labels[0]) else opposite_of(labels[0])

    def _is_positive(self, label: Label) -> bool:
        if self.positive_label is not None:
            return bool(label == self.positive_label)
        return may_name_itself(label) if self._has_words else bool(label == 1)

    def _checked(self, label: Any) -> Label:
        """Return a label as a plain Python value of the same type as earlier ones."""
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, bool | int | float | str) or label != label:
            raise ValueError(
                f"a label must be true or false, a number or text; got {shortened(label)}; "
                "leave out rows whose label is not known."
            )
        first = next(iter(self.places), label)
        if isinstance(label, str) != isinstance(first, str):
            raise ValueError(
                f"labels must be all text or all numbers; got {shortened(label)} after "
                f"{shortened(first)}."
            )
        return label

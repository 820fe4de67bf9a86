"""The labels of a stream: each gets a place when it first comes.

Place 0 is the class that the raw scores of all others are measured against, so two classes need
one score. It is never that of the positive label, which has place 1.
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from toprank.tables.columns import shortened

Label = bool | int | float | str

_BINARY = ({False, True}, {-1, 1})


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
        """The positive label: the one named, or 1 and true where that says it all."""

    @property
    def n_outputs(self) -> int:
        """How many raw scores a row has: one for every place but the first."""
        return max(1, *self.places.values()) if self.places else 1

    def copy(self) -> "Classes":
        """Return the same classes; what joins the one does not join the other."""
        again = Classes(self.positive_label, self.most)
        again.places, again.positive = dict(self.places), self.positive
        return again

    def sorted(self) -> NDArray:
        """Return the labels in order, as scikit-learn has them."""
        return np.array(sorted(self.places))

    def place(self, label: Any) -> int:
        """Return the place of a label; a new one gets the lowest that is free for it."""
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
                f"labels must be of {self.most} classes; got {shortened(label)} beside "
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
        """Return the classes of a file, [label, place] each; ValueError where they do not fit."""
        classes = cls(positive_label, most)
        for label, place in pairs:
            if classes.place(label) != place:
                raise ValueError(f"place of label {shortened(label)} must follow those before it.")
        return classes

    def _found_positive(self) -> Label | None:
        if self.positive_label is not None:
            return self.positive_label
        labels = set(self.places)
        if any(labels <= pair for pair in _BINARY):
            return next((label for label in self.places if label == 1), 1)
        return None

    def _is_positive(self, label: Label) -> bool:
        return bool(label == (1 if self.positive_label is None else self.positive_label))

    def _checked(self, label: Any) -> Label:
        """Return a label as plain Python has it, of the kind of those before."""
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

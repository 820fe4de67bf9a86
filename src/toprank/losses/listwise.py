"""What losses share around their formulas: the checks of rows, and the answer for one class.

A loss of one row at a time is a `CheckedLoss`: it implements `_value` and `_fill` of
checked rows. A `ListwiseLoss` first adds up totals of the whole list, and implements `_totals`,
`_value_of` and `_fill_from`; lists with one class only never reach the last two.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.gather import HERE, Gather

_Totals = TypeVar("_Totals")


class ListRows(NamedTuple):
    """This machine's rows of a list, checked, and how totals are gathered over all rows.

    Raw scores keep float32, which is what engines hand over; totals are in float64.
    """

    labels: NDArray[np.bool_]
    scores: Floats
    weights: Vector | None
    gather: Gather

    @property
    def size(self) -> int:
        return self.labels.size


class CheckedLoss(ABC):
    """A loss that gets checked rows only, and fills existing vectors."""

    descends_value: ClassVar[bool]

    def value(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
    ) -> float:
        """Return how badly the list is ranked."""
        return self._value(_checked(is_positive, raw, weight, gather))

    def gradient_curvature(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return gradient and curvature of each raw score, written to `out` if given."""
        rows = _checked(is_positive, raw, weight, gather)
        gradient, curvature = (np.empty(rows.size), np.empty(rows.size)) if out is None else out
        self._fill(rows, gradient, curvature)
        return gradient, curvature

    @abstractmethod
    def _value(self, rows: ListRows) -> float:
        """Return the value of the list."""

    @abstractmethod
    def _fill(self, rows: ListRows, gradient: Floats, curvature: Floats) -> None:
        """Write the gradient and the curvature of every row."""


class ListwiseLoss(CheckedLoss, Generic[_Totals]):
    """A loss of totals over the whole list; one of a single class has value and gradient 0."""

    is_listwise = True

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return 0: a constant added to every score changes nothing."""
        return 0.0

    def _value(self, rows: ListRows) -> float:
        totals = self._totals(rows, np.empty(rows.size))
        return 0.0 if totals is None else self._value_of(rows, totals)

    def _fill(self, rows: ListRows, gradient: Floats, curvature: Floats) -> None:
        totals = self._totals(rows, gradient)
        if totals is None:
            gradient.fill(0.0)
            curvature.fill(floor_of(curvature))
        else:
            self._fill_from(rows, totals, gradient, curvature)

    @abstractmethod
    def _totals(self, rows: ListRows, scratch: Floats) -> _Totals | None:
        """Return the totals of the list, or None when a class has no weight.

        What it leaves in `scratch`, one number per row, `_fill_from` gets as the gradient.
        """

    @abstractmethod
    def _value_of(self, rows: ListRows, totals: _Totals) -> float:
        """Return the value of a list of both classes."""

    @abstractmethod
    def _fill_from(
        self, rows: ListRows, totals: _Totals, gradient: Floats, curvature: Floats
    ) -> None:
        """Write the gradient and the curvature of every row in a list of both classes."""


def _checked(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None, gather: Gather
) -> ListRows:
    labels = np.asarray(is_positive)
    if labels.dtype != bool:
        raise TypeError(f"is_positive must be bool; got {labels.dtype}.")
    scores = np.asarray(raw)
    if scores.dtype != np.float32:
        scores = scores.astype(np.float64, copy=False)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(
            "is_positive and raw must be vectors of the same length; "
            f"got shapes {labels.shape} and {scores.shape}."
        )
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    if weights is not None and weights.shape != labels.shape:
        raise ValueError(f"weight must have {labels.size} values; got shape {weights.shape}.")
    return ListRows(labels, scores, weights, gather)

"""What every ranking loss promises."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.losses.gather import HERE, Gather

Vector = NDArray[np.float64]
Floats = NDArray[np.floating]


class Loss(Protocol):
    """A frozen, stateless measure of how badly raw scores rank the positives.

    All three take one label, one raw score and at most one weight per row, in float64 and for
    scores of any scale. A weight of 0 takes its row out of the list. A list in which one class has
    no weight cannot be ranked better or worse: to a listwise loss its value and gradient are 0.
    """

    @property
    def is_listwise(self) -> bool:
        """Whether rows share one total, so that gradients shrink as lists grow."""

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return the constant score boosting starts from."""

    def value(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
    ) -> float:
        """Return the loss of the list."""

    def gradient_curvature(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the derivative by each raw score, and a positive curvature for Newton steps.

        Given `out`, both are written there, in its precision: fresh memory every round would
        cost more than the sums.
        """


def rows(
    is_positive: ArrayLike, raw: ArrayLike, weight: ArrayLike | None
) -> tuple[NDArray[np.bool_], Floats, Vector | None]:
    """Return the three vectors, checked.

    Raw scores keep float32, which is what engines hand over; totals are in float64.
    """
    labels = np.asarray(is_positive)
    if labels.dtype != bool:
        raise TypeError(f"is_positive must be bool; got {labels.dtype}.")
    scores = np.asarray(raw)
    if scores.dtype != np.float32:
        scores = scores.astype(np.float64, copy=False)
    if labels.ndim != 1 or labels.shape != scores.shape:
        raise ValueError(
            "is_positive and raw must be vectors of one length; "
            f"got shapes {labels.shape} and {scores.shape}."
        )
    if weight is None:
        return labels, scores, None
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != labels.shape:
        raise ValueError(f"weight must have {labels.size} values; got shape {weights.shape}.")
    return labels, scores, weights


def two_vectors(size: int, out: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
    """Return `out`, or two new vectors to fill."""
    return (np.empty(size), np.empty(size)) if out is None else out


def floor_of(curvature: Floats) -> np.floating:
    """Return what is added to curvatures: lost in all but those that underflow."""
    return np.finfo(curvature.dtype).tiny

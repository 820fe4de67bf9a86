"""What every ranking loss promises."""

from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.losses.gather import HERE, Gather

Vector = NDArray[np.float64]
Floats = NDArray[np.floating]


class Loss(Protocol):
    """A frozen, stateless loss of raw scores that is low for a list with the positives on top.

    All methods take one label, one raw score and at most one weight per row, in float64 and for
    scores of any scale. A weight of 0 takes its row out of the list. A list in which one class has
    no weight cannot be ranked better or worse: the value and gradient of a listwise loss are then
    0.
    """

    @property
    def is_listwise(self) -> bool:
        """Whether rows share one total, so that gradients shrink as lists grow."""

    @property
    def descends_value(self) -> bool:
        """Whether `gradient_curvature` gives the derivative of `value`, as `ValueLoss` promises.

        Otherwise a step along the gradient may raise the value: compare values, but do not
        differentiate them.
        """

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
        """Return how badly the list is ranked."""

    def gradient_curvature(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the gradient by each raw score, and a positive curvature for Newton steps.

        Given `out`, both are written there, in its precision: new arrays every round would
        cost more than the sums.
        """


class ValueLoss(Loss, Protocol):
    """A loss whose `gradient_curvature` gives the derivative of its `value` by each raw score."""

    @property
    def descends_value(self) -> Literal[True]:
        """True: central differences of the value are the gradient."""


def floor_of(curvature: Floats) -> np.floating:
    """Return what is added to curvatures: it changes only those that underflow."""
    return np.finfo(curvature.dtype).tiny

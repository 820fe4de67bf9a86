"""The logistic loss: each row's surprise, summed.

  sum_i w_i log(1 + exp(-f_i))   over positives
+ sum_j w_j log(1 + exp( f_j))   over negatives
"""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from toprank.losses.contract import TINY, Floats, Vector, rows, two_vectors
from toprank.losses.gather import HERE, Gather


@dataclass(frozen=True)
class Log:
    """The logistic loss; pointwise, so ties and lists of one class need no rule of their own.

    >>> from toprank.losses import Log
    >>> round(Log().value([True, False], [0.0, 0.0]), 4)
    1.3863
    """

    is_listwise = False

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return the log-odds of the positives' share; half a row is added to each class."""
        mass = is_positive if weight is None else is_positive * weight
        everything = is_positive.size if weight is None else weight.sum()
        part = (float(mass.sum()), float(everything))
        positive, total = gather.sums([part], 2)
        return math.log((positive + 0.5) / (total - positive + 0.5))

    def value(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
    ) -> float:
        labels, scores, weights = rows(is_positive, raw, weight)
        parts = gather.run(_sum_surprise, labels.size, labels, scores, weights)
        return float(gather.sums(parts, 1)[0])

    def gradient_curvature(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        labels, scores, weights = rows(is_positive, raw, weight)
        gradient, curvature = two_vectors(labels.size, out)
        gather.run(_fill, labels.size, labels, scores, weights, gradient, curvature)
        return gradient, curvature


@njit(cache=True, nogil=True)
def _sum_surprise(is_positive, raw, weight, begin, end):
    total = 0.0
    for i in range(begin, end):
        margin = float(raw[i]) if is_positive[i] else -float(raw[i])
        # log(1 + exp(-margin)) without overflow on either side
        surprise = max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
        total += surprise * weight[i] if weight.size else surprise
    return total


@njit(cache=True, nogil=True)
def _fill(is_positive, raw, weight, gradient, curvature, begin, end):
    for i in range(begin, end):
        w = weight[i] if weight.size else 1.0
        small = math.exp(-abs(float(raw[i])))
        far = small / (1.0 + small)  # probability of the less likely class
        probability = 1.0 - far if raw[i] >= 0 else far
        if is_positive[i]:
            # 1 - probability, without cancelling when it is tiny
            gradient[i] = -w * (far if raw[i] >= 0 else 1.0 - far)
        else:
            gradient[i] = w * probability
        curvature[i] = max(w * far * (1.0 - far), TINY) if w > 0 else 0.0

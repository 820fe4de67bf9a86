"""The logistic loss: each row's surprise, summed.

  sum_i w_i log(1 + exp(-f_i))   over positives
+ sum_j w_j log(1 + exp( f_j))   over negatives
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.gather import HERE, Gather
from toprank.losses.listwise import CheckedLoss, ListRows


@dataclass(frozen=True)
class Log(CheckedLoss):
    """The logistic loss; pointwise, so ties and lists of one class need no rule of their own.

    >>> from toprank.losses import Log
    >>> round(Log().value([True, False], [0.0, 0.0]), 4)
    1.3863
    """

    is_listwise = False
    descends_value: ClassVar[Literal[True]] = True

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return the log-odds of the positives' share; half a row is added to each class."""
        mass = is_positive if weight is None else is_positive * weight
        everything = is_positive.size if weight is None else weight.sum()
        part = (float(mass.sum()), float(everything))
        positive, total = gather.sums([part], 2)
        return math.log((positive + 0.5) / (total - positive + 0.5))

    def _value(self, rows: ListRows) -> float:
        labels, scores, weights, gather = rows

        def surprise(block: slice) -> float:
            margin = np.where(labels[block], scores[block], -scores[block])
            each = np.logaddexp(0.0, -margin, dtype=np.float64)
            return float(each.sum() if weights is None else each @ weights[block])

        return float(gather.sums(gather.run(surprise, labels.size), 1)[0])

    def _fill(self, rows: ListRows, gradient: Floats, curvature: Floats) -> None:
        labels, scores, weights, gather = rows

        def fill(block: slice) -> None:
            g, h = gradient[block], curvature[block]
            # odds of the less likely class: nothing overflows and no digit is lost near 0 or 1
            np.abs(scores[block], out=h)
            np.exp(np.negative(h, out=h), out=h)
            near = 1 / (1 + h)
            far = np.multiply(h, near, out=h)
            # a row's error is `far` when its score has the sign of its label, else `near`
            error = np.where(labels[block] == (scores[block] >= 0), far, near)
            np.copyto(g, error)
            np.negative(g, out=g, where=labels[block])
            np.add(np.multiply(far, near, out=h), floor_of(h), out=h)
            if weights is not None:
                g *= weights[block]
                h *= weights[block]

        gather.run(fill, labels.size)

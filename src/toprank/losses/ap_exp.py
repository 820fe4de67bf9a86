"""Average precision with the exponential in place of "is ranked above" (SGBAP).

With s = w exp(f), Z its sum over all rows, S its sum over the positives, A = S / Z:

    form "log"    -log A       gradient  p - q          p = s / Z,  q = y s / S
    form "paper"  1 - A        gradient  A (p - q)

Both forms order any two models alike and their gradients point the same way. The paper's
vanishes with A when the positives' scores are far below the top; the log form never does.
Neither is convex. The diagonal of the Hessian is negative for positives, so the curvature
is the sum of the two opposing terms, p + q (times A in the paper's form): a Newton leaf
sum(q - p) / sum(p + q) then stays within [-1, 1].
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.listwise import ListRows, ListwiseLoss


@dataclass(frozen=True)
class ApExp(ListwiseLoss["_Mass"]):
    """The exponential surrogate of average precision; `form` is "log" or "paper".

    Rows of equal score share a gradient within their class. A list without positives or
    without negatives has value 0 and gradient 0.

    >>> from toprank.losses import ApExp
    >>> ApExp(form="paper").value([True, False, False, False], [0.0, 0.0, 0.0, 0.0])
    0.75
    """

    form: str = "log"

    descends_value: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        checks.one_of(self.form, "form of ap-exp", ("log", "paper"))

    def _totals(self, rows: ListRows, scratch: Floats) -> "_Mass | None":
        return _total_mass(rows, scratch)

    def _value_of(self, rows: ListRows, mass: "_Mass") -> float:
        return -mass.log_a if self.form == "log" else -math.expm1(mass.log_a)

    def _fill_from(
        self, rows: ListRows, mass: "_Mass", gradient: Floats, curvature: Floats
    ) -> None:
        factor = 1.0 if self.form == "log" else math.exp(mass.log_a)

        def fill(block: slice) -> None:
            # on entry gradient is w exp(f - peak)
            p, h = gradient[block], curvature[block]
            p *= factor / mass.everything
            np.add(p, floor_of(h), out=h)
            if rows.weights is not None:
                h[rows.weights[block] == 0] = 0.0

        rows.gather.run(fill, rows.size)
        q = factor * mass.of_positives / mass.positives
        gradient[mass.rows] -= q
        curvature[mass.rows] += q


class _Mass(NamedTuple):
    """exp of the scores, summed; each sum relative to its own highest score.

    Only the positives' exponentials are kept: they are few.
    """

    peak: float
    everything: float
    positive_peak: float
    positives: float
    rows: NDArray[np.intp]
    of_positives: Vector

    @property
    def log_a(self) -> float:
        log_positives = self.positive_peak + math.log(self.positives)
        # at most 0; rounding may say otherwise when the negatives vanish
        return min(log_positives - self.peak - math.log(self.everything), 0.0)


def _total_mass(rows: ListRows, exponentials: Floats) -> _Mass | None:
    """Return the sums, or None when a class has no weight; fills in each row's w exp(f - peak)."""
    labels, scores, weights, gather = rows
    counted = labels if weights is None else labels & (weights > 0)
    positive_rows = np.flatnonzero(counted)
    positive_scores = scores[positive_rows].astype(np.float64)
    n_counted = labels.size if weights is None else np.count_nonzero(weights)

    def highest(block: slice) -> float:
        if weights is None:
            return float(scores[block].max())
        return float(np.max(scores[block], where=weights[block] > 0, initial=-np.inf))

    def summed(block: slice) -> float:
        each = exponentials[block]
        np.subtract(scores[block], peak, out=each)
        if weights is None:
            return float(np.exp(each, out=each).sum())
        # a row of zero weight may be above the peak: it must not overflow before it is dropped
        np.exp(np.minimum(each, 0.0, out=each), out=each)
        each *= weights[block]
        return float(each.sum())

    own = (float(positive_rows.size), float(n_counted - positive_rows.size))
    if not gather.sums([own], 2).all():
        return None
    peak = float(gather.peaks(gather.run(highest, labels.size), 1)[0])
    own_peak = [float(positive_scores.max(initial=-np.inf))]
    positive_peak = float(gather.peaks(own_peak, 1)[0])
    of_positives = np.exp(positive_scores - positive_peak)
    if weights is not None:
        of_positives *= weights[positive_rows]
    everything = gather.sums(gather.run(summed, labels.size), 1)[0]
    positives = gather.sums([float(of_positives.sum())], 1)[0]
    return _Mass(
        peak, float(everything), positive_peak, float(positives), positive_rows, of_positives
    )

"""The area under the ROC curve with the exponential in place of "is ranked above" (RankBoost).

The sum over pairs of exp(f_j - f_i), i positive and j negative, is a product of two sums:

    log sum_neg w exp(f) + log sum_pos w exp(-f)

A negative's gradient is p, its share of the first sum; a positive's is -q, q its share of the
second. The loss is convex. Its Hessian is diag(p) - p p' over the negatives, the same in q over
the positives, and nothing between the classes, so diag(p, q) bounds it from above: that is the
curvature here. A Newton leaf sum(q - p) / sum(p + q) then stays within [-1, 1], where the
Hessian's own diagonal p (1 - p) would vanish for a row that outweighs all others.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numba import njit

from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.listwise import ListRows, ListwiseLoss


@dataclass(frozen=True)
class AucExp(ListwiseLoss["_TwoSums"]):
    """The exponential surrogate of the area under the ROC curve, as its logarithm.

    Rows of equal score share a gradient within their class. A list without positives or
    without negatives has value 0 and gradient 0.

    >>> from toprank.losses import AucExp
    >>> round(AucExp().value([True, False, False], [0.0, 0.0, 0.0]), 4)
    0.6931
    """

    descends_value: ClassVar[Literal[True]] = True

    def _totals(self, rows: ListRows, scratch: Floats) -> "_TwoSums | None":
        peaks = _peaks(rows)
        if not np.isfinite(peaks).all():
            return None
        return _TwoSums(peaks, _masses(rows, peaks, scratch))

    def _value_of(self, rows: ListRows, sums: "_TwoSums") -> float:
        # the peaks first: their sum is exact when they cancel
        return float(sums.peaks.sum() + np.log(sums.masses).sum())

    def _fill_from(
        self, rows: ListRows, sums: "_TwoSums", gradient: Floats, curvature: Floats
    ) -> None:
        labels, _, weights, gather = rows
        floor = float(floor_of(curvature))

        def fill(block: slice) -> None:
            _fill(labels[block], sums.masses, floor, gradient[block], curvature[block])
            if weights is not None:
                curvature[block][weights[block] == 0] = 0.0

        gather.run(fill, labels.size)


class _TwoSums(NamedTuple):
    """The sums over the negatives and over the positives, each relative to its peak."""

    peaks: Vector
    masses: Vector


_EVERY_ROW_ONCE = np.empty(0)
"""The weights that kernels get when there are none."""


def _peaks(rows: ListRows) -> Vector:
    """Return the highest f of the negatives and -f of the positives; -inf for a missing class."""
    weights = _EVERY_ROW_ONCE if rows.weights is None else rows.weights
    return rows.gather.peaks([_highest(rows.labels, rows.scores, weights)], 2)


def _masses(rows: ListRows, peaks: Vector, exponentials: Floats) -> Vector:
    """Return the two sums, each relative to its peak; fills in each row's own term."""
    labels, scores, weights, gather = rows

    def summed(block: slice) -> tuple[float, float]:
        own = _EVERY_ROW_ONCE if weights is None else weights[block]
        each = exponentials[block]
        _exponents(labels[block], scores[block], own, peaks, each)
        np.exp(each, out=each)  # vectorised, which compiled loops are not
        if weights is not None:
            each *= own
        return _sums(labels[block], each)

    return gather.sums(gather.run(summed, labels.size), 2)


@njit(cache=True)
def _highest(labels, scores, weights):
    negative, positive = -np.inf, -np.inf
    for row in range(labels.size):
        if weights.size and weights[row] == 0:
            continue
        score = np.float64(scores[row])
        if labels[row]:
            positive = max(positive, -score)
        else:
            negative = max(negative, score)
    return negative, positive


@njit(cache=True)
def _exponents(labels, scores, weights, peaks, exponents):
    for row in range(labels.size):
        score = np.float64(scores[row])
        exponents[row] = -score - peaks[1] if labels[row] else score - peaks[0]
        if weights.size and weights[row] == 0:
            exponents[row] = -np.inf  # may be above the peak: it must not overflow


@njit(cache=True)
def _sums(labels, masses):
    negative, positive = 0.0, 0.0
    for row in range(labels.size):
        if labels[row]:
            positive += masses[row]
        else:
            negative += masses[row]
    return negative, positive


@njit(cache=True)
def _fill(labels, masses, floor, gradient, curvature):
    # on entry gradient is w exp(f - peak), or w exp(-f - peak) for positives
    for row in range(labels.size):
        share = gradient[row] / masses[1 if labels[row] else 0]
        gradient[row] = -share if labels[row] else share
        curvature[row] = share + floor

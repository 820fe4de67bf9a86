"""The area under the ROC curve with a powered hinge in place of "is ranked above".

    mean over pairs of max(0, tau - f_i + f_j)^p      i positive, j negative

The rarer class is sorted: its rows are the anchors. With t = f - tau of an anchor and x = f of
another row, a pair's margin is x - t and the pair is active when that is above 0 (when the
negatives are rarer, every score changes its sign and the two classes swap roles). A row is
active with the anchors up to its place among the sorted t and with no others, so one
table look-up places it, and the common class is never sorted.

Whole p: the sums over the anchors up to a place are a polynomial of degree p - 1 in the row's
distance from there, and the anchors' own sums follow from the powers of those distances, added
up place by place. Only distances are summed, never scores, and no term is negative: nothing
cancels, at any scale, and the sums are exact up to rounding.

Other p: anchors are bundled in a binary tree. A bundle at most twice as long as its distance from
a row, centre c and members c + d, is summed for that row as a binomial series in d / (x - c), at
most 1/2 in size; closer bundles are opened, down to single anchors. So many terms are kept that
what is left out is below 1e-4 of the least a member can add. All terms of a gradient have one
sign, so every row's gradient holds to 1e-4 of itself, for scores of any spread. A row looks at
some twenty bundles: this takes about a microsecond per row, fifty times as long as a whole p.

The curvature is the second derivative for p >= 2. Below 2 that is unbounded as a margin closes,
and vanishes as p nears 1. There the parabola that touches m^p at m and has its minimum at 0
replaces it: it is above m^p, and its curvature is p m^(p - 2). A row uses it once, at the mean
margin of its active pairs (the mean that keeps the gradient) plus tau, which bounds it.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import binom

from toprank.data import checks
from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.listwise import ListRows, ListwiseLoss


@dataclass(frozen=True)
class AucHinge(ListwiseLoss["_Anchors"]):
    """The mean over pairs of max(0, tau - f_i + f_j)^p, i positive and j negative.

    With weights it is the weighted mean, a pair weighing the product of its rows. Rows of equal
    score share a gradient within their class; a pair exactly tau apart is not active. A list
    without positives or without negatives has value 0 and gradient 0.

    >>> from toprank.losses import AucHinge
    >>> AucHinge(tau=0.5).value([True, False, False], [1.0, 0.0, 1.0])
    0.125
    """

    tau: float = 0.7
    p: float = 2.0

    descends_value: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        checks.number_above(self.tau, "tau of auc-hinge", 0, 1e6)
        checks.number_above(self.p, "p of auc-hinge", 1, 10)

    def _totals(self, rows: ListRows, scratch: Floats) -> "_Anchors | None":
        return _find_anchors(rows, self.tau)

    def _value_of(self, rows: ListRows, anchors: "_Anchors") -> float:
        # a row's slope of the next power is p + 1 times its term of this one
        slopes, unused = np.zeros(rows.size), np.empty(rows.size)
        _fill_rows(rows, anchors, self.tau, self.p + 1, slopes, unused)
        total = rows.gather.sums([anchors.sign * slopes.sum()], 1)[0]
        return float(total / (self.p + 1))

    def _fill_from(
        self, rows: ListRows, anchors: "_Anchors", gradient: Floats, curvature: Floats
    ) -> None:
        sums = _fill_rows(rows, anchors, self.tau, self.p, gradient, curvature)
        sums = rows.gather.sums([sums], sums.size).reshape(sums.shape)
        _fill_anchors(
            anchors.rows,
            _EVERY_ROW_ONCE if rows.weights is None else rows.weights[anchors.rows],
            anchors.sign * anchors.share,
            sums[anchors.places],
            float(self.tau),
            float(self.p),
            float(floor_of(curvature)),
            gradient,
            curvature,
        )


_EVERY_ROW_ONCE = np.empty(0)
"""The weights that kernels get when there are none."""

_TRUNCATION = 1e-4
"""What the series of a bundle may leave out, as a share of the least a member can add."""

_MOST_CELLS = 1 << 16
"""As many as fit into the processor's cache along with the sums."""

_FEWEST_ROWS, _MOST_PARTS = 1 << 16, 16
"""The fewest rows worth a thread, and the most parts that rows are split into."""


class _Anchors(NamedTuple):
    """The rarer class in rising order of t: thresholds and masses of all machines' anchors.

    Masses are weights over the weight of all pairs; `rows` are this machine's own anchors,
    `places` their positions among all; `share` is 1 over the weight of all pairs.
    """

    label: bool
    sign: float
    thresholds: Vector
    masses: Vector
    rows: NDArray[np.intp]
    places: NDArray[np.intp]
    share: float


def _find_anchors(rows: ListRows, tau: float) -> _Anchors | None:
    """Return the anchors, or None when a class has no weight."""
    labels, scores, weights, gather = rows
    own = _class_sizes(labels, weights)
    *counts, positive_weight, negative_weight = gather.sums([own], 4)
    if not all(counts):
        return None
    label = bool(counts[0] <= counts[1])
    sign = 1.0 if label else -1.0
    is_anchor = labels if label else ~labels
    if weights is not None:
        is_anchor = is_anchor & (weights > 0)
    own_rows = np.flatnonzero(is_anchor)
    thresholds = sign * scores[own_rows].astype(np.float64) - tau
    share = 1 / (positive_weight * negative_weight)
    masses = np.full(own_rows.size, share) if weights is None else share * weights[own_rows]
    begin, everything = gather.side_by_side(np.array([thresholds, masses]))
    thresholds, masses, places = _merged(*everything)
    own_places = places[begin : begin + own_rows.size]
    return _Anchors(label, sign, thresholds, masses, own_rows, own_places, share)


def _merged(thresholds: Vector, masses: Vector) -> tuple[Vector, Vector, NDArray[np.intp]]:
    """Return the distinct thresholds in rising order, their masses, and each one's place."""
    order = np.argsort(thresholds)
    ordered = thresholds[order]
    is_first = np.diff(ordered, prepend=-np.inf) > 0
    firsts = np.flatnonzero(is_first)
    places = np.empty_like(order)
    places[order] = np.cumsum(is_first) - 1
    return ordered[firsts], np.add.reduceat(masses[order], firsts), places


def _class_sizes(
    labels: NDArray[np.bool_], weights: Vector | None
) -> tuple[float, float, float, float]:
    """Return the number of positives and of negatives that count, then their weights."""
    if weights is None:
        n_positive = float(np.count_nonzero(labels))
        return n_positive, labels.size - n_positive, n_positive, labels.size - n_positive
    of_positives, of_negatives = weights[labels], weights[~labels]
    return (
        float(np.count_nonzero(of_positives)),
        float(np.count_nonzero(of_negatives)),
        float(of_positives.sum()),
        float(of_negatives.sum()),
    )


def _fill_rows(
    rows: ListRows,
    anchors: _Anchors,
    tau: float,
    p: float,
    gradient: Floats,
    curvature: Floats,
) -> Vector:
    """Fill in all rows but the anchors; return what they add to each anchor's two sums."""
    labels, scores, weights, gather = rows
    weights = _EVERY_ROW_ONCE if weights is None else weights
    floor = float(floor_of(curvature))
    if float(p).is_integer():
        table = (anchors.thresholds, *_cells(anchors.thresholds))
        polynomials = _polynomials(anchors.thresholds, anchors.masses, int(p))

        def fill(part: slice) -> Vector:
            some = (labels[part], scores[part], weights[part], anchors.label, anchors.sign)
            out = gradient[part], curvature[part]
            return _fill_by_place(*some, *table, polynomials, floor, *out)

        # every part has its own sums over the anchors, which must not outweigh its rows
        rows_of_part = max(_FEWEST_ROWS, 4 * anchors.thresholds.size)
        moments = np.sum(gather.run_parts(fill, _parts(labels.size, rows_of_part)), axis=0)
        return _sum_above(anchors.thresholds, moments)
    rows_ = (labels, scores, weights, anchors.label, anchors.sign)
    series = _series(float(p))
    tree = _bundles(anchors.thresholds, anchors.masses, series.size)
    sums = _fill_by_bundle(*rows_, *tree, series, float(tau), float(p), floor, gradient, curvature)
    return _sum_bundles(anchors.thresholds, *tree[:2], *sums, p < 2)


def _parts(n_rows: int, fewest: int) -> list[slice]:
    """Return the rows in parts of equal size and at least `fewest` rows, or in one part.

    >>> _parts(10, 4)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    n_parts = min(max(n_rows // fewest, 1), _MOST_PARTS)
    ends = [n_rows * number // n_parts for number in range(n_parts + 1)]
    return [slice(*each) for each in pairwise(ends)]


def _series(p: float) -> Vector:
    """Return the coefficients of p (1 - z)^(p - 1) in powers of z, enough for |z| <= 1/2."""
    terms = p * binom(p - 1, np.arange(64)) * (-1.0) ** np.arange(64)
    left_out = np.cumsum((np.abs(terms) / 2.0 ** np.arange(64))[::-1])[::-1]
    least = p * (1 / 2) ** (p - 1)
    return terms[: max(2, int(np.argmax(left_out < _TRUNCATION * least)))]


# The anchors themselves, for any p.


@njit(cache=True)
def _fill_anchors(rows_, weights, factor, sums, tau, p, floor, gradient, curvature):
    for i in range(rows_.size):
        mass = weights[i] if weights.size else 1.0
        slope, bend = sums[i]
        if p < 2:
            bend = _bend_at_mean(slope, bend, tau, p)
        gradient[rows_[i]] = -factor * mass * slope
        curvature[rows_[i]] = abs(factor) * mass * bend + floor


@njit(cache=True)
def _bend_at_mean(slope, active, tau, p):
    if active == 0:
        return 0.0
    margin = (slope / (p * active)) ** (1 / (p - 1))
    return p * active * (margin + tau) ** (p - 2)


# Whole p. thresholds = [t_0 < t_1 < ...]; place k is above t_k and up to t_k+1.


@njit(cache=True)
def _cells(thresholds):
    """Cells of equal width: cell c has the thresholds starts[c] to starts[c + 1]."""
    n = thresholds.size
    # a few far outliers must not leave all others in one cell; the end cells take them
    low, high = thresholds[n // 64], thresholds[n - 1 - n // 64]
    low, high = max(thresholds[0], 2 * low - high), min(thresholds[n - 1], 2 * high - low)
    n_cells = min(16 * n, _MOST_CELLS)
    per_width = n_cells / (high - low) if high > low else 0.0
    starts = np.zeros(n_cells + 1, np.int32)
    for i in range(n):
        starts[_cell(thresholds[i], low, per_width, n_cells) + 1] += 1
    for cell in range(n_cells):
        starts[cell + 1] += starts[cell]
    return starts, low, per_width


@njit(cache=True)
def _cell(x, low, per_width, n_cells):
    # rounding keeps the order: values of a lower cell are lower
    at = (x - low) * per_width
    if at >= n_cells:
        return n_cells - 1
    return int(at) if at > 0 else 0


@njit(cache=True)
def _count_below(x, thresholds, starts, low, per_width):
    cell = _cell(x, low, per_width, starts.size - 1)
    begin, end = starts[cell], starts[cell + 1]
    while end - begin > 1:
        middle = (begin + end) // 2
        if thresholds[middle] < x:
            begin = middle + 1
        else:
            end = middle
    # most cells hold one threshold or none: a loop's last branch would be mispredicted too often
    return min(end, begin + (thresholds[min(begin, thresholds.size - 1)] < x))


@njit(cache=True)
def _move(moments, distance):
    """Turn sums of w d^e into sums of w (d + distance)^e."""
    for turn in range(1, moments.size):
        for e in range(moments.size - 1, turn - 1, -1):
            moments[e] += distance * moments[e - 1]


@njit(cache=True)
def _polynomials(thresholds, masses, p):
    """Coefficients, at each place, of p sum w (d + t_k - t_i)^(p - 1) over i <= k."""
    polynomials = np.empty((thresholds.size, p))
    moments = np.zeros(p)
    for k in range(thresholds.size):
        if k:
            _move(moments, thresholds[k] - thresholds[k - 1])
        moments[0] += masses[k]
        choose = float(p)
        for e in range(p):
            polynomials[k, e] = choose * moments[p - 1 - e]
            choose *= (p - 1 - e) / (e + 1)
    return polynomials


@njit(cache=True, nogil=True)
def _fill_by_place(
    labels,
    scores,
    weights,
    anchor_label,
    sign,
    thresholds,
    starts,
    low,
    per_width,
    polynomials,
    floor,
    gradient,
    curvature,
):
    p = polynomials.shape[1]
    moments = np.zeros((thresholds.size, p))
    for row in range(labels.size):
        mass = weights[row] if weights.size else 1.0
        if mass == 0:
            gradient[row], curvature[row] = 0.0, 0.0
            continue
        if labels[row] == anchor_label:
            continue
        x = sign * scores[row]
        k = _count_below(x, thresholds, starts, low, per_width) - 1
        slope, bend = 0.0, 0.0
        if k >= 0:
            distance = x - thresholds[k]
            slope, power = polynomials[k, p - 1], mass
            moments[k, 0] += mass
            for e in range(1, p):
                bend = bend * distance + slope
                slope = slope * distance + polynomials[k, p - 1 - e]
                power *= distance
                moments[k, e] += power
        gradient[row] = sign * mass * slope
        curvature[row] = mass * bend + floor
    return moments


@njit(cache=True)
def _sum_above(thresholds, moments):
    """First and second derivatives by each threshold, of the rows at its place and above."""
    n, p = moments.shape
    sums = np.empty((n, 2))
    running = np.zeros(p)
    for k in range(n - 1, -1, -1):
        if k < n - 1:
            _move(running, thresholds[k + 1] - thresholds[k])
        running += moments[k]
        sums[k, 0] = p * running[p - 1]
        sums[k, 1] = p * (p - 1) * running[p - 2]
    return sums


# Other p. Bundle 1 holds all anchors; bundle b is made of 2 b and 2 b + 1; the last level
# of bundles are the anchors themselves, padded with places at infinity.


@njit(cache=True)
def _bundles(thresholds, masses, n_terms):
    """Ends of each bundle, and the sums of w d^e about its centre."""
    size = 1
    while size < thresholds.size:
        size *= 2
    low, high = np.full(2 * size, np.inf), np.full(2 * size, -np.inf)
    for i in range(thresholds.size):  # assignment to a slice would compile for seconds longer
        low[size + i] = high[size + i] = thresholds[i]
    for b in range(size - 1, 0, -1):
        low[b], high[b] = low[2 * b], max(high[2 * b], high[2 * b + 1])
    moments = np.zeros((2 * size, n_terms))
    for i in range(thresholds.size):
        b = size + i
        while b:
            d, power = thresholds[i] - _centre(low, high, b), masses[i]
            for e in range(n_terms):
                moments[b, e] += power
                power *= d
            b //= 2
    return low, high, moments


@njit(cache=True)
def _centre(low, high, b):
    return low[b] + (high[b] - low[b]) / 2


@njit(cache=True)
def _fill_by_bundle(
    labels,
    scores,
    weights,
    anchor_label,
    sign,
    low,
    high,
    moments,
    series,
    tau,
    p,
    floor,
    gradient,
    curvature,
):
    fields = np.zeros_like(moments)
    active_rows = np.zeros(low.size)
    to_open = np.empty(128, np.int64)
    for row in range(labels.size):
        mass = weights[row] if weights.size else 1.0
        if mass == 0:
            gradient[row], curvature[row] = 0.0, 0.0
            continue
        if labels[row] == anchor_label:
            continue
        x = sign * scores[row]
        slope, bend, active = 0.0, 0.0, 0.0
        to_open[0] = 1
        n_open = 1
        while n_open:
            n_open -= 1
            b = to_open[n_open]
            if not low[b] < x:
                continue
            if not high[b] - low[b] <= 2 * (x - high[b]):
                to_open[n_open], to_open[n_open + 1] = 2 * b, 2 * b + 1
                n_open += 2
                continue
            distance = x - _centre(low, high, b)
            near, power = 1 / distance, distance ** (p - 1)
            for e in range(2 if low[b] == high[b] else series.size):
                term = series[e] * power
                slope += term * moments[b, e]
                power *= near
                bend += (p - 1 - e) * series[e] * power * moments[b, e]
                fields[b, e] += mass * term
            active += moments[b, 0]
            active_rows[b] += mass
        if p < 2:
            bend = _bend_at_mean(slope, active, tau, p)
        gradient[row] = sign * mass * slope
        curvature[row] = mass * bend + floor
    return fields, active_rows


@njit(cache=True)
def _sum_bundles(thresholds, low, high, fields, active_rows, is_active_wanted):
    """First and second derivatives by each threshold (or first, and active weight)."""
    sums = np.zeros((thresholds.size, 2))
    for i in range(thresholds.size):
        b = low.size // 2 + i
        while b:
            d, power, before = thresholds[i] - _centre(low, high, b), 1.0, 0.0
            for e in range(fields.shape[1]):
                sums[i, 0] += fields[b, e] * power
                if not is_active_wanted:
                    sums[i, 1] -= e * fields[b, e] * before
                before, power = power, power * d
            if is_active_wanted:
                sums[i, 1] += active_rows[b]
            b //= 2
    return sums

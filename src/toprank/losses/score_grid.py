"""Sums over all pairs of rows of a sigmoid of their score difference, in near-linear time.

With t = exp(-|x|), the sigmoid of -|x|, its slope and the softplus of -|x| are t q(t), and a
polynomial of 16 terms in t meets them within 3e-11 of their size, everywhere. A sum over pairs
is then 16 sums of exponentials, and such a sum moves from one node of the score axis to the
next by one multiplication. Small sums keep their digits next to large ones, and gaps between the
scores cost nothing, however wide.

The nodes are the distinct scores when rows are few or far apart. Else they are evenly spaced, a
row's mass is split between its two neighbours by linear weights, and sums are read back
linearly. For every kernel k here |k''| <= alpha^2 k, so splitting and reading err by at most
(alpha step)^2 / 8 of the sum each, 2.5e-4 together at the widest step, 1/(32 alpha). A gradient
of average precision is such a sum of weights u = R / (R + N)^2, which err by twice what N does:
7.5e-4 of its absolute terms in all. On scores that spread over less than 32 / alpha the step is
eight times finer, and the error 64 times smaller.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.gather import Gather

_WIDEST_STEP, _FINEST_STEP = 1 / 32, 1 / 256  # in units of 1/alpha
_CELLS_IN_CACHE = 1 << 13
_MOST_CELLS = 1 << 22
_FEW_ROWS = 1 << 13
_N_TERMS = 16
_NOTHING = 1e-290  # smaller sums are 0: arithmetic with denormal numbers is slow


class ScoreGrid(NamedTuple):
    """The nodes of the score axis, and where this machine's rows are between them.

    A row's place is (row - low) * per_step: the number of the node below it, and how far it is
    on its way to the next. `gaps` are the distances from node to node, in units of 1/alpha.
    """

    rows: Floats
    low: float
    per_step: float
    gaps: Vector
    distinct: Floats | None

    @property
    def n_nodes(self) -> int:
        return self.gaps.size + 1

    def places(self, scores: Floats) -> Vector:
        """Return the places of scores that occur on some machine."""
        if self.distinct is None:
            return (scores.astype(np.float64) - self.low) * self.per_step
        return np.searchsorted(self.distinct, scores).astype(np.float64)

    def spread_negatives(self, labels: NDArray[np.bool_], weights: Vector | None) -> Vector:
        """Return the mass of this machine's negatives on the nodes."""
        mass = np.zeros(self.n_nodes)
        _spread(self.rows, self.low, self.per_step, labels, weights, mass)
        return mass

    def spread(self, places: Vector, masses: Vector) -> Vector:
        """Return masses at `places`, split between the nodes next to them."""
        total = np.zeros(self.n_nodes)
        _spread(places, 0.0, 1.0, None, masses, total)
        return total

    def read(self, places: Vector, table: Vector) -> Vector:
        """Return a table of the nodes at `places`, linear between nodes."""
        return np.interp(places, np.arange(table.size), table)

    def fill(
        self,
        weights: Vector | None,
        tables: tuple[Vector, Vector],
        gradient: Floats,
        curvature: Floats,
    ) -> None:
        """Write every row's weight times the two tables' values at its place.

        A row of weight 0 gets zeros; other curvatures are above 0.
        """
        both = np.column_stack(tables)
        floor = float(floor_of(curvature))
        _fill(self.rows, self.low, self.per_step, weights, both, floor, gradient, curvature)


def make_grid(scores: Floats, weights: Vector | None, alpha: float, gather: Gather) -> ScoreGrid:
    """Return the grid of the rows with weight, the same nodes on every machine.

    >>> from toprank.losses.gather import HERE
    >>> grid = make_grid(np.array([3.0, 1.0, 3.0]), None, 2.0, HERE)
    >>> grid.distinct, grid.gaps  # the last node is only there to be read
    (array([1., 3.]), array([4., 0.]))
    """
    own_low, own_high, n_own = _extent(scores, weights)
    if math.isnan(own_low):
        raise ValueError("raw must be finite scores; got NaN or infinity.")
    high, low = (gather.peaks([(own_high, -own_low)], 2) * (1.0, -1.0)).tolist()
    n_rows = float(gather.sums([float(n_own)], 1)[0])
    span = alpha * (high - low)
    step = min(max(span / _CELLS_IN_CACHE, _FINEST_STEP), _WIDEST_STEP)
    if not _is_even(n_rows, span / step):
        return _grid_of_distinct_scores(scores, weights, alpha, gather)
    # the highest row, wherever rounding puts it, has a node on its right
    gaps = np.full(int(span / step) + 2, step)
    return ScoreGrid(scores, low, alpha / step, gaps, None)


def distinct_scores(scores: Floats, gather: Gather) -> tuple[Floats, NDArray[np.intp]]:
    """Return all machines' distinct scores in rising order, and which of them each own row has.

    >>> from toprank.losses.gather import HERE
    >>> distinct_scores(np.array([0.5, -2.0, 0.5]), HERE)
    (array([-2. ,  0.5]), array([1, 0, 1]))
    """
    own, inverse = np.unique(scores, return_inverse=True)
    if gather.sums([1.0], 1)[0] == 1:
        return own, inverse
    keys, rank = _union(_rising_keys(own), gather)
    return _scores_of(keys), rank[inverse]


class Kernel(NamedTuple):
    """A function of (score of the source - score of the target), as a sum over sources.

    Below the target it is t q(t) with t = exp(-distance), at the target `at_zero`; above it is
    the same for the slope, 1 minus it for the sigmoid, and the distance plus it for softplus.
    """

    name: str
    q: Callable[[Vector], Vector]
    at_zero: float


SIGMOID = Kernel("sigmoid", lambda t: 1 / (1 + t), 0.5)
SLOPE = Kernel("slope", lambda t: 1 / (1 + t) ** 2, 0.25)
SOFTPLUS = Kernel("softplus", lambda t: np.log1p(t) / t, math.log(2))


def sums_of_others(kernel: Kernel, gaps: Vector, mass: Vector) -> Vector:
    """Return, at every node, the kernel's sum over the masses of all other nodes.

    >>> sums_of_others(SLOPE, np.array([0.0]), np.array([1.0, 4.0])).round(6)
    array([1.  , 0.25])
    """
    coefficients = _coefficients(kernel)
    below = _sweep(gaps, mass, coefficients)
    above = _sweep(gaps[::-1].copy(), mass[::-1].copy(), coefficients)[::-1]
    if kernel is SLOPE:
        return below + above
    higher = np.zeros_like(mass)
    higher[:-1] = np.cumsum(mass[:0:-1])[::-1]
    if kernel is SIGMOID:
        return below + (higher - above)
    moment = np.zeros_like(mass)
    moment[:-1] = np.cumsum((gaps * higher[:-1])[::-1])[::-1]
    return below + (moment + above)


def sums(kernel: Kernel, gaps: Vector, mass: Vector) -> Vector:
    """Return, at every node, the kernel's sum over the masses of all nodes."""
    return sums_of_others(kernel, gaps, mass) + kernel.at_zero * mass


def mirrored_sums(kernel: Kernel, gaps: Vector, mass: Vector) -> Vector:
    """Return the sums of the kernel of (score of the target - score of the source)."""
    return sums(kernel, gaps[::-1], mass[::-1])[::-1]


def _is_even(n_rows: float, n_cells: float) -> bool:
    """Return whether even cells are worth it: there are many rows, and fewer cells than rows."""
    return n_rows > _FEW_ROWS and n_cells < min(n_rows, _MOST_CELLS)


def _grid_of_distinct_scores(
    scores: Floats, weights: Vector | None, alpha: float, gather: Gather
) -> ScoreGrid:
    counted = slice(None) if weights is None else weights > 0
    distinct, rank = distinct_scores(scores[counted], gather)
    rows = np.zeros(scores.size)
    rows[counted] = rank
    # the last gap leads to a node on the right that the highest row reads with weight 0
    gaps = alpha * np.diff(distinct.astype(np.float64), append=distinct[-1:])
    return ScoreGrid(rows, 0.0, 1.0, gaps, distinct)


def _union(
    keys: NDArray[np.unsignedinteger], gather: Gather
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.intp]]:
    """Return the keys that occur on any machine, in order, and which of them each own key is.

    Machines only add up counts of the leading bits that occur, a few more bits at a time: none
    needs to know its rank.
    """
    found = np.zeros(1, keys.dtype)
    rank = np.zeros(keys.size, np.intp)
    n_bits = 8 * keys.itemsize
    while n_bits:
        width = min(n_bits, max(2, 17 - found.size.bit_length()))
        n_bits -= width
        last = (1 << width) - 1
        children = (rank << width) | ((keys >> n_bits) & last).astype(np.intp)
        n_children = found.size << width
        counts = gather.sums([np.bincount(children, minlength=n_children)], n_children)
        occurring = np.flatnonzero(counts)
        rank = (np.cumsum(counts > 0) - 1)[children]
        found = (found[occurring >> width] << width) | (occurring & last).astype(found.dtype)
    return found, rank


def _rising_keys(scores: Floats) -> NDArray[np.unsignedinteger]:
    """Return whole numbers in the order of the scores.

    The bits of a float above 0 rise with it, those of one below 0 fall: these are inverted.
    """
    size = scores.dtype.itemsize
    bits = (scores + scores.dtype.type(0)).view(f"u{size}")  # -0 becomes 0
    sign = bits.dtype.type(1 << (8 * size - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def _scores_of(keys: NDArray[np.unsignedinteger]) -> Floats:
    sign = keys.dtype.type(1 << (8 * keys.itemsize - 1))
    return np.where(keys & sign, keys ^ sign, ~keys).view(f"f{keys.itemsize}")


@cache
def _coefficients(kernel: Kernel) -> Vector:
    """Return c so that t q(t) = c_1 t + c_2 t^2 + ... on [0, 1]."""
    fitted = np.polynomial.Chebyshev.interpolate(kernel.q, _N_TERMS - 1, domain=[0, 1])
    return fitted.convert(kind=np.polynomial.Polynomial).coef.astype(np.float64)


@njit(cache=True)
def _extent(scores, weights):
    """Return the lowest and the highest score with weight and their number; NaN if not finite."""
    low, high, n = np.inf, -np.inf, 0
    for i in range(scores.size):
        if weights is not None and weights[i] == 0:
            continue
        score = scores[i]
        if not np.isfinite(score):
            return np.nan, np.nan, n
        low, high = min(low, score), max(high, score)
        n += 1
    return low, high, n


@njit(cache=True)
def _spread(rows, low, per_step, skipped, weights, mass):
    """Add every row's weight to the nodes on its two sides, by its nearness to them."""
    for i in range(rows.size):
        if skipped is not None and skipped[i]:
            continue
        weight = 1.0
        if weights is not None:
            weight = weights[i]
            if weight == 0:
                continue  # outside the list, and maybe outside the grid
        place = (rows[i] - low) * per_step
        node = int(place)
        right = weight * (place - node)
        mass[node] += weight - right
        mass[node + 1] += right


@njit(cache=True)
def _fill(rows, low, per_step, weights, tables, floor, gradient, curvature):
    """Write both tables, read at every row's place, times its weight."""
    for i in range(rows.size):
        weight = 1.0
        if weights is not None:
            weight = weights[i]
            if weight == 0:
                gradient[i], curvature[i] = 0.0, 0.0
                continue
        place = (rows[i] - low) * per_step
        node = int(place)
        right = place - node
        left = 1.0 - right
        gradient[i] = weight * (left * tables[node, 0] + right * tables[node + 1, 0])
        curvature[i] = weight * (left * tables[node, 1] + right * tables[node + 1, 1]) + floor


@njit(cache=True)
def _sweep(gaps, mass, coefficients):
    """Return at every node the sum over the nodes before it of mass c_k exp(-k distance)."""
    state, powers = np.zeros(coefficients.size), np.zeros(coefficients.size)
    result = np.zeros(mass.size)
    gap = -1.0
    for node in range(1, mass.size):
        if gaps[node - 1] != gap:
            gap = gaps[node - 1]
            power = decay = np.exp(-gap)
            for k in range(powers.size):
                powers[k] = power
                power *= decay
        total = 0.0
        for k in range(state.size):
            passed = (state[k] + mass[node - 1]) * powers[k]
            state[k] = passed if passed > _NOTHING else 0.0
            total += coefficients[k] * state[k]
        result[node] = total
    return result

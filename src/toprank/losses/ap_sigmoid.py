"""Average precision with a sigmoid in place of "is ranked above" (SGBAP_sig).

With sig_ab = 1 / (1 + exp(-alpha (f_a - f_b))), a positive i has

    N_i = sum over negatives j  w_j sig_ji        R_i = sum over positives k, i too,  w_k sig_ki

above it, D_i = R_i + N_i, and the loss is the mean over positives, by weight, of N_i / D_i: one
minus a smooth precision at i. With W the positives' weight, u_i = R_i / (W D_i^2),
v_i = N_i / (W D_i^2) and d_ab = alpha sig_ab (1 - sig_ab), the gradient is

    negative j   w_j sum_i w_i u_i d_ji
    positive k   w_k (-u_k sum_j w_j d_jk + v_k sum_i w_i d_ik - sum_i w_i v_i d_ki)    i != k

The loss is not convex. No second derivative of a sigmoid exceeds alpha times its slope, so the
curvature is alpha times the sum of the gradient's absolute terms: a Newton leaf then stays
within [-1/alpha, 1/alpha].
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.losses.contract import Floats, Vector, floor_of
from toprank.losses.listwise import ListRows, ListwiseLoss
from toprank.losses.score_grid import (
    SIGMOID,
    SLOPE,
    Kernel,
    ScoreGrid,
    distinct_scores,
    make_grid,
    sums,
    sums_of_others,
)


@dataclass(frozen=True)
class ApSigmoid(ListwiseLoss["Positives"]):
    """The sigmoid surrogate of average precision; a larger `alpha` is nearer to it, and steeper.

    Of two rows of equal score each counts half above the other. A list without positives or
    without negatives has value 0 and gradient 0. Sums come from a grid (`losses.score_grid`): a
    gradient is within 1e-3 of the sum of its absolute terms, and usually much closer.

    >>> from toprank.losses import ApSigmoid
    >>> round(ApSigmoid().value([True, False, False, False], [0.0, 0.0, 0.0, 0.0]), 6)
    0.75
    """

    alpha: float = 1.0

    descends_value: ClassVar[Literal[True]] = True

    def __post_init__(self) -> None:
        checks.number_above(self.alpha, "alpha of ap-sigmoid", 0, 1e6)

    def _totals(self, rows: ListRows, scratch: Floats) -> "Positives | None":
        return positives_of(rows, self.alpha)

    def _value_of(self, rows: ListRows, positives: "Positives") -> float:
        wrong = positives.above / (positives.above + positives.peers)
        return float(positives.mass @ wrong / positives.mass.sum())

    def _fill_from(
        self, rows: ListRows, positives: "Positives", gradient: Floats, curvature: Floats
    ) -> None:
        grid = positives.grid
        pushed = grid.spread(positives.places, positives.mass * positives.u)
        table = self.alpha * sums(SLOPE, grid.gaps, pushed)
        grid.fill(rows.weights, (table, self.alpha * table), gradient, curvature)
        self._write_positives(positives, gradient, curvature)

    def _write_positives(
        self, positives: "Positives", gradient: Floats, curvature: Floats
    ) -> None:
        u, v, node, weights = positives.u, positives.v, positives.node, positives.weights
        lifted = u * positives.read(SLOPE)
        carried = v * sums_of_others(SLOPE, positives.gaps, positives.mass)
        held = sums_of_others(SLOPE, positives.gaps, positives.mass * v)
        # positives of one score also pull at each other, but these forces cancel
        tied = 2 * v[node] * SLOPE.at_zero * (positives.mass[node] - weights)
        pulls = (lifted + carried + held)[node] + tied
        gradient[positives.rows] = self.alpha * weights * (carried - lifted - held)[node]
        curvature[positives.rows] = self.alpha**2 * weights * pulls + floor_of(curvature)


class Positives(NamedTuple):
    """Where the positives are in the list; all machines' distinct scores of positives are nodes.

    `above` and `peers` are N and R of the formula, one per node. `rows`, `node` and `weights`
    belong to this machine's own positives.
    """

    grid: ScoreGrid
    negatives: Vector
    gaps: Vector
    mass: Vector
    places: Vector
    above: Vector
    peers: Vector
    rows: NDArray[np.intp]
    node: NDArray[np.intp]
    weights: Vector

    @property
    def u(self) -> Vector:
        everything = self.above + self.peers
        return self.peers / everything / everything / self.mass.sum()

    @property
    def v(self) -> Vector:
        everything = self.above + self.peers
        return self.above / everything / everything / self.mass.sum()

    def read(self, kernel: Kernel) -> Vector:
        """Return, at every node, the kernel's sum over the negatives."""
        return self.grid.read(self.places, sums(kernel, self.grid.gaps, self.negatives))


def positives_of(rows: ListRows, alpha: float) -> Positives | None:
    """Return where the positives are, or None when a class has no weight."""
    labels, scores, weights, gather = rows
    own = np.flatnonzero(labels if weights is None else labels & (weights > 0))
    n_counted = labels.size if weights is None else np.count_nonzero(weights)
    if not gather.sums([(float(own.size), float(n_counted - own.size))], 2).all():
        return None
    grid = make_grid(scores, weights, alpha, gather)
    negatives = gather.sums([grid.spread_negatives(labels, weights)], grid.n_nodes)
    distinct, node = distinct_scores(scores[own], gather)
    own_weights = np.ones(own.size) if weights is None else weights[own]
    mass = gather.sums([np.bincount(node, own_weights, distinct.size)], distinct.size)
    gaps = alpha * np.diff(distinct.astype(np.float64))
    places = grid.places(distinct)
    above = grid.read(places, sums(SIGMOID, grid.gaps, negatives))
    peers = sums(SIGMOID, gaps, mass)
    return Positives(grid, negatives, gaps, mass, places, above, peers, own, node, own_weights)

"""LambdaMART's pairwise push, weighed by average precision, for one list and all its pairs.

Every pair of a positive i and a negative j has the loss softplus(alpha (f_j - f_i)) / alpha, and
counts w_i w_j u_i: what moving them apart would gain in the smooth average precision of
ap-sigmoid, whose names these are. u_i is taken at the current scores and held there:

    positive i   gradient  -w_i u_i sum_j w_j sig_ji    curvature  w_i u_i sum_j w_j d_ji
    negative j   gradient   w_j sum_i w_i u_i sig_ji    curvature  w_j sum_i w_i u_i d_ji

So `value` is no function of which this is the gradient: it weighs the pairs anew at every call.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank import checks
from toprank.losses.ap_sigmoid import positives_of
from toprank.losses.contract import Floats, Vector, floor_of, rows, two_vectors
from toprank.losses.gather import HERE, Gather
from toprank.losses.grid import SIGMOID, SLOPE, SOFTPLUS, mirrored_sums, sums


@dataclass(frozen=True)
class ApLambda:
    """All pairs of one list, weighed by average precision; a larger `alpha` is steeper.

    Of two rows of equal score each counts half above the other. A list without positives or
    without negatives has value 0 and gradient 0. Sums come from a grid (`toprank.losses.grid`):
    a gradient is within 1e-3 of the sum of its absolute terms, and mostly far nearer.

    >>> from toprank.losses import ApLambda
    >>> gradient, _ = ApLambda().gradient_curvature([True, False, False], [0.0, 0.0, 0.0])
    >>> gradient.round(4)  # u = 2/9
    array([-0.2222,  0.1111,  0.1111])
    """

    alpha: float = 1.0

    is_listwise = True

    def __post_init__(self) -> None:
        checks.number_above(self.alpha, "alpha of ap-lambda", 0, 1e6)

    def start(
        self, is_positive: NDArray[np.bool_], weight: Vector | None = None, gather: Gather = HERE
    ) -> float:
        """Return 0: a constant added to every score changes nothing."""
        return 0.0

    def value(
        self,
        is_positive: ArrayLike,
        raw: ArrayLike,
        weight: ArrayLike | None = None,
        gather: Gather = HERE,
    ) -> float:
        labels, scores, weights = rows(is_positive, raw, weight)
        positives = positives_of(labels, scores, weights, self.alpha, gather)
        if positives is None:
            return 0.0
        pushes = positives.mass * positives.u
        return float(pushes @ positives.read(SOFTPLUS) / self.alpha)

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
        positives = positives_of(labels, scores, weights, self.alpha, gather)
        if positives is None:
            gradient.fill(0.0)
            curvature.fill(floor_of(curvature))
            return gradient, curvature
        u, grid = positives.u, positives.grid
        pushed = grid.spread(positives.places, positives.mass * u)
        falling = mirrored_sums(SIGMOID, grid.gaps, pushed)
        bending = self.alpha * sums(SLOPE, grid.gaps, pushed)
        grid.fill(weights, (falling, bending), gradient, curvature)

        own, node = positives.rows, positives.node
        gradient[own] = positives.weights * (-u * positives.above)[node]
        bending = self.alpha * u * positives.read(SLOPE)
        curvature[own] = positives.weights * bending[node] + floor_of(curvature)
        return gradient, curvature

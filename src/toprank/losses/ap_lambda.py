"""LambdaMART's pairwise gradient, weighted by average precision, for one list and all its pairs.

Every pair of a positive i and a negative j has the loss softplus(alpha (f_j - f_i)) / alpha, and
counts w_i w_j u_i: what moving them apart would gain in the smooth average precision of
ap-sigmoid, whose notation this is. u_i is computed at the current scores and then fixed:

    positive i   gradient  -w_i u_i sum_j w_j sig_ji    curvature  w_i u_i sum_j w_j d_ji
    negative j   gradient   w_j sum_i w_i u_i sig_ji    curvature  w_j sum_i w_i u_i d_ji

So this is not the gradient of `value`, which weighs the pairs anew at every call:
`descends_value` is False.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from toprank.data import checks
from toprank.losses.ap_sigmoid import Positives, positives_of
from toprank.losses.contract import Floats, floor_of
from toprank.losses.listwise import ListRows, ListwiseLoss
from toprank.losses.score_grid import SIGMOID, SLOPE, SOFTPLUS, mirrored_sums, sums


@dataclass(frozen=True)
class ApLambda(ListwiseLoss[Positives]):
    """All pairs of one list, weighted by average precision; a larger `alpha` is steeper.

    Of two rows of equal score each counts half above the other. A list without positives or
    without negatives has value 0 and gradient 0. Sums come from a grid (`losses.score_grid`): a
    gradient is within 1e-3 of the sum of its absolute terms, and usually much closer.

    >>> from toprank.losses import ApLambda
    >>> gradient, _ = ApLambda().gradient_curvature([True, False, False], [0.0, 0.0, 0.0])
    >>> gradient.round(4)  # u = 2/9
    array([-0.2222,  0.1111,  0.1111])
    """

    alpha: float = 1.0

    descends_value: ClassVar[Literal[False]] = False

    def __post_init__(self) -> None:
        checks.number_above(self.alpha, "alpha of ap-lambda", 0, 1e6)

    def _totals(self, rows: ListRows, scratch: Floats) -> Positives | None:
        return positives_of(rows, self.alpha)

    def _value_of(self, rows: ListRows, positives: Positives) -> float:
        pushes = positives.mass * positives.u
        return float(pushes @ positives.read(SOFTPLUS) / self.alpha)

    def _fill_from(
        self, rows: ListRows, positives: Positives, gradient: Floats, curvature: Floats
    ) -> None:
        u, grid = positives.u, positives.grid
        pushed = grid.spread(positives.places, positives.mass * u)
        falling = mirrored_sums(SIGMOID, grid.gaps, pushed)
        bending = self.alpha * sums(SLOPE, grid.gaps, pushed)
        grid.fill(rows.weights, (falling, bending), gradient, curvature)

        own, node = positives.rows, positives.node
        gradient[own] = positives.weights * (-u * positives.above)[node]
        bending = self.alpha * u * positives.read(SLOPE)
        curvature[own] = positives.weights * bending[node] + floor_of(curvature)

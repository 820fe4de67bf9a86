"""RankSVM: a squared hinge over all pairs, by its gradient in O(n log n).

    v'v / 2 + C mean over pairs of max(0, 1 - v.(x_i - x_j))^2      i positive, j negative

The mean is the loss auc-hinge with tau 1 and p 2: the rarer class is sorted, and each row of
the other needs only sums over those that it is too close to, or above. A step of L-BFGS costs
that and two products with the matrix of features.
"""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from toprank.data import checks
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.losses import AucHinge, ValueLoss
from toprank.rankers.pairwise.pairwise_ranker import Features, PairwiseRanker, blocks

_MARGIN: ValueLoss = AucHinge(tau=1.0, p=2.0)
_MOST_ROWS_OF_BUMPS = 100_000
_STEEPEST = 1e-6
"""The largest slope at the end; at the start it is twice the gap between the class means."""


class RankSVM(PairwiseRanker):
    """Linear or Gaussian model with the least squared hinge over all pairs.

    The pairs are those of a positive and a negative; one that is 1 apart or more costs nothing.
    C times their mean cost plus half the squared norm is minimised, so that C does not depend on
    the number of rows. Columns are standardised first, missing values are replaced by the mean
    (with a flag that says so), and each value of a category has its own weight.

    Parameters
    ----------
    kernel : "linear" or "gaussian"
        A line over the columns, or exp(-gamma |x - c|^2) over the standardised columns. The latter
        learns from at most 100,000 rows per class: every k-th, with k times its weight.
    C : float
        How much the pairs count against the norm.
    gamma : float or None
        Of the Gaussian kernel; None means 1 over the total variance of all standardised columns,
        which is 1 / n_columns where all are numbers.
    n_centres : int
        Number of rows around which the Gaussian kernel has its bumps; it is exact if there are no
        more rows than that. Otherwise they are drawn, half of them from the rarer class.
    max_iter : int
        Maximum number of steps.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed for the centres.

    Attributes
    ----------
    n_iter_ : steps taken
    design_ : how columns become standardised terms
    score_ : the weights of the terms, or the centres and heights of the bumps
    feature_importances_ : mean size of each feature's contributions; they add up to 1
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import RankSVM
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = RankSVM().fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    """

    def __init__(
        self,
        *,
        kernel: str = "linear",
        C: float = 100.0,
        gamma: float | None = None,
        n_centres: int = 400,
        max_iter: int = 500,
        positive_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.n_centres = n_centres
        self.max_iter = max_iter
        self.positive_label = positive_label
        self.random_state = random_state

    def _check_own_parameters(self) -> None:
        checks.number_above(self.C, "C", 0, 1e12)
        checks.whole_number(self.max_iter, "max_iter", 1)

    def _line(
        self, features: Features, rows: TrainingRows, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        if self.kernel == "gaussian":
            rows = rows.thinned(_MOST_ROWS_OF_BUMPS)
        points = features.matrix(rows.features)
        if not points.size:  # no column distinguishes any two rows
            self.n_iter_ = 0
            return np.zeros(0)
        found = minimize(
            hinge_over_pairs,
            np.zeros(points.shape[1]),
            args=(points, rows, 1 / float(self.C)),
            jac=True,
            method="L-BFGS-B",
            # stop by slope alone: a small gain may be followed by a larger one
            options={"maxiter": self.max_iter, "gtol": _STEEPEST, "ftol": 0.0},
        )
        self.n_iter_ = int(found.nit)
        if self.n_iter_ >= self.max_iter:
            warnings.warn(
                f"RankSVM took all of max_iter={self.max_iter} steps and its slope is still "
                f"{np.abs(found.jac).max():.1g}; raise max_iter or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return found.x

    def _to_saved(self) -> Saved:
        saved = super()._to_saved()
        return saved._replace(state={**saved.state, "n_iter": self.n_iter_})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        ranker = super()._from_saved(parameters, saved)
        ranker.n_iter_ = checks.whole_number(saved.state["n_iter"], "n_iter", 0)
        return ranker


def hinge_over_pairs(
    line: NDArray[np.float64], points: NDArray[np.floating], rows: TrainingRows, penalty: float
) -> tuple[float, NDArray[np.float64]]:
    """Return the objective divided by C, and its gradient; `penalty` is 1 / C.

    `points` may be in float32: their products are in float64, a block of rows at a time.
    """
    raw = np.empty(len(points))
    for block in blocks(len(points)):
        raw[block] = points[block].astype(np.float64) @ line
    value = _MARGIN.value(rows.is_positive, raw, rows.weight)
    slope, _ = _MARGIN.gradient_curvature(rows.is_positive, raw, rows.weight)
    pull = penalty * line
    for block in blocks(len(points)):
        pull += slope[block] @ points[block].astype(np.float64)
    return value + penalty * float(line @ line) / 2, pull

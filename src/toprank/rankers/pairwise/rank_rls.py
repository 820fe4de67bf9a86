"""RankRLS: regularised least squares over all pairs, solved in closed form.

Every pair of a positive and a negative should be 1 apart. Over features x, with class means m and
m', d = m - m', and S the sum of the classes' covariances, the mean over pairs is

    mean (1 - v.(x_i - x_j))^2 + lambda v'v = (1 - v.d)^2 + v'S v + lambda v'v,

minimal at v = u / (1 + d.u), u = (S + lambda)^-1 d: the pairs are never enumerated. Class means
and covariances are weighted, so that the weight of a pair is the product of its rows' weights.

It is a ridge in disguise. Give each class a total weight of 1, labels of 1/2 and -1/2, and centre
at c = (m + m') / 2. Then (A + lambda)^-1 d / 2 with A = S + d d' / 2 is the ridge's solution, and
points the same way as v. So leaving rows out has the ridge's closed form. With weights a of two
rows, residuals r of the whole ridge, and M_kl = 1/2 + (x_k - c)'(A + lambda)^-1 (x_l - c), the
ridge without the two rows leaves them the residuals (I - M diag(a))^-1 r. One decomposition of A
serves every lambda.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers.pairwise.pairwise_ranker import Features, PairwiseRanker, blocks

_GRID = 10.0 ** np.arange(-8, 2.1, 0.5)
_ONE_ROW = 1.0
"""The regularization if a class has one row: nothing can be left out."""

_ROWS_LEFT_OUT = 500
_ROUNDING = 1e-12
_TIE = 1e-9


class RankRLS(PairwiseRanker):
    """Linear or Gaussian least squares over all pairs, with a target distance of 1.

    The pairs are those of a positive and a negative, and their mean square is minimised together
    with `regularization` times the squared norm of the line, whose scale does not depend on the
    number of rows. Columns are standardised first, missing values are replaced by the mean (with
    a flag that says so), and each value of a category has its own weight.

    Parameters
    ----------
    kernel : "linear" or "gaussian"
        A line over the columns, or exp(-gamma |x - c|^2) over the standardised columns.
    gamma : float or None
        Of the Gaussian kernel; None means 1 over the total variance of all standardised columns,
        which is 1 / n_columns where all are numbers.
    regularization : float or None
        How much the norm counts. None chooses it between 1e-8 and 100: every pair (of at most
        500 positives and 500 negatives) is ranked by a ridge learned without its two rows, and
        the largest value that ranks most of them right is taken. If a class has one row, it is 1.
    n_centres : int
        Number of rows around which the Gaussian kernel has its bumps; it is exact if there are no
        more rows than that. Otherwise they are drawn, half of them from the rarer class.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed for the centres and the rows that are left out.

    Attributes
    ----------
    regularization_ : the value given or chosen
    design_ : how columns become standardised terms
    score_ : the weights of the terms, or the centres and heights of the bumps
    feature_importances_ : mean size of each feature's contributions; they add up to 1
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import RankRLS
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = RankRLS().fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    """

    def __init__(
        self,
        *,
        kernel: str = "linear",
        gamma: float | None = None,
        regularization: float | None = None,
        n_centres: int = 400,
        positive_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.regularization = regularization
        self.n_centres = n_centres
        self.positive_label = positive_label
        self.random_state = random_state

    def _check_own_parameters(self) -> None:
        if self.regularization is not None:
            checks.number_above(self.regularization, "regularization", 0, 1e12)

    def _line(
        self, features: Features, rows: TrainingRows, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        ridge = _Ridge.of(features, rows)
        if self.regularization is not None:
            self.regularization_ = float(self.regularization)
        elif min(np.bincount(rows.is_positive)) < 2:
            self.regularization_ = _ONE_ROW
        else:
            self.regularization_ = _chosen(ridge, _left_out(ridge, features, rows, generator))
        return ridge.line(self.regularization_)

    def _to_saved(self) -> Saved:
        saved = super()._to_saved()
        return saved._replace(state={**saved.state, "regularization": self.regularization_})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        ranker = super()._from_saved(parameters, saved)
        kept = checks.number_above(saved.state["regularization"], "regularization", 0, 1e12)
        ranker.regularization_ = kept
        return ranker


class _Ridge(NamedTuple):
    """The ridge of two classes of equal weight, in the directions of A, where it is diagonal.

    `gap` is d in those directions; `class_weight` the negatives' total weight and the positives'.
    """

    centre: NDArray[np.float64]
    directions: NDArray[np.float64]
    sizes: NDArray[np.float64]
    gap: NDArray[np.float64]
    class_weight: NDArray[np.float64]

    @classmethod
    def of(cls, features: Features, rows: TrainingRows) -> Self:
        """Return the ridge of training rows."""
        weight, means, squares = _class_moments(features, rows)
        gap = means[1] - means[0]
        covariances = squares - means[:, :, None] * means[:, None, :]
        A = covariances.sum(axis=0) + np.outer(gap, gap) / 2
        sizes, directions = np.linalg.eigh(A)
        return cls(means.mean(axis=0), directions, sizes, gap @ directions, weight)

    def damped(self, regularization: float) -> NDArray[np.float64]:
        """Return the diagonal of A + lambda, kept above rounding error."""
        least = _ROUNDING * max(float(self.sizes.max(initial=0.0)), 1e-300)
        return np.maximum(self.sizes, 0.0) + max(regularization, least)

    def line(self, regularization: float) -> NDArray[np.float64]:
        """Return v, the line with the least squares over pairs."""
        turned = self.gap / self.damped(regularization)
        return self.directions @ turned / (1 + self.gap @ turned / 2)


class _LeftOut(NamedTuple):
    """Rows of one class to be left out: their coordinates in the ridge, and their weights."""

    places: NDArray[np.float64]
    weight: NDArray[np.float64]
    label: float

    def residuals_leverages(
        self, ridge: _Ridge, held: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return r of the whole ridge, and M of every row with itself."""
        residuals = self.label - self.places @ (ridge.gap / held) / 2
        return residuals, 0.5 + (self.places**2) @ (1 / held)


def _class_moments(
    features: Features, rows: TrainingRows
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return weight, mean and mean square (a matrix) of the negatives and of the positives."""
    row_weight = np.ones(rows.is_positive.size) if rows.weight is None else rows.weight
    weight = np.bincount(rows.is_positive, row_weight).astype(np.float64)
    sums: Any = [0.0, 0.0]
    squares: Any = [0.0, 0.0]
    for block in blocks(rows.is_positive.size):
        points, labels = features.of(rows.features[block]), rows.is_positive[block]
        for label in (0, 1):
            own = points[labels == label]
            share = row_weight[block][labels == label] / weight[label]
            sums[label] += share @ own
            squares[label] += own.T @ (own * share[:, None])
    return weight, np.array(sums), np.array(squares)


def _left_out(
    ridge: _Ridge, features: Features, rows: TrainingRows, generator: np.random.Generator
) -> tuple[_LeftOut, _LeftOut]:
    """Return the positives and the negatives to be left out."""
    parts = []
    for label in (1, 0):
        members = np.flatnonzero(rows.is_positive == label)
        if members.size > _ROWS_LEFT_OUT:
            members = generator.choice(members, _ROWS_LEFT_OUT, replace=False)
        places = (features.of(rows.features[members]) - ridge.centre) @ ridge.directions
        weight = np.ones(members.size) if rows.weight is None else rows.weight[members]
        parts.append(_LeftOut(places, weight / ridge.class_weight[label], label - 0.5))
    return parts[0], parts[1]


def _chosen(ridge: _Ridge, left_out: tuple[_LeftOut, _LeftOut]) -> float:
    """Return the largest regularization of those that rank most of the left-out pairs right."""
    areas = np.array([_left_out_auc(ridge, *left_out, each) for each in _GRID])
    return float(_GRID[areas >= areas.max() - _TIE].max())


def _left_out_auc(
    ridge: _Ridge, positives: _LeftOut, negatives: _LeftOut, regularization: float
) -> float:
    """Return the share of pairs that the ridge without their two rows ranks right, by weight."""
    held = ridge.damped(regularization)
    ahead = left_out_leads(ridge, positives, negatives, held)
    is_right = (ahead > _TIE) + 0.5 * (np.abs(ahead) <= _TIE)
    total = positives.weight.sum() * negatives.weight.sum()
    return float(positives.weight @ is_right @ negatives.weight / total)


def left_out_leads(
    ridge: _Ridge, positives: _LeftOut, negatives: _LeftOut, held: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far each positive is ahead of each negative in the ridge without the two."""
    residual, leverage = positives.residuals_leverages(ridge, held)
    other_residual, other_leverage = negatives.residuals_leverages(ridge, held)
    cross = 0.5 + (positives.places / held) @ negatives.places.T
    # 2 x 2 inverses for all pairs at once: positives in rows, negatives in columns
    free = (1 - leverage * positives.weight)[:, None]
    other_free = 1 - other_leverage * negatives.weight
    to_positive = other_free * residual[:, None] + cross * negatives.weight * other_residual
    to_negative = free * other_residual + cross * (positives.weight * residual)[:, None]
    both = free * other_free - cross**2 * negatives.weight * positives.weight[:, None]
    return 1 - (to_positive - to_negative) / both

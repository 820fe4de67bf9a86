"""Boosting that takes the cost of mistakes into account: AdaC2 and AdaCost.

y is 1 or -1, and c a row's cost in units of the largest. Rows start with weights w in proportion
to their cost. A round grows a tree by them whose leaves hold the weighted mean of y, so that its
heights h are in [-1, 1] and say how sure it is, and adds alpha h to the scores:

    r = sum w y h b / sum w,    alpha = 1/2 ln((1 + r) / (1 - r)),    w <- w f exp(-alpha y h b)

    AdaC2    f = c    b = 1
    AdaCost  f = 1    b = (1 - c) / 2 where y h > 0, (1 + c) / 2 where it is not

As y h b is in [-1, 1] and exp is convex, sum w exp(-alpha y h b) is at most sum w times
(1 + r)/2 exp(-alpha) + (1 - r)/2 exp(alpha). This alpha minimises that bound: sqrt(1 - r^2).
Where every h is 1 or -1, AdaC2's is the original 1/2 ln(weight right / weight wrong).

The w of AdaC2 here is cost times weight in the original paper. It, too, computes alpha from that,
but grows the tree by the weight alone: an expensive class neglected by that tree then ends
boosting in the first round. A tree grown by w itself has r = sum w h^2 / sum w, never below 0.
"""

import math
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.boosted import booster_trees, xgboost_engine
from toprank.rankers.boosted.booster_trees import Tree
from toprank.rankers.boosted.one_booster import OneBooster
from toprank.rankers.boosted.plan import GROWING
from toprank.rankers.progress import Progress

Vector = NDArray[np.float64]

_LARGEST_COST = 1e9

# A tree without a mistake would have an infinite weight. Gradients are float32, which resolves r
# to about this; it limits alpha to 7.25. A cut that adds less to r than this is noise.
_NOISE = 1e-6
_LARGEST_R = 1 - _NOISE


class CostBoost(OneBooster):
    """AdaBoost with weights in which expensive mistakes count more.

    The suspicion is `sum_t alpha_t h_t`, and above 0 it is an alert: costs move that line. Do not
    expect them to improve the ranking; `toprank compare --imbalance` measures what they gain.

    AdaC2 multiplies by the cost in every round. Over T rounds a positive's weight grows by cost^T,
    which the trees must make up for: even at a cost of 2, 100 trees may alert every row. So
    "balanced" is the cost whose product over all rounds is negatives / positives.

    AdaCost counts the cost once, then lowers the weight of expensive rows more slowly and raises
    it faster: the most expensive earn nothing where a tree is right and lose all where it is
    wrong. It ends when r falls to 0, which may be in the first round: if all costs are equal, if
    positives outweigh the others by far, or if the classes overlap widely.

    Parameters
    ----------
    variant : "adac2" or "adacost"
        Which rule changes the weights.
    positive_cost : float or "balanced"
        Cost of missing a positive; a false alert costs 1. "balanced" is negatives / positives,
        or, with AdaC2, its `n_estimators`-th root.
    n_estimators : int
        Maximum number of trees.
    max_depth : int
        Depth of a tree.
    learning_rate : float
        Share of alpha that is added, at most 1; 1 is the original algorithm. AdaC2 multiplies by
        the whole cost regardless, so with a low rate the costs outweigh the trees.
    binning : "quantile" or "balanced"
        How histogram bins are placed: by rows, or with half of the mass given to positives.
    max_bins : int
        Bins per feature.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        XGBoost's random seed; nothing is drawn, so the model is the same for any seed.
    n_jobs : int or None
        Number of threads; None means one, -1 all cores.

    Attributes
    ----------
    booster_ : xgboost.Booster, whose leaves hold learning_rate * alpha_t * h_t
    alphas_ : each round's alpha
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities, unweighted by cost

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import CostBoost
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = CostBoost(positive_cost=5, n_estimators=10).fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    """

    def __init__(
        self,
        variant: str = "adac2",
        *,
        positive_cost: float | str = "balanced",
        n_estimators: int = 100,
        max_depth: int = 3,
        learning_rate: float = 1.0,
        binning: str = "quantile",
        max_bins: int = 256,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.variant = variant
        self.positive_cost = positive_cost
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.binning = binning
        self.max_bins = max_bins
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        cost: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank the positives of `y` first.

        `cost` is what a mistake at each row costs, e.g. a payment's amount, in any unit; it
        replaces `positive_cost` and is the row's weight, too: there is no other.
        `progress(what, done, total)` is called after each tree.
        """
        self._check_parameters()
        rows = self._training_rows(X, y, None)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        if cost is None:
            costs = self._costs_of_classes(rows)
        else:
            costs = _costs_of_rows(cost, rows.is_positive)
        trees, alphas = self._boost(rows, costs, progress)
        self.alphas_ = np.array(alphas)
        self._keep(booster_trees.booster_of(trees, 0.0, self.n_features_in_), judged=rows)
        return self

    def _check_parameters(self) -> None:
        checks.one_of(self.variant, "variant", ("adac2", "adacost"))
        if not isinstance(self.positive_cost, str):
            checks.number_above(self.positive_cost, "positive_cost", 0, _LARGEST_COST)
        elif self.positive_cost != "balanced":
            raise ValueError(
                "positive_cost must be 'balanced' or a number greater than 0; got "
                f"{self.positive_cost!r}."
            )
        self._check_trees(most_learning_rate=1)

    def _costs_of_classes(self, rows: TrainingRows) -> Vector:
        """Return `positive_cost` at every positive and 1 at every other row."""
        if isinstance(self.positive_cost, str):
            balance = np.count_nonzero(~rows.is_positive) / np.count_nonzero(rows.is_positive)
            if self.variant == "adac2":  # which applies it again in every round
                balance **= 1 / self.n_estimators
            return np.where(rows.is_positive, balance, 1.0)
        return np.where(rows.is_positive, float(self.positive_cost), 1.0)

    def _boost(
        self, rows: TrainingRows, costs: Vector, progress: Progress | None
    ) -> tuple[list[Tree], list[float]]:
        """Return the trees and alphas of all rounds: at least one, even if it earns nothing."""
        weights = _RowWeights(self.variant, rows.is_positive, costs)
        grower = _StageGrower(rows.is_positive, self._matrix(rows), self._settings())
        trees: list[Tree] = []
        alphas: list[float] = []
        while len(trees) < self.n_estimators:
            tree, heights = grower.grow(weights.now)
            r = weights.earned(heights)
            if trees and r <= _NOISE:
                break
            alphas.append(_alpha(r))
            step = self.learning_rate * alphas[-1]
            trees.append(_times(tree, step))
            if progress is not None:
                progress(GROWING, len(trees), self.n_estimators)
            if weights.are_all_met(heights):
                break
            if r <= _NOISE:
                self._warn_of_one_tree(r)
                break
            weights.learn(heights, step)
        return trees, alphas

    def _warn_of_one_tree(self, r: float) -> None:
        way_out = {
            "adac2": "no column distinguishes the classes",
            "adacost": (
                "AdaCost lets the most expensive rows earn nothing where a tree is right: use "
                "variant='adac2'"
            ),
        }[self.variant]
        warnings.warn(
            "boosting ended with its first tree, which earns nothing at these costs "
            f"(r = {r:.2g}), and rows are ranked by that tree alone; {way_out}.",
            stacklevel=4,
        )

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "max_bin": self.max_bins}

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        return self._saved({"alphas": self.alphas_.tolist()})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker = cls._restored(parameters, saved)
        ranker.alphas_ = checks.finite_vector(saved.state["alphas"], "alphas")
        if ranker.alphas_.size != ranker.n_trees_:
            raise ValueError(
                f"alphas must be {ranker.n_trees_}, one per tree; got {ranker.alphas_.size}."
            )
        return ranker


def _alpha(r: float) -> float:
    """Return a tree's weight; 1 for one that earns nothing, which is then the only tree."""
    return math.atanh(min(r, _LARGEST_R)) if r > _NOISE else 1.0


def _times(tree: Tree, step: float) -> Tree:
    return booster_trees.with_leaf_values(tree, step * booster_trees.leaf_values(tree))


class _Rule(NamedTuple):
    """How a variant changes weights: f, and b where a tree is right and where it is not."""

    factor: Vector
    right: Vector
    wrong: Vector

    @classmethod
    def of(cls, variant: str, cost: Vector) -> "_Rule":
        """Return the rule for these costs, the largest of which is 1."""
        ones = np.ones(cost.size)
        if variant == "adac2":
            return cls(cost, ones, ones)
        return cls(ones, (1 - cost) / 2, (1 + cost) / 2)


class _RowWeights:
    """The weight of every row in the next round; they add up to 1.

    Stored as logarithms: the factors of many rounds would overflow.
    """

    def __init__(self, variant: str, is_positive: NDArray[np.bool_], costs: Vector) -> None:
        cost = costs / costs.max()
        self._sign = np.where(is_positive, 1.0, -1.0)
        self._rule = _Rule.of(variant, cost)
        with np.errstate(divide="ignore"):  # a row with zero cost has zero weight
            self._log = np.log(cost)
            self._log_factor = np.log(self._rule.factor)
        self._counts = cost > 0
        self.now = self._shares()

    def earned(self, heights: Vector) -> float:
        """Return r of a tree with these heights h."""
        return float(self.now @ self._agreement(heights))

    def learn(self, heights: Vector, step: float) -> None:
        """Update the weights for a tree that is added `step` times."""
        self._log += self._log_factor - step * self._agreement(heights)
        self.now = self._shares()

    def are_all_met(self, heights: Vector) -> bool:
        """Return whether a tree is right and sure at every row: the next would be the same."""
        return bool((self._sign * heights)[self._counts].min() > _LARGEST_R)

    def _agreement(self, heights: Vector) -> Vector:
        """Return y h b."""
        agreement = self._sign * heights
        return agreement * np.where(agreement > 0, self._rule.right, self._rule.wrong)

    def _shares(self) -> Vector:
        shares = np.exp(self._log - self._log.max())
        return shares / shares.sum()


class _StageGrower:
    """Grows each round's tree on the same binned rows."""

    def __init__(
        self, is_positive: NDArray[np.bool_], matrix: Any, settings: dict[str, Any]
    ) -> None:
        self._sign = np.where(is_positive, np.float32(1), np.float32(-1))
        self._matrix = matrix
        # weights are 1 on average, so that a cut's gain is what it adds to r, times the rows
        self._settings = {
            "base_score": 0.0,
            "learning_rate": 1.0,
            "reg_lambda": 0.0,
            "min_child_weight": 0.0,
            "min_split_loss": _NOISE * is_positive.size,
            "disable_default_eval_metric": True,
            **settings,
        }

    def grow(self, weight: Vector) -> tuple[Tree, Vector]:
        """Return a tree whose leaves are weighted means of y, and its height at every row."""
        curvature = (weight * weight.size).astype(np.float32)
        gradient = -curvature * self._sign
        booster = xgboost_engine.import_xgboost().Booster(self._settings, [self._matrix])
        booster.update(self._matrix, 0, fobj=lambda *_: (gradient, curvature))
        (tree,) = booster_trees.trees_of(booster)
        # free of charge: growing has cached every row's leaf value in the booster
        return tree, booster.predict(self._matrix, output_margin=True).astype(np.float64)


def _costs_of_rows(cost: ArrayLike, is_positive: NDArray[np.bool_]) -> Vector:
    """Return the costs of the rows, checked: each class must have costs above 0."""
    costs, n_rows = checks.finite_vector(cost, "cost"), is_positive.size
    if costs.size != n_rows:
        raise ValueError(f"cost must have {n_rows} values, one per row; got {costs.size}.")
    if costs.min() < 0:
        raise ValueError(f"cost must not be negative; got {costs.min():g}.")
    for name, members in (("positive", is_positive), ("negative", ~is_positive)):
        if not costs[members].any():
            raise ValueError(
                f"cost must be above 0 for at least one {name}; all {members.sum()} cost 0."
            )
    return costs

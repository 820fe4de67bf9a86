"""RankBoost: weak rankers, each chosen for the pairs that earlier ones order badly.

A pair is a positive i and a negative j. The pairs carry a distribution in proportion to
w_i w_j exp(F_j - F_i), F the scores so far. It is a product of one share per row, the positives'
adding up to 1 and the negatives' too, so that a round costs O(P + N). A row's potential pi is its
share, below 0 for negatives: minus the gradient of the loss auc-exp. A weak ranker h puts some
rows ahead (h = 1) of the others (h = 0). A round takes the h with the largest

    r = mean over pairs of h_i - h_j = sum pi h,    alpha = 1/2 ln((1 + r) / (1 - r)),

and adds alpha h to F, which multiplies the loss, the sum of exp(F_j - F_i) over pairs, by
sqrt(1 - r^2) at most.

XGBoost finds that h. Splitting a node with gradients G = -sum pi and curvatures H gains
G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda): with lambda far above every
H, -2 G_L G_R / lambda. The best h for given leaves is 1 where pi adds up to more than 0. So a cut
adds to r only where G_L and G_R differ in sign, and then the smaller of their sizes; given
G_L + G_R = G, -G_L G_R grows with that, and the cut with the most gain adds the most to r.
At the root G = 0, the gain is 2 r^2 / lambda, and the stump is the one with the largest |r|.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.losses.auc_exp import AucExp
from toprank.rankers import reasons
from toprank.rankers.boosted import booster_trees, xgboost_engine
from toprank.rankers.boosted.booster_trees import Tree
from toprank.rankers.boosted.one_booster import OneBooster
from toprank.rankers.boosted.plan import GROWING
from toprank.rankers.progress import Progress

# A weak ranker without a mistake would have an infinite weight, and the others would not count.
# Gradients are float32, which resolves r to about this; it limits alpha to 7.25.
_LARGEST_R = 1 - 1e-6

# XGBoost cuts only for a gain above 1e-6: in this unit, of (1000 r)^2, where r is above 1e-6.
_GAIN_OF_A_CUT = 1000.0
_PENALTY_PER_CURVATURE = 1e9


class RankBoost(OneBooster):
    """The classic boosting of pairs: every round reweighs them and adds one weak ranker.

    It minimises the exponential loss of all pairs of a positive and a negative, an upper bound
    of 1 - AUC. Boosting ends early when no weak ranker orders more of the pairs' weight
    right than wrong.

    Parameters
    ----------
    n_estimators : int
        Maximum number of weak rankers.
    max_depth : int
        Depth of a weak ranker's tree; 1 is a stump, as in the original algorithm.
    learning_rate : float
        Share of alpha that is added, at most 1; 1 is the original algorithm.
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
    booster_ : xgboost.Booster
    alphas_ : each round's alpha; learning_rate times it is the height of the round's tree
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import RankBoost
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = RankBoost(n_estimators=40).fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    """

    def __init__(
        self,
        *,
        n_estimators: int = 300,
        max_depth: int = 1,
        learning_rate: float = 1.0,
        binning: str = "quantile",
        max_bins: int = 256,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
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
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank the positives of `y` first.

        The weight of a pair is the product of its rows' weights. `progress(what, done, total)` is
        called after each tree.
        """
        self._check_parameters()
        rows = self._training_rows(X, y, sample_weight)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        trees, alphas = self._boost(rows, progress)
        self.alphas_ = np.array(alphas)
        self._keep(booster_trees.booster_of(trees, 0.0, self.n_features_in_), judged=rows)
        return self

    def _check_parameters(self) -> None:
        self._check_trees(most_learning_rate=1)

    def _boost(
        self, rows: TrainingRows, progress: Progress | None
    ) -> tuple[list[Tree], list[float]]:
        """Return the trees and alphas of all rounds: at least one, even if it earns nothing."""
        search = _WeakRankerSearch(rows, self._matrix(rows), self._settings())
        raw = np.zeros(rows.is_positive.size)
        trees: list[Tree] = []
        alphas: list[float] = []
        while len(trees) < self.n_estimators:
            weak = search.best(raw)
            if trees and not weak.r:
                break
            alpha = math.atanh(min(weak.r, _LARGEST_R))
            step = self.learning_rate * alpha
            raw += step * weak.is_ahead
            trees.append(weak.of_height(step))
            alphas.append(alpha)
            if progress is not None:
                progress(GROWING, len(trees), self.n_estimators)
        return trees, alphas

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


class _WeakRanker(NamedTuple):
    """A tree whose leaves above 0 put their rows ahead, and what it earns."""

    tree: Tree
    is_ahead: NDArray[np.bool_]
    r: float

    def of_height(self, step: float) -> Tree:
        """Return the tree that adds `step` to the rows ahead."""
        is_ahead = booster_trees.leaf_values(self.tree) > 0
        return booster_trees.with_leaf_values(self.tree, np.where(is_ahead, step, 0.0))


class _WeakRankerSearch:
    """Finds each round's weak ranker on the same binned rows."""

    def __init__(self, rows: TrainingRows, matrix: Any, settings: dict[str, Any]) -> None:
        n_rows = rows.is_positive.size
        self._penalty = _PENALTY_PER_CURVATURE * n_rows
        self._scale = _GAIN_OF_A_CUT * math.sqrt(self._penalty / 2)
        self._rows = rows
        self._matrix = matrix
        self._settings = {
            "base_score": 0.0,
            "learning_rate": 1.0,
            "reg_lambda": self._penalty,
            "min_child_weight": 0.0,
            "disable_default_eval_metric": True,
            **settings,
        }
        self._gradient, self._unused = np.empty((2, n_rows), np.float32)
        # far below the penalty, this only counts the rows of a leaf, which contributions need
        self._curvature = np.ones(n_rows, np.float32)
        if rows.weight is not None:
            self._curvature[:] = rows.weight / rows.weight.mean()

    def best(self, raw: NDArray[np.float64]) -> _WeakRanker:
        """Return the weak ranker with the largest r at these scores; r is 0 if none is useful."""
        gradient = self._gradient
        AucExp().gradient_curvature(
            self._rows.is_positive, raw, self._rows.weight, out=(gradient, self._unused)
        )
        gradient *= np.float32(self._scale)
        booster = xgboost_engine.import_xgboost().Booster(self._settings, [self._matrix])
        booster.update(self._matrix, 0, fobj=lambda *_: (gradient, self._curvature))
        # free of charge: growing has cached every row's leaf value in the booster
        is_ahead = booster.predict(self._matrix, output_margin=True) > 0
        (tree,) = booster_trees.trees_of(booster)
        return _WeakRanker(tree, is_ahead, self._earned(tree))

    def _earned(self, tree: Tree) -> float:
        """Return r: a leaf's value is the sum of its potentials, in units of scale / penalty."""
        values = booster_trees.leaf_values(tree)
        if values.size == 1:  # no cut: its value is rounding error
            return 0.0
        return float(values[values > 0].sum()) * self._penalty / self._scale

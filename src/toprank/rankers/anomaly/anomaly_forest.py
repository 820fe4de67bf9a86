"""A forest of isolation trees or of density trees, each grown on a small sample of the rows."""

from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.data import checks, inputs
from toprank.files import Saved
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.anomaly_tree_rank import AnomalyTreeRank
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.density_tree import grow, grow_by_random_cuts
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.base import seed_of
from toprank.rankers.trees import tree_arrays
from toprank.rankers.trees.importance import importances
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, joined, one_of
from toprank.rankers.trees.scoring import add_leaf_contributions

_TREES_TOGETHER = 8
_ROWS_TOGETHER = 20_000
_DENSITY_SHARE = 0.25
_SHRINKAGE = 10.0
_ROWS_FOR_SPREAD = 2_000
_LEAST_SPREAD = 1e-9
_DENSITY_WEIGHT = "density_weight"


class AnomalyForest(Detector):
    """Many random trees, each of a few rows: the detector of `toprank anomalies`.

    An isolation tree cuts space at random until rows are alone. Unusual rows are alone after few
    cuts; how empty their place is counts in addition, a quarter as much. A tree learns from few
    rows, among which a group of anomalies is a few rows as well.

    Parameters
    ----------
    tree : AnomalyTreeRank or None
        None is isolation trees. Otherwise the forest averages the log-densities of trees with
        these parameters; those left at None get the defaults for a forest, and its contamination
        and random_state are ignored.
    n_estimators : int
        Number of trees.
    max_samples : int or float
        Rows that a tree learns from, drawn without replacement: a number or a share.
    max_features : int or None
        Columns drawn for each split of an AnomalyTreeRank, the best of which is taken; None is
        all. An isolation tree draws one.
    contamination : float
        The share of training rows that `predict` calls anomalies.
    random_state : int, RandomState or None
        Random seed of rows, columns and cuts.
    n_jobs : int or None
        Trees grown, and blocks of rows scored, in parallel; None is one, -1 as many as there are
        cores. The forest does not depend on it.

    Attributes
    ----------
    trees_ : the arrays of all trees
    boxes_ : the bounds of the training rows; with `tree`, those of each tree's rows
    density_weight_ : without `tree`, how much emptiness counts, in cuts per unit of log-density
    decision_scores_, labels_, threshold_ : suspicion of the training rows, 1 for those called
        anomalies and 0 for others, and where they begin
    offset_ : scikit-learn's threshold of `score_samples`
    schema_ : the columns it was fitted on, with their kinds and categories

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import AnomalyForest
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> usual, unusual, far = AnomalyForest().fit(X).suspicion([[0, 0], [2.5, 2.5], [9, 9]])
    >>> bool(usual < unusual < far)
    True
    """

    def __init__(
        self,
        tree: AnomalyTreeRank | None = None,
        *,
        n_estimators: int = 100,
        max_samples: int | float = 256,
        max_features: int | None = 1,
        contamination: float = 0.01,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.tree = tree
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn where rows are dense; `y` is ignored, as scikit-learn expects."""
        self._check_parameters()
        features = self._read(X)
        plan = self._plan(features)
        seeds = np.random.SeedSequence(seed_of(self.random_state)).spawn(self.n_estimators)
        grown = Parallel(self.n_jobs, prefer="threads")(
            delayed(_grown)(features, plan, seeds[first : first + _TREES_TOGETHER])
            for first in range(0, self.n_estimators, _TREES_TOGETHER)
        )
        self.trees_ = joined([tree for part in grown for tree, _ in part])
        if self.tree is None:
            self.boxes_ = [Box.around(features, plan.n_categories > 0)]
            self.density_weight_ = self._density_weight(features)
        else:
            self.boxes_ = [box for part in grown for _, box in part]
        return self._judge(self._raw(features))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline.

        The columns of a row add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        parts = np.zeros((len(features), self.n_features_in_ + 1))
        add_leaf_contributions(self.trees_, features, self._leaf_values(), parts)
        parts /= self.n_estimators
        for box in self.boxes_:
            terms = density_scoring.outside_terms(box.beyond(features))
            parts[:, :-1] += terms / len(self.boxes_)
        if self._has_given_bounds():
            over = self.boxes_[0].beyond(features) > 0
            share = over / np.maximum(over.sum(axis=1, keepdims=True), 1)
            parts[:, :-1] += share * self._reach(self._leaf_values())
        return parts

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of what splits reduce the area under the curves by."""
        check_is_fitted(self)
        each = [
            importances(one_of(self.trees_, number), "auc", self.n_features_in_)
            for number in range(self.trees_.n_trees)
        ]
        shares = np.sum(each, axis=0)
        return shares / (shares.sum() or 1.0)

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        value = self._leaf_values()
        if self.tree is None:
            suspicion = self._mean_over_trees(features, value, [])
            density_scoring.add_outside(features, self.boxes_[0], suspicion)
            return suspicion
        suspicion = self._mean_over_trees(features, value, self.boxes_)
        if not self._has_given_bounds():
            return suspicion
        is_inside = self.boxes_[0].holds(features)
        return np.where(is_inside, suspicion, suspicion + self._reach(value))

    def _mean_over_trees(
        self, features: NDArray[np.float32], value: NDArray[np.float64], boxes: list[Box]
    ) -> NDArray[np.float64]:
        """Return the mean value of every row's leaves, and of what is outside the trees' boxes."""
        total = np.zeros(len(features))
        Parallel(self.n_jobs, prefer="threads")(
            delayed(density_scoring.add_suspicion)(
                self.trees_, features[part], value, boxes, total[part]
            )
            for first in range(0, len(features), _ROWS_TOGETHER)
            for part in [slice(first, first + _ROWS_TOGETHER)]
        )
        return total / self.n_estimators

    def _density_weight(self, features: NDArray[np.float32]) -> float:
        """Return the weight with which emptiness varies a quarter as much as isolation does."""
        some = features[:: max(1, len(features) // _ROWS_FOR_SPREAD)]
        unions, of_node = self.trees_.unions, self.trees_.nodes.union
        cuts, emptiness = (
            float(np.std(self._mean_over_trees(some, value[of_node], [])))
            for value in (
                density_scoring.isolation(unions),
                density_scoring.sparseness(unions, _SHRINKAGE),
            )
        )
        return _DENSITY_SHARE * cuts / emptiness if emptiness > _LEAST_SPREAD else 0.0

    def _has_given_bounds(self) -> bool:
        return self.tree is not None and not isinstance(self.tree.bounds, str)

    def _reach(self, value: NDArray[np.float64]) -> float:
        """Return how far apart suspicions inside the box can be."""
        leaves = self.trees_.nodes.left < 0
        return float(value[leaves].max() - value[leaves].min())

    def _leaf_values(self) -> NDArray[np.float64]:
        unions = self.trees_.unions
        if self.tree is not None:
            value = density_scoring.sparseness(unions, self.tree._shrinkage(in_forest=True))
        else:
            emptiness = density_scoring.sparseness(unions, _SHRINKAGE)
            value = density_scoring.isolation(unions) + self.density_weight_ * emptiness
        return value[self.trees_.nodes.union]

    def _plan(self, features: NDArray[np.float32]) -> "_AnomalyPlan":
        n_rows, n_columns = features.shape
        wanted = self.max_samples
        share = n_rows if isinstance(wanted, Integral) else round(wanted * n_rows)
        n_drawn = min(int(wanted), n_rows) if isinstance(wanted, Integral) else max(1, share)
        n_tried = n_columns if self.max_features is None else min(self.max_features, n_columns)
        return _AnomalyPlan(self.tree, n_tried, n_drawn, self.schema_.n_categories)

    def _check_parameters(self) -> None:
        if self.tree is not None:
            _check_tree(self.tree)
        checks.whole_number(self.n_estimators, "n_estimators", 1)
        checks.jobs(self.n_jobs)
        if self.max_features is not None:
            checks.whole_number(self.max_features, "max_features", 1)
        if isinstance(self.max_samples, Integral):
            checks.whole_number(self.max_samples, "max_samples", 1)
        else:
            checks.number_above(self.max_samples, "max_samples", 0, 1)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted forest."""
        parameters = self.get_params(deep=False)
        if self.tree is not None:
            parameters["tree"] = self.tree.saved_parameters()
        arrays = {
            "box": np.stack([np.stack([box.low, box.high]) for box in self.boxes_]),
            "may_miss": np.stack([~box.is_whole for box in self.boxes_]),
            **tree_arrays.arrays_of(self.trees_),
        }
        state = self._common_state()
        if self.tree is None:
            state[_DENSITY_WEIGHT] = self.density_weight_
        return Saved(state, arrays, {}, parameters)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the forest that `_to_saved` described; ValueError if it is not valid."""
        forest = cls(**{**parameters, "tree": _saved_tree(parameters["tree"], saved.state)})
        forest._check_parameters()
        forest._restore_common(saved.state)
        forest.boxes_ = Box.from_arrays(saved.arrays["box"], saved.arrays["may_miss"])
        forest.trees_ = tree_arrays.trees_in(saved.arrays, forest.schema_, least_rows=0)
        density_scoring.check_volumes(forest.trees_)
        n_boxes = forest.n_estimators
        if forest.tree is None:
            n_boxes = 1
            weight = saved.state[_DENSITY_WEIGHT]
            forest.density_weight_ = checks.number_from(weight, _DENSITY_WEIGHT, 0, 1e12)
        _check_number(len(forest.boxes_), n_boxes, "boxes")
        _check_number(forest.trees_.n_trees, forest.n_estimators, "trees")
        forest._check_columns(forest.boxes_[0].n_columns, "boxes")
        return forest


def _saved_tree(
    parameters: dict[str, Any] | None, state: dict[str, Any]
) -> AnomalyTreeRank | None:
    """Return the tree of a saved forest; before there were isolation trees, None was a default."""
    if parameters is not None:
        return AnomalyTreeRank(**parameters)
    return None if _DENSITY_WEIGHT in state else AnomalyTreeRank()


def _check_tree(tree: Any) -> None:
    if not isinstance(tree, AnomalyTreeRank):
        raise TypeError(f"tree must be an AnomalyTreeRank or None; got {tree!r}.")
    tree._check_parameters()
    if tree.pruning is not None:
        raise ValueError(f"tree must have pruning=None in a forest; got {tree.pruning!r}.")


def _check_number(found: int, expected: int, part: str) -> None:
    if found != expected:
        raise ValueError(f"there must be {expected} {part}; got {found}.")


class _AnomalyPlan(NamedTuple):
    """The parameters that every tree of a forest is grown with."""

    tree: AnomalyTreeRank | None
    n_tried: int
    n_drawn: int
    n_categories: NDArray[np.int64]


def _grown(
    features: NDArray[np.float32], plan: _AnomalyPlan, seeds: list[np.random.SeedSequence]
) -> list[tuple[MetaTrees, Box]]:
    """Return one tree per seed, with their boxes."""
    return [_grown_one(features, plan, np.random.default_rng(seed)) for seed in seeds]


def _grown_one(
    features: NDArray[np.float32], plan: _AnomalyPlan, generator: np.random.Generator
) -> tuple[MetaTrees, Box]:
    drawn = features[_drawn(len(features), plan.n_drawn, generator)]
    if plan.tree is None:
        box = Box.around(drawn, plan.n_categories > 0)
        return grow_by_random_cuts(drawn, plan.n_categories, box, generator), box
    box = plan.tree.box_around(drawn, plan.n_categories > 0)
    inside = box.inside(drawn)
    box = box.of_inside(inside)
    growth = plan.tree.growth(in_forest=True, n_tried=plan.n_tried)
    state = int(generator.integers(2**64, dtype=np.uint64))
    return grow(inside, plan.n_categories, box, growth, state), box


def _drawn(n_rows: int, n_drawn: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return the indices of some rows, rising, drawn without replacement."""
    if 3 * n_drawn > n_rows:
        return np.sort(generator.permutation(n_rows)[:n_drawn])
    # `choice` would shuffle all rows; with so few, one is hardly ever drawn twice
    drawn = np.unique(generator.integers(n_rows, size=n_drawn))
    while drawn.size < n_drawn:
        more = generator.integers(n_rows, size=n_drawn - drawn.size)
        drawn = np.unique(np.append(drawn, more))
    return drawn

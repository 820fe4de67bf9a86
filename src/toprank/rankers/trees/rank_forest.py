"""A forest of ranking trees, each grown on its own sample of the rows."""

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_calibration
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.trees import scoring, tree_arrays
from toprank.rankers.trees.importance import importances
from toprank.rankers.trees.kernel.binning import Binned, bin_columns
from toprank.rankers.trees.kernel.growing import Growth, Sample
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, grow_meta_trees, joined, one_of
from toprank.rankers.trees.meta_ap import MetaAP
from toprank.rankers.trees.ranking_tree import RankingTree, bins_for
from toprank.rankers.trees.row_blocks import row_blocks
from toprank.rankers.trees.tree_rank import TreeRank

_ROWS_TOGETHER = 500_000
_TREES_TOGETHER = 16


class RankForest(Ranker):
    """Many ranking trees whose leaves' shares of positives are averaged; suspicion is in log-odds.

    Parameters
    ----------
    tree : TreeRank, MetaAP or None
        The parameters of the trees: depths, criterion, rows in a leaf, shrinkage and bins. None is
        TreeRank(global_depth=10, local_depth=8, min_samples_leaf=1, shrinkage=1). Trees that
        need no labels, AnomalyTreeRank, make an `AnomalyForest`.
    n_estimators : int
        Number of trees.
    max_features : "sqrt", None, int or float
        Columns drawn for each cut: the square root of their number, all, a number or a share.
    bootstrap : bool
        Whether a tree learns from as many rows as there are, drawn with replacement; rows it
        did not draw give `oob_suspicion_`.
    positive_label : label or None
        The class to rank first; None is the one whose name says so, such as 1, or else
        `classes_[1]`.
    random_state : int, RandomState or None
        Random seed of rows and columns drawn.
    n_jobs : int or None
        Trees grown in parallel, in threads or on the active joblib backend (e.g. Dask); None is
        one, -1 as many as there are cores. The forest does not depend on it.

    Attributes
    ----------
    trees_ : the arrays of all trees
    oob_suspicion_ : each training row's suspicion by the trees that did not draw it, NaN if
        all did; not set without bootstrap
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : from suspicions to probabilities, fitted out of bag

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import RankForest
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> forest = RankForest(n_estimators=20).fit(X, y)
    >>> (forest.suspicion([[2.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]) > 0).tolist()
    [True, False]
    """

    oob_suspicion_: NDArray[np.float64]

    def __init__(
        self,
        tree: RankingTree | None = None,
        *,
        n_estimators: int = 100,
        max_features: str | int | float | None = "sqrt",
        bootstrap: bool = True,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.tree = tree
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn to rank the positives of `y` first."""
        self._check_parameters()
        self.__dict__.pop("oob_suspicion_", None)
        rows = self._training_rows(X, y, sample_weight).in_units_of_rows()
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        seeds = np.random.SeedSequence(seed_of(self.random_state)).spawn(self.n_estimators)
        self.trees_ = self._grown_trees(rows, seeds)
        self.shrinkage_ = float(self._base_tree().shrinkage)
        self._judge(rows, seeds)
        if self.bootstrap and sample_weight is not None:
            # rows with zero weight are ignored: no tree may draw them
            has_weight = np.broadcast_to(np.asarray(sample_weight) > 0, np.asarray(y).shape[:1])
            everyone = np.full(has_weight.size, np.nan)
            everyone[has_weight] = self.oob_suspicion_
            self.oob_suspicion_ = everyone
        return self

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline.

        The columns of a row add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        parts = np.zeros((len(features), self.n_features_in_ + 1))
        scoring.add_leaf_contributions(self.trees_, features, self._leaf_values(), parts)
        parts /= self.trees_.n_trees
        start = parts[0, -1] if len(parts) else 0.0
        # as shares, of which suspicion is the log-odds
        moved = scoring.doubted(parts[:, :-1], 0.0)
        return scoring.in_log_odds(moved, float(scoring.doubted(start, self._average())))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of what the trees gain on the rows they learned from."""
        check_is_fitted(self)
        aim = self._base_tree().aim
        each = [
            importances(one_of(self.trees_, number), aim, self.n_features_in_)
            for number in range(self.trees_.n_trees)
        ]
        # a tree that drew no positive has no cut and does not count
        shares = np.sum(each, axis=0)
        return shares / (shares.sum() or 1.0)

    def _grown_trees(self, rows: TrainingRows, seeds: list[np.random.SeedSequence]) -> MetaTrees:
        plan = self._plan()
        n_bins = bins_for(plan.tree.max_bins, rows.is_positive.size)
        binned = bin_columns(rows.features, self.schema_.n_categories, n_bins)
        together = _trees_together(rows.is_positive.size, self.n_estimators)
        return joined(
            Parallel(self.n_jobs, prefer="threads")(
                delayed(_grown)(
                    binned, rows.is_positive, rows.weight, seeds[first : first + together], plan
                )
                for first in range(0, self.n_estimators, together)
            )
        )

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        values = self._leaf_values()
        total = np.zeros(len(features))
        for number in range(self.trees_.n_trees):
            total += values[scoring.leaves(self.trees_, features, number)]
        return self._suspicion_of(total / self.trees_.n_trees)

    def _suspicion_of(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        return scoring.log_odds(scoring.doubted(share, self._average()))

    def _average(self) -> float:
        """Return the share of positives among all rows that the trees drew."""
        first = self.trees_.unions.parent < 0
        unions = self.trees_.unions
        return float(unions.hits[first].sum() / unions.mass[first].sum())

    def _leaf_values(self) -> NDArray[np.float64]:
        return scoring.shrunk_shares(self.trees_.nodes, self.shrinkage_)

    def _judge(self, rows: TrainingRows, seeds: list[np.random.SeedSequence]) -> None:
        """Learn the probabilities, out of bag if both classes are there."""
        is_positive, weight = rows.is_positive, rows.weight
        raw = None
        if self.bootstrap:
            self.oob_suspicion_ = self._out_of_bag(rows.features, seeds)
            is_left_out = ~np.isnan(self.oob_suspicion_)
            labels = is_positive[is_left_out]
            if labels.any() and not labels.all():
                is_positive, raw = labels, self.oob_suspicion_[is_left_out]
                weight = None if weight is None else weight[is_left_out]
        if raw is None:
            raw = self._raw(rows.features)
        self.calibration_ = fit_calibration(is_positive, raw, weight=weight)

    def _out_of_bag(
        self, features: NDArray[np.float32], seeds: list[np.random.SeedSequence]
    ) -> NDArray[np.float64]:
        values = self._leaf_values()
        total, n_trees = np.zeros(len(features)), np.zeros(len(features))
        for number, seed in enumerate(seeds):
            drawn, _ = _draw(seed, len(features), True)
            is_left_out = np.ones(len(features), dtype=bool)
            is_left_out[drawn] = False
            for block in row_blocks(len(features)):
                chosen = block.start + np.flatnonzero(is_left_out[block])
                total[chosen] += values[scoring.leaves(self.trees_, features[chosen], number)]
            n_trees += is_left_out
        mean = np.divide(total, n_trees, out=np.full(len(features), np.nan), where=n_trees > 0)
        return self._suspicion_of(mean)

    def _plan(self) -> "_Plan":
        tree = self._base_tree()
        settings = tree.named_settings()
        growth = Growth(
            settings.growth.criterion,
            settings.growth.depth,
            settings.growth.min_leaf,
            settings.growth.is_balanced,
            self._n_tried(),
        )
        return _Plan(tree, growth, settings.global_depth, self.bootstrap)

    def _base_tree(self) -> RankingTree:
        if self.tree is not None:
            return self.tree
        return TreeRank(global_depth=10, local_depth=8, min_samples_leaf=1, shrinkage=1)

    def _n_tried(self) -> int:
        n_columns = self.n_features_in_
        if self.max_features is None:
            return n_columns
        if self.max_features == "sqrt":
            return max(1, round(n_columns**0.5))
        if isinstance(self.max_features, Integral):
            return min(int(self.max_features), n_columns)
        return max(1, round(float(self.max_features) * n_columns))

    def _check_parameters(self) -> None:
        checks.whole_number(self.n_estimators, "n_estimators", 1)
        checks.jobs(self.n_jobs)
        if not isinstance(self.bootstrap, (bool, np.bool_)):
            raise TypeError(f"bootstrap must be True or False; got {self.bootstrap!r}.")
        tree = self._base_tree()
        if not isinstance(tree, RankingTree):
            raise TypeError(
                f"tree must be a TreeRank, a MetaAP or None; got {tree!r}. A forest of "
                "AnomalyTreeRank, which learns without labels, is an AnomalyForest."
            )
        tree._check_parameters()
        if tree.positive_label is not None:
            raise ValueError(
                f"tree must have positive_label=None; got {tree.positive_label!r}. Set that of "
                "the forest."
            )
        if tree.depth is not None or getattr(tree, "pruning", None) is not None:
            raise ValueError(
                "tree must have depth=None and pruning=None, since a forest neither chooses "
                f"depths nor prunes; got {tree!r}."
            )
        self._check_max_features()

    def _check_max_features(self) -> None:
        wanted = self.max_features
        if wanted is None or (isinstance(wanted, str) and wanted == "sqrt"):
            return
        if not isinstance(wanted, Real) or isinstance(wanted, bool):
            raise ValueError(
                "max_features must be 'sqrt', None, a number of columns or a share; got "
                f"{wanted!r}."
            )
        if isinstance(wanted, Integral):
            checks.whole_number(wanted, "max_features", 1)
        else:
            checks.number_above(wanted, "max_features", 0, 1)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted forest."""
        tree = self.tree
        saved_tree = None if tree is None else [type(tree).__name__, tree.get_params(deep=False)]
        return Saved(
            {**self._common_state(), "shrinkage": self.shrinkage_},
            tree_arrays.arrays_of(self.trees_),
            {},
            {**self.get_params(deep=False), "tree": saved_tree},
        )

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the forest that `_to_saved` described; ValueError if it is not valid."""
        forest = cls(**{**parameters, "tree": _tree_from_saved(parameters["tree"])})
        forest._check_parameters()
        forest._restore_common(saved.state)
        forest.shrinkage_ = checks.number_from(saved.state["shrinkage"], "shrinkage", 0, 1e12)
        forest.trees_ = tree_arrays.trees_in(saved.arrays, forest.schema_)
        if forest.trees_.n_trees != forest.n_estimators:
            raise ValueError(
                f"there must be {forest.n_estimators} trees; got {forest.trees_.n_trees}."
            )
        return forest


_KINDS_OF_TREE = {kind.__name__: kind for kind in (TreeRank, MetaAP)}


def _tree_from_saved(saved_tree: Any) -> RankingTree | None:
    """Return the tree that a file stores by name and parameters."""
    if saved_tree is None:
        return None
    name, parameters = saved_tree
    if name not in _KINDS_OF_TREE:
        raise ValueError(f"tree must be a TreeRank or a MetaAP; got {name!r}.")
    return _KINDS_OF_TREE[name](**parameters)


class _Plan(NamedTuple):
    """The parameters that every tree of a forest is grown with."""

    tree: RankingTree
    growth: Growth
    global_depth: int
    bootstrap: bool


def _trees_together(n_rows: int, n_trees: int) -> int:
    """Return how many trees grow in one step: more share its cost, fewer need less memory."""
    return max(1, min(_TREES_TOGETHER, _ROWS_TOGETHER // n_rows, n_trees))


def _grown(
    binned: Binned,
    is_positive: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    seeds: list[np.random.SeedSequence],
    plan: _Plan,
) -> MetaTrees:
    """Return one tree per seed."""
    n_rows = is_positive.size
    ends = n_rows * np.arange(1, len(seeds) + 1)
    drawn, states = np.empty(ends[-1], dtype=np.int32), np.empty(len(seeds), dtype=np.uint64)
    for number, seed in enumerate(seeds):
        drawn[ends[number] - n_rows : ends[number]], states[number] = _draw(
            seed, n_rows, plan.bootstrap
        )
    sample = Sample.of(drawn, is_positive, weight)
    return grow_meta_trees(
        binned, sample, ends, states, plan.growth, plan.global_depth, plan.tree.aim
    )


def _draw(
    seed: np.random.SeedSequence, n_rows: int, bootstrap: bool
) -> tuple[NDArray[np.intp], np.uint64]:
    """Return the rows a tree learns from, in order, and the random state for its columns."""
    generator = np.random.default_rng(seed)
    state = generator.integers(2**64, dtype=np.uint64)
    if not bootstrap:
        return np.arange(n_rows), state
    drawn = generator.integers(n_rows, size=n_rows)
    drawn.sort()
    return drawn, state

"""GeometricTree: a plain decision tree that ranks rows by their distance to its splits."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_sigmoid
from toprank.data import checks, inputs
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker
from toprank.rankers.trees import scoring, tree_arrays
from toprank.rankers.trees.cross_validation import grow_one
from toprank.rankers.trees.importance import importances
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.ranking_tree import ROWS_FOR_CALIBRATION, bins_for
from toprank.rankers.trees.readable import Readable

_MOST_DEPTH = 200


class GeometricTree(Readable, Ranker):
    """A decision tree that ranks rows by how deep inside its leaves they are.

    Suspicion is the distance to the nearest split on a row's path, above 0 in leaves where most
    rows are positives and below 0 in others. It is the baseline that TreeRank and MetaAP are
    compared with; columns are not scaled, so their units matter.

    Parameters
    ----------
    criterion : "gini" or "entropy"
        Criterion of the splits.
    max_depth : int
        Depth of the tree.
    min_samples_leaf : int
        The fewest rows in a leaf. Whole weights count as that many rows; others are scaled to
        1 on average.
    max_bins : int or None
        Bins per column; None tries every split up to 20,000 rows and 255 bins beyond.
    positive_label : label or None
        The class to rank first; None is the one whose name says so, such as 1, or else
        `classes_[1]`.
    random_state : int, RandomState or None
        Not used: the tree is not random.

    Attributes
    ----------
    tree_ : the arrays of the tree
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from suspicions to probabilities

    Examples
    --------
    >>> from toprank import GeometricTree
    >>> tree = GeometricTree().fit([[0.0], [1.0], [5.0], [6.0]], [False, False, True, True])
    >>> tree.suspicion([[2.0], [4.0], [9.0]]).tolist()
    [-1.0, 1.0, 6.0]
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_depth: int = 10,
        min_samples_leaf: int = 1,
        max_bins: int | None = None,
        positive_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.positive_label = positive_label
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn to rank the positives of `y` first."""
        self._check_parameters()
        rows = self._training_rows(X, y, sample_weight).in_units_of_rows()
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        # a plain tree is a tree of stumps
        growth = Growth(self.criterion, depth=1, min_leaf=self.min_samples_leaf)
        n_bins = bins_for(self.max_bins, rows.is_positive.size)
        tree = grow_one(rows, self.schema_.n_categories, growth, self.max_depth, "auc", n_bins)
        self.tree_ = tree.ranked_by(tree.unions.hits / tree.unions.mass)
        some = rows.thinned(ROWS_FOR_CALIBRATION)
        raw = self._raw(some.features)
        self.calibration_ = fit_sigmoid(some.is_positive, raw, some.weight)
        self.std_ = scoring.column_std(rows.features, rows.weight)
        self._see(rows)
        return self

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that every row falls in, 0 that of the highest share of positives."""
        check_is_fitted(self)
        found = scoring.leaves(self.tree_, inputs.read_features(self, X))
        return self.tree_.unions.rank[self.tree_.nodes.union[found]]

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline, 0.

        Suspicion is the distance to one split, so all of it belongs to that split's feature.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        parts = np.zeros((len(features), self.n_features_in_ + 1))
        distance, column, _ = scoring.border_distances(self.tree_, features, is_whole_path=True)
        parts[np.arange(len(features)), column] = distance
        return parts

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of the AUC that the leaves gain on the training rows."""
        check_is_fitted(self)
        return importances(self.tree_, "auc", self.n_features_in_)

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return scoring.border_distances(self.tree_, features, is_whole_path=True)[0]

    def _check_parameters(self) -> None:
        checks.one_of(self.criterion, "criterion", ("gini", "entropy"))
        checks.whole_number(self.max_depth, "max_depth", 1, _MOST_DEPTH)
        checks.whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        if self.max_bins is not None:
            checks.whole_number(self.max_bins, "max_bins", 2, MOST_BINS)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted tree."""
        arrays = {"std": self.std_, **tree_arrays.arrays_of(self.tree_), **self._seen_arrays()}
        return Saved(self._common_state(), arrays, {})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; ValueError if it is not valid."""
        ranker = cls(**parameters)
        ranker._check_parameters()
        ranker._restore_common(saved.state)
        ranker.std_ = checks.finite_vector(saved.arrays["std"], "std")
        ranker._check_columns(ranker.std_.size, "std")
        ranker.tree_ = tree_arrays.one_tree_in(saved.arrays, ranker.schema_)
        ranker._restore_seen(saved.arrays)
        return ranker

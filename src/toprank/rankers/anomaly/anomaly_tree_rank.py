"""AnomalyTreeRank: one readable tree that ranks rows by how empty the space around them is."""

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from toprank.data import checks, inputs
from toprank.files import Saved
from toprank.metrics.mass_volume import MassVolumeCurve, mass_volume_of_groups
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.box import BOUNDS, Box, some_inside
from toprank.rankers.anomaly.density_tree import DensityGrowth, grow
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.anomaly.readable_density import ReadableSpace
from toprank.rankers.base import seed_of
from toprank.rankers.trees import tree_arrays
from toprank.rankers.trees.importance import importances
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.meta_tree import MetaTrees
from toprank.rankers.trees.pruning import pruned_by_judges
from toprank.rankers.trees.row_blocks import row_blocks
from toprank.rankers.trees.scoring import add_leaf_contributions, leaves

_DEPTHS, _DEPTHS_IN_FOREST = (3, 3), (8, 1)  # global and local
_LEAF, _LEAF_IN_FOREST = 20, 5
_SHRINKAGE, _SHRINKAGE_IN_FOREST = 20.0, 10.0
_MOST_DEPTH = 30
_FOLDS = 5


class SpaceGroup(NamedTuple):
    """A region of space that a tree does not split further, with its training rows."""

    rank: int
    n_rows: int
    volume: float
    density: float


class AnomalyTreeRank(ReadableSpace, Detector):
    """A tree of trees that splits space into groups, from the emptiest to the densest.

    It is TreeRank with volume itself as the class to find: every union of boxes is split by a
    local tree, its leaves with more of the union's volume than of its rows become one union, the
    others another. Volumes are exact; nothing is random. From right to left, in the order of their
    density, the groups are a mass-volume curve as low as the tree can make it.

    Parameters
    ----------
    global_depth, local_depth : int or None
        Levels of unions, and the depth of the local trees that split them. None is 3 and 3, which
        a person can read; in a forest 8 and 1.
    min_samples_leaf : int or None
        The fewest rows in a leaf of a local tree, where volume counts as the rows that it would
        have if all were spread evenly. None is 20; in a forest 5.
    pruning : None or "cv"
        "cv" cuts the tree back to where the area under the mass-volume curve of held-out rows
        is smallest, in five folds.
    bounds : "range", "robust" or array of shape (n_columns, 2)
        The box whose volume counts: around all training rows; around most, where a few extreme
        values would blow it up; or the lowest and the highest value of every column. Rows outside
        are the most suspicious.
    shrinkage : float or None
        The number of pseudo-rows that shrink a group's density, by which groups are ranked,
        towards that of the union it is a part of. None is 20; in a forest 10.
    max_bins : int
        Bins per column; thresholds are between them.
    contamination : float
        The share of training rows that `predict` calls anomalies.
    random_state : int, RandomState or None
        Random seed of the folds of pruning; the tree itself is not random.

    Attributes
    ----------
    tree_ : the arrays of the tree
    box_ : the bounds in use
    groups_ : the groups with their rows, volume and density
    decision_scores_, labels_, threshold_ : suspicion of the training rows, 1 for those called
        anomalies and 0 for others, and where they begin
    offset_ : scikit-learn's threshold of `score_samples`
    schema_ : the columns it was fitted on, with their kinds and categories

    Notes
    -----
    A category's values are equally wide, in the order of their number of rows, the rarest first.
    Missing values and unknown categories have a place of their own after a column's other values,
    a tenth of it wide; if training had none, they are outside.

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import AnomalyTreeRank
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> detector = AnomalyTreeRank().fit(X)
    >>> usual, unusual, outside = detector.suspicion([[0.0, 0.0], [2.5, 2.5], [9.0, 0.0]])
    >>> bool(usual < unusual < outside)
    True
    """

    def __init__(
        self,
        *,
        global_depth: int | None = None,
        local_depth: int | None = None,
        min_samples_leaf: int | None = None,
        pruning: str | None = None,
        bounds: str | ArrayLike = "range",
        shrinkage: float | None = None,
        max_bins: int = 255,
        contamination: float = 0.01,
        random_state: Any = 0,
    ) -> None:
        self.global_depth = global_depth
        self.local_depth = local_depth
        self.min_samples_leaf = min_samples_leaf
        self.pruning = pruning
        self.bounds = bounds
        self.shrinkage = shrinkage
        self.max_bins = max_bins
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn where rows are dense; `y` is ignored, as scikit-learn expects."""
        self._check_parameters()
        features = self._read(X)
        self.box_ = self.box_around(features, self.schema_.n_categories > 0)
        is_inside = self.box_.holds(features)
        self._grow(some_inside(features, is_inside))
        if self.pruning == "cv":
            self.tree_ = self._pruned(features, np.flatnonzero(is_inside))
        self.tree_ = _by_density(self.tree_, self._shrinkage())
        self._level = _levels(self.tree_, self._shrinkage())
        # copied again here: keeping the rows inside all along would hold them in memory twice
        self._see(some_inside(features, is_inside))
        return self._judge(self._raw(features))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the group that every row falls in, 0 the emptiest; -1 outside the box."""
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        return np.where(self.box_.holds(features), self._ranks(features), -1)

    def mass_volume(self, X: Any) -> MassVolumeCurve:
        """Return the mass-volume curve of rows, exact: no point is drawn at random.

        Rows outside the box need all of its volume.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        is_inside = self.box_.holds(features)
        return _mass_volume(self.tree_, self._ranks(features[is_inside]), len(features))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline.

        The columns of a row add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        parts = np.zeros((len(features), self.n_features_in_ + 1))
        over = self.box_.beyond(features)
        is_outside = (over > 0).any(axis=1)
        add_leaf_contributions(self.tree_, features, self._leaf_values(), parts)
        # the splits know nothing outside: the baseline there is the emptiest group's suspicion
        parts[is_outside] = 0.0
        parts[is_outside, -1] = self._level[0]
        parts[:, :-1] += density_scoring.outside_terms(over)
        return parts

    @property
    def groups_(self) -> list[SpaceGroup]:
        """The groups by rank, with their training rows; small ones may be emptier or denser."""
        check_is_fitted(self)
        unions = self.tree_.unions
        groups = np.flatnonzero(unions.rank >= 0)
        shares = unions.mass - unions.hits
        return [
            SpaceGroup(
                int(unions.rank[i]),
                int(unions.n_rows[i]),
                float(unions.hits[i]),
                float(shares[i] / unions.hits[i]),
            )
            for i in groups[np.argsort(unions.rank[groups])]
        ]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of what splits reduce the area under the curve by."""
        check_is_fitted(self)
        return importances(self.tree_, "auc", self.n_features_in_)

    def growth(self, *, in_forest: bool = False, n_tried: int | None = None) -> DensityGrowth:
        """Return how a tree with these parameters grows."""
        depths = _DEPTHS_IN_FOREST if in_forest else _DEPTHS
        given = (self.global_depth, self.local_depth)
        global_depth, local_depth = (
            usual if depth is None else depth for depth, usual in zip(given, depths, strict=True)
        )
        least = self.min_samples_leaf
        if least is None:
            least = _LEAF_IN_FOREST if in_forest else _LEAF
        return DensityGrowth(global_depth, local_depth, least, self.max_bins, n_tried)

    def box_around(self, features: NDArray[np.float32], is_category: NDArray[np.bool_]) -> Box:
        """Return the box of a tree on these rows."""
        if isinstance(self.bounds, str):
            return Box.around(features, is_category, self.bounds)
        return Box.given(self.bounds, features, is_category)

    def saved_parameters(self) -> dict[str, Any]:
        """Return the parameters as a model file stores them."""
        parameters = self.get_params(deep=False)
        if not isinstance(self.bounds, str):
            parameters["bounds"] = np.asarray(self.bounds).tolist()
        return parameters

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        raw = self._level[self._ranks(features)]
        for block in row_blocks(len(features)):
            terms = density_scoring.outside_terms(self.box_.beyond(features[block])).sum(axis=1)
            raw[block] = np.where(terms > 0, self._level[0], raw[block]) + terms
        return raw

    def _ranks(self, features: NDArray[np.float32]) -> NDArray[np.int32]:
        found = leaves(self.tree_, features)
        return self.tree_.unions.rank[self.tree_.nodes.union[found]]

    def _leaf_values(self) -> NDArray[np.float64]:
        """Return the suspicion of every node that is a group's leaf."""
        return self._level[self.tree_.unions.rank[self.tree_.nodes.union]]

    def _shrinkage(self, in_forest: bool = False) -> float:
        usual = _SHRINKAGE_IN_FOREST if in_forest else _SHRINKAGE
        return usual if self.shrinkage is None else float(self.shrinkage)

    def _grow(self, inside: NDArray[np.float32]) -> None:
        self.box_ = self.box_.of_inside(inside)
        self.tree_ = self._tree(inside)

    def _tree(self, inside: NDArray[np.float32]) -> MetaTrees:
        return grow(inside, self.schema_.n_categories, self.box_, self.growth())

    def _pruned(self, features: NDArray[np.float32], inside: NDArray[np.intp]) -> MetaTrees:
        """Return the tree cut back to what held-out rows, of those inside, support."""
        if inside.size < _FOLDS:
            return self.tree_
        folds = KFold(_FOLDS, shuffle=True, random_state=seed_of(self.random_state))
        return pruned_by_judges(
            self.tree_,
            (
                (
                    self._tree(features[inside[train]]),
                    partial(_held_out_score, features[inside[test]], self._shrinkage()),
                )
                for train, test in folds.split(inside)
            ),
        )

    def _check_parameters(self) -> None:
        for name in ("global_depth", "local_depth"):
            if getattr(self, name) is not None:
                checks.whole_number(getattr(self, name), name, 1, _MOST_DEPTH)
        if self.min_samples_leaf is not None:
            checks.whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        if self.pruning not in (None, "cv"):
            raise ValueError(f"pruning must be None or 'cv'; got {self.pruning!r}.")
        if isinstance(self.bounds, str):
            checks.one_of(self.bounds, "bounds", BOUNDS)
        if self.shrinkage is not None:
            checks.number_above(self.shrinkage, "shrinkage", 0, 1e12)
        checks.whole_number(self.max_bins, "max_bins", 2, MOST_BINS)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted detector."""
        arrays = {
            "box": np.stack([self.box_.low, self.box_.high]),
            "may_miss": ~self.box_.is_whole,
            **tree_arrays.arrays_of(self.tree_),
            **self._seen_arrays(),
        }
        return Saved(self._common_state(), arrays, {}, self.saved_parameters())

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the detector that `_to_saved` described; ValueError if it is not valid."""
        detector = cls(**parameters)
        detector._check_parameters()
        detector._restore_common(saved.state)
        boxes = Box.from_arrays(saved.arrays["box"][None], saved.arrays["may_miss"][None])
        (detector.box_,) = boxes
        detector._check_columns(detector.box_.n_columns, "box")
        detector.tree_ = tree_arrays.one_tree_in(saved.arrays, detector.schema_, least_rows=0)
        density_scoring.check_volumes(detector.tree_)
        detector._level = _levels(detector.tree_, detector._shrinkage())
        detector._restore_seen(saved.arrays)
        return detector


def _levels(tree: MetaTrees, shrinkage: float) -> NDArray[np.float64]:
    """Return the suspicion of every group by rank: minus its log-density, falling."""
    unions = tree.unions
    groups = np.flatnonzero(unions.rank >= 0)
    return density_scoring.sparseness(unions, shrinkage)[groups[np.argsort(unions.rank[groups])]]


def _by_density(tree: MetaTrees, shrinkage: float) -> MetaTrees:
    """Return the tree with its groups in the order of their density, the emptiest first."""
    return tree.ranked_by(density_scoring.sparseness(tree.unions, shrinkage))


def _held_out_score(features: NDArray[np.float32], shrinkage: float, tree: MetaTrees) -> float:
    """Return how good a tree is for rows it did not learn from: 1 minus the area."""
    tree = _by_density(tree, shrinkage)
    rank = tree.unions.rank[tree.nodes.union[leaves(tree, features)]]
    return 1 - _mass_volume(tree, rank, len(features)).area


def _mass_volume(tree: MetaTrees, rank: NDArray[np.int32], n_rows: int) -> MassVolumeCurve:
    """Return the curve of rows in groups; the rest of `n_rows` are outside."""
    unions = tree.unions
    groups = np.flatnonzero(unions.rank >= 0)
    groups = groups[np.argsort(-unions.rank[groups])]  # the densest first
    inside = np.bincount(rank, minlength=groups.size)[::-1] / n_rows
    return mass_volume_of_groups(
        np.append(inside, 1 - rank.size / n_rows), np.append(unions.hits[groups], 0.0)
    )

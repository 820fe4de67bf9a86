"""TreeRank: one readable tree of trees that aims at the area under the ROC curve."""

from typing import Any, Self

from toprank.data.inputs import TrainingRows
from toprank.rankers.base import seed_of
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.kernel.meta_tree import MetaTrees
from toprank.rankers.trees.pruning import pruned_by_folds
from toprank.rankers.trees.ranking_tree import RankingTree


class TreeRank(RankingTree):
    """A tree of trees whose groups, from left to right, are a ranking of high AUC.

    Every union of rows is split by a local tree that gives both classes the same mass; its leaves
    are sorted by the ratio of positives to negatives and merged into two unions where TPR - FPR is
    highest. See `TreeRank.published` for the settings of the published comparison.

    Parameters
    ----------
    global_depth : int
        Levels of unions: at most 2 ** global_depth groups.
    local_depth : int
        Depth of the local trees.
    criterion : "entropy", "gini" or "error"
        Criterion of the local trees, classes weighted equally; "error" is the published one.
    min_samples_leaf : int
        The fewest rows in a leaf of a local tree. Whole weights count as that many rows; others
        are scaled to 1 on average.
    depth : None or "cv"
        "cv" chooses depths, softness and shrinkage by cross-validated average precision, with
        cuts by entropy and five rows in a leaf; the parameters of these names are ignored.
    pruning : None or "cv"
        "cv" cuts the tree back to where AUC on held-out rows is highest.
    scoring : "rank + soft", "soft", "rank + distance" or "rank"
        How rows are scored: by group and, within a group, by the soft path or by distance to
        the nearest cut. "soft" lets rows cross the borders of groups.
    softness : float
        How far from a threshold a value may be and still belong to both sides, in standard
        deviations.
    shrinkage : float
        The number of pseudo-rows that shrink a leaf's share towards that of the node above.
    max_bins : int or None
        Bins per column; None tries every cut up to 20,000 rows and 255 bins beyond.
    positive_label : label or None
        The class to rank first; None is the one whose name says so, such as 1, or else
        `classes_[1]`.
    random_state : int, RandomState or None
        Random seed of the folds of "cv"; the tree itself is not random.
    n_jobs : int or None
        Folds of depth="cv" in parallel; None is one, -1 as many as there are cores.

    Attributes
    ----------
    tree_ : the arrays of the tree
    settings_ : depths, criterion and scoring in use; choice_ has everything that "cv" tried
    groups_ : the groups with their training rows
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from suspicions to probabilities

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import TreeRank
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> TreeRank().fit(X, y).apply([[2.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]).tolist()
    [0, 1]
    """

    aim = "auc"
    _criteria = ("entropy", "gini", "error")
    _is_balanced = True

    def __init__(
        self,
        *,
        global_depth: int = 2,
        local_depth: int = 4,
        criterion: str = "entropy",
        min_samples_leaf: int = 5,
        depth: str | None = None,
        pruning: str | None = None,
        scoring: str = "rank + soft",
        softness: float = 0.25,
        shrinkage: float = 5.0,
        max_bins: int | None = None,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            global_depth=global_depth,
            local_depth=local_depth,
            criterion=criterion,
            min_samples_leaf=min_samples_leaf,
            depth=depth,
            scoring=scoring,
            softness=softness,
            shrinkage=shrinkage,
            max_bins=max_bins,
            positive_label=positive_label,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.pruning = pruning

    @classmethod
    def published(cls, depth: int = 4, **others: Any) -> Self:
        """Return TreeRank as the MetaAP paper ran it: one depth, every cut, equal rows in a group.

        >>> TreeRank.published(depth=3).criterion
        'error'
        """
        settings = {
            "criterion": "error",
            "min_samples_leaf": 1,
            "scoring": "rank",
            "max_bins": MOST_BINS,
        }
        return cls(global_depth=depth, local_depth=depth, **{**settings, **others})

    def _growths(self) -> list[Growth]:
        return [Growth("entropy", depth, 5, is_balanced=True) for depth in (2, 3, 4, 6)]

    def _tree(self, rows: TrainingRows) -> MetaTrees:
        tree = super()._tree(rows)
        if self.pruning is None:
            return tree
        return pruned_by_folds(tree, rows, super()._tree, seed_of(self.random_state))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.pruning not in (None, "cv"):
            raise ValueError(f"pruning must be None or 'cv'; got {self.pruning!r}.")

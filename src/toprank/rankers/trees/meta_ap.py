"""MetaAP: one readable tree of trees that aims at average precision."""

from typing import Any, Self

from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.ranking_tree import RankingTree


class MetaAP(RankingTree):
    """A tree of trees whose groups, from left to right, are a ranking of high average precision.

    Every union of rows is split by a local tree; its leaves are sorted by
    (1 - precision) / recall and merged into two unions where the average precision of "the left
    one first" is highest. See `MetaAP.published` for the paper's settings.

    Parameters
    ----------
    global_depth : int
        Levels of unions: at most 2 ** global_depth groups.
    local_depth : int
        Depth of the local trees.
    criterion : "entropy", "gini" or "ap"
        Criterion of the local trees; "ap" is the paper's, with its stopping rule.
    min_samples_leaf : int
        The fewest rows in a leaf of a local tree. Whole weights count as that many rows; others
        are scaled to 1 on average.
    depth : None or "cv"
        "cv" chooses depths, criterion, rows in a leaf, softness and shrinkage by cross-validated
        average precision; the parameters of these names are then ignored.
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
        Random seed of the folds of depth="cv"; the tree itself is not random.
    n_jobs : int or None
        Folds in parallel; None is one, -1 as many as there are cores.

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
    >>> from toprank import MetaAP
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 0)
    >>> ranker = MetaAP().fit(X, y)
    >>> ranker.groups_[0].precision
    1.0
    """

    aim = "ap"
    _criteria = ("entropy", "gini", "ap")
    _is_balanced = False

    @classmethod
    def published(cls, depth: int = 4, **others: Any) -> Self:
        """Return MetaAP with the paper's settings: one depth, every cut, ties by distance.

        >>> MetaAP.published(depth=3).criterion
        'ap'
        """
        settings = {
            "criterion": "ap",
            "min_samples_leaf": 1,
            "scoring": "rank + distance",
            "max_bins": MOST_BINS,
        }
        return cls(global_depth=depth, local_depth=depth, **{**settings, **others})

    def _growths(self) -> list[Growth]:
        by_entropy = [Growth("entropy", depth, min_leaf=5) for depth in (2, 3, 4)]
        return by_entropy + [Growth("ap", depth) for depth in (2, 3, 4, 6)]

"""Pruning of TreeRank by weakest links, judged by cross-validated AUC.

Splitting a union with shares beta of the positives and alpha of the negatives into a left and a
right one adds (beta_l alpha_r - beta_r alpha_l) / 2 to the area under the ROC curve of the groups,
whatever the rest of the tree does. A union's link is what the splits below it add together, over
the number of groups they add. Pruning the weakest link first gives, for every penalty per group,
the tree with the largest AUC - penalty * groups.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from toprank.data.inputs import TrainingRows
from toprank.rankers.trees.folds import stratified_folds
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Unions
from toprank.rankers.trees.scoring import leaves


def auc_gains(unions: Unions) -> NDArray[np.float64]:
    """Return what splitting each union of one tree adds to AUC; 0 for groups."""
    is_split = unions.left >= 0
    if not is_split.any():  # perhaps of one class only
        return np.zeros(unions.tree.size)
    positives = unions.hits / unions.hits[0]
    negatives = (unions.mass - unions.hits) / (unions.mass[0] - unions.hits[0])
    left, right = unions.left[is_split], unions.right[is_split]
    gains = np.zeros(unions.tree.size)
    gains[is_split] = (positives[left] * negatives[right] - positives[right] * negatives[left]) / 2
    return gains


def penalties(unions: Unions) -> NDArray[np.float64]:
    """Return, for every union, the penalty per group from which on it is split no further.

    Infinite for groups. A union's is at most that of the one above it.
    """
    gains = auc_gains(unions)
    size = unions.tree.size
    ends_at = np.full(size, np.inf)
    is_open = unions.left >= 0
    penalty = 0.0
    while is_open[0] if size else False:
        links = np.where(is_open, _links(unions, gains, is_open), np.inf)
        penalty = max(penalty, float(links.min()))
        weakest = is_open & (links <= penalty)
        weakest = _with_all_below(unions, weakest)
        ends_at[weakest & is_open] = penalty
        is_open &= ~weakest
    return ends_at


def pruned_by_folds(
    tree: MetaTrees, rows: TrainingRows, grown: Callable[[TrainingRows], MetaTrees], seed: int
) -> MetaTrees:
    """Return the tree pruned by the penalty with the highest AUC on held-out rows, in five folds.

    `grown` grows a tree like this one on other rows.
    """
    return pruned_by_judges(
        tree,
        (
            (grown(rows.take(train)), partial(_held_out_auc, rows.take(test)))
            for train, test in stratified_folds(rows.is_positive, seed)
        ),
    )


def pruned_by_judges(
    tree: MetaTrees, parts: Iterable[tuple[MetaTrees, Callable[[MetaTrees], float]]]
) -> MetaTrees:
    """Return the tree pruned by the penalty that is best for trees grown like it.

    `parts` are trees grown on some of the rows, each with a function that scores it, pruned, on
    the other rows. Of equally good penalties the largest is taken.
    """
    ends_at = penalties(tree.unions)
    steps = np.unique(ends_at[np.isfinite(ends_at)])
    # between two steps the tree is the same: the middle of each represents it
    tried = np.append(0.0, np.sqrt(steps[:-1] * steps[1:]))
    if not steps.size:
        return tree
    found = [[judge(pruned(part, penalty)) for penalty in tried] for part, judge in parts]
    means = np.mean(found, axis=0)
    return pruned(tree, float(tried[np.flatnonzero(means >= means.max() - 1e-12)[-1]]))


def pruned(tree: MetaTrees, penalty: float) -> MetaTrees:
    """Return the tree with the largest AUC - penalty * groups on its training rows."""
    return tree.pruned(penalties(tree.unions) <= penalty)


def _held_out_auc(rows: TrainingRows, tree: MetaTrees) -> float:
    rank = tree.unions.rank[tree.nodes.union[leaves(tree, rows.features)]]
    return roc_auc_score(rows.is_positive, -rank, sample_weight=rows.weight)


def _links(
    unions: Unions, gains: NDArray[np.float64], is_open: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return each open union's gain per group, with everything that is still split below it."""
    total = np.where(is_open, gains, 0.0)
    n_more = is_open.astype(np.float64)
    for union in range(unions.tree.size - 1, 0, -1):  # children come after their parents
        above = unions.parent[union]
        if is_open[union]:
            total[above] += total[union]
            n_more[above] += n_more[union]
    return total / np.maximum(n_more, 1)


def _with_all_below(unions: Unions, is_end: NDArray[np.bool_]) -> NDArray[np.bool_]:
    is_end = is_end.copy()
    for union in range(1, unions.tree.size):
        is_end[union] |= is_end[unions.parent[union]]
    return is_end

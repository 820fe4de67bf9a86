"""How much each column contributes to a ranking tree, in average precision or AUC gained.

Unions are split from the top down, level by level. Each split changes the ranking of the groups
so far, and what that adds on the training rows is divided among the cuts of its local tree in
proportion to their gains.
"""

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Unions
from toprank.rankers.trees.pruning import auc_gains


def importances(tree: MetaTrees, aim: str, n_columns: int) -> NDArray[np.float64]:
    """Return each column's share of the tree's gain; they add up to 1, or to 0 without any."""
    nodes, unions = tree.nodes, tree.unions
    gains = auc_gains(unions) if aim == "auc" else ap_gains(unions)
    gains = np.maximum(gains, 0.0)
    cuts = np.flatnonzero(nodes.column >= 0)
    cut_gains = np.maximum(nodes.gain[cuts], 0.0)  # rounding may leave it slightly below 0
    by_union = np.bincount(nodes.union[cuts], cut_gains, unions.tree.size)
    weight = np.divide(gains, by_union, out=np.zeros(by_union.size), where=by_union > 0)
    shares = np.bincount(nodes.column[cuts], cut_gains * weight[nodes.union[cuts]], n_columns)
    return shares / (shares.sum() or 1.0)


def ap_gains(unions: Unions) -> NDArray[np.float64]:
    """Return what splitting each union adds to average precision, in the order of the splits."""
    gains = np.zeros(unions.tree.size)
    if not (unions.left >= 0).any():  # maybe without a positive
        return gains
    present = [0]
    before = _average_precision(unions, present)
    for union in np.flatnonzero(unions.left >= 0).tolist():  # numbered level by level
        at = present.index(union)
        present[at : at + 1] = [unions.left[union], unions.right[union]]
        after = _average_precision(unions, present)
        gains[union] = after - before
        before = after
    return gains


def _average_precision(unions: Unions, order: list[int]) -> float:
    """Return the average precision of groups in this order, each tied."""
    hits, mass = unions.hits[order], unions.mass[order]
    return float(np.sum(hits / hits.sum() * np.cumsum(hits) / np.cumsum(mass)))

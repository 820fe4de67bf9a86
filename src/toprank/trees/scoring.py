"""From a tree of trees and a row to its suspicion: by group, and within it.

    rank + soft       groups in their order, rows of one group by the soft path
    soft              the soft path alone: rows may cross the borders of groups
    rank + distance   rows of one group by their distance to the nearest cut, as published
    rank              rows of one group are equal

On the soft path a cut sends a part of the row to either side, the less clear the nearer the value
is to the threshold: 1 / (1 + exp((x - threshold) / (softness * std))) of it to the left, std being
the column's in training. The score is the mean of the leaves' shares of positives, each drawn to
that of the nodes above it: (positives + shrinkage * share above) / (rows + shrinkage).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.trees.kernel import walking
from toprank.trees.kernel.meta_tree import MetaTrees, Nodes

SCORINGS = ("rank + soft", "soft", "rank + distance", "rank")

_LEAST_STD = 1e-12
_BELOW_ONE = 1 - 1e-9  # a row must not reach the group above


@dataclass(frozen=True)
class Scoring:
    """How rows are scored; `softness` and `shrinkage` are those of the soft path."""

    way: str = "rank + soft"
    softness: float = 0.25
    shrinkage: float = 5.0


def scores(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return the suspicion of every row by the first tree: between 0 and 1, whatever the way."""
    if scoring.way == "soft":
        return soft_scores(tree, features, std, scoring)
    within: NDArray[np.float64] | float = 0.5
    if scoring.way == "rank + distance":
        distance, _, found = border_distances(tree, features)
        within = 0.5 + 0.5 * _BELOW_ONE * distance / (1 + np.abs(distance))
    else:
        found = leaves(tree, features)
        if scoring.way == "rank + soft":
            within = soft_scores(tree, features, std, scoring) * _BELOW_ONE
    n_groups = int(tree.n_groups[0])
    from_below = n_groups - 1 - tree.unions.rank[tree.nodes.union[found]]
    return (from_below + within) / n_groups


def contributions(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return what each column adds to each row's suspicion, and last what no column does.

    A cut adds by how much it changes the mean suspicion of the groups that lie ahead. Distances
    to cuts, where they tell rows of a group apart, count as no column's.
    """
    parts = np.zeros((len(features), features.shape[1] + 1))
    nodes, n_groups = tree.nodes, int(tree.n_groups[0])
    is_ranked = scoring.way != "soft"
    if is_ranked:
        from_below = (n_groups - 1.0 - tree.unions.rank[nodes.union]) / n_groups
        _add_path(tree, features, from_below, parts)
    if scoring.way.endswith("soft"):
        width = scoring.softness * np.maximum(std, _LEAST_STD)
        shares = shrunk_shares(nodes, scoring.shrinkage)
        value = _means_below(tree, shares * (_BELOW_ONE / n_groups if is_ranked else 1.0))
        walking.add_soft_contributions(features, tree.roots[0], *_cuts(tree), width, value, parts)
    parts[:, -1] = scores(tree, features, std, scoring) - parts[:, :-1].sum(axis=1)
    return parts


def add_leaf_contributions(
    trees: MetaTrees, features: NDArray[np.float32], value: NDArray[np.float64], parts: NDArray
) -> None:
    """Add, over all trees, what each column moves of the leaves' values, and last their start."""
    means = _means_below(trees, value)
    for root in trees.roots:
        walking.add_contributions(features, root, *_cuts(trees), means, parts)
        parts[:, -1] += means[root]


def leaves(tree: MetaTrees, features: NDArray[np.float32], number: int = 0) -> NDArray[np.int32]:
    """Return the last node of every row's path through one of the trees."""
    return walking.leaves(features, tree.roots[number], *_cuts(tree))


def soft_scores(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return the mean share of positives of the leaves that a row reaches on the soft path."""
    width = scoring.softness * np.maximum(std, _LEAST_STD)
    shares = shrunk_shares(tree.nodes, scoring.shrinkage)
    return walking.soft_means(features, tree.roots[0], *_cuts(tree), width, shares)


def border_distances(
    tree: MetaTrees, features: NDArray[np.float32], is_whole_path: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the signed distance of every row to the nearest cut of its last local tree.

    Or of its whole path; then the column of that cut, -1 where no number was compared, and the
    last node of the path.
    """
    nodes = tree.nodes
    return walking.border_distances(
        features, tree.roots[0], *_cuts(tree), nodes.mass, nodes.hits, is_whole_path
    )


def shrunk_shares(nodes: Nodes, shrinkage: float) -> NDArray[np.float64]:
    """Return every node's share of positives, drawn to the share above it."""
    return walking.shrunk_shares(nodes.parent, nodes.mass, nodes.hits, float(shrinkage))


def column_std(
    features: NDArray[np.float32], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the spread of every column's values, rows weighed; 0 where none is present."""
    return _spread(features, np.empty(0) if weight is None else weight)


def _add_path(
    tree: MetaTrees, features: NDArray[np.float32], value: NDArray[np.float64], parts: NDArray
) -> None:
    means = _means_below(tree, value)
    walking.add_contributions(features, tree.roots[0], *_cuts(tree), means, parts)


def _means_below(tree: MetaTrees, value: NDArray[np.float64]) -> NDArray[np.float64]:
    nodes = tree.nodes
    return walking.means_below(nodes.column, nodes.left, nodes.right, nodes.mass, value)


def _cuts(tree: MetaTrees) -> tuple[NDArray, ...]:
    """Return what a kernel needs to send rows along."""
    nodes = tree.nodes
    return (
        nodes.column,
        nodes.threshold,
        nodes.is_missing_left,
        nodes.set_start,
        tree.goes_left,
        nodes.left,
        nodes.right,
    )


@njit(cache=True, nogil=True)
def _spread(features, weight):
    """Return every column's standard deviation by Welford's way: one pass, no copy, no loss."""
    n_columns = features.shape[1]
    mass, mean, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for row in range(features.shape[0]):
        here = weight[row] if weight.size else 1.0
        for column in range(n_columns):
            value = features[row, column]
            if np.isnan(value):
                continue
            mass[column] += here
            gap = value - mean[column]
            mean[column] += gap * here / mass[column]
            squares[column] += here * gap * (value - mean[column])
    for column in range(n_columns):
        if mass[column] > 0:
            squares[column] = np.sqrt(squares[column] / mass[column])
    return squares

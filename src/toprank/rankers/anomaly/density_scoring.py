"""Suspicion from trees of space: how empty a row's place is, and how few cuts lead there."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import digamma

from toprank.rankers.anomaly.box import Box
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Unions

_BLOCK = 256

OUTSIDE = 2.0
"""What a value outside the box adds, in log-densities, in addition to its distance from it."""


def sparseness(unions: Unions, shrinkage: float) -> NDArray[np.float64]:
    """Return minus the log-density of every union, relative to the whole box.

    It is the sum, from the top down, of log((n h + a) / (m + a)): m of the n rows above fell into
    a share h of the volume above, and a = `shrinkage` pseudo-rows shrink that towards no
    difference.
    """
    return _sparseness(unions.parent, unions.n_rows, unions.hits, float(shrinkage))


def isolation(unions: Unions) -> NDArray[np.float64]:
    """Return by how many cuts every union is reached sooner than a row among evenly spread ones.

    The rows that a union of an isolation tree still contains would take as many cuts more as
    evenly spread rows do.
    """
    top = np.zeros(unions.tree.max() + 1)
    is_first = unions.parent < 0
    top[unions.tree[is_first]] = usual_cuts(unions.n_rows[is_first])
    return top[unions.tree] - unions.depth - usual_cuts(unions.n_rows)


def usual_cuts(n_rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many random cuts, on average, separate one of so many rows from the others.

    With H the harmonic numbers, these are 2 H(n - 1) - 2 (n - 1) / n, the mean depth of a leaf in
    a random binary tree.

    >>> usual_cuts(np.array([1, 2, 256])).round(2).tolist()
    [0.0, 1.0, 10.25]
    """
    n_rows = np.maximum(n_rows, 1.0)
    return 2 * (digamma(n_rows) + np.euler_gamma - 1 + 1 / n_rows)


def check_volumes(trees: MetaTrees) -> None:
    """Raise a ValueError if trees of a model file have unions without volume."""
    if not (trees.unions.hits > 0).all():
        raise ValueError("volume of every union must be greater than 0; got 0.")


def outside_terms(over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what values add that are so many widths of the box outside of it; 0 inside.

    >>> outside_terms(np.array([0.0, 1.0])).round(2).tolist()
    [0.0, 2.69]
    """
    is_outside = over > 0
    terms = np.zeros(over.shape)
    terms[is_outside] = OUTSIDE + np.log1p(over[is_outside])  # usually few
    return terms


def add_suspicion(
    trees: MetaTrees,
    features: NDArray[np.float32],
    value: NDArray[np.float64],
    boxes: list[Box],
    total: NDArray[np.float64],
) -> None:
    """Add to every row, over all trees, its leaf's value and the terms outside the tree's box.

    Without boxes, nothing is outside.
    """
    nodes = trees.nodes
    column, threshold, ways, n_steps = _ways(
        nodes.column, nodes.threshold, nodes.left, nodes.right, trees.roots
    )
    for number in range(trees.n_trees):
        _add_leaf_values(
            features, trees.roots[number], n_steps[number], column, threshold, nodes.set_start,
            trees.goes_left, ways, value, total,
        )  # fmt: skip
        if boxes:
            add_outside(features, boxes[number], total)


def add_outside(features: NDArray[np.float32], box: Box, total: NDArray[np.float64]) -> None:
    """Add to every row the terms of its values outside a box, without a matrix of them."""
    _add_outside(features, box.low, box.high, 1 / box.width, box.is_whole, total)


@njit(cache=True, nogil=True)
def _sparseness(parent, n_rows, volume, shrinkage):
    value = np.zeros(parent.size)
    for union in range(parent.size):
        above = parent[union]
        if above >= 0:
            expected = n_rows[above] * volume[union] / volume[above]
            value[union] = value[above] + np.log(
                (expected + shrinkage) / (n_rows[union] + shrinkage)
            )
    return value


@njit(cache=True, nogil=True)
def _ways(column, threshold, left, right, roots):
    """Return the nodes in a form that is walked with no branch but the split's own.

    ways = [left of node 0, right of node 0, left of node 1, ...] skip leaves that lead to
    the next local tree, and an end leads to itself whatever the value. So every row takes as many
    steps as the longest path of its tree, which costs less than testing at each step whether it
    has arrived. Missing values go right.
    """
    ways = np.empty((column.size, 2), np.int32)
    steps = np.zeros(column.size, np.int64)
    cut_column, cut_threshold = column.copy(), threshold.copy()
    for node in range(column.size - 1, -1, -1):  # ways lead to higher numbers
        if column[node] < 0:
            ways[node] = node
            cut_column[node], cut_threshold[node] = 0, np.inf
            if left[node] >= 0:
                steps[node] = steps[left[node]]
            continue
        for side in range(2):
            onward = left[node] if side == 0 else right[node]
            if column[onward] < 0 and left[onward] >= 0:
                onward = left[onward]
            ways[node, side] = onward
            steps[node] = max(steps[node], steps[onward] + 1)
    return cut_column, cut_threshold, ways.ravel(), steps[roots]


@njit(cache=True, nogil=True)
def _add_leaf_values(
    features, root, n_steps, column, threshold, set_start, goes_left, ways, value, total
):
    node = np.empty(_BLOCK, np.int32)
    for begin in range(0, features.shape[0], _BLOCK):
        block = features[begin : begin + _BLOCK]
        node[:] = root
        for _ in range(n_steps):  # of all rows at once: none depends on another
            if goes_left.size:
                _step_by_sets(block, column, threshold, set_start, goes_left, ways, node)
            else:
                _step(block, column, threshold, ways, node)
        for i in range(len(block)):
            total[begin + i] += value[node[i]]


@njit(cache=True, nogil=True)
def _step(features, column, threshold, ways, node):
    for i in range(len(features)):
        at = node[i]
        goes_right = not features[i, column[at]] <= threshold[at]
        node[i] = ways[2 * at + goes_right]


@njit(cache=True, nogil=True)
def _step_by_sets(features, column, threshold, set_start, goes_left, ways, node):
    """The same where some splits are by categories."""
    for i in range(len(features)):
        at = node[i]
        x = features[i, column[at]]
        goes_right = not x <= threshold[at]
        # an end has no set, and its column is a placeholder
        if set_start[at] >= 0 and not np.isnan(x):
            goes_right = not goes_left[set_start[at] + np.int64(x)]
        node[i] = ways[2 * at + goes_right]


@njit(cache=True, nogil=True)
def _add_outside(features, low, high, per_width, is_whole, total):
    for i in range(len(features)):
        is_outside = False
        for j in range(low.size):
            x = features[i, j]
            is_outside |= (x < low[j]) | (x > high[j]) | (np.isnan(x) & is_whole[j])
        if is_outside:
            total[i] += _outside(features[i], low, high, per_width, is_whole)


@njit(cache=True, nogil=True)
def _outside(values, low, high, per_width, is_whole):
    """Return what `outside_terms` gives, summed over a row."""
    terms = 0.0
    for j in range(values.size):
        over = max(low[j] - values[j], values[j] - high[j])
        if over > 0:
            terms += OUTSIDE + np.log1p(over * per_width[j])
        elif is_whole[j] and np.isnan(values[j]):
            terms += OUTSIDE
    return terms

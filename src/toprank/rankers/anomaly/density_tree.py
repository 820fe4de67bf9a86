"""Density trees, grown on rows and stored like all other ranking trees.

Of a node or a union, `hits` is its share of the volume and `mass` that plus its share of the rows:
a "share of positives" of 1/2 means average density.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.isolation_tree import grow_isolation_tree
from toprank.rankers.anomaly.union_tree import UnionTree, grow_union_tree, number_places
from toprank.rankers.anomaly.volume_bins import VolumeBins, grid_of
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Nodes, Unions, finished

_MOST_BOXES = 4096


class DensityGrowth(NamedTuple):
    """How a tree grows; `n_tried` is how many columns, drawn for every node, are tried."""

    global_depth: int
    local_depth: int
    min_leaf: float
    max_bins: int
    n_tried: int | None = None


def grow(
    features: NDArray[np.float32],
    n_categories: NDArray[np.integer],
    box: Box,
    growth: DensityGrowth,
    seed: int = 0,
) -> MetaTrees:
    """Return the tree of the rows, all of which are in the box."""
    grid = grid_of(features, n_categories, box, growth.max_bins)
    n_rows, n_columns = features.shape
    grown = grow_union_tree(
        grid.codes,
        grid.starts,
        grid.position,
        np.arange(n_rows, dtype=np.int32),
        growth.global_depth,
        growth.local_depth,
        float(growth.min_leaf),
        n_columns if growth.n_tried is None else growth.n_tried,
        _MOST_BOXES,
        np.uint64(seed),
    )
    return _as_ranking_tree(UnionTree(*grown), grid, n_categories, n_rows)


def grow_by_random_cuts(
    features: NDArray[np.float32],
    n_categories: NDArray[np.integer],
    box: Box,
    generator: np.random.Generator,
) -> MetaTrees:
    """Return an isolation tree of the rows, all of which are in the box.

    A path has as many cuts as it takes to halve the rows until one is left: to isolate ordinary
    rows would take more, and say no more about unusual ones.
    """
    n_rows = len(features)
    grid = grid_of(features, n_categories, box, MOST_BINS)
    depth = max(1, int(np.ceil(np.log2(n_rows))))
    tree = UnionTree(
        *grow_isolation_tree(
            grid.codes, grid.starts, grid.position, grid.gap_sum, depth, generator
        )
    )
    number_places(tree.union)
    return _as_ranking_tree(tree, grid, n_categories, n_rows)


def _as_ranking_tree(
    tree: UnionTree, grid: VolumeBins, n_categories: NDArray[np.integer], n_rows: int
) -> MetaTrees:
    column, edge, left, right, parent, union = tree.node.T.copy()
    set_start, goes_left = _sets(grid, column, edge, n_categories)
    at = grid.starts[np.maximum(column, 0)] + edge
    threshold = np.where(column >= 0, grid.threshold[at], np.nan)
    nodes = Nodes(
        column,
        threshold,
        np.zeros(column.size, dtype=bool),
        set_start,
        left,
        right,
        parent,
        union,
        *_sums(tree.node_sums, n_rows),
        gain=tree.node_sums[:, 2].copy(),
    )
    above, first, second, depth, root, place = tree.union.T.copy()
    none = np.full(above.size, -1, dtype=np.int32)
    unions = Unions(
        np.zeros(above.size, dtype=np.int32),
        above,
        first,
        second,
        depth,
        root,
        place.astype(np.int64),
        none,
        *_sums(tree.union_sums, n_rows),
    )
    return finished([nodes], [unions], [goes_left])


def _sums(
    sums: NDArray[np.float64], n_rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the number of rows, the shares of rows and volume together, and that of volume."""
    rows, volume = sums[:, 0].copy(), sums[:, 1].copy()
    return rows, rows / n_rows + volume, volume


def _sets(
    grid: VolumeBins,
    column: NDArray[np.int32],
    edge: NDArray[np.int32],
    n_categories: NDArray[np.integer],
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return where each split's set of categories begins, -1 for a number, and all the sets."""
    set_start = np.full(column.size, -1, dtype=np.int32)
    sets, size = [np.zeros(0, dtype=bool)], 0
    for node in np.flatnonzero((column >= 0) & (n_categories[column] > 0)):
        first = grid.starts[column[node]]
        goes_left = np.ones(n_categories[column[node]], dtype=bool)
        on_the_right = grid.category[first + edge[node] : grid.starts[column[node] + 1]]
        goes_left[on_the_right[on_the_right >= 0]] = False
        set_start[node] = size
        size += goes_left.size
        sets.append(goes_left)
    return set_start, np.concatenate(sets)

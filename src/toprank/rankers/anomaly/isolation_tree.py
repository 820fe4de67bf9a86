"""An isolation tree: random cuts, of a column and of a place in it, until every row is alone.

The place is uniform between the smallest and the largest value of the rows that are there, so a
value far from all others is soon alone. Volumes are exact: a cut of a box divides its volume as it
divides the interval of one column, whose ends are the nearest cuts of that column above.
"""

import numpy as np
from numba import njit

_LEAST_VOLUME = 1e-200  # extreme values compress all others into almost nothing


@njit(cache=True, nogil=True)
def grow_isolation_tree(codes, starts, position, gap_sum, depth, generator):
    """Return the arrays of a UnionTree with one cut per union, at most `depth` on a path.

    The emptier side of a cut is the left union. Places are not numbered.
    """
    n_rows = codes.shape[1]
    node, node_sums = np.empty((3 * n_rows, 6), np.int32), np.zeros((3 * n_rows, 3))
    union, union_sums = np.full((2 * n_rows, 6), -1, np.int32), np.empty((2 * n_rows, 2))
    blocks = np.empty((2 * n_rows, 2), np.int64)  # of a union: rows from, to
    rows, moved = np.arange(n_rows), np.empty(n_rows, np.int64)
    order = np.arange(codes.shape[0])
    union[0, 3] = 0
    union_sums[0, 0], union_sums[0, 1] = n_rows, 1.0
    blocks[0, 0], blocks[0, 1] = 0, n_rows
    n_nodes, n_unions, at = 0, 1, 0
    while at < n_unions:
        begin, end = blocks[at, 0], blocks[at, 1]
        column, edge, volume_below = -1, 0, 0.0
        if union[at, 3] < depth:
            column, edge = _random_cut(codes, starts, gap_sum, rows[begin:end], order, generator)
        if column >= 0:
            edges = position[starts[column] : starts[column + 1]]
            volume_below = _share_below(node, union, at, column, edge, edges)
            if union_sums[at, 1] * min(volume_below, 1 - volume_below) < _LEAST_VOLUME:
                column = -1
        if column >= 0:
            middle = begin + _split_rows(codes[column], rows[begin:end], edge, moved)
            rows_below = (middle - begin) / (end - begin)
            _add_cut(node, union, at, n_nodes, n_unions, column, edge, rows_below <= volume_below)
            node_sums[n_nodes, 0], node_sums[n_nodes, 1] = union_sums[at, 0], union_sums[at, 1]
            node_sums[n_nodes, 2] = _gain(rows_below, volume_below)
            for side in range(2):
                leaf = n_nodes + 1 + side
                child = node[leaf, 5]
                blocks[child, 0] = middle if side else begin
                blocks[child, 1] = end if side else middle
                share = 1 - volume_below if side else volume_below
                union_sums[child, 0] = blocks[child, 1] - blocks[child, 0]
                union_sums[child, 1] = union_sums[at, 1] * share
                node_sums[leaf, 0], node_sums[leaf, 1] = union_sums[child, 0], union_sums[child, 1]
            n_nodes, n_unions = n_nodes + 3, n_unions + 2
        at += 1
    return node[:n_nodes], node_sums[:n_nodes], union[:n_unions], union_sums[:n_unions]


@njit(cache=True, nogil=True)
def _random_cut(codes, starts, gap_sum, rows, order, generator):
    """Return a column and an edge between values of the rows; column -1 if all are equal."""
    for turn in range(order.size):
        chosen = turn + int(generator.random() * (order.size - turn))
        order[turn], order[chosen] = order[chosen], order[turn]
        column = order[turn]
        first = last = np.int64(codes[column, rows[0]])
        for row in rows:
            code = np.int64(codes[column, row])
            first, last = min(first, code), max(last, code)
        gaps = gap_sum[starts[column] : starts[column + 1]]
        if gaps[last] > gaps[first]:
            place = gaps[first] + (gaps[last] - gaps[first]) * generator.random()
            edge = first + 1
            while edge < last and gaps[edge] <= place:
                edge += 1
            return column, edge
    return -1, 0


@njit(cache=True, nogil=True)
def _share_below(node, union, at, column, edge, edges):
    """Return which share of a union's box is below an edge of a column."""
    low, high = 0, edges.size - 1
    child, above = at, union[at, 0]
    while above >= 0:
        root = union[above, 4]
        if node[root, 0] == column:
            if node[root + 1, 5] == child:
                high = min(high, node[root, 1])
            else:
                low = max(low, node[root, 1])
        child, above = above, union[above, 0]
    return (edges[edge] - edges[low]) / (edges[high] - edges[low])


@njit(cache=True, nogil=True)
def _split_rows(codes, rows, edge, moved):
    """Put the rows below the edge first, both sides in their order; return how many are below."""
    n_below, n_above = 0, 0
    for row in rows:
        if codes[row] < edge:
            rows[n_below] = row
            n_below += 1
        else:
            moved[n_above] = row
            n_above += 1
    for i in range(n_above):
        rows[n_below + i] = moved[i]
    return n_below


@njit(cache=True, nogil=True)
def _add_cut(node, union, at, number, child, column, edge, is_below_emptier):
    """Write a union's cut, the leaves on either side of it, and the unions that these become."""
    for i in range(3):
        for j in range(6):
            node[number + i, j] = -1
    node[number, 0], node[number, 1] = column, edge
    node[number, 2], node[number, 3] = number + 1, number + 2
    node[number, 4] = union[union[at, 0], 4] if union[at, 0] >= 0 else -1
    node[number, 5] = at
    for side in range(2):
        node[number + 1 + side, 4] = number
        node[number + 1 + side, 5] = child + (side if is_below_emptier else 1 - side)
        union[child + side, 0], union[child + side, 3] = at, union[at, 3] + 1
    union[at, 1], union[at, 2], union[at, 4] = child, child + 1, number


@njit(cache=True, nogil=True)
def _gain(rows_below, volume_below):
    """Return by how much a cut reduces the Gini index of rows against volume, as in unions."""
    below = rows_below * volume_below / (rows_below + volume_below)
    rows_above, volume_above = 1 - rows_below, 1 - volume_below
    return 0.5 - below - rows_above * volume_above / (rows_above + volume_above)

"""A density tree: its positives are volume itself, its negatives the rows.

A union is a set of boxes with the rows in them. A local tree splits it: its leaves with more of
the union's volume than of its rows become the left union, the others the right one, and so on.
With g and h a side's shares of the union's rows and volume, a split minimises

    g_l h_l / (g_l + h_l) + g_r h_r / (g_r + h_r)

the Gini index of rows against the same mass of volume. Volumes are exact. To split a column,
every box adds a slope, its volume over its length, between its two edges there; the running sum
of slopes times the distances between edges is the volume left of each edge.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_LEAST_VOLUME = 1e-200  # extreme values compress all others into almost nothing
_MARGIN = 1e-12  # what rounding may add to a gain
_ROOM = 64  # at first; arrays grow when it is used up


class UnionTree(NamedTuple):
    """Nodes and unions as `grow_union_tree` numbers them, parents first, level by level.

    node: column (-1 in a leaf), edge (codes below it go left), left, right, parent, union.
    node_sums: rows, volume, gain. union: parent, left, right, depth, root, place from left to
    right. union_sums: rows, volume.
    """

    node: NDArray[np.int32]
    node_sums: NDArray[np.float64]
    union: NDArray[np.int32]
    union_sums: NDArray[np.float64]


@njit(cache=True, nogil=True)
def grow_union_tree(
    codes, starts, position, rows, global_depth, local_depth, min_leaf, n_tried, most_boxes, seed
):
    """Return the arrays of a UnionTree. `rows` index the columns of `codes`; they are reordered.

    No leaf of a local tree has fewer rows than `min_leaf`, volume counted as the rows that it
    would have if all were spread evenly. A union of more than `most_boxes` boxes is split no
    further.
    """
    n_columns = starts.size - 1
    total = rows.size
    node, node_sums = np.empty((_ROOM, 6), np.int32), np.empty((_ROOM, 3))
    union, union_sums = np.empty((_ROOM, 6), np.int32), np.empty((_ROOM, 2))
    blocks = np.empty((_ROOM, 4), np.int64)  # of a union: rows from, to, boxes from, to
    boxes, volumes = np.empty((_ROOM, n_columns, 2), np.int32), np.empty(_ROOM)
    for column in range(n_columns):
        boxes[0, column, 0], boxes[0, column, 1] = 0, starts[column + 1] - starts[column] - 1
    volumes[0] = 1.0
    union[0] = -1
    union[0, 3], union[0, 5] = 0, 0
    union_sums[0, 0], union_sums[0, 1] = total, 1.0
    blocks[0] = 0
    blocks[0, 1], blocks[0, 3] = total, 1
    # typed: as literals, the first values would compile every kernel below once more
    n_nodes, n_unions, n_boxes, at = np.int64(0), np.int64(1), np.int64(1), np.int64(0)
    room = _room(starts, total)
    while at < n_unions:
        begin, end, first, last = blocks[at, 0], blocks[at, 1], blocks[at, 2], blocks[at, 3]
        if union[at, 3] < global_depth and end > begin and last - first <= most_boxes:
            local, sums, ranges, local_boxes, local_volumes = _local_tree(
                codes, starts, position, rows, begin, end, boxes[first:last], volumes[first:last],
                total, local_depth, min_leaf, n_tried, seed, at, room,
            )  # fmt: skip
            is_left = _on_the_left(local, sums)
            if _is_split(local, is_left):
                more = n_nodes + len(local)
                node, node_sums = _with_room(node, more), _with_room(node_sums, more)
                union, blocks = _with_room(union, n_unions + 2), _with_room(blocks, n_unions + 2)
                union_sums = _with_room(union_sums, n_unions + 2)
                for i in range(len(local)):
                    _keep(local, sums, i, at, n_nodes, n_unions, is_left, union, node, node_sums)
                new = n_boxes + _n_boxes(local, ranges)
                boxes, volumes = _with_room(boxes, new), _with_room(volumes, new)
                n_boxes = _make_children(
                    local, sums, ranges, local_boxes, local_volumes, is_left, at, n_unions, rows,
                    union, union_sums, blocks, boxes, volumes, n_boxes, room[4],
                )  # fmt: skip
                union[at, 1], union[at, 2], union[at, 4] = n_unions, n_unions + 1, n_nodes
                n_nodes, n_unions = n_nodes + len(local), n_unions + 2
        at += 1
    number_places(union[:n_unions])
    return node[:n_nodes], node_sums[:n_nodes], union[:n_unions], union_sums[:n_unions]


@njit(cache=True, nogil=True)
def _room(starts, n_rows):
    """Return work arrays: rows and slopes by edge, columns to draw from, rows to move."""
    widest = 2
    for column in range(starts.size - 1):
        widest = max(widest, starts[column + 1] - starts[column])
    counts, slopes = np.zeros(widest), np.zeros(widest)
    order = np.arange(starts.size - 1)
    return counts, slopes, order, np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)


@njit(cache=True, nogil=True)
def _local_tree(
    codes, starts, position, rows, begin, end, root_boxes, root_volumes, total, depth, min_leaf,
    n_tried, seed, union, room,
):  # fmt: skip
    """Return the nodes of one local tree, level by level, with their rows and boxes.

    nodes: column, edge, left, right, parent. sums: rows, volume, gain. ranges: rows from, to,
    boxes from, to.
    """
    n_columns = starts.size - 1
    nodes, sums = np.full((_ROOM, 5), -1, np.int32), np.zeros((_ROOM, 3))
    ranges = np.zeros((_ROOM, 4), np.int64)
    n_boxes = root_volumes.size
    boxes = np.empty((max(4 * n_boxes, 8), n_columns, 2), np.int32)
    volumes = np.empty(boxes.shape[0])
    _copy(root_boxes, boxes)
    _copy(root_volumes, volumes)
    all_rows, all_volume = float(end - begin), root_volumes.sum()
    ranges[0, 0], ranges[0, 1], ranges[0, 3] = begin, end, n_boxes
    sums[0, 0], sums[0, 1] = all_rows, all_volume
    n_nodes, level_begin = 1, 0
    for _ in range(depth):
        level_end = n_nodes
        for i in range(level_begin, level_end):
            state = _mixed(seed, union, i)
            column, edge, gain, left_volume = _best_cut(
                codes, starts, position, rows, ranges[i], boxes, volumes, sums[i], all_rows,
                all_volume, total, min_leaf, n_tried, state, room,
            )  # fmt: skip
            if column < 0:
                continue
            nodes, sums = _with_room(nodes, n_nodes + 2), _with_room(sums, n_nodes + 2)
            ranges = _with_room(ranges, n_nodes + 2)
            needed = n_boxes + 2 * (ranges[i, 3] - ranges[i, 2])
            boxes, volumes = _with_room(boxes, needed), _with_room(volumes, needed)
            middle = _split_rows(codes[column], rows, ranges[i, 0], ranges[i, 1], edge, room[3])
            n_left, n_boxes_after = _split_boxes(
                boxes, volumes, ranges[i, 2], ranges[i, 3], n_boxes, column, edge,
                position[starts[column] : starts[column + 1]],
            )  # fmt: skip
            nodes[i, 0], nodes[i, 1], sums[i, 2] = column, edge, gain
            nodes[i, 2], nodes[i, 3] = n_nodes, n_nodes + 1
            for side in range(2):
                child = n_nodes + side
                nodes[child] = -1
                nodes[child, 4] = i
                ranges[child, 0] = middle if side else ranges[i, 0]
                ranges[child, 1] = ranges[i, 1] if side else middle
                ranges[child, 2] = n_left if side else n_boxes
                ranges[child, 3] = n_boxes_after if side else n_left
                sums[child, 0] = ranges[child, 1] - ranges[child, 0]
                sums[child, 1] = sums[i, 1] - left_volume if side else left_volume
                sums[child, 2] = 0.0
            n_nodes += 2
            n_boxes = n_boxes_after
        level_begin = level_end
    return nodes[:n_nodes], sums[:n_nodes], ranges[:n_nodes], boxes, volumes


@njit(cache=True, nogil=True)
def _best_cut(
    codes, starts, position, rows, block, boxes, volumes, sums, all_rows, all_volume, total,
    min_leaf, n_tried, state, room,
):  # fmt: skip
    """Return column (-1 without a split), edge, gain and the volume left of it."""
    counts, slopes, order = room[0], room[1], room[2]
    n_columns = order.size
    best_column, best_edge, best_left = -1, 0, 0.0
    best = _impurity(sums[0] / all_rows, sums[1] / all_volume)
    before = best
    for column in range(n_columns):
        order[column] = column
    for turn in range(n_columns):
        if n_tried < n_columns:
            if turn >= n_tried and best_column >= 0:
                break
            state = _next(state)
            chosen = turn + (state >> np.uint64(33)) % np.uint64(n_columns - turn)
            order[turn], order[chosen] = order[chosen], order[turn]
        column = order[turn]
        edges = position[starts[column] : starts[column + 1]]
        first, last = _reach(boxes, block[2], block[3], column, edges.size)
        if last - first < 2:
            continue
        for i in range(block[0], block[1]):
            counts[codes[column, rows[i]]] += 1
        for box in range(block[2], block[3]):
            low, high = boxes[box, column, 0], boxes[box, column, 1]
            slope = volumes[box] / (edges[high] - edges[low])
            slopes[low] += slope
            slopes[high] -= slope
        n_left, left, slope = 0.0, 0.0, 0.0
        for edge in range(first + 1, last):
            n_left += counts[edge - 1]
            slope += slopes[edge - 1]
            left += slope * (edges[edge] - edges[edge - 1])
            # rounding may exceed the total, or go below 0
            left = min(max(left, 0.0), sums[1])
            if n_left + total * left < min_leaf or left < _LEAST_VOLUME:
                continue
            if sums[1] - left < _LEAST_VOLUME:
                break
            if sums[0] - n_left + total * (sums[1] - left) < min_leaf:
                break
            score = _impurity(n_left / all_rows, left / all_volume) + _impurity(
                (sums[0] - n_left) / all_rows, (sums[1] - left) / all_volume
            )
            if score < best - _MARGIN:
                best, best_column, best_edge, best_left = score, column, edge, left
        counts[first:last] = 0.0
        slopes[first : last + 1] = 0.0
    return best_column, best_edge, before - best, best_left


@njit(cache=True, nogil=True)
def _impurity(g, h):
    both = g + h
    return g * h / both if both > 0 else 0.0


@njit(cache=True, nogil=True)
def _reach(boxes, begin, end, column, n_edges):
    """Return the first and the last edge of a node's boxes in a column."""
    first, last = n_edges, 0
    for box in range(begin, end):
        first, last = min(first, boxes[box, column, 0]), max(last, boxes[box, column, 1])
    return first, last


@njit(cache=True, nogil=True)
def _split_rows(codes, rows, begin, end, edge, kept):
    """Move the rows of a node: those left of the edge first, both in their order."""
    left, n_kept = begin, 0
    for i in range(begin, end):
        row = rows[i]
        if codes[row] < edge:
            rows[left] = row
            left += 1
        else:
            kept[n_kept] = row
            n_kept += 1
    for i in range(n_kept):
        rows[left + i] = kept[i]
    return left


@njit(cache=True, nogil=True)
def _split_boxes(boxes, volumes, begin, end, at, column, edge, edges):
    """Write the boxes left of an edge from `at` on, then those right of it; return both ends."""
    n_left = at
    for side in range(2):
        for box in range(begin, end):
            low, high = boxes[box, column, 0], boxes[box, column, 1]
            if (high <= edge and side == 1) or (low >= edge and side == 0):
                continue
            _copy(boxes[box], boxes[at])
            volumes[at] = volumes[box]
            if low < edge < high:
                boxes[at, column, 1 - side] = edge
                length = edges[edge] - edges[low] if side == 0 else edges[high] - edges[edge]
                volumes[at] *= length / (edges[high] - edges[low])
            at += 1
        if side == 0:
            n_left = at
    return n_left, at


@njit(cache=True, nogil=True)
def _on_the_left(local, sums):
    """Return which leaves have more of the union's volume than of its rows."""
    is_left = np.zeros(len(local), np.bool_)
    for i in range(len(local)):
        if local[i, 0] < 0:
            is_left[i] = sums[i, 1] * sums[0, 0] > sums[i, 0] * sums[0, 1]
    return is_left


@njit(cache=True, nogil=True)
def _is_split(local, is_left):
    n_left, n_right = 0, 0
    for i in range(len(local)):
        if local[i, 0] < 0:
            n_left += is_left[i]
            n_right += not is_left[i]
    return n_left > 0 and n_right > 0


@njit(cache=True, nogil=True)
def _keep(local, sums, i, at, n_nodes, n_unions, is_left, union, node, node_sums):
    """Write a local tree's node with its final numbers."""
    number = n_nodes + i
    node[number, 0], node[number, 1] = local[i, 0], local[i, 1]
    _copy(sums[i], node_sums[number])
    if local[i, 0] >= 0:
        node[number, 2], node[number, 3] = n_nodes + local[i, 2], n_nodes + local[i, 3]
        node[number, 5] = at
    else:
        node[number, 2], node[number, 3] = -1, -1
        node[number, 5] = n_unions + (0 if is_left[i] else 1)
    if i:
        node[number, 4] = n_nodes + local[i, 4]
    else:
        node[number, 4] = union[union[at, 0], 4] if union[at, 0] >= 0 else -1


@njit(cache=True, nogil=True)
def _n_boxes(local, ranges):
    n_boxes = 0
    for i in range(len(local)):
        if local[i, 0] < 0:
            n_boxes += ranges[i, 3] - ranges[i, 2]
    return n_boxes


@njit(cache=True, nogil=True)
def _make_children(
    local, sums, ranges, local_boxes, local_volumes, is_left, at, n_unions, rows, union,
    union_sums, blocks, boxes, volumes, n_boxes, moved,
):  # fmt: skip
    """Collect the rows and the boxes of both new unions; return the number of boxes."""
    row = blocks[at, 0]
    _copy(rows[row : blocks[at, 1]], moved)
    offset = row
    for side in range(2):
        child = n_unions + side
        union[child] = -1
        union[child, 0], union[child, 3] = at, union[at, 3] + 1
        union_sums[child] = 0.0
        blocks[child, 0], blocks[child, 2] = row, n_boxes
        for i in range(len(local)):
            if local[i, 0] >= 0 or is_left[i] == (side == 1):
                continue
            union_sums[child, 0] += sums[i, 0]
            union_sums[child, 1] += sums[i, 1]
            for j in range(ranges[i, 0], ranges[i, 1]):
                rows[row] = moved[j - offset]
                row += 1
            for box in range(ranges[i, 2], ranges[i, 3]):
                _copy(local_boxes[box], boxes[n_boxes])
                volumes[n_boxes] = local_volumes[box]
                n_boxes += 1
        blocks[child, 1], blocks[child, 3] = row, n_boxes
    return n_boxes


@njit(cache=True, nogil=True)
def number_places(union):
    """Number the unions from left to right, each before both its children."""
    pending = np.empty(len(union), np.int64)
    pending[0], n_pending, place = 0, 1, 0
    while n_pending:
        n_pending -= 1
        at = pending[n_pending]
        union[at, 5] = place
        place += 1
        if union[at, 1] >= 0:
            pending[n_pending], pending[n_pending + 1] = union[at, 2], union[at, 1]
            n_pending += 2


@njit(cache=True, nogil=True)
def _with_room(values, size):
    """Return the array with room for `size` values; it doubles when it has to grow."""
    if size <= len(values):
        return values
    longer = np.empty((max(size, 2 * len(values)), *values.shape[1:]), values.dtype)
    _copy(values, longer)
    return longer


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy all values to the beginning of another array, both without gaps.

    Assignment to a slice also compiles the text of its error: seconds for every such kernel.
    """
    source, target = source.reshape(-1), target.reshape(-1)
    for i in range(source.size):
        target[i] = source[i]


@njit(cache=True, nogil=True)
def _mixed(seed, union, node):
    return _next(seed ^ (np.uint64(union) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)))


@njit(cache=True, nogil=True)
def _next(state):
    """One step of SplitMix64: states that differ in one bit give unrelated numbers."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) + np.uint64(0x9E3779B97F4A7C15)

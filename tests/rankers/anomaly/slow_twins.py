"""Density trees with every box and every cut written out, and rows spread evenly."""

from typing import NamedTuple

import numpy as np

from toprank.rankers.anomaly.volume_bins import VolumeBins


class Part(NamedTuple):
    """Some rows of a grid and their boxes: two edges per column and box."""

    rows: np.ndarray
    boxes: np.ndarray


class Replayed(NamedTuple):
    """The parts of every node and union of a tree; `owner` is the union that a node splits."""

    nodes: dict[int, Part]
    unions: dict[int, Part]
    owner: dict[int, int]
    depth: dict[int, int]


def edges_of(space, column):
    return space.position[space.starts[column] : space.starts[column + 1]]


def volume(part, space):
    """Add up the boxes, each the product of its lengths."""
    lengths = [
        np.diff(edges_of(space, column)[part.boxes[:, column]], axis=1)[:, 0]
        for column in range(len(space.codes))
    ]
    return float(np.prod(lengths, axis=0).sum())


def whole(space, rows):
    last = np.diff(space.starts) - 1
    return Part(np.asarray(rows), np.stack([np.zeros_like(last), last], axis=1)[None])


def cut(part, space, column, edge):
    """Return what is left of an edge and what is right of it."""
    is_left = space.codes[column, part.rows] < edge
    sides = []
    for side, rows in enumerate((part.rows[is_left], part.rows[~is_left])):
        boxes = part.boxes.copy()
        clip = np.minimum if side == 0 else np.maximum
        boxes[:, column] = clip(boxes[:, column], edge)
        sides.append(Part(rows, boxes[boxes[:, column, 0] < boxes[:, column, 1]]))
    return sides


def impurity(part, union, space):
    g, h = part.rows.size / union.rows.size, volume(part, space) / volume(union, space)
    return g * h / (g + h) if g + h > 0 else 0.0


def cut_scores(part, union, space, min_leaf=0.0, n_rows=None):
    """Return the score of every cut that leaves enough rows, volume counted too, on both sides."""
    n_rows = space.codes.shape[1] if n_rows is None else n_rows
    scores = {}
    for column in range(len(space.codes)):
        for edge in range(1, edges_of(space, column).size - 1):
            sides = cut(part, space, column, edge)
            if all(len(side.boxes) for side in sides) and all(
                side.rows.size + n_rows * volume(side, space) >= min_leaf for side in sides
            ):
                scores[column, edge] = sum(impurity(side, union, space) for side in sides)
    return scores


def replayed(tree, space, rows):
    """Send the rows and the whole space through a tree's cuts, parents first."""
    column, edge, left, right, _, union_of = tree.node.T
    nodes, owner, depth = {}, {}, {}
    unions = {0: whole(space, rows)}
    for union, root in enumerate(tree.union[:, 4].tolist()):
        if root < 0:
            continue
        nodes[root], owner[root], depth[root] = unions[union], union, 0
        pending, ends = [root], []
        while pending:
            node = pending.pop()
            if column[node] < 0:
                ends.append(node)
                continue
            children = (int(left[node]), int(right[node]))
            for child, part in zip(
                children, cut(nodes[node], space, column[node], edge[node]), strict=True
            ):
                nodes[child], owner[child], depth[child] = part, union, depth[node] + 1
                pending.append(child)
        for child in tree.union[union, 1:3].tolist():
            parts = [nodes[node] for node in ends if union_of[node] == child]
            unions[child] = Part(
                np.concatenate([part.rows for part in parts]),
                np.concatenate([part.boxes for part in parts]),
            )
    return Replayed(nodes, unions, owner, depth)


def even_rows(grid, box, n, generator):
    """Draw rows evenly from the lines that the grid measures lengths on."""
    rows = np.empty((n, len(grid.codes)), dtype=np.float32)
    for column in range(len(grid.codes)):
        first, last = grid.starts[column], grid.starts[column + 1]
        position = grid.position[first:last]
        at = generator.random(n)
        code = np.searchsorted(position, at, side="right") - 1
        category = grid.category[first:last][code]
        ends = np.clip(grid.threshold[first:last], box.low[column], box.high[column])
        share = (at - position[code]) / (position[code + 1] - position[code])
        value = ends[code] + share * (ends[code + 1] - ends[code])
        # missing values come after the last number, beyond its upper bound
        is_missing = np.isinf(grid.threshold[first:last][code]) & (code > 0)
        if not np.isfinite(box.low[column]):
            value = category
            is_missing = category < 0
        rows[:, column] = np.where(is_missing, np.nan, value)
    return rows


def made_space(n_rows, sizes, seed, is_even=False):
    """Rows in bins of a few columns, most of them in the first bins."""
    generator = np.random.default_rng(seed)
    codes = [(size * generator.random(n_rows) ** 2).astype(np.uint16) for size in sizes]
    if is_even:
        edges = [np.linspace(0, 1, size + 1) for size in sizes]
    else:
        lengths = [generator.uniform(0.1, 1, size) for size in sizes]
        edges = [np.append(0, np.cumsum(each) / each.sum()) for each in lengths]
    starts = np.cumsum([0, *(size + 1 for size in sizes)])
    position = np.concatenate(edges)
    none = np.full(position.size, -1, np.int32)
    return VolumeBins(
        np.stack(codes), starts, position, np.full(position.size, np.nan), none, position
    )

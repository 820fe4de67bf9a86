"""The trees of boosters and of forests as nodes of an ONNX graph."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.integrations.onnx_graph import LESS, MEMBER, Cuts, OnnxGraph
from toprank.rankers.boosted import flat_trees
from toprank.rankers.trees.kernel.meta_tree import MetaTrees


def booster_sum(graph: OnnxGraph, features: str, booster: Any) -> str:
    """Return the raw score of a booster, as one column.

    XGBoost compares floats, value < cut, and adds them up tree by tree, and so does the graph.
    """
    flat = flat_trees.of(booster)
    nodes, is_inner = flat.nodes, flat.nodes.child >= 0
    if not is_inner.any():
        return everywhere(
            graph, features, float(flat.raw(np.zeros((1, flat.n_features), np.float32))[0])
        )
    number, inner = _numbers(is_inner), np.flatnonzero(is_inner)
    left = nodes.child[inner]
    by_set = nodes.set_start[inner] >= 0
    missing_left = nodes.is_missing_left[inner]
    cuts = Cuts(
        nodes.column[inner].astype(np.int64),
        np.where(by_set, MEMBER, LESS).astype(np.uint8),
        np.where(by_set, 0.0, nodes.cut[inner].astype(np.float64)),
        np.where(by_set, ~missing_left, missing_left),
        # those of a set go right, those below a cut go left
        number[np.where(by_set, left + 1, left)],
        number[np.where(by_set, left, left + 1)],
        {
            int(place): np.flatnonzero(_bits(nodes, inner[place])).tolist()
            for place in np.flatnonzero(by_set)
        },
    )
    # trees without a cut, and the start, are cuts whose sides are the same leaf
    leaves = np.append(nodes.cut[~is_inner], flat.start)
    roots = np.append(number[flat.first[:-1]], ~(leaves.size - 1))
    roots = np.roll(roots, 1)  # XGBoost begins with the start
    alone = np.flatnonzero(roots < 0)
    cuts = cuts.and_constants(roots[alone])
    roots[alone] = inner.size + np.arange(alone.size)
    single = graph.cast(features, "float")
    return graph.cast(graph.trees(single, roots, cuts, leaves), "double")


def forest_sum(graph: OnnxGraph, features: str, trees: MetaTrees, values: NDArray) -> str:
    """Return the sum, over the trees of trees, of the value of the leaf that a row ends in.

    Several leaves of a local tree lead to the same next one, which ONNX's own trees do not allow.
    So all rows walk down all trees together, a cut per step; where they are is a matrix of node
    numbers with a row per row and a column per tree. A group's leaf leads to itself.
    """
    nodes = trees.nodes
    here = np.arange(nodes.column.size)
    is_end = nodes.left < 0
    onward, depth = here.copy(), np.zeros(here.size, dtype=np.int64)
    for node in reversed(here):  # what a node leads to comes after it
        if is_end[node]:
            continue
        left, right = nodes.left[node], nodes.right[node]
        if nodes.column[node] < 0:  # a leaf that leads to the next local tree
            onward[node], depth[node] = onward[left], depth[left]
        else:
            depth[node] = 1 + max(depth[left], depth[right])
    left, right = (np.where(is_end, here, onward[side]) for side in (nodes.left, nodes.right))
    table = _WalkTable(
        column=graph.constant(np.maximum(nodes.column, 0), np.int64),
        threshold=graph.constant(nodes.threshold),
        is_missing_left=graph.constant(nodes.is_missing_left, np.bool_),
        set_start=graph.constant(nodes.set_start, np.int64),
        goes_left=graph.constant(np.append(trees.goes_left, False), np.bool_),
        left=graph.constant(left, np.int64),
        right=graph.constant(right, np.int64),
    )
    start = graph.node("Add", _zeros(graph, features), graph.constant([onward[trees.roots]], "i8"))
    ends = graph.repeated(
        start, int(depth.max(initial=0)), lambda body, node: table.step(body, features, node)
    )
    found = graph.node("Gather", graph.constant(values), ends, axis=0)
    return graph.node("ReduceSum", found, graph.constant([1], np.int64), keepdims=1)


class _WalkTable(NamedTuple):
    """The facts of every node, as constants of a graph."""

    column: str
    threshold: str
    is_missing_left: str
    set_start: str
    goes_left: str
    left: str
    right: str

    def step(self, graph: OnnxGraph, features: str, node: str) -> str:
        """Return the nodes that come after these."""

        def of(table: str, places: str) -> str:
            return graph.node("Gather", table, places, axis=0)

        value = graph.node("GatherElements", features, of(self.column, node), axis=1)
        is_missing = graph.node("IsNaN", value)
        is_below = graph.node("LessOrEqual", value, of(self.threshold, node))
        # where a cut compares numbers, the code read is the first one, and not used
        start = of(self.set_start, node)
        is_set = graph.node("GreaterOrEqual", start, graph.constant([[0]], np.int64))
        is_code = graph.node("And", is_set, graph.node("Not", is_missing))
        code = graph.node("Where", is_code, value, graph.constant([[0.0]]))
        place = graph.node("Add", start, graph.cast(code, "int64"))
        place = graph.node("Where", is_code, place, graph.constant([[0]], np.int64))
        is_left = _either(graph, is_set, of(self.goes_left, place), is_below)
        is_left = _either(graph, is_missing, of(self.is_missing_left, node), is_left)
        return graph.node("Where", is_left, of(self.left, node), of(self.right, node))


def _either(graph: OnnxGraph, condition: str, yes: str, no: str) -> str:
    """Return one of two truths: runtimes have no Where for them."""
    other = graph.node("And", graph.node("Not", condition), no)
    return graph.node("Or", graph.node("And", condition, yes), other)


def _zeros(graph: OnnxGraph, features: str) -> str:
    """Return a column of whole zeros."""
    first = graph.columns(features, [0])
    is_there = graph.node("Equal", first, first)
    nothing = graph.node("And", is_there, graph.node("Not", is_there))
    return graph.cast(nothing, "int64")


def everywhere(graph: OnnxGraph, features: str, value: float) -> str:
    """Return the same number for every row."""
    zeros = graph.cast(_zeros(graph, features), "double")
    return graph.node("Add", zeros, graph.constant([[value]]))


def _numbers(is_inner: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of every node among the inner ones, or ~ its number among the leaves."""
    return np.where(is_inner, np.cumsum(is_inner) - 1, ~(np.cumsum(~is_inner) - 1))


def _bits(nodes: flat_trees.FlatNodes, node: int) -> NDArray[np.uint8]:
    start, size = int(nodes.set_start[node]), int(nodes.set_size[node])
    return np.unpackbits(nodes.goes_right[start : start + size // 8], bitorder="little")

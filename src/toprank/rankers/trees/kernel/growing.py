"""Local trees, many at a time: all nodes of one depth are cut in one step.

The trees of a whole level of a ranking tree, or those of many trees of a forest, grow together.
Nodes are numbered level by level, so that a parent comes before its children.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.trees.kernel.binning import Binned
from toprank.rankers.trees.kernel.cuts import CRITERIA, best_cuts
from toprank.rankers.trees.kernel.partition import split_rows, totals

NO_WEIGHT = np.empty(0)
"""The weights that kernels get when there are none."""


@dataclass(frozen=True)
class Growth:
    """How local trees grow.

    No leaf has less mass than `min_leaf`. `is_balanced` gives both classes the same mass at the
    root of every local tree; `n_tried` is how many columns, drawn for every node, are tried
    (None: all).
    """

    criterion: str
    depth: int
    min_leaf: float = 1
    is_balanced: bool = False
    n_tried: int | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that trees grow on, with target and weight; growing reorders all three."""

    rows: NDArray[np.int32]
    target: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        rows: NDArray[np.integer],
        target: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
    ) -> "Sample":
        """Return some rows (by number, repeated if drawn twice) of all targets and weights."""
        weights = NO_WEIGHT if weight is None else weight[rows].astype(np.float64, copy=False)
        return cls(rows.astype(np.int32), target[rows], weights)

    def totals(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return rows, mass and hits of each block of rows."""
        return totals(self.target, self.weight, begins, ends)


class LocalTrees(NamedTuple):
    """Nodes of several local trees; the roots come first.

    A leaf has column -1 and no children. Node i holds the rows begin[i] to end[i] of the sample.
    A cut sends `value <= threshold` to the left, a category by goes_left[set_start + its code].
    """

    root: NDArray[np.int32]
    parent: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    is_missing_left: NDArray[np.bool_]
    set_start: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    totals: NDArray[np.float64]
    gain: NDArray[np.float64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    goes_left: NDArray[np.bool_]


class _Level(NamedTuple):
    """The nodes of one depth."""

    root: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    totals: NDArray[np.float64]
    carried: NDArray[np.float64]
    seed: NDArray[np.uint64]


class _Cuts(NamedTuple):
    """The best cuts of a level, as `best_cuts` returns them, with the sides of categories only."""

    places: NDArray[np.int64]
    numbers: NDArray[np.float64]
    sides: NDArray[np.uint8]


_NO_CUTS = _Cuts(np.empty((0, 5), np.int64), np.empty((0, 5)), np.empty((0, 0), np.uint8))


def grow(
    binned: Binned,
    sample: Sample,
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    growth: Growth,
) -> LocalTrees:
    """Return one local tree for each block of the sample's rows, which end up in leaf order."""
    sums = sample.totals(begins, ends)
    factors = _class_factors(sums, growth)
    roots = np.arange(begins.size, dtype=np.int32)
    level = _Level(roots, begins, ends, sums, 1 - sums[:, 2] / sums[:, 1], seeds)
    levels, cuts = [], []
    for _ in range(growth.depth):
        levels.append(level)
        found = _best_cuts(binned, sample, level, factors, growth)
        cuts.append(_with_used_sides(binned, found))
        level = _below(binned, sample, level, found)
        if not level.root.size:
            break
    levels.append(level)
    return _assembled(binned, levels, cuts)


def _with_used_sides(binned: Binned, cuts: _Cuts) -> _Cuts:
    """Return the cuts with the sides of only those that split categories."""
    if not cuts.sides.size:
        return cuts
    return cuts._replace(sides=cuts.sides[_is_set(binned, cuts.places)])


def _class_factors(sums: NDArray[np.float64], growth: Growth) -> NDArray[np.float64]:
    """Return what a positive weighs at each root."""
    if not growth.is_balanced:
        return np.ones(len(sums))
    others = sums[:, 1] - sums[:, 2]
    return np.divide(others, sums[:, 2], out=np.ones(len(sums)), where=sums[:, 2] > 0)


def _best_cuts(
    binned: Binned, sample: Sample, level: _Level, factors: NDArray[np.float64], growth: Growth
) -> _Cuts:
    n_tried = binned.n_columns if growth.n_tried is None else growth.n_tried
    # a limit of one row is none, however little a row weighs
    min_leaf = 0.0 if growth.min_leaf <= 1 else float(growth.min_leaf)
    found = best_cuts(
        binned.codes, binned.starts, binned.is_category, sample.rows, sample.target,
        sample.weight, level.begin, level.end, level.totals, factors[level.root], level.carried,
        level.seed, CRITERIA[growth.criterion], n_tried, min_leaf,
    )  # fmt: skip
    return _Cuts(*found)


def _below(binned: Binned, sample: Sample, level: _Level, cuts: _Cuts) -> _Level:
    """Return the children of the nodes that are cut, their rows moved to either side."""
    children = split_rows(
        binned.codes, binned.is_category, sample.rows, sample.target, sample.weight, level.root,
        level.begin, level.end, level.totals, level.seed, *cuts,
    )  # fmt: skip
    return _Level(*children)


def _assembled(binned: Binned, levels: list[_Level], cuts: list[_Cuts]) -> LocalTrees:
    """Return the nodes of all levels. Those of the last one have no cuts."""
    nodes = _Level(*(np.concatenate(parts) for parts in zip(*levels, strict=True)))
    found = zip(*(cuts or [_NO_CUTS]), strict=True)
    places, numbers, sides = (np.concatenate(parts) for parts in found)
    n_nodes, n_roots = nodes.root.size, levels[0].root.size
    cut = np.flatnonzero(places[:, 0] >= 0)
    column, left, right, parent = np.full((4, n_nodes), -1, dtype=np.int32)
    threshold, gain = np.full(n_nodes, np.nan), np.zeros(n_nodes)
    is_missing_left = np.zeros(n_nodes, dtype=bool)
    # the children of cut nodes come in the order of their parents, after the roots
    first = n_roots + 2 * np.arange(cut.size, dtype=np.int32)
    column[cut], left[cut], right[cut] = places[cut, 0], first, first + 1
    parent[n_roots:] = np.repeat(cut, 2)
    threshold[cut], gain[cut] = _thresholds(binned, places[cut]), numbers[cut, 0]
    is_missing_left[cut] = places[cut, 3] == 1
    set_start, goes_left = _sets(binned, places, sides, n_nodes)
    return LocalTrees(
        nodes.root, parent, column, threshold, is_missing_left, set_start, left, right,
        nodes.totals, gain, nodes.begin, nodes.end, goes_left,
    )  # fmt: skip


def _thresholds(binned: Binned, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the middle between the values on both sides; NaN for categories.

    It is infinite where only missing values are on the right.
    """
    column, last_left, first_right = places[:, 0], places[:, 1], places[:, 2]
    below = binned.high[binned.starts[column] + last_left]
    above = binned.low[binned.starts[column] + first_right]
    middle = np.where(first_right == places[:, 4], np.inf, below + (above - below) / 2)
    return np.where(binned.is_category[column], np.nan, middle)


def _sets(
    binned: Binned, places: NDArray[np.int64], sides: NDArray[np.uint8], n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return where each node's set of categories begins (-1 without), and all the sets."""
    set_start = np.full(n_nodes, -1, dtype=np.int32)
    if not binned.is_category.any():
        return set_start, np.zeros(0, dtype=bool)
    chosen = np.flatnonzero(_is_set(binned, places))
    sizes = places[chosen, 4]
    set_start[chosen] = np.cumsum(sizes) - sizes
    is_in_set = np.arange(sides.shape[1]) < sizes[:, None]
    return set_start, sides[is_in_set].astype(bool)


def _is_set(binned: Binned, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cuts split categories."""
    return (places[:, 0] >= 0) & binned.is_category[places[:, 0]]

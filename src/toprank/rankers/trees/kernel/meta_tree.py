"""Trees of trees: every union of rows is split by a local tree whose leaves are merged into two.

A union is reached by several paths, so all local trees together are one graph of nodes in which a
leaf of a local tree leads to the root of the next. Unions that are split no further are the
groups, ranked from left to right. The trees of a forest share the same arrays.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.trees.kernel.binning import Binned
from toprank.rankers.trees.kernel.growing import Growth, LocalTrees, Sample, grow
from toprank.rankers.trees.kernel.merging import MERGES, merge
from toprank.rankers.trees.kernel.partition import arrange


class Nodes(NamedTuple):
    """The nodes of all local trees; a node comes before those it leads to.

    A leaf of a local tree has column -1; `union` is the one it leads to, and `left` and `right`
    are the root of that one's local tree, -1 in a group. Other nodes belong to the union they
    split. `parent` of a local root is the root of the local tree above it.
    """

    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    is_missing_left: NDArray[np.bool_]
    set_start: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    union: NDArray[np.int32]
    n_rows: NDArray[np.float64]
    mass: NDArray[np.float64]
    hits: NDArray[np.float64]
    gain: NDArray[np.float64]


_NO_NODES = Nodes(*(np.zeros(0, kind) for kind in ("i4", "f8", "?", *5 * ("i4",), *4 * ("f8",))))


class Unions(NamedTuple):
    """What local trees split; `root` is the first node of the local tree, -1 in a group.

    `place` rises from left to right within a tree; `rank` numbers its groups so, the most
    suspicious first, and is -1 elsewhere.
    """

    tree: NDArray[np.int32]
    parent: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    depth: NDArray[np.int32]
    root: NDArray[np.int32]
    place: NDArray[np.int64]
    rank: NDArray[np.int32]
    n_rows: NDArray[np.float64]
    mass: NDArray[np.float64]
    hits: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MetaTrees:
    """Trees of trees, one or many: `roots` are their first nodes.

    A category goes left at a node when goes_left[set_start + its code].
    """

    nodes: Nodes
    unions: Unions
    roots: NDArray[np.int32]
    goes_left: NDArray[np.bool_]

    @property
    def n_trees(self) -> int:
        return self.roots.size

    @property
    def n_groups(self) -> NDArray[np.int64]:
        """How many groups each tree has."""
        return np.bincount(self.unions.tree[self.unions.rank >= 0], minlength=self.n_trees)

    def ranked_by(self, share: NDArray[np.float64]) -> "MetaTrees":
        """Return the same trees with their groups in falling order of their unions' shares."""
        unions = self.unions
        order = np.lexsort((unions.place, -share))
        moved = unions._replace(place=np.argsort(order).astype(np.int64))
        return replace(self, unions=moved._replace(rank=ranks(moved)))

    def cut_back(self, depth: int) -> "MetaTrees":
        """Return the top of every tree: what growing it to this global depth would have given."""
        return self.pruned(self.unions.depth >= depth)

    def pruned(self, is_end: NDArray[np.bool_]) -> "MetaTrees":
        """Return the trees in which the unions in `is_end` are split no further."""
        nodes, unions = self.nodes, self.unions
        is_kept = np.ones(is_end.size, dtype=bool)
        for union in np.flatnonzero(unions.parent >= 0):  # parents come first
            above = unions.parent[union]
            is_kept[union] = is_kept[above] and not is_end[above]
        parts = np.where(nodes.column >= 0, nodes.union, unions.parent[nodes.union])
        stays = is_kept[parts] & ~is_end[parts] & (parts >= 0)
        kept = _subset(self, stays, is_kept)
        nodes, roots = _with_roots(kept.nodes, kept.unions)
        unions = kept.unions._replace(rank=ranks(kept.unions))
        return MetaTrees(nodes, unions, roots, self.goes_left)


def grow_meta_trees(
    binned: Binned,
    sample: Sample,
    ends: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    growth: Growth,
    global_depth: int,
    aim: str,
) -> MetaTrees:
    """Return one tree for each block of the sample; block t ends at ends[t], all grow together.

    `aim` is "ap" or "auc": what the leaves of local trees are ordered and merged for.
    """
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    level = _first_level(sample, begins, ends, seeds)
    nodes, unions, sets = [_NO_NODES], list[Unions](), [np.zeros(0, dtype=bool)]
    n_nodes = n_unions = n_sets = 0
    for _ in range(global_depth):
        n_unions += level.unions.tree.size
        done = _split_level(binned, sample, level, growth, aim, _Counts(n_nodes, n_unions, n_sets))
        unions.append(done.unions)
        nodes.append(done.nodes)
        sets.append(done.goes_left)
        n_nodes += done.nodes.column.size
        n_sets += done.goes_left.size
        level = done.below
        if not level.unions.tree.size:
            break
    unions.append(level.unions)
    return finished(nodes, unions, sets)


def joined(parts: list[MetaTrees]) -> MetaTrees:
    """Return the trees of all parts in one."""
    nodes, unions, roots = [], [], []
    n_nodes = n_unions = n_trees = n_sets = 0
    for part in parts:
        nodes.append(_moved(part.nodes, n_nodes, ("left", "right", "parent")))
        nodes[-1] = _moved(nodes[-1], n_unions, ("union",))
        nodes[-1] = _moved(nodes[-1], n_sets, ("set_start",))
        unions.append(_moved(part.unions, n_unions, ("parent", "left", "right")))
        unions[-1] = _moved(unions[-1], n_nodes, ("root",))
        unions[-1] = _moved(unions[-1], n_trees, ("tree",))
        roots.append(part.roots + np.int32(n_nodes))
        n_nodes += part.nodes.column.size
        n_unions += part.unions.tree.size
        n_sets += part.goes_left.size
        n_trees += part.n_trees
    return MetaTrees(
        Nodes(*map(np.concatenate, zip(*nodes, strict=True))),
        Unions(*map(np.concatenate, zip(*unions, strict=True))),
        np.concatenate(roots),
        np.concatenate([part.goes_left for part in parts]),
    )


def one_of(trees: MetaTrees, number: int) -> MetaTrees:
    """Return one of the trees by itself."""
    is_union = trees.unions.tree == number
    is_node = is_union[trees.nodes.union]
    one = _subset(trees, is_node, is_union)
    tree = np.zeros_like(one.unions.tree)
    root = _numbers(is_node)[trees.roots[[number]]]
    return MetaTrees(one.nodes, one.unions._replace(tree=tree), root, one.goes_left)


def ranks(unions: Unions) -> NDArray[np.int32]:
    """Return the groups' ranks from left to right, tree by tree; -1 for unions that are split."""
    rank = np.full(unions.tree.size, -1, np.int32)
    groups = np.flatnonzero(unions.root < 0)
    groups = groups[np.lexsort((unions.place[groups], unions.tree[groups]))]
    first = np.searchsorted(unions.tree[groups], unions.tree[groups])
    rank[groups] = np.arange(groups.size) - first
    return rank


class _Counts(NamedTuple):
    """The numbers of nodes, unions and sides so far, from which new ones are numbered."""

    nodes: int
    unions: int
    sides: int


class _MetaLevel(NamedTuple):
    """The unions of one global depth with their rows, before they are split."""

    unions: Unions
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    seed: NDArray[np.uint64]
    root_before: NDArray[np.int32]


class _SplitLevel(NamedTuple):
    """A level's unions after the split, the nodes that split them, and the level below."""

    unions: Unions
    nodes: Nodes
    goes_left: NDArray[np.bool_]
    below: _MetaLevel


def _first_level(
    sample: Sample, begins: NDArray[np.int64], ends: NDArray[np.int64], seeds: NDArray[np.uint64]
) -> _MetaLevel:
    n_trees = ends.size
    none = np.full(n_trees, -1, dtype=np.int32)
    unions = _new_unions(
        np.arange(n_trees, dtype=np.int32), none, 0, begins, sample.totals(begins, ends)
    )
    return _MetaLevel(unions, begins, ends, seeds, none)


def _new_unions(
    tree: NDArray[np.int32],
    parent: NDArray[np.int32],
    depth: int,
    place: NDArray[np.int64],
    totals: NDArray[np.float64],
) -> Unions:
    none = np.full(tree.size, -1, dtype=np.int32)
    depths = np.full(tree.size, depth, dtype=np.int32)
    return Unions(
        tree, parent, none, none.copy(), depths, none.copy(), place, none.copy(), *totals.T.copy()
    )


def _split_level(
    binned: Binned, sample: Sample, level: _MetaLevel, growth: Growth, aim: str, counts: _Counts
) -> _SplitLevel:
    """Split the unions of a level by local trees; `counts.unions` includes the level."""
    unions = level.unions
    impure = np.flatnonzero((unions.hits > 0) & (unions.hits < unions.mass))
    local = grow(
        binned, sample, level.begin[impure], level.end[impure], level.seed[impure], growth
    )
    leaves, starts, is_left = _merged(local, impure.size, aim)
    n_right = np.add.reduceat(~is_left, starts[:-1]) if impure.size else np.zeros(0, int)
    is_split = n_right > 0
    split = impure[is_split]
    first_union = counts.unions - unions.tree.size
    below = _level_below(sample, level, local, leaves, is_left, is_split, split, first_union)
    children = counts.unions + 2 * np.arange(split.size, dtype=np.int32)
    unions.left[split], unions.right[split] = children, children + 1
    nodes, goes_left = _kept_nodes(
        local, leaves, is_left, is_split, first_union + impure, children, counts
    )
    unions.root[split] = counts.nodes + np.arange(split.size)
    nodes.parent[: split.size] = level.root_before[split]
    below = below._replace(root_before=np.repeat(unions.root[split], 2))
    return _SplitLevel(unions, nodes, goes_left, below)


def _merged(
    local: LocalTrees, n_roots: int, aim: str
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the leaves by root, from left to right, where each root's begin, and their side."""
    leaves = np.flatnonzero(local.column < 0)
    leaves = leaves[np.lexsort((local.begin[leaves], local.root[leaves]))]
    starts = np.searchsorted(local.root[leaves], np.arange(n_roots + 1)).astype(np.int64)
    mass, hits = local.totals[leaves, 1], local.totals[leaves, 2]
    return leaves, starts, merge(starts, mass, hits, MERGES[aim])


def _level_below(
    sample: Sample,
    level: _MetaLevel,
    local: LocalTrees,
    leaves: NDArray[np.intp],
    is_left: NDArray[np.bool_],
    is_split: NDArray[np.bool_],
    split: NDArray[np.intp],
    first_union: int,
) -> _MetaLevel:
    """Return the unions of leaves, left and right in pairs, with their rows made contiguous."""
    chosen = is_split[local.root[leaves]]
    leaves, is_left = leaves[chosen], is_left[chosen]
    child = 2 * (np.cumsum(is_split) - 1)[local.root[leaves]] + ~is_left
    order = np.argsort(child, kind="stable")
    leaves, child = leaves[order], child[order]
    sizes = local.end[leaves] - local.begin[leaves]
    firsts = np.searchsorted(child, np.arange(2 * split.size))
    begin = np.repeat(level.begin[split], 2)
    totals = np.zeros((2 * split.size, 3))
    if split.size:
        totals = np.add.reduceat(local.totals[leaves], firsts, axis=0)
        begin[1::2] += totals[::2, 0].astype(np.int64)
        # a leaf's block comes after the earlier ones of its union
        before = np.cumsum(sizes) - sizes
        at = begin[child] + before - before[firsts][child]
        arrange(sample.rows, sample.target, sample.weight, local.begin, local.end, leaves, at)
    end = begin + totals[:, 0].astype(np.int64)
    twice = np.repeat(split, 2)
    unions = _new_unions(
        level.unions.tree[twice],
        (first_union + twice).astype(np.int32),
        int(level.unions.depth[0]) + 1,
        begin,
        totals,
    )
    seed = level.seed[twice] * np.uint64(0x5851F42D4C957F2D)
    seed[1::2] ^= np.uint64(0x14057B7EF767814F)
    return _MetaLevel(unions, begin, end, seed, np.zeros(0, np.int32))


def _kept_nodes(
    local: LocalTrees,
    leaves: NDArray[np.intp],
    is_left: NDArray[np.bool_],
    is_split: NDArray[np.bool_],
    union_of_root: NDArray[np.intp],
    children: NDArray[np.int32],
    counts: _Counts,
) -> tuple[Nodes, NDArray[np.bool_]]:
    """Return the nodes of the local trees that split their union, with their final numbers."""
    union = union_of_root[local.root].astype(np.int32)
    left_child = np.full(is_split.size, -1, np.int32)
    left_child[is_split] = children
    union[leaves] = left_child[local.root[leaves]] + ~is_left
    stays = is_split[local.root]
    number = np.append(counts.nodes + np.cumsum(stays) - 1, -1).astype(np.int32)
    set_start = np.where(local.set_start < 0, -1, local.set_start + counts.sides)
    n_rows, mass, hits = local.totals[stays].T.copy()
    nodes = Nodes(
        local.column[stays],
        local.threshold[stays],
        local.is_missing_left[stays],
        set_start[stays].astype(np.int32),
        number[local.left[stays]],
        number[local.right[stays]],
        number[local.parent[stays]],
        union[stays],
        n_rows,
        mass,
        hits,
        local.gain[stays],
    )
    return nodes, local.goes_left


def finished(nodes: list[Nodes], unions: list[Unions], sets: list[NDArray[np.bool_]]) -> MetaTrees:
    all_unions = Unions(*(np.concatenate(parts) for parts in zip(*unions, strict=True)))
    all_nodes = Nodes(*(np.concatenate(parts) for parts in zip(*nodes, strict=True)))
    is_leaf = all_nodes.column < 0
    onward = all_unions.root[all_nodes.union[is_leaf]]
    all_nodes.left[is_leaf], all_nodes.right[is_leaf] = onward, onward
    all_nodes, roots = _with_roots(all_nodes, all_unions)
    all_unions = all_unions._replace(rank=ranks(all_unions))
    return MetaTrees(all_nodes, all_unions, roots, np.concatenate(sets))


def _with_roots(nodes: Nodes, unions: Unions) -> tuple[Nodes, NDArray[np.int32]]:
    """Return the first node of every tree; a tree that is not split gets a single leaf."""
    first = np.flatnonzero(unions.parent < 0).astype(np.int32)
    roots = unions.root[first]
    lone = first[roots < 0]
    roots[roots < 0] = nodes.column.size + np.arange(lone.size)
    none = np.full(lone.size, -1, np.int32)
    leaf = Nodes(
        none, np.full(lone.size, np.nan), np.zeros(lone.size, bool), none, none, none, none, lone,
        unions.n_rows[lone], unions.mass[lone], unions.hits[lone], np.zeros(lone.size),
    )  # fmt: skip
    both: Any = zip(nodes, leaf, strict=True)
    return Nodes._make(np.concatenate(pair) for pair in both), roots


def _subset(
    trees: MetaTrees, is_node: NDArray[np.bool_], is_union: NDArray[np.bool_]
) -> MetaTrees:
    """Return some of the nodes and unions; a link to one that is left out becomes -1."""
    node_number, union_number = _numbers(is_node), _numbers(is_union)
    nodes = Nodes._make(values[is_node] for values in trees.nodes)
    unions = Unions._make(values[is_union] for values in trees.unions)
    nodes = nodes._replace(
        left=node_number[nodes.left],
        right=node_number[nodes.right],
        parent=node_number[nodes.parent],
        union=union_number[nodes.union],
    )
    unions = unions._replace(
        parent=union_number[unions.parent],
        left=union_number[unions.left],
        right=union_number[unions.right],
        root=node_number[unions.root],
    )
    return MetaTrees(nodes, unions, node_number[trees.roots], trees.goes_left)


def _moved(part: Any, by: int, names: tuple[str, ...]) -> Any:
    """Return the arrays with these indices raised; -1 stays -1."""
    columns = part._asdict()
    raised = {
        name: np.where(columns[name] < 0, -1, columns[name] + by).astype(np.int32)
        for name in names
    }
    return part._replace(**raised)


def _numbers(is_kept: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return new numbers for what is kept and -1 for the rest; number -1 stays -1."""
    numbers = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    return np.append(numbers, -1).astype(np.int32)

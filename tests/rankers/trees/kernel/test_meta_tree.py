"""Trees of trees: the groups of a recursion, the same however they are grown or cut back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from rankers.trees.kernel.test_cuts import made_table, tables
from toprank.rankers.trees import scoring
from toprank.rankers.trees.kernel.growing import Growth, Sample
from toprank.rankers.trees.kernel.merging import MERGES
from toprank.rankers.trees.kernel.meta_tree import grow_meta_trees

pytestmark = pytest.mark.kernel

EVERY_AIM = pytest.mark.parametrize("aim", MERGES)
CLASSES = ("gini", "entropy", "ap", "error")


@st.composite
def growths(draw):
    return Growth(
        draw(st.sampled_from(CLASSES)),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([1, 2, 5])),
        draw(st.booleans()),
    )


def grown(table, growth, global_depth, aim="ap", blocks=None, seeds=None, max_bins=255):
    """One tree for each block of rows, one of all rows unless blocks are given."""
    blocks = [np.arange(table.is_positive.size)] if blocks is None else blocks
    sample = Sample.of(np.concatenate(blocks), table.is_positive, table.weight)
    ends = np.cumsum([block.size for block in blocks])
    seeds = np.arange(len(blocks)) + 1 if seeds is None else seeds
    return grow_meta_trees(
        table.binned(max_bins), sample, ends, np.array(seeds, np.uint64), growth, global_depth, aim
    )


def ranks_of(tree, features, number=0):
    """The rank of each row's group."""
    return tree.unions.rank[tree.nodes.union[scoring.leaves(tree, features, number)]]


def arrays_of(tree):
    yield from tree.nodes._asdict().items()
    yield from ((f"union {name}", values) for name, values in tree.unions._asdict().items())
    yield "roots", tree.roots
    yield "goes_left", tree.goes_left


def assert_same(one, other, but=()):
    for (name, values), (_, expected) in zip(arrays_of(one), arrays_of(other), strict=True):
        if name not in but:
            assert np.array_equal(values, expected, equal_nan=name == "threshold"), name


@EVERY_AIM
@given(table=tables(), growth=growths(), global_depth=st.integers(1, 3))
@examples(80)
def test_groups_are_those_of_a_tree_grown_by_recursion(aim, table, growth, global_depth):
    tree = grown(table, growth, global_depth, aim)
    expected = reference.ranking_tree(
        table.features, table.is_category, table.is_positive, table.masses, growth, global_depth,
        aim,
    )  # fmt: skip
    assert ranks_of(tree, table.features).tolist() == expected.tolist()


@EVERY_AIM
@given(table=tables(), growth=growths(), max_bins=st.sampled_from([3, 255]))
@examples(60)
def test_the_rows_walked_to_every_node_are_those_it_was_grown_on(aim, table, growth, max_bins):
    tree = grown(table, growth, 3, aim, max_bins=max_bins)
    walked = np.zeros((tree.nodes.column.size, 3))
    for row, positive, mass in zip(table.features, table.is_positive, table.masses, strict=True):
        walked[reference.path_of(tree, row)] += [1, mass, mass * positive]
    nodes, unions = tree.nodes, tree.unions
    assert walked == approx(np.column_stack([nodes.n_rows, nodes.mass, nodes.hits]))
    rank = ranks_of(tree, table.features)
    groups = np.flatnonzero(unions.rank >= 0)
    groups = groups[np.argsort(unions.rank[groups])]
    assert unions.rank[groups].tolist() == list(range(tree.n_groups[0]))
    assert unions.n_rows[groups].tolist() == np.bincount(rank, minlength=groups.size).tolist()
    assert unions.mass[groups] == approx(np.bincount(rank, table.masses))
    assert unions.hits[groups] == approx(np.bincount(rank, table.masses * table.is_positive))


@EVERY_AIM
@given(table=tables(), growth=growths())
@examples(40)
def test_nodes_and_unions_lead_to_one_another_as_promised(aim, table, growth):
    tree = grown(table, growth, 3, aim)
    nodes, unions = tree.nodes, tree.unions
    everyone = np.arange(nodes.column.size)
    is_leaf = nodes.column < 0
    assert (nodes.left[nodes.left >= 0] > everyone[nodes.left >= 0]).all()
    assert (nodes.left[is_leaf] == nodes.right[is_leaf]).all()
    assert (nodes.left[is_leaf] == unions.root[nodes.union[is_leaf]]).all()
    for node in np.flatnonzero(~is_leaf):
        for onward in (nodes.left[node], nodes.right[node]):
            assert nodes.parent[onward] == node
    for union in np.flatnonzero(unions.root >= 0):
        root, halves = unions.root[union], [unions.left[union], unions.right[union]]
        assert nodes.union[root] == union
        assert unions.rank[union] == -1
        assert unions.parent[halves].tolist() == [union, union]
        assert unions.depth[halves].tolist() == [unions.depth[union] + 1] * 2
        assert unions.n_rows[halves].sum() == unions.n_rows[union] == nodes.n_rows[root]
        above = unions.parent[union]
        assert nodes.parent[root] == (-1 if above < 0 else unions.root[above])
        assert unions.place[halves[0]] < unions.place[halves[1]]
    assert ((unions.rank >= 0) == (unions.root < 0)).all()


@EVERY_AIM
@given(table=tables(), growth=growths(), depth=st.integers(1, 4))
@examples(60)
def test_a_tree_cut_back_is_a_tree_grown_less_deep(aim, table, growth, depth):
    cut_back = grown(table, growth, 4, aim).cut_back(depth)
    less_deep = grown(table, growth, depth, aim)
    assert_same(cut_back, less_deep, but=("goes_left",))
    n_sides = less_deep.goes_left.size  # sides of cuts that are gone may stay behind the others
    assert cut_back.goes_left[:n_sides].tolist() == less_deep.goes_left.tolist()


def test_trees_of_a_forest_are_cut_back_together():
    table = made_table(80, ["many", "few", "6"], seed=3)
    blocks = [*np.array_split(np.arange(78), 3), np.array([79])]  # the last has one class
    growth = Growth("entropy", 2)
    deep, less_deep = (grown(table, growth, depth, blocks=blocks) for depth in (4, 2))
    assert_same(deep.cut_back(2), less_deep, but=("goes_left",))
    assert deep.n_groups.tolist() != less_deep.n_groups.tolist()
    assert less_deep.n_groups[-1] == 1


@pytest.mark.parametrize("depth_grown", [0, 2])
def test_a_tree_of_no_depth_is_one_group(depth_grown):
    table = made_table(30, ["many", "few"], seed=1)
    tree = grown(table, Growth("gini", 2), depth_grown).cut_back(0)
    assert tree.n_groups.tolist() == [1]
    assert tree.roots.tolist() == [0]
    assert ranks_of(tree, table.features).tolist() == [0] * 30


def test_pruned_unions_become_groups_and_all_others_stay():
    table = made_table(80, ["many", "few", "6"], seed=3)
    tree = grown(table, Growth("entropy", 2), 3)
    before = ranks_of(tree, table.features)
    union = int(np.flatnonzero((tree.unions.depth == 1) & (tree.unions.root >= 0))[0])
    is_end = np.arange(tree.unions.depth.size) == union
    pruned = tree.pruned(is_end)
    after = ranks_of(pruned, table.features)
    inside = [reference.path_of(tree, row) for row in table.features]
    inside = np.array([tree.unions.root[union] in path for path in inside])
    assert np.unique(after[inside]).size == 1 < np.unique(before[inside]).size
    pairs = set(zip(before[~inside], after[~inside], strict=True))
    assert len(pairs) == np.unique(before[~inside]).size == np.unique(after[~inside]).size
    assert [new for _, new in sorted(pairs)] == sorted(new for _, new in pairs)
    for name, values in tree.pruned(np.zeros_like(is_end)).nodes._asdict().items():
        assert np.array_equal(values, getattr(tree.nodes, name), equal_nan=True)


@EVERY_AIM
@given(table=tables(), growth=growths(), seed=st.integers(0, 1000))
@examples(30)
def test_trees_grown_together_rank_as_trees_grown_alone(aim, table, growth, seed):
    of_tree = np.random.default_rng(seed).integers(0, 3, table.is_positive.size)
    blocks = [np.flatnonzero(of_tree == number) for number in np.unique(of_tree)]
    assert_grown_together_as_alone(table, growth, blocks, aim)


@pytest.mark.parametrize("n_tried", [1, 2, 3])
def test_trees_of_drawn_columns_grown_together_equal_trees_grown_alone(n_tried):
    table = made_table(90, ["many", "few", "6", "many"], seed=2)
    growth = Growth("entropy", 3, n_tried=n_tried)
    assert_grown_together_as_alone(table, growth, np.array_split(np.arange(90), 4), "auc")


def assert_grown_together_as_alone(table, growth, blocks, aim):
    seeds = 5 + 7 * np.arange(len(blocks))
    together = grown(table, growth, 2, aim, blocks, seeds)
    assert together.n_trees == len(blocks)
    for number, block in enumerate(blocks):
        alone = grown(table, growth, 2, aim, [block], seeds[number : number + 1])
        ours, theirs = (
            ranks_of(tree, table.features, place)
            for tree, place in ((alone, 0), (together, number))
        )
        assert theirs.tolist() == ours.tolist()
        in_tree = together.unions.tree == number
        for name in ("depth", "rank", "n_rows", "mass", "hits"):
            values = getattr(together.unions, name)[in_tree]
            assert values.tolist() == getattr(alone.unions, name).tolist()


def test_rows_drawn_twice_count_twice():
    table = made_table(40, ["many", "few"], seed=6)
    drawn = np.random.default_rng(0).integers(0, 40, 40)
    rows, times = np.unique(drawn, return_counts=True)
    growth = Growth("entropy", 3)
    repeated = grown(table, growth, 2, blocks=[drawn])
    weighted = grown(table._replace(weight=np.bincount(drawn, minlength=40) * 1.0), growth, 2,
                     blocks=[rows])  # fmt: skip
    assert_same(repeated, weighted, but=("n_rows", "union n_rows", "union place", "gain"))
    assert repeated.unions.n_rows[0] == times.sum() == 40


@EVERY_AIM
@given(table=tables(), growth=growths(), seed=st.integers(0, 1000))
@examples(30)
def test_the_order_of_rows_changes_nothing(aim, table, growth, seed):
    order = np.random.default_rng(seed).permutation(table.is_positive.size)
    moved = grown(table, growth, 2, aim, blocks=[order])
    assert_same(moved, grown(table, growth, 2, aim))


@EVERY_AIM
@pytest.mark.parametrize("criterion", CLASSES)
def test_weights_without_exact_sums_split_no_union_of_one_class(aim, criterion):
    for seed in range(8):
        table = made_table(40, ["many", "many"], seed, missing=0.0)
        weight = np.random.default_rng(seed).choice([1.1, 1.2, 2.3, 3.7], 40)
        tree = grown(table._replace(weight=weight), Growth(criterion, 3), 4, aim)
        paths = [reference.path_of(tree, row) for row in table.features]
        for root in tree.unions.root[tree.unions.root >= 0]:
            inside = np.array([root in path for path in paths])
            assert np.unique(table.is_positive[inside]).size == 2


@EVERY_AIM
@pytest.mark.parametrize("criterion", CLASSES)
@pytest.mark.parametrize(
    "n_rows, kinds, positives",
    [
        (1, ["many", "6"], 0.5),
        (20, ["many", "6"], 0.0),
        (20, ["many", "6"], 1.0),
        (20, ["constant", "missing"], 0.5),
        (2, ["constant"], 0.5),
    ],
)
def test_what_cannot_be_split_is_one_group(aim, criterion, n_rows, kinds, positives):
    table = made_table(n_rows, kinds, 0, missing=0.0, positives=positives)
    tree = grown(table, Growth(criterion, 3), 3, aim)
    assert tree.n_groups.tolist() == [1]
    assert tree.nodes.column.tolist() == [-1]
    assert (tree.nodes.n_rows[0], tree.unions.n_rows[0]) == (n_rows, n_rows)
    assert ranks_of(tree, table.features).tolist() == [0] * n_rows


def test_a_forest_may_contain_a_tree_that_cannot_be_split():
    table = made_table(40, ["many"], seed=0, missing=0.0)
    blocks = [np.flatnonzero(table.is_positive), np.arange(40), np.flatnonzero(~table.is_positive)]
    tree = grown(table, Growth("gini", 2), 2, blocks=blocks)
    assert tree.n_groups[[0, 2]].tolist() == [1, 1]
    alone = grown(table, Growth("gini", 2), 2)
    assert tree.n_groups[1] == alone.n_groups[0] > 1
    for number in (0, 2):
        assert ranks_of(tree, table.features, number).tolist() == [0] * 40
    assert np.array_equal(ranks_of(tree, table.features, 1), ranks_of(alone, table.features))

"""Density trees: exact volumes, the best cuts, and unions by density."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.anomaly import slow_twins
from rankers.anomaly.slow_twins import made_space
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.density_tree import DensityGrowth, grow
from toprank.rankers.anomaly.union_tree import UnionTree, grow_union_tree
from toprank.rankers.anomaly.volume_bins import VolumeBins, grid_of
from toprank.rankers.trees.scoring import leaves

pytestmark = pytest.mark.kernel

# no sum of rows and volumes meets these by accident, where rounding would decide
LEAST = st.sampled_from([0.4343, 2.7183, 6.2832])


@st.composite
def spaces(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    return made_space(
        draw(st.integers(1, 40)), sizes, draw(st.integers(0, 999)), draw(st.booleans())
    )


def grown(
    space, global_depth=3, local_depth=2, min_leaf=0.5, *, n_tried=99, most_boxes=4096, seed=0,
    rows=None,
):  # fmt: skip
    rows = np.arange(space.codes.shape[1]) if rows is None else rows
    return UnionTree(
        *grow_union_tree(
            space.codes, space.starts, space.position, rows.astype(np.int32), global_depth,
            local_depth, float(min_leaf), n_tried, most_boxes, np.uint64(seed),
        )
    )  # fmt: skip


def replayed(tree, space):
    return slow_twins.replayed(tree, space, np.arange(space.codes.shape[1]))


def groups_of(tree):
    """The numbers of the unions that are split no further, from left to right."""
    groups = np.flatnonzero(tree.union[:, 4] < 0)
    return groups[np.argsort(tree.union[groups, 5])]


def one_column(counts, position):
    """A space of one column with so many rows in each bin."""
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.uint16)[None]
    position = np.array(position, dtype=float)
    none = np.full(position.size, -1, np.int32)
    return VolumeBins(
        codes, np.array([0, position.size]), position, position * np.nan, none, position
    )


def test_a_tree_worked_out_by_hand():
    # 6 rows in a tenth, 1 in six tenths, 3 in three tenths. Cut after the first bin:
    # .6 * .1 / .7 + .4 * .9 / 1.3 = .3626; after the second: .7 * .7 / 1.4 + .3 * .3 / .6 = .5
    space = one_column([6, 1, 3], [0, 0.1, 0.7, 1])
    tree = grown(space, global_depth=1, local_depth=1)
    assert tree.node[:, :2].tolist() == [[0, 1], [-1, -1], [-1, -1]]
    assert tree.node_sums[0] == approx(np.array([10, 1, 0.5 - 0.3626373626]))
    # the emptier side is the left union, though the cut has it on the right
    assert tree.node[1:, 5].tolist() == [2, 1]
    assert tree.union_sums == approx(np.array([[10, 1], [4, 0.9], [6, 0.1]]))


def test_leaves_that_are_no_neighbours_become_one_union():
    space = one_column([1, 20, 1, 20, 1], np.linspace(0, 1, 6))
    tree = grown(space, global_depth=1, local_depth=4)
    assert tree.union_sums == approx(np.array([[43, 1], [3, 0.6], [40, 0.4]]))


@given(space=spaces(), local_depth=st.integers(1, 3), least=LEAST)
@examples(40)
def test_every_sum_is_that_of_the_rows_and_boxes_that_come_there(space, local_depth, least):
    tree = grown(space, local_depth=local_depth, min_leaf=least)
    found = replayed(tree, space)
    assert len(found.nodes) == len(tree.node)
    assert len(found.unions) == len(tree.union)
    for parts, sums in ((found.nodes, tree.node_sums), (found.unions, tree.union_sums)):
        for number, part in parts.items():
            expected = [part.rows.size, slow_twins.volume(part, space)]
            assert sums[number, :2] == approx(expected, abs=1e-12)
    groups = groups_of(tree)
    assert tree.union_sums[groups, 1].sum() == approx(1, abs=1e-12)
    assert tree.union_sums[groups, 0].sum() == space.codes.shape[1]


@given(space=spaces(), local_depth=st.integers(1, 3), least=LEAST)
@examples(40)
def test_every_cut_is_as_good_as_trying_all_columns_and_edges(space, local_depth, least):
    tree = grown(space, local_depth=local_depth, min_leaf=least)
    found = replayed(tree, space)
    for node, part in found.nodes.items():
        union = found.unions[found.owner[node]]
        before = slow_twins.impurity(part, union, space)
        scores = slow_twins.cut_scores(part, union, space, least)
        if tree.node[node, 0] >= 0:
            taken = scores[tuple(tree.node[node, :2])]
            assert taken == approx(min(scores.values()), abs=1e-10)
            assert tree.node_sums[node, 2] == approx(before - taken, abs=1e-10)
            assert tree.node_sums[node, 2] > 0
        elif found.depth[node] < local_depth:
            assert min(scores.values(), default=before) == approx(before, abs=1e-10)


@given(space=spaces(), local_depth=st.integers(1, 3), least=LEAST)
@examples(40)
def test_what_is_not_split_has_no_cut_to_gain_by(space, local_depth, least):
    tree = grown(space, global_depth=3, local_depth=local_depth, min_leaf=least)
    found = replayed(tree, space)
    for number in groups_of(tree):
        part = found.unions[number]
        if tree.union[number, 3] < 3 and part.rows.size:
            scores = slow_twins.cut_scores(part, part, space, least)
            assert min(scores.values(), default=0.5) == approx(0.5, abs=1e-9)


@given(space=spaces(), local_depth=st.integers(1, 3))
@examples(40)
def test_leaves_with_more_of_the_volume_than_of_the_rows_go_left(space, local_depth):
    tree = grown(space, local_depth=local_depth)
    found = replayed(tree, space)
    for node in np.flatnonzero(tree.node[:, 0] < 0):
        above = found.owner[node]
        n_rows, volume = tree.node_sums[node, :2] / tree.union_sums[above]
        if volume != approx(n_rows, abs=1e-9):  # else rounding decides
            side = 1 if volume > n_rows else 2
            assert tree.node[node, 5] == tree.union[above, side]


@given(space=spaces())
@examples(30)
def test_a_left_union_is_emptier_than_the_right_one_next_to_it(space):
    tree = grown(space)
    density = tree.union_sums[:, 0] / tree.union_sums[:, 1]
    is_split = tree.union[:, 4] >= 0
    assert (density[tree.union[is_split, 1]] <= density[tree.union[is_split, 2]] + 1e-9).all()


@pytest.mark.parametrize("global_depth", [1, 2, 4])
@pytest.mark.parametrize("local_depth", [1, 3])
def test_depths_are_reached_and_kept(global_depth, local_depth):
    space = made_space(150, [30, 30], seed=5)
    tree = grown(space, global_depth, local_depth)
    assert tree.union[:, 3].max() == global_depth
    assert max(replayed(tree, space).depth.values()) == local_depth


@pytest.mark.parametrize("least", [1, 5, 20])
def test_a_leaf_has_so_many_rows_with_its_volume_counted_as_rows(least):
    space = made_space(100, [20, 20], seed=2)
    tree = grown(space, local_depth=3, min_leaf=least)
    is_leaf = tree.node[:, 0] < 0
    counted = tree.node_sums[:, 0] + 100 * tree.node_sums[:, 1]
    assert counted[is_leaf].min() >= least - 1e-9
    assert tree.node_sums[is_leaf, 0].min() < least  # volume does make up for rows
    assert counted[is_leaf].min() < least + 6


@given(space=spaces(), local_depth=st.integers(1, 3))
@examples(30)
def test_parents_come_before_children_and_unions_are_placed_from_left_to_right(space, local_depth):
    tree = grown(space, local_depth=local_depth)
    column, edge, left, right, parent, union = tree.node.T
    number = np.arange(len(tree.node))
    is_cut = column >= 0
    for child in (left, right):
        assert (child[is_cut] > number[is_cut]).all()
        assert np.array_equal(parent[child[is_cut]], number[is_cut])
        assert (child[~is_cut] == -1).all()
    assert (edge[is_cut] >= 1).all()
    above, first, second, depth, root, place = tree.union.T
    assert np.array_equal(np.sort(place), np.arange(len(tree.union)))
    assert (above[1:] < np.arange(1, len(tree.union))).all()
    assert (np.diff(depth) >= 0).all()
    for at in np.flatnonzero(root >= 0):
        assert union[root[at]] == at
        assert parent[root[at]] == (root[above[at]] if at else -1)
        for child in (first[at], second[at]):
            assert (above[child], depth[child]) == (at, depth[at] + 1)
    for at in range(len(tree.union)):
        for below in lineage(tree, at)[1:]:
            assert place[at] > place[below]  # what is above comes first
    for at in np.flatnonzero(root >= 0):
        lefts = [i for i in range(len(tree.union)) if first[at] in lineage(tree, i)]
        rights = [i for i in range(len(tree.union)) if second[at] in lineage(tree, i)]
        assert place[lefts].max() < place[rights].min()


def lineage(tree, union):
    """A union and all that are above it."""
    found = [union]
    while tree.union[found[-1], 0] >= 0:
        found.append(tree.union[found[-1], 0])
    return found


def test_many_nodes_and_boxes_find_room():
    space = made_space(200, [60, 60, 60], seed=1)
    tree = grown(space, global_depth=6, local_depth=2)
    assert len(tree.node) > 128
    assert len(tree.union) > 64
    found = replayed(tree, space)
    assert max(len(part.boxes) for part in found.unions.values()) > 8
    for number, part in found.unions.items():
        expected = [part.rows.size, slow_twins.volume(part, space)]
        assert tree.union_sums[number] == approx(expected, abs=1e-12)


def test_a_union_of_more_boxes_than_allowed_is_a_group():
    space = made_space(150, [30, 30], seed=4)
    free, limited = (grown(space, 5, 2, most_boxes=most) for most in (4096, 3))
    n_boxes = {number: len(part.boxes) for number, part in replayed(limited, space).unions.items()}
    is_split = np.flatnonzero(limited.union[:, 4] >= 0)
    assert max(n_boxes[number] for number in is_split) == 3
    assert max(n_boxes.values()) > 3
    assert len(limited.union) < len(free.union)


def test_with_all_columns_tried_nothing_is_drawn():
    space = made_space(80, [9, 9, 9], seed=3)
    one, again, other = (grown(space, 4, 2, n_tried=3, seed=seed) for seed in (0, 0, 2**64 - 1))
    for tree in (again, other):
        for values, expected in zip(tree, one, strict=True):
            assert np.array_equal(values, expected)


def test_the_order_of_the_rows_does_not_matter():
    space = made_space(80, [9, 9, 9], seed=3)
    order = np.random.default_rng(0).permutation(80)
    for values, expected in zip(grown(space, rows=order), grown(space), strict=True):
        assert np.array_equal(values, expected)


def test_a_tree_of_some_rows_knows_no_others():
    space = made_space(90, [7, 7], seed=6)
    some = np.arange(0, 90, 2)
    alone = space._replace(codes=np.ascontiguousarray(space.codes[:, some]))
    for values, expected in zip(grown(space, rows=some), grown(alone), strict=True):
        assert np.array_equal(values, expected)


def column_scores(space):
    """The best score of a first cut in each column."""
    part = slow_twins.whole(space, np.arange(space.codes.shape[1]))
    scores = slow_twins.cut_scores(part, part, space, 0.5)
    return [
        min(score for (at, _), score in scores.items() if at == column)
        for column in range(len(space.codes))
    ]


def test_so_many_columns_are_drawn_for_a_cut():
    space = made_space(60, [6, 6, 6], seed=8)
    worst = int(np.argmax(column_scores(space)))
    best = int(np.argmin(column_scores(space)))
    first = {
        n_tried: np.array(
            [grown(space, 1, 1, n_tried=n_tried, seed=seed).node[0, 0] for seed in range(90)]
        )
        for n_tried in (1, 2, 3)
    }
    assert np.bincount(first[1], minlength=3).min() > 15  # 30 expected of each
    assert worst not in first[2]
    assert 40 < np.count_nonzero(first[2] == best) < 80  # 60 expected
    assert (first[3] == best).all()


def test_where_the_drawn_column_has_no_cut_others_are_tried():
    space = made_space(60, [1, 6, 1, 1], seed=8)
    assert all(grown(space, n_tried=1, seed=seed).node[0, 0] == 1 for seed in range(20))


def test_a_drawn_column_is_cut_at_its_best_edge():
    space = made_space(60, [6, 6, 6], seed=8)
    for seed in range(10):
        tree = grown(space, 2, 2, n_tried=1, seed=seed)
        found = replayed(tree, space)
        for node in np.flatnonzero(tree.node[:, 0] >= 0):
            column, edge = tree.node[node, :2]
            union = found.unions[found.owner[node]]
            scores = slow_twins.cut_scores(found.nodes[node], union, space, 0.5)
            best = min(score for (at, _), score in scores.items() if at == column)
            assert scores[column, edge] == approx(best, abs=1e-10)


def test_a_column_of_one_bin_leaves_one_union():
    tree = grown(made_space(30, [1, 1], seed=0))
    assert len(tree.node) == 0
    assert tree.union_sums.tolist() == [[30, 1]]


def test_one_row_is_kept_apart_from_empty_space():
    tree = grown(one_column([0, 1, 0], [0, 0.4, 0.6, 1]), 1, 2, min_leaf=0.1)
    assert tree.union_sums == approx(np.array([[1, 1], [0, 0.8], [1, 0.2]]))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_groups_volume_is_the_share_of_even_points_that_walk_into_it(seed):
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(150, 4)).astype(np.float32)
    features[:, 2] = generator.choice(4, 150, p=[0.1, 0.6, 0.05, 0.25])
    features[generator.random(150) < 0.1, 1] = np.nan
    n_categories = np.array([0, 0, 4, 0])
    features[generator.random(150) < 0.05, 2] = np.nan
    box = Box.around(features, n_categories > 0)
    tree = grow(features, n_categories, box, DensityGrowth(3, 3, 5, 255))
    unions = tree.unions
    n_points = 4000
    grid = grid_of(features, n_categories, box, 255)
    points = slow_twins.even_rows(grid, box, n_points, generator)
    found = np.bincount(tree.nodes.union[leaves(tree, points)], minlength=unions.tree.size)
    groups = np.flatnonzero(unions.rank >= 0)
    assert groups.size >= 6
    volume = unions.hits[groups]
    sigma = np.sqrt(volume * (1 - volume) / n_points)
    assert (np.abs(found[groups] / n_points - volume) < 4 * sigma).all()
    rows = np.bincount(tree.nodes.union[leaves(tree, features)], minlength=unions.tree.size)
    assert np.array_equal(rows[groups], unions.n_rows[groups])
    assert unions.mass[groups] == approx(rows[groups] / 150 + volume)

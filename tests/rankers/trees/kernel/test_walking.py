"""Rows on their way through trees: the one path, the soft path, and what is met on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from rankers.trees.kernel.test_cuts import made_table, tables
from rankers.trees.kernel.test_meta_tree import EVERY_AIM, grown, growths
from toprank.rankers.trees import scoring
from toprank.rankers.trees.kernel import walking
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Nodes, Unions
from toprank.rankers.trees.scoring import Scoring

pytestmark = pytest.mark.kernel


@st.composite
def trees_and_rows(draw):
    """A tree, the table it was grown on, and rows with other values, known or missing."""
    table = draw(tables())
    tree = grown(
        table, draw(growths()), draw(st.integers(1, 3)), draw(st.sampled_from(["ap", "auc"]))
    )
    rows = table.features.copy()
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    for j, n_categories in enumerate(table.n_categories):
        new = generator.normal(size=len(rows))
        rows[:, j] = generator.integers(0, n_categories, len(rows)) if n_categories else new
    rows[generator.random(rows.shape) < 0.2] = np.nan
    return tree, table, np.concatenate([table.features, rows])


def hand_made_tree():
    """x0 <= 2, then x1 <= 10; the two outer leaves make the left union.

    The left union, 4 positives of 6 rows, is split once more, by x0 <= 5.
    """
    leaf, none = np.nan, -1
    nodes = Nodes(
        column=np.array([0, none, 1, none, none, 0, none, none], np.int32),
        threshold=np.array([2, leaf, 10, leaf, leaf, 5, leaf, leaf]),
        is_missing_left=np.array([True, False, False, False, False, False, False, False]),
        set_start=np.full(8, none, np.int32),
        left=np.array([1, 5, 3, none, 5, 6, none, none], np.int32),
        right=np.array([2, 5, 4, none, 5, 7, none, none], np.int32),
        parent=np.array([none, 0, 0, 2, 2, 0, 5, 5], np.int32),
        union=np.array([0, 1, 0, 2, 1, 1, 4, 3], np.int32),
        n_rows=np.array([10, 4, 6, 4, 2, 6, 4, 2.0]),
        mass=np.array([10, 4, 6, 4, 2, 6, 4, 2.0]),
        hits=np.array([5, 2, 3, 1, 2, 4, 2, 2.0]),
        gain=np.zeros(8),
    )
    unions = Unions(
        tree=np.zeros(5, np.int32),
        parent=np.array([none, 0, 0, 1, 1], np.int32),
        left=np.array([1, 3, none, none, none], np.int32),
        right=np.array([2, 4, none, none, none], np.int32),
        depth=np.array([0, 1, 1, 2, 2], np.int32),
        root=np.array([0, 5, none, none, none], np.int32),
        place=np.array([0, 0, 6, 0, 2]),
        rank=np.array([none, none, 2, 0, 1], np.int32),
        n_rows=np.array([10, 6, 4, 2, 4.0]),
        mass=np.array([10, 6, 4, 2, 4.0]),
        hits=np.array([5, 4, 1, 2, 2.0]),
    )
    return MetaTrees(nodes, unions, np.zeros(1, np.int32), np.zeros(0, bool))


ROWS = np.array([[1, 0], [3, 4], [3, 11], [8, 11], [np.nan, 7], [8, np.nan]], dtype=np.float32)


def test_rows_of_a_tree_made_by_hand_reach_their_leaves():
    assert scoring.leaves(hand_made_tree(), ROWS).tolist() == [6, 3, 6, 7, 7, 7]


def test_distances_in_a_tree_made_by_hand():
    # the last local tree only: x0 to 5 for the left union, x0 to 2 and x1 to 10 for the right one
    # leaf 6 has 2 of 4 and says nothing; leaf 3 has 1 of 4; a missing value has no distance
    distances, columns, _ = scoring.border_distances(hand_made_tree(), ROWS)
    assert distances.tolist() == [0, -1, 0, 3, 0, 3]
    assert columns.tolist() == [0, 0, 0, 0, -1, 0]
    # the whole path: 1 to x1's 10 is nearer than 3 to x0's 5
    distances, columns, _ = scoring.border_distances(hand_made_tree(), ROWS, is_whole_path=True)
    assert distances.tolist() == [0, -1, 0, 1, 0, 3]
    assert columns.tolist() == [0, 0, 0, 1, -1, 0]


def test_soft_means_of_a_tree_made_by_hand():
    tree, std = hand_made_tree(), np.array([2.0, 4.0])
    found = scoring.soft_scores(tree, ROWS[1:2], std, Scoring(softness=0.5, shrinkage=0.0))
    to_left, onward_left = 1 / (1 + np.exp(1)), 1 / (1 + np.exp(-3))
    onward_first = 1 / (1 + np.exp(-2))
    left_union = to_left + (1 - to_left) * (1 - onward_left)
    mean_of_union = onward_first * 2 / 4 + (1 - onward_first) * 1
    assert found == approx([left_union * mean_of_union + (1 - left_union) * 1 / 4])


def test_shares_are_drawn_to_the_node_above_and_local_roots_to_the_root_before():
    tree = hand_made_tree()
    share = scoring.shrunk_shares(tree.nodes, 2.0)
    assert share[0] == 0.5
    assert share[2] == approx((3 + 2 * 0.5) / 8)
    assert share[4] == approx((2 + 2 * share[2]) / 4)
    assert share[5] == approx((4 + 2 * 0.5) / 8)
    assert share[7] == approx((2 + 2 * share[5]) / 4)
    assert scoring.shrunk_shares(tree.nodes, 0.0) == approx(tree.nodes.hits / tree.nodes.mass)


@given(trees_and_rows())
@examples(60)
def test_rows_reach_the_leaf_at_the_end_of_their_path(drawn):
    tree, _, rows = drawn
    expected = [reference.path_of(tree, row)[-1] for row in rows]
    assert scoring.leaves(tree, rows).tolist() == expected


@given(trees_and_rows(), st.sampled_from([0.05, 0.25, 1.0]), st.sampled_from([0.0, 1.0, 5.0]))
@examples(40)
def test_soft_means_are_those_of_a_recursion_but_for_parts_too_small(drawn, softness, shrinkage):
    tree, table, rows = drawn
    std = scoring.column_std(table.features, table.weight)
    found = scoring.soft_scores(tree, rows, std, Scoring("soft", softness, shrinkage))
    width = softness * np.maximum(std, 1e-12)
    shares = scoring.shrunk_shares(tree.nodes, shrinkage)
    expected = [reference.soft_mean(tree, row, width, shares) for row in rows]
    # a part of the row below 1e-4 is dropped at most once per node
    assert np.abs(found - expected).max() <= 1e-4 * tree.nodes.column.size + 1e-12


@pytest.mark.parametrize("is_whole_path", [False, True])
@given(drawn=trees_and_rows())
@examples(40)
def test_distances_are_those_to_the_nearest_cut(is_whole_path, drawn):
    tree, _, rows = drawn
    expected = [reference.border_distance(tree, row, is_whole_path) for row in rows]
    distances, columns, found = scoring.border_distances(tree, rows, is_whole_path)
    assert distances == approx(np.array([distance for distance, _ in expected]), rel=1e-6)
    assert columns.tolist() == [column for _, column in expected]
    assert found.tolist() == scoring.leaves(tree, rows).tolist()


@EVERY_AIM
@given(table=tables(), growth=growths())
@examples(30)
def test_a_path_without_softness_ends_in_the_share_of_its_leaf(aim, table, growth):
    tree = grown(table, growth, 2, aim)
    std = np.ones(table.features.shape[1])
    found = scoring.soft_scores(tree, table.features, std, Scoring("soft", 1e-9, 3.0))
    shares = scoring.shrunk_shares(tree.nodes, 3.0)
    assert found == approx(shares[scoring.leaves(tree, table.features)], abs=1e-12)


@pytest.mark.parametrize("depth", [6, 14])
def test_a_row_spread_evenly_over_very_many_leaves_still_has_a_mean(depth):
    n_nodes, n_cuts = 2 ** (depth + 1) - 1, 2**depth - 1
    number = np.arange(n_nodes)
    is_cut = number < n_cuts
    mean = walking.soft_means(
        np.zeros((1, 1), np.float32), np.int32(0), np.where(is_cut, 0, -1).astype(np.int32),
        np.zeros(n_nodes), np.zeros(n_nodes, bool), np.full(n_nodes, -1, np.int32),
        np.zeros(0, bool), np.where(is_cut, 2 * number + 1, -1).astype(np.int32),
        np.where(is_cut, 2 * number + 2, -1).astype(np.int32), np.ones(1), np.full(n_nodes, 0.25),
    )  # fmt: skip
    assert mean == approx([0.25])


@pytest.mark.parametrize("value", [-3.4e38, 3.4e38])
def test_values_far_beyond_those_of_training_go_wholly_to_one_side(value):
    table = made_table(40, ["many"], seed=0, missing=0.0)
    tree = grown(table, Growth("gini", 2), 2)
    row = np.array([[value]], dtype=np.float32)
    shares = scoring.shrunk_shares(tree.nodes, 1.0)
    found = scoring.soft_scores(tree, row, np.ones(1), Scoring("soft", 0.25, 1.0))
    assert found == approx(shares[scoring.leaves(tree, row)])

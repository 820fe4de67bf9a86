"""Isolation trees: random cuts between values of the rows, with exact volumes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.trees.made_payments import payments
from toprank.data.tables import Schema
from toprank.rankers.anomaly import density_scoring
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.density_tree import grow_by_random_cuts
from toprank.rankers.anomaly.volume_bins import MISSING_SHARE, grid_of
from toprank.rankers.trees.scoring import leaves

pytestmark = pytest.mark.kernel

NUMBERS = np.zeros(1, dtype=np.int64)


def grown(features, n_categories=None, seed=0):
    features = np.asarray(features, dtype=np.float32)
    if n_categories is None:
        n_categories = np.zeros(features.shape[1], dtype=np.int64)
    box = Box.around(features, n_categories > 0)
    return grow_by_random_cuts(features, n_categories, box, np.random.default_rng(seed))


def made_payments(n_rows, seed):
    """Numbers, categories and missing values, encoded."""
    frame = payments(n_rows, seed=seed)[0]
    schema = Schema.of(payments(100, seed=seed)[0])  # of few rows, a column may have no value
    return schema.encode(frame), schema.n_categories


@given(n_rows=st.integers(1, 60), seed=st.integers(0, 99))
@examples(20)
def test_rows_and_volume_of_a_union_are_those_of_its_two_sides(n_rows, seed):
    features, n_categories = made_payments(n_rows, seed)
    unions = grown(features, n_categories, seed).unions
    is_split = unions.left >= 0
    for sums in (unions.n_rows, unions.hits):
        both = sums[unions.left[is_split]] + sums[unions.right[is_split]]
        assert both == approx(sums[is_split])
    assert (unions.n_rows > 0).all()
    assert (unions.hits > 0).all()
    assert unions.n_rows[0] == n_rows
    assert unions.hits[0] == 1


@given(n_rows=st.integers(1, 60), seed=st.integers(0, 99))
@examples(20)
def test_every_row_reaches_the_union_that_counts_it(n_rows, seed):
    features, n_categories = made_payments(n_rows, seed)
    tree = grown(features, n_categories, seed)
    found = np.bincount(tree.nodes.union[leaves(tree, features)], minlength=tree.unions.tree.size)
    is_group = tree.unions.left < 0
    assert found[is_group].tolist() == tree.unions.n_rows[is_group].tolist()


def test_volumes_are_products_of_the_lengths_between_cuts():
    features = np.random.default_rng(0).normal(size=(80, 2)).astype(np.float32)
    box = Box.around(features, np.zeros(2, dtype=bool))
    tree = grown(features)
    points = np.random.default_rng(1).uniform(box.low, box.high, (20_000, 2))
    found = tree.nodes.union[leaves(tree, points.astype(np.float32))]
    share = np.bincount(found, minlength=tree.unions.tree.size) / len(points)
    is_group = tree.unions.left < 0
    assert share[is_group] == approx(tree.unions.hits[is_group], abs=0.015)


@pytest.mark.parametrize(("n_rows", "depth"), [(1, 0), (2, 1), (3, 2), (256, 8), (257, 9)])
def test_a_path_has_as_many_cuts_as_it_takes_to_halve_the_rows_to_one(n_rows, depth):
    tree = grown(np.random.default_rng(0).normal(size=(n_rows, 3)))
    assert tree.unions.depth.max() == depth
    is_open = (tree.unions.left < 0) & (tree.unions.depth < depth)
    assert (tree.unions.n_rows[is_open] == 1).all()


def test_equal_rows_are_not_cut_and_equally_dense_sides_are():
    assert grown(np.ones((50, 2))).unions.tree.size == 1
    unions = grown([[0.0], [1.0]]).unions
    assert unions.n_rows.tolist() == [2, 1, 1]
    assert unions.hits.tolist() == [1, 0.5, 0.5]


def test_the_place_of_a_cut_is_uniform_between_the_values():
    values = np.array([[0.0], [1.0], [2.0], [10.0]])
    first = np.array([grown(values, seed=seed).nodes.threshold[0] for seed in range(600)])
    share = [np.mean(first == threshold) for threshold in (0.5, 1.5, 6.0)]
    assert share == approx([0.1, 0.1, 0.8], abs=0.06)


def test_missing_values_and_categories_have_their_distances():
    grid = grid_of(np.array([[0.0], [4.0], [np.nan]], np.float32), NUMBERS, Box(*BOUNDS), 255)
    numbers = 0.5 * (1 - MISSING_SHARE)  # 4 of the 8 that the box is wide
    ends = [numbers + MISSING_SHARE] * 2
    assert grid.gap_sum == approx(np.array([0, numbers, *ends]))
    codes = np.array([[0.0], [1.0], [1.0], [3.0]], np.float32)
    grid = grid_of(codes, NUMBERS + 4, Box(*BOUNDS), 255)
    assert grid.gap_sum == approx(np.array([0, 0.25, 0.5, 0.75, 0.75]))


BOUNDS = np.array([-2.0]), np.array([6.0])


def test_columns_are_drawn_evenly_among_those_that_vary():
    values = np.random.default_rng(0).normal(size=(4, 3))
    values[:, 1] = 1.0
    first = [grown(values, seed=seed).nodes.column[0] for seed in range(600)]
    assert np.bincount(first, minlength=3) / 600 == approx(np.array([0.5, 0, 0.5]), abs=0.08)


def test_a_row_far_from_all_others_is_alone_after_fewer_cuts():
    values = np.append(np.random.default_rng(0).normal(size=63), 40.0)[:, None]
    cuts = np.zeros(64)
    for seed in range(20):
        tree = grown(values, seed=seed)
        found = tree.nodes.union[leaves(tree, values.astype(np.float32))]
        cuts += density_scoring.isolation(tree.unions)[found]
    assert cuts.argmax() == 63
    assert cuts[63] / 20 > 5


def test_the_usual_number_of_cuts_is_that_of_evenly_spread_rows():
    evenly = np.arange(32.0)[:, None]
    total = 0.0
    for seed in range(100):
        unions = grown(evenly, seed=seed).unions
        is_group = unions.left < 0
        total += unions.n_rows[is_group] @ density_scoring.isolation(unions)[is_group]
    assert total / 100 / 32 == approx(0, abs=0.2)

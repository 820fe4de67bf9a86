"""Columns as bins on a line of length 1: where they begin, and who comes first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank.rankers.anomaly.box import Box
from toprank.rankers.anomaly.volume_bins import MISSING_SHARE, grid_of

pytestmark = pytest.mark.kernel


@st.composite
def tables(draw):
    """Up to 3 columns of a few rows, some categories, some values missing."""
    n_rows = draw(st.integers(1, 25))
    kinds = draw(st.lists(st.sampled_from([0, 0, 2, 4]), min_size=1, max_size=3))
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    columns = [
        generator.integers(0, kind, n_rows) if kind else generator.integers(-9, 9, n_rows) / 4
        for kind in kinds
    ]
    features = np.stack(columns, axis=1).astype(np.float32)
    features[generator.random(features.shape) < draw(st.sampled_from([0, 0.2]))] = np.nan
    return features, np.array(kinds)


def made_grid(features, n_categories, max_bins=255, bounds=None):
    features = np.asarray(features, dtype=np.float32)
    n_categories = np.asarray(n_categories)
    box = Box.around(features, n_categories > 0)
    if bounds is not None:
        box = Box.given(bounds, features, n_categories > 0)
    return grid_of(features, n_categories, box, max_bins), box


def axis(grid, column):
    """A column's positions, thresholds and categories."""
    part = slice(grid.starts[column], grid.starts[column + 1])
    return grid.position[part], grid.threshold[part], grid.category[part]


@given(tables(), st.sampled_from([2, 3, 255]))
@examples(60)
def test_edges_rise_from_0_to_1_and_every_row_is_between_two(table, max_bins):
    features, n_categories = table
    grid, _ = made_grid(features, n_categories, max_bins)
    assert grid.codes.shape == features.T.shape
    for column, codes in enumerate(grid.codes):
        position, threshold, category = axis(grid, column)
        assert (position[0], position[-1]) == (0, 1)
        assert (np.diff(position) > 0).all()
        assert codes.max() < position.size - 1
        values = features[:, column].astype(float)
        is_missing = np.isnan(values)
        if n_categories[column]:
            assert np.array_equal(category[codes], np.where(is_missing, -1, values))
            assert np.isnan(threshold).all()
        else:
            present = codes[~is_missing]
            assert (threshold[present] < values[~is_missing]).all()
            assert (values[~is_missing] <= threshold[present + 1]).all()
            assert (category == -1).all()
        if is_missing.any():
            assert (codes[is_missing] == position.size - 2).all()
            assert position[-2] == approx(1 - MISSING_SHARE)


@given(tables())
@examples(60)
def test_a_bin_of_numbers_is_as_long_as_it_is_wide_in_the_box(table):
    features, n_categories = table
    grid, box = made_grid(features, n_categories)
    for column in np.flatnonzero(n_categories == 0):
        position, threshold, _ = axis(grid, column)
        share = 1.0
        if np.isnan(features[:, column]).any():
            position, threshold, share = position[:-1], threshold[:-1], 1 - MISSING_SHARE
        ends = np.clip(threshold, box.low[column], box.high[column])
        if box.low[column] < box.high[column]:
            assert np.diff(position) == approx(share * np.diff(ends) / box.width[column])
        else:
            assert position == approx([0, share])


def test_numbers_are_cut_in_the_middle_between_two():
    grid, _ = made_grid([[1], [2], [2], [4]], [0], bounds=[[0, 10]])
    position, threshold, _ = axis(grid, 0)
    assert position == approx([0, 0.15, 0.3, 1])
    assert threshold.tolist() == [-np.inf, 1.5, 3.0, np.inf]
    assert grid.codes.tolist() == [[0, 1, 1, 2]]


def test_missing_values_come_after_all_others_in_a_tenth_of_the_line():
    grid, _ = made_grid([[1], [np.nan], [2]], [0])
    position, threshold, _ = axis(grid, 0)
    assert position == approx([0, 0.45, 0.9, 1])
    assert threshold.tolist() == [-np.inf, 1.5, np.inf, np.inf]
    assert grid.codes.tolist() == [[0, 2, 1]]


def test_the_rarest_category_comes_first_and_all_are_equally_wide():
    codes = [[3]] * 5 + [[0]] * 2 + [[2]] * 3
    grid, _ = made_grid(codes, [4])
    position, _, category = axis(grid, 0)
    assert position == approx([0, 1 / 4, 2 / 4, 3 / 4, 1])
    assert category.tolist() == [1, 0, 2, 3, -1]  # 1 does not occur
    assert grid.codes[0].tolist() == [3] * 5 + [1] * 2 + [2] * 3


def test_equally_rare_categories_keep_their_order():
    assert axis(made_grid([[2], [0], [1]], [3])[0], 0)[2].tolist() == [0, 1, 2, -1]


def test_missing_categories_come_after_all_others():
    grid, _ = made_grid([[1], [1], [0], [np.nan]], [2])
    position, _, category = axis(grid, 0)
    assert position == approx([0, 0.45, 0.9, 1])
    assert category.tolist() == [0, 1, -1, -1]
    assert grid.codes[0].tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize(("n_categories", "n_bins"), [(0, 1), (3, 3)])
def test_a_column_without_any_value_has_its_bins_and_one_for_missing_values(n_categories, n_bins):
    grid, _ = made_grid([[np.nan], [np.nan]], [n_categories])
    assert axis(grid, 0)[0] == approx([*np.linspace(0, 0.9, n_bins + 1), 1])
    assert grid.codes.tolist() == [[n_bins, n_bins]]


def test_a_column_of_one_value_is_one_bin():
    grid, _ = made_grid([[7], [7]], [0])
    assert axis(grid, 0)[0].tolist() == [0, 1]
    assert grid.codes.tolist() == [[0, 0]]


def test_numbers_have_as_many_bins_as_allowed_with_about_as_many_rows_each():
    features = np.random.default_rng(0).exponential(size=(200, 1))
    for max_bins in (2, 10):
        grid, _ = made_grid(features, [0], max_bins)
        counts = np.bincount(grid.codes[0])
        assert counts.tolist() == [200 // max_bins] * max_bins
    assert np.unique(made_grid(features, [0])[0].codes).size == 200


def test_there_may_be_more_categories_than_bins():
    grid, _ = made_grid(np.arange(40)[:, None] % 20, [20], max_bins=2)
    assert np.unique(grid.codes).size == 20

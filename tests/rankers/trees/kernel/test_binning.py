"""Codes of columns: rising with values, one per value where bins suffice, the last for missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from rankers.trees.kernel.test_cuts import tables
from toprank.rankers.trees.kernel import binning
from toprank.rankers.trees.kernel.binning import bin_columns

pytestmark = pytest.mark.kernel

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([np.nan, -0.0, 1e-45, 3.4e38, -3.4e38]),
    st.floats(-1e6, 1e6, width=32),
)


def column(values):
    return np.array(values, dtype=np.float32)[:, None]


def bins_of(values, max_bins=255, n_categories=0):
    """The codes of one column, and its bins' smallest and largest values."""
    binned = bin_columns(column(values), np.array([n_categories]), max_bins)
    assert binned.is_category.tolist() == [n_categories > 0]
    assert binned.starts.tolist() == [0, binned.low.size]
    return binned.codes[0], binned.low, binned.high


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(1, 80))
@examples(150)
def test_each_bin_spans_the_values_that_have_its_code(values, max_bins):
    codes, low, high = bins_of(values, max_bins)
    values = column(values)[:, 0]
    n_bins = low.size - 1
    assert n_bins <= max_bins
    assert (codes[np.isnan(values)] == n_bins).all()
    assert (codes[~np.isnan(values)] < n_bins).all()
    for code in range(n_bins):
        inside = values[codes == code]
        assert low[code] == inside.min()
        assert high[code] == inside.max()
    assert (high[: n_bins - 1] < low[1:n_bins]).all()
    assert np.isnan(low[-1])
    assert np.isnan(high[-1])


@given(st.lists(NUMBERS, min_size=1, max_size=60))
@examples(80)
def test_every_value_is_a_bin_of_its_own_where_bins_suffice(values):
    distinct = np.unique(column(values))
    distinct = distinct[~np.isnan(distinct)]
    for max_bins in (max(distinct.size, 1), binning.MOST_BINS):
        _, low, high = bins_of(values, max_bins)
        assert low[:-1].tolist() == distinct.tolist()
        assert high[:-1].tolist() == distinct.tolist()


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(1, 20))
@examples(80)
def test_bins_hold_an_equal_share_of_the_rows_unless_one_value_has_more(values, max_bins):
    codes, _, high = bins_of(values, max_bins)
    values = column(values)[:, 0]
    share = -(-np.count_nonzero(~np.isnan(values)) // max_bins)
    for code in range(high.size - 1):
        inside = values[codes == code]
        assert np.sum(inside < high[code]) <= max(share - 1, 0)


def test_a_column_without_values_has_the_bin_of_missing_ones_only():
    codes, low, _ = bins_of([np.nan, np.nan])
    assert codes.tolist() == [0, 0]
    assert low.size == 1


@pytest.mark.parametrize("n_categories", [4, 300, 40_000])
def test_a_category_keeps_its_number_however_few_bins_are_allowed(n_categories):
    last = n_categories - 1
    codes, low, _ = bins_of([2, 0, np.nan, last, 2], 2, n_categories)
    assert codes.tolist() == [2, 0, n_categories, last, 2]
    assert low.size == n_categories + 1


def test_categories_that_do_not_occur_have_a_bin_all_the_same():
    codes, low, _ = bins_of([1, np.nan, 1], 2, n_categories=6)
    assert codes.tolist() == [1, 6, 1]
    assert low.size == 7


@given(tables())
@examples(30)
def test_columns_are_binned_each_by_itself(table):
    binned = table.binned(max_bins=6)
    assert (binned.n_rows, binned.n_columns) == table.features.shape
    for j, n_categories in enumerate(table.n_categories):
        codes, low, high = bins_of(table.features[:, j], 6, n_categories)
        bins = slice(binned.starts[j], binned.starts[j + 1])
        assert binned.codes[j].tolist() == codes.tolist()
        assert np.array_equal(binned.low[bins], low, equal_nan=True)
        assert np.array_equal(binned.high[bins], high, equal_nan=True)


@given(st.lists(NUMBERS, min_size=30, max_size=60), st.integers(1, 20))
@examples(40)
def test_bins_decided_by_every_kth_row_take_in_all_rows(values, max_bins):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "_ROWS_FOR_EDGES", 10)
        values = [0.0, *values]  # the first row is always one of those that decide
        codes, low, high = bins_of(values, max_bins)
    values = column(values)[:, 0]
    is_known = ~np.isnan(values)
    assert (low[codes[is_known]] <= values[is_known]).all()
    assert (values[is_known] <= high[codes[is_known]]).all()
    filled = np.unique(codes[is_known])
    assert (high[filled[:-1]] < low[filled[1:]]).all()


def test_rows_are_left_out_of_the_edges_only_beyond_the_limit():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "_ROWS_FOR_EDGES", 10)
        assert bins_of(np.arange(19), 255)[1].size == 20
        assert bins_of(np.arange(20), 255)[1].size == 11
        assert bins_of(np.arange(20), binning.MOST_BINS)[1].size == 21  # exact is exact

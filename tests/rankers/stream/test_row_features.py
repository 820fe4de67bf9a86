"""Features of rows: numbers and texts of the same column, and cells that are not there."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from toprank.rankers.online.stream_columns import EncodedEvent
from toprank.rankers.stream.reservoir import StoredRows
from toprank.rankers.stream.row_features import RowFeatures

GAP = np.nan


def rows_of(values, buckets):
    n_rows = len(values)
    return StoredRows(
        np.array(values, dtype=np.float32),
        np.array(buckets, dtype=np.int16),
        np.ones(n_rows),
        np.ones(n_rows),
        np.arange(1, n_rows + 1),
    )


@pytest.fixture
def features():
    """Of a column of numbers, one of texts, one of both, and one without anything."""
    rows = rows_of(
        [[1, GAP, 5, GAP], [2, GAP, GAP, GAP], [GAP, GAP, 7, GAP], [3, GAP, GAP, GAP]],
        [[-1, 6, -1, -1], [-1, 2, 4, -1], [-1, 6, -1, -1], [-1, -1, 4, -1]],
    )
    return RowFeatures.of(rows, n_buckets=8)


def test_a_column_has_a_feature_for_each_kind_of_cell_in_it(features):
    assert features.column.tolist() == [0, 1, 2, 2]
    assert features.types == ["q", "c", "q", "c"]


def test_the_most_frequent_text_has_the_first_code_and_unknown_ones_are_missing(features):
    rows = EncodedEvent(
        np.array([[1.5, GAP, GAP, GAP], [GAP, GAP, GAP, 3.0], [GAP, GAP, GAP, GAP]]),
        np.array([[-1, 2, 4, -1], [-1, 6, 5, -1], [7, 7, 2, 1]], dtype=np.int32),
    )
    expected = [[1.5, 1, GAP, 0], [GAP, 0, GAP, GAP], [GAP] * 4]
    assert_array_equal(features.of_rows(rows), np.array(expected, dtype=np.float32))


def test_columns_that_a_row_does_not_have_are_missing(features):
    row = EncodedEvent(np.array([[2.0]]), np.array([[-1]], dtype=np.int32))
    assert_array_equal(features.of_rows(row), [[2.0, GAP, GAP, GAP]])


def test_numbers_too_large_for_a_float_become_the_largest_one(features):
    row = EncodedEvent(np.array([[1e99], [-1e99]]), np.full((2, 1), -1, dtype=np.int32))
    largest = np.finfo(np.float32).max
    assert features.of_rows(row)[:, 0].tolist() == [largest, -largest]


def test_the_254_most_frequent_texts_have_codes():
    buckets = np.repeat(np.arange(300), np.arange(300, 0, -1)).astype(np.int16)[:, np.newaxis]
    features = RowFeatures.of(rows_of(np.full(buckets.shape, GAP), buckets), n_buckets=300)
    assert_array_equal(features.codes[0, :254], np.arange(254))
    assert (features.codes[0, 254:] == -1).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("column", np.array([0, 1, 2, 4], dtype=np.int32), "column must be between 0 and 3"),
        ("code_row", np.array([-1, 1, -1, 0], dtype=np.int32), "code_row must count"),
        ("codes", np.zeros((2, 9), dtype=np.int16), "codes must be int16 of 2 rows"),
        ("codes", np.full((2, 8), 254, dtype=np.int16), "codes must be between -1 and 253"),
    ],
)
def test_arrays_that_are_no_features_are_refused(features, name, value, message):
    arrays = {**features._asdict(), name: value}
    with pytest.raises(ValueError, match=message):
        RowFeatures.restored(arrays, n_columns=4, n_buckets=8)


def test_features_are_restored_from_their_arrays(features):
    again = RowFeatures.restored(features._asdict(), n_columns=4, n_buckets=8)
    for own, other in zip(features, again, strict=True):
        assert_array_equal(own, other)

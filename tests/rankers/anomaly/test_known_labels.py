"""Labels most of which are unknown."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.tables import TableError
from toprank.rankers.anomaly.known_labels import known_labels


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, None],
        [1.0, 0.0, None],
        [1.0, 0.0, float("nan")],
        ["1", "0", ""],
        ["yes", "no", None],
        ["Yes", "NO", ""],
        ["true", "false", None],
        [True, False, None],
    ],
    ids=str,
)
def test_every_way_to_say_yes_and_no_is_understood(values):
    known = known_labels(pa.table({"checked": values}), "checked")

    np.testing.assert_array_equal(known, [1, 0, np.nan])


def test_one_kind_of_label_is_enough_and_so_is_none():
    ones = known_labels(pa.table({"checked": [None, "yes", "yes"]}), "checked")
    none = known_labels(pa.table({"checked": pa.array([None, None], pa.string())}), "checked")
    nothing = known_labels(pa.table({"checked": pa.nulls(2)}), "checked")

    np.testing.assert_array_equal(ones, [np.nan, 1, 1])
    assert np.isnan(none).all()
    assert np.isnan(nothing).all()


def test_the_rarer_value_is_not_taken_for_the_anomaly():
    known = known_labels(pa.table({"checked": [1, 1, 1, 0]}), "checked")

    assert known.tolist() == [1, 1, 1, 0]


def test_other_words_are_refused_with_how_many_rows_hold_them():
    with pytest.raises(TableError, match=r"1 or yes .* got 'maybe' in 2 of 3 rows\."):
        known_labels(pa.table({"checked": ["maybe", "yes", None, "maybe"]}), "checked")


def test_more_than_two_values_are_refused():
    with pytest.raises(TableError, match="it holds 3 different values"):
        known_labels(pa.table({"checked": [0, 1, 2]}), "checked")

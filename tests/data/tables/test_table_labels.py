"""Labels of any two values as a bool array."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.data.tables import TableError, fitted_label, split_label, truths

STORED_LABELS = {
    "text": (pa.table({"y": ["no", "yes", None, "no"]}), "yes", "no"),
    "gaps": (pa.table({"y": ["no", "yes", "NA", "no"]}), "yes", "no"),
    "empty": (pa.table({"y": ["no", "yes", "", "no"]}), "yes", "no"),
    "view": (pa.table({"y": pa.array(["no", "yes", None, "no"], pa.string_view())}), "yes", "no"),
    "bool": (pa.table({"y": [False, True, None, False]}), True, False),
    "int": (pl.DataFrame({"y": [0, 1, None, 0]}), 1, 0),
    "float": (pd.DataFrame({"y": [0.0, 1.0, np.nan, 0.0]}), 1, 0),
    "half": (pd.DataFrame({"y": np.array([0, 1, np.nan, 0], dtype=np.float16)}), 1, 0),
    "signs": (pd.DataFrame({"y": pd.Series([-1, 1, None, -1], dtype="Int8")}), 1, -1),
    "pandas category": (
        pd.DataFrame({"y": ["no", "yes", None, "no"]}, dtype="category"),
        "yes",
        "no",
    ),
    "number category": (pd.DataFrame({"y": [5, 3, None, 5]}, dtype="category"), 3, 5),
    "polars category": (
        pl.DataFrame({"y": ["no", "yes", None, "no"]}, schema={"y": pl.Categorical}),
        "yes",
        "no",
    ),
}


@pytest.mark.parametrize("name", STORED_LABELS)
def test_what_names_itself_or_is_rarer_is_positive_however_labels_are_stored(name):
    table, positive, negative = STORED_LABELS[name]

    labels = split_label(table, "y")

    assert labels.is_positive.dtype == bool
    assert labels.is_positive.tolist() == [False, True, False, False]
    assert labels.known.tolist() == [True, True, False, True]
    assert (labels.positive, labels.negative) == (positive, negative)


@examples(60)
@given(st.lists(st.sampled_from([0, 1, None]), min_size=2, max_size=40))
def test_every_known_row_is_of_one_class(values):
    if len(set(values) - {None}) < 2:
        return

    labels = split_label(pa.table({"y": values}), "y")

    assert labels.known.tolist() == [value is not None for value in values]
    assert labels.is_positive.tolist() == [value == labels.positive for value in values]
    assert labels.positive == 1  # which names itself, however frequent it is


@pytest.mark.parametrize("values", [["a", "b"], ["b", "a"]])
def test_of_equally_frequent_values_the_later_is_positive(values):
    assert split_label(pa.table({"y": values}), "y").positive == "b"


@pytest.mark.parametrize(
    ("values", "wanted", "positive"),
    [
        ([0, 1, 1], 1, 1),
        ([0, 1, 1], "1", 1),
        ([0, 1, 1], "1.0", 1),
        ([0.0, 1.0, 1.0], "1", 1.0),
        ([0.0, 1.0, 1.0], 1, 1.0),
        (["0", "1", "1"], 1, "1"),
        ([False, True, True], True, True),
        ([False, True, True], "True", True),
        ([False, True, True], "true", True),
        (["ok", "fraud", "fraud"], "fraud", "fraud"),
        (["ok", "fraud", "fraud"], "ok", "ok"),
    ],
)
def test_a_named_positive_is_found_by_value_or_by_text(values, wanted, positive):
    labels = split_label(pa.table({"y": values}), "y", positive_label=wanted)

    assert labels.positive == positive
    assert labels.is_positive.tolist() == [value == positive for value in values]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 1, None], "'y' must hold two classes; it holds one class only, 1 in 2 rows"),
        ([None, None], "'y' must hold two classes; all its values are missing"),
        ([np.nan, np.nan], "all its values are missing"),
        ([], "all its values are missing"),
        (["a", "a", "b", "c"], r"holds 3 different values, such as 'a' \(2 rows\), 'b' \(1 row"),
        ([[1], [2]], "column 'y' must hold numbers, true or false, or text"),
    ],
)
def test_labels_of_other_than_two_values_are_refused(values, message):
    with pytest.raises(TableError, match=message):
        split_label(pa.table({"y": values}), "y")


def test_a_positive_that_is_no_value_is_refused_with_the_nearest():
    table = pa.table({"y": ["fraud", "fine"]})

    with pytest.raises(TableError, match="'fraud' or 'fine'; got 'frued'; did you mean 'fraud'"):
        split_label(table, "y", positive_label="frued")
    with pytest.raises(TableError, match=r"got 7\.$"):
        split_label(table, "y", positive_label=7)


def test_a_label_column_that_is_not_there_is_named_with_the_nearest():
    with pytest.raises(TableError, match=r"column 'fruad' is not in .*; did you mean 'fraud'\?$"):
        split_label(pa.table({"fraud": [0, 1]}), "fruad")


def test_labels_come_from_a_data_frame():
    with pytest.raises(
        TypeError, match="must be a pandas, polars or pyarrow data frame; got list"
    ):
        split_label([0, 1], "y")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["yes", None, "no"], ("yes", "no")),
        ([True, None, False], (True, False)),
        ([1, None, 0], (1, 0)),
        (["1", "", "0"], (1, 0)),
        (["true", "NA", "false"], (True, False)),
        ([1.0, float("nan"), 0.0], ("1", "0")),
    ],
)
def test_truths_follow_the_classes_that_are_named_and_keep_gaps(values, classes):
    found = truths(pa.table({"fraud": values}), "fraud", *classes)
    assert found.to_pylist() == [True, None, False]


def test_truths_of_a_part_that_has_one_class_only():
    only = pa.table({"fraud": ["no", "no"]})
    assert truths(only, "fraud", "yes", "no").to_pylist() == [False, False]


def test_labels_of_another_kind_are_refused_rather_than_taken_for_negatives():
    table = pa.table({"fraud": ["fraud", "ok", "ok"]})
    with pytest.raises(TableError, match="must hold True and False; it holds 'fraud' in 1 rows"):
        truths(table, "fraud", True, False)


@pytest.mark.parametrize("values", [[2, 1], [1, 2], ["2", "1"]])
def test_other_labels_than_those_of_the_model_are_refused(values):
    table = pa.table({"fraud": values})

    with pytest.raises(TableError, match=r"'fraud' must hold 1, the positive.*and 0.*it holds"):
        fitted_label(table, "fraud", 1, [0, 1])
    assert fitted_label(table, "fraud", 1, [1, 2]).is_positive.sum() == 1


@pytest.mark.parametrize("values", [[1, -1], [1, 0], ["1", "0"], [True, False]])
def test_labels_of_the_model_and_those_that_name_themselves_are_read(values):
    table = pa.table({"fraud": values})

    found = fitted_label(table, "fraud", 1, [0, 1])
    assert found.is_positive.tolist() == [True, False]

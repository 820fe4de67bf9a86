"""What comes in: tables, arrays and labels of every kind, and what is said of the rest."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import BaseEstimator

from toprank.data import inputs
from toprank.data.inputs import TrainingRows
from toprank.data.tables import TableWarning


class Reader(BaseEstimator):
    """An estimator that only reads."""

    def fit(self, X, y):
        self.features_, self.labels_ = inputs.read_training(self, X, y)
        return self

    def read(self, X):
        return inputs.read_features(self, X)


COLUMNS = {
    "amount": [9.5, None, 2.0],
    "country": ["FR", "DE", "FR"],
    "online": [True, False, None],
}
ENCODED = np.array([[9.5, 1, 1], [np.nan, 0, 0], [2.0, 1, np.nan]], dtype=np.float32)
LABELS = [1, 0, 0]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_any_library_is_encoded_alike(library):
    reader = Reader().fit(library(COLUMNS), LABELS)
    assert np.array_equal(reader.features_, ENCODED, equal_nan=True)
    assert reader.features_.dtype == np.float32
    assert list(reader.feature_names_in_) == ["amount", "country", "online"]
    assert reader.n_features_in_ == 3
    assert np.array_equal(reader.labels_, LABELS)


def test_columns_are_found_by_name_and_an_unseen_category_is_missing():
    reader = Reader().fit(pa.table(COLUMNS), LABELS)
    turned = pa.table({"note": ["x"], "online": [True], "country": ["XX"], "amount": [1.0]})
    assert np.array_equal(reader.read(turned), [[1.0, np.nan, 1.0]], equal_nan=True)


def test_an_array_has_columns_by_place():
    reader = Reader().fit(np.arange(6.0).reshape(3, 2), LABELS)
    assert reader.schema_.names == ["x0", "x1"]
    assert not hasattr(reader, "feature_names_in_")
    assert reader.read([[7, np.nan]]) == approx(np.array([[7, np.nan]]), nan_ok=True)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_table_for_an_estimator_fitted_on_an_array_is_taken_column_by_column():
    reader = Reader().fit(np.arange(6.0).reshape(3, 2), LABELS)
    for library in (pd.DataFrame, pl.DataFrame):
        assert np.array_equal(reader.read(library({"b": [1.0], "a": [2.0]})), [[1.0, 2.0]])


def test_fitting_again_forgets_the_columns_of_before():
    reader = Reader().fit(pa.table(COLUMNS), LABELS)
    reader.fit(np.zeros((3, 2)), LABELS)
    assert not hasattr(reader, "feature_names_in_")
    assert reader.read([[1.0, 2.0]]).shape == (1, 2)
    reader.fit(pa.table({"z": [1, 2, 3]}), LABELS)
    assert reader.read(pa.table({"z": [5]})).tolist() == [[5.0]]


def test_encoded_rows_come_back_as_they_are():
    reader = Reader().fit(pa.table(COLUMNS), LABELS)
    features = reader.read(pa.table(COLUMNS))
    assert reader.read(inputs.Encoded(features)) is features


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (pa.table(COLUMNS), None, "requires y to be passed, but it is None"),
        (pa.table(COLUMNS), [1, 0], "inconsistent numbers of samples"),
        (pa.table(COLUMNS), [1.0, 0.0, np.nan], "Input y contains NaN"),
        (pa.table(COLUMNS), [[1, 0], [0, 1], [0, 0]], "y should be a 1d array"),
        (np.zeros((3, 2)), [1, 0], "inconsistent numbers of samples"),
        (np.array([[1.0], [np.inf], [0.0]]), LABELS, "infinity"),
        (pa.table({"t": pa.array([0, 1, 2], pa.timestamp("s"))}), LABELS, "'t' holds dates"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        Reader().fit(X, y)


def test_a_missing_column_is_named():
    reader = Reader().fit(pa.table(COLUMNS), LABELS)
    with pytest.raises(ValueError, match="column 'amount' is not in the table; did you mean"):
        reader.read(pa.table({**COLUMNS, "amuont": [1, 2, 3]}).drop_columns(["amount"]))


@pytest.mark.parametrize(
    ("y", "positive"),
    [
        ([0, 0, 1], 1),
        ([1, 1, 0], 1),
        (["yes", "yes", "no"], "yes"),
        (["genuine", "fraud", "fraud"], "fraud"),
        ([-1, 1, -1], 1),
        ([True, False, False], True),
        (["no", "no", "yes"], "yes"),
        (["genuine", "fraud", "genuine"], "fraud"),
        ([0, 1], 1),
        (["a", "b"], "b"),
        ([2.0, 5.0, 2.0], 5.0),
        ([1, 2, 1], 2),
        (["bad", "good"], "good"),
    ],
    ids=str,
)
def test_what_names_itself_is_positive_and_else_the_later(y, positive):
    labels = inputs.read_labels(np.array(y))
    assert labels.positive == positive
    assert labels.is_positive.tolist() == [each == positive for each in y]
    assert labels.classes.tolist() == sorted(set(y))


@pytest.mark.parametrize(
    ("y", "named", "positive"),
    [([0, 0, 1], 0, 0), (["a", "a", "b"], "a", "a"), ([0, 1, 1], True, 1), ([0, 0, 1], 0.0, 0)],
)
def test_a_named_label_is_positive_and_keeps_its_own_type(y, named, positive):
    labels = inputs.read_labels(np.array(y), named)
    assert labels.positive == positive
    assert labels.positive.dtype == labels.classes.dtype
    assert labels.is_positive.tolist() == [each == positive for each in y]


@pytest.mark.parametrize(
    ("y", "named", "sentence"),
    [
        ([0, 0, 1], 7, r"positive_label must be one of \[0, 1\]; got 7"),
        ([0, 0, 1], "1", r"positive_label must be one of \[0, 1\]; got '1'"),
        (["a", "b"], 1, r"positive_label must be one of \['a', 'b'\]; got 1"),
        ([0, 1, 2], None, "Only binary classification is supported. .* is multiclass"),
        ([0.5, 1.5, 2.5], None, "Unknown label type"),
        ([1, 1], None, "y must hold two classes; got one class, .*1.*, in every row"),
    ],
    ids=str,
)
def test_labels_that_do_not_do_are_named(y, named, sentence):
    with pytest.raises(ValueError, match=sentence):
        inputs.read_labels(np.array(y), named)


# The rows to judge by


@pytest.mark.parametrize("weight", [(), (np.ones(3),)])
def test_an_eval_set_is_a_tuple_or_a_list_of_one(weight):
    X, y = np.ones((3, 2)), np.array([0, 1, 0])
    for form in ((X, y, *weight), [X, y, *weight], [(X, y, *weight)], ((X, y, *weight),)):
        found = inputs.one_eval_set(form)
        assert isinstance(found, tuple)
        assert [id(part) for part in found] == [id(part) for part in (X, y, *weight)]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ([("X", "y"), ("X", "y")], "one set of rows; got 2 sets"),
        ((("X", "y"), ("X", "y"), ("X", "y")), "one set of rows; got 3 sets"),
        ([], r"\(X, y\) or \(X, y, weights\).*; got 0 parts"),
        (("X",), "got 1 parts"),
        ([("X", "y", "w", "more")], "got 4 parts"),
        (5, r"list of one of these; got 5\."),
    ],
)
def test_an_eval_set_of_another_shape_is_refused(form, words):
    with pytest.raises(ValueError, match=f"eval_set must be .*{words}"):
        inputs.one_eval_set(form)


def test_weights_are_refused_where_there_is_no_use_for_them():
    with pytest.raises(ValueError, match=r"eval_set must be \(X, y\), or .*; got 3 parts"):
        inputs.one_eval_set(("X", "y", "weights"), weights=False)


def test_the_positive_class_is_the_same_in_every_fold():
    rng = np.random.default_rng(0)
    for pair in (["bad", "good"], [0, 1], ["genuine", "fraud"], [3, 5]):
        y = np.array(pair)[(rng.random(30) < 0.5).astype(int)]
        folds = [rng.choice(y, 9) for _ in range(20)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)
            found = {
                inputs.read_labels(fold).positive for fold in folds if np.unique(fold).size == 2
            }
        assert len(found) == 1


def test_a_frequent_class_that_nobody_named_is_taken_with_a_warning():
    with pytest.warns(TableWarning, match="'good' is taken, .* pass positive_label='bad' or"):
        inputs.read_labels(np.array(["bad", "good", "good"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs.read_labels(np.array(["bad", "good", "good"]), "bad")
        inputs.read_labels(np.array(["bad", "bad", "good"]))
        inputs.read_labels(np.array([1, 1, 0]))


@given(st.integers(0, 6), st.integers(0, 6), st.booleans())
def test_rows_followed_by_others_are_copied_only_where_they_are_not_neighbours(first, n, apart):
    matrix = np.arange(40, dtype=np.float32).reshape(20, 2).copy()
    start = first + n + (1 if apart else 0)
    above, below = (
        TrainingRows(matrix[begin : begin + n], np.zeros(n, dtype=bool), None)
        for begin in (first, start)
    )
    joined = above.followed_by(below)
    assert np.array_equal(joined.features, np.concatenate([above.features, below.features]))
    assert np.shares_memory(joined.features, matrix) == (not apart and n > 0)


def test_columns_or_copies_are_never_taken_for_neighbours():
    matrix = np.arange(12, dtype=np.float32).reshape(6, 2).copy()
    flags = np.zeros(3, dtype=bool)
    for above, below in (
        (matrix[:3, :1], matrix[3:, :1]),
        (matrix[:3].copy(), matrix[3:]),
        (matrix[::2], matrix[1::2]),
    ):
        joined = TrainingRows(above, flags, None).followed_by(TrainingRows(below, flags, None))
        assert np.array_equal(joined.features, np.concatenate([above, below]))


def test_weights_of_rows_that_follow_are_1_where_only_the_others_have_some():
    flags = np.zeros(2, dtype=bool)
    plain = TrainingRows(np.zeros((2, 1), np.float32), flags, None)
    weighed = plain._replace(weight=np.array([2.0, 3.0]))
    assert plain.followed_by(weighed).weight.tolist() == [1, 1, 2, 3]
    assert weighed.followed_by(plain).weight.tolist() == [2, 3, 1, 1]
    assert plain.followed_by(plain).weight is None


def test_labels_and_weights_of_some_rows_are_copies():
    rows = TrainingRows(np.zeros((4, 1), np.float32), np.array([True, False] * 2), np.arange(4.0))
    some = rows.take(np.array([1, 2]))
    some.is_positive[:], some.weight[:] = True, 9.0
    assert rows.is_positive.tolist() == [True, False] * 2
    assert rows.weight.tolist() == [0, 1, 2, 3]
    assert np.shares_memory(some.features, rows.features)

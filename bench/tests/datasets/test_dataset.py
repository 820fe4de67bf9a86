"""A table becomes a data set: what is a feature, what is positive, what is refused."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.data.tables import TableError
from toprank_bench.datasets.dataset import from_table
from toprank_bench.datasets.known_sets import KNOWN

COLUMNS = st.lists(st.sampled_from(["amount", "hour", "label", "part", "Y"]), unique=True)


def handbook():
    """A table with the columns and the size of the handbook's payments, all of them zero."""
    names = ("TRANSACTION_ID", "TX_DATETIME", "CUSTOMER_ID", "TERMINAL_ID", "TX_AMOUNT")
    names += ("TX_TIME_SECONDS", "TX_TIME_DAYS", "label")
    y = np.zeros(1_754_155, dtype=np.int8)
    y[:14_681] = 1
    return pa.table({**dict.fromkeys(names, np.zeros_like(y)), "y": y})


@given(
    columns=COLUMNS,
    y=st.lists(st.booleans(), min_size=2, max_size=9).filter(lambda y: len(set(y)) == 2),
    kind=st.sampled_from([pa.bool_(), pa.int8(), pa.uint64(), pa.float32()]),
)
def test_each_column_is_a_feature_or_metadata_or_y(columns, y, kind):
    table = pa.table({name: np.arange(len(y)) for name in [*columns, "amount"]})
    table = table.add_column(0, "y", pa.array(y).cast(pa.int8()).cast(kind))
    dataset = from_table("mine", table, "a list")

    assert dataset.metadata.column_names == ["label"] * ("label" in columns)
    assert set(dataset.features.column_names) == {*columns, "amount"} - {"label"}
    assert dataset.is_positive.dtype == bool
    assert dataset.is_positive.tolist() == y
    assert dataset.y is dataset.is_positive
    assert dataset.X.equals(dataset.features)
    assert dataset.features.num_rows == dataset.metadata.num_rows == len(y)


def test_categories_stay_categories():
    category = pa.array(["FR", None, "DE"]).dictionary_encode()
    dataset = from_table("mine", pa.table({"country": category, "y": [0, 1, 0]}), "a list")
    assert dataset.features["country"].type == category.type
    assert dataset.features["country"].to_pylist() == ["FR", None, "DE"]


def test_a_known_set_has_its_ids_apart_and_its_roles_named():
    dataset = from_table("handbook_transactions", handbook(), "a list")
    assert dataset.metadata.column_names == ["label", "TRANSACTION_ID"]
    assert dataset.roles["card"] == "CUSTOMER_ID"
    assert dataset.roles["time"] == "TX_DATETIME"
    assert set(dataset.roles.values()) == set(dataset.features.column_names)
    assert dataset.X.column_names == ["TX_AMOUNT"]
    assert dataset.positive == "a fraud (simulated)"


def test_a_role_whose_column_is_not_there_is_left_out():
    table = handbook().drop_columns(["TERMINAL_ID"])
    assert "terminal" not in from_table("handbook_transactions", table, "a list").roles


def test_a_data_set_shows_itself_in_one_line_and_cannot_be_altered():
    dataset = from_table("mine", pa.table({"amount": [1.0, 2.0], "y": [0, 1]}), "a list")
    assert repr(dataset) == (
        "<Dataset mine: 2 rows, 1 features, 1 positive (y == 1), from a list>"
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.name = "yours"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"Y": [0, 1]}, "column 'y' is not in a list; did you mean 'Y'?"),
        ({"y": [0, None]}, "'y' of a list must hold 0 or 1 in every row; 1 of 2 are missing"),
        ({"y": ["no", "yes"]}, "'y' of a list must hold 0 and 1; it is of type string"),
        ({"y": [-1, 1]}, "'y' of a list must hold 0 and 1; got -1."),
        ({"y": [0.5, 1]}, "'y' of a list must hold 0 and 1; got 0.5."),
        ({"y": [np.nan, 1.0]}, "'y' of a list must hold 0 and 1; got nan."),
        ({"y": [0, 0]}, "must hold both classes; got 0 positives in 2 rows"),
        ({"y": [True, True]}, "must hold both classes; got 2 positives in 2 rows"),
    ],
)
def test_a_table_without_a_usable_y_gets_a_sentence(columns, sentence):
    with pytest.raises(TableError) as caught:
        from_table("mine", pa.table({"amount": [1.0, 2.0], **columns}), "a list")
    assert sentence in str(caught.value)


def test_a_table_without_features_gets_a_sentence():
    with pytest.raises(TableError, match="a list must hold at least one feature; it has 'label'"):
        from_table("mine", pa.table({"label": ["a", "b"], "y": [0, 1]}), "a list")


@pytest.mark.parametrize(("n_rows", "n_positive"), [(131, 30), (132, 29)])
def test_a_known_name_with_other_rows_or_positives_gets_a_sentence(n_rows, n_positive):
    y = np.arange(n_rows) < n_positive
    with pytest.raises(TableError) as caught:
        from_table("metaap_hayes", pa.table({"age": np.arange(n_rows), "y": y}), "a list")
    assert str(caught.value) == (
        "a list must hold 132 rows with 30 positives to be metaap_hayes; it holds "
        f"{n_rows} with {n_positive}; get the public set again, or give yours another name."
    )


def test_every_known_set_has_both_classes_and_a_positive_in_words():
    for name, known in KNOWN.items():
        assert 0 < known.n_positive < known.n_rows, name
        assert known.positive != "y == 1", name

"""Columns that say whose row it is: equal values, equal numbers."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.data.tables import TableError, exact_numbers, key_codes


@given(st.lists(st.one_of(st.none(), st.sampled_from("abc"))))
def test_rows_share_a_code_where_they_share_a_value_and_missing_ones_share_none(values):
    codes = key_codes(pa.table({"card": pa.array(values, pa.string())}), "card")
    for i, mine in enumerate(values):
        for j, theirs in enumerate(values):
            is_same = i == j or (mine is not None and mine == theirs)
            assert (codes[i] == codes[j]) == is_same


def test_categories_and_chunks_are_keys_like_texts():
    texts = ["b", "a", None, "b"]
    as_category = pd.DataFrame({"card": pd.Categorical(texts)})
    in_chunks = pa.table({"card": pa.chunked_array([["b"], ["a", None], ["b"]])})
    for table in (as_category, in_chunks):
        codes = key_codes(table, "card")
        assert codes[0] == codes[3]
        assert np.unique(codes).size == 3


def test_a_missing_key_column_is_named():
    with pytest.raises(TableError, match="'card'"):
        key_codes(pa.table({"kard": ["a"]}), "card")


def test_numbers_keep_the_digits_that_float32_would_lose():
    values = pa.chunked_array([[1234567.89, None]])
    assert exact_numbers(values, "amount")[0] == 1234567.89


@pytest.mark.parametrize("values", [["9,5"], [np.datetime64("2025-01-01", "us")]])
def test_what_is_no_number_is_refused_as_an_amount(values):
    with pytest.raises(TableError, match="column 'amount' must hold numbers"):
        exact_numbers(pa.chunked_array([values]), "amount")


def test_an_amount_without_bound_is_refused():
    with pytest.raises(TableError, match="amount"):
        exact_numbers(pa.chunked_array([[np.inf]]), "amount")


def test_a_column_of_nothing_is_missing_throughout():
    assert np.isnan(exact_numbers(pa.chunked_array([pa.nulls(2)]), "amount")).all()

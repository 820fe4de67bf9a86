"""What an id is: the same one at a time, in a list, and in a column of any type."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.data.tables import TableError, key_codes
from toprank.data.tables.ids import comparable_ids, id_numbers, id_text, id_texts, key_text
from toprank.splits.card_numbers import card_numbers

WHOLE = st.integers(-(2**70), 2**70) | st.integers(-20, 20)
TEXT = st.text(max_size=5) | st.sampled_from(["7", "007", "7.0", "-7", "", " 7", "nan", "None"])
FLOATS = st.floats() | st.integers(-20, 20).map(float)
MISSING = st.sampled_from([None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
MIXED = st.one_of(
    WHOLE, TEXT, FLOATS, MISSING, st.booleans(), st.dates(),
    st.integers(-20, 20).map(np.int64), FLOATS.map(np.float64), TEXT.map(np.str_),
    st.decimals(allow_nan=True, allow_infinity=False, min_value=-99, max_value=99, places=1),
)  # fmt: skip


def one_by_one(values):
    """What the scalar says of each value; a TableError where it refuses one."""
    try:
        return [id_text(value, "card") for value in values]
    except TableError:
        return TableError


def in_a_column(values):
    try:
        return id_texts(values, "card").to_pylist()
    except TableError:
        return TableError


@examples(300)
@given(st.lists(MIXED, max_size=6))
def test_a_list_of_any_values_has_the_ids_of_its_values(values):
    assert in_a_column(values) == one_by_one(values)


@examples(300)
@given(st.data())
def test_a_column_of_any_type_has_the_ids_of_its_values(data):
    arrow_type, of = data.draw(
        st.sampled_from(
            [
                (pa.int8(), st.integers(-128, 127)),
                (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
                (pa.uint64(), st.integers(0, 2**64 - 1)),
                (pa.float64(), FLOATS),
                (pa.float32(), st.floats(width=32) | st.integers(-20, 20).map(float)),
                (pa.string(), TEXT),
                (pa.large_string(), TEXT),
                (pa.string_view(), TEXT),
                (pa.decimal128(10, 2), st.decimals(-99, 99, places=1)),
                (pa.bool_(), st.booleans()),
                (pa.date32(), st.dates()),
                (pa.null(), st.none()),
            ]
        )
    )
    values = data.draw(st.lists(of | st.none(), max_size=6))
    column = pa.array(values, arrow_type)
    expected = one_by_one(column.to_pylist())

    assert in_a_column(column) == expected
    assert in_a_column(pa.chunked_array([column, column])) == (
        expected if expected is TableError else expected * 2
    )
    if not pa.types.is_string_view(arrow_type) and not pa.types.is_null(arrow_type):
        assert in_a_column(column.dictionary_encode()) == expected


@given(st.lists(WHOLE | TEXT | st.integers(-20, 20).map(float) | st.none(), max_size=8))
def test_cards_and_keys_are_equal_where_their_texts_are(values):
    texts = [id_text(value, "card") for value in values]
    codes = key_codes(pa.table({"card": id_texts(values, "card")}), "card").tolist()
    for i, mine in enumerate(texts):
        for j, theirs in enumerate(texts):
            assert (codes[i] == codes[j]) == (i == j or (mine is not None and mine == theirs))
    if values and None not in texts:
        column = np.empty(len(values), dtype=object)
        column[:] = values
        numbers, n_cards = card_numbers(column, len(values))
        assert n_cards == len(set(texts))
        assert len(set(zip(numbers.tolist(), texts, strict=True))) == n_cards


@pytest.mark.parametrize("seven", [7, 7.0, "7", np.int64(7), np.float32(7), Decimal("7.00")])
def test_a_number_and_its_digits_are_one_id(seven):
    assert id_text(seven, "card") == key_text(seven, "card") == "7"
    assert id_text("007", "card") == "007"


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "", np.str_("")])
def test_what_says_nothing_is_missing(nothing):
    assert id_text(nothing, "card") is None
    assert key_text(nothing, "card") is None


@pytest.mark.parametrize(
    "value", [True, np.True_, 7.5, float("inf"), [7], b"7", pd.Timestamp("2025-01-01")]
)
def test_what_is_no_id_is_refused_with_the_name_of_its_column(value):
    with pytest.raises(TableError, match="card must hold ids, text or whole numbers; got"):
        id_text(value, "card")
    with pytest.raises(TableError, match="card must hold ids"):
        id_texts([value, "a"], "card")


def test_a_key_may_be_true_or_a_fraction_but_no_list():
    assert (key_text(True, "online"), key_text(9.5, "amount")) == ("True", "9.5")
    with pytest.raises(TableError, match="column 'card' must hold text or numbers to be a key"):
        key_text(["A"], "card")


def test_columns_of_every_library_have_the_same_ids():
    expected = ["7", None, "8"]
    for column in (
        pd.Series([7, None, 8]),
        pd.Series([7, None, 8], dtype="Int64"),
        pd.Series(["7", None, "8"]),
        pd.Series(["7", None, "8"], dtype="category"),
        pl.Series([7, None, 8]).to_arrow(),
        pl.Series(["7", "", "8"]),
        np.array(["7", "", "8"]),
        np.array(["7", "", "8"], dtype=np.dtypes.StringDType()),
    ):
        assert id_texts(column, "card").to_pylist() == expected


def test_whole_numbers_stay_numbers_where_only_equality_counts():
    assert comparable_ids(np.array([7.0, np.nan]), "card").to_pylist() == [7, None]
    assert comparable_ids(np.array([2**63, 1], np.uint64), "card").to_pylist() == [str(2**63), "1"]


@given(st.lists(WHOLE.map(str) | TEXT.filter(bool), max_size=8))
def test_the_number_of_a_text_is_that_whose_id_it_is(texts):
    numbers = id_numbers(pa.array(texts, pa.large_string())).to_pylist()
    for text, number in zip(texts, numbers, strict=True):
        assert number is None or str(number) == text
        is_short = text.lstrip("-").isdecimal() and text.isascii() and len(text) < 18
        if is_short and str(int(text)) == text:
            assert number == int(text)


def test_text_that_is_no_text_is_refused_and_so_are_two_dimensions():
    with pytest.raises(TableError, match="card must hold valid text"):
        id_texts(["a", "\ud800"], "card")
    with pytest.raises(ValueError, match="card must have one dimension; got shape"):
        id_texts(np.array([[1, 2]]), "card")

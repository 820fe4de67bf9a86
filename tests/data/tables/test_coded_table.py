"""A table read once: the schema of any rows, and all rows encoded by it."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.data.tables import CodedTable, Schema, TableError
from toprank.data.tables.row_numbers import as_slice, rows_of

TEXTS = st.sampled_from(["DE", "FR", "7", "", None])
COLUMNS = {
    "text": (TEXTS, pa.string()),
    "dictionary": (TEXTS, pa.dictionary(pa.int32(), pa.string())),
    "whole": (st.sampled_from([0, 3, -2, 2**60, None]), pa.int64()),
    "number": (st.sampled_from([0.5, -1.0, 1e30, float("nan"), None]), pa.float64()),
    "truth": (st.sampled_from([True, False, None]), pa.bool_()),
}


@st.composite
def tables_with_rows(draw):
    """A table in chunks, and row numbers of it, at least one."""
    n_rows = draw(st.integers(2, 12))
    columns = {}
    for name, (values, arrow_type) in COLUMNS.items():
        cells = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        border = draw(st.integers(0, n_rows))
        columns[name] = pa.chunked_array(
            [pa.array(part, arrow_type) for part in (cells[:border], cells[border:])]
        )
    rows = draw(st.lists(st.integers(0, n_rows - 1), min_size=1, unique=True))
    return pa.table(columns), np.sort(rows)


def learned(make):
    """The schema, or the sentence that refuses the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make()
        except TableError as error:
            return str(error)


@given(tables_with_rows(), st.integers(0, 11))
def test_schema_and_codes_are_those_of_the_rows_taken_out_of_the_table(drawn, n_first):
    table, rows = drawn
    coded = CodedTable(table)
    for chosen in (rows, np.arange(min(n_first + 1, table.num_rows))):
        part = table.take(chosen)
        schema = learned(lambda rows=chosen: coded.schema(rows))
        assert schema == learned(lambda part=part: Schema.of(part))
        if isinstance(schema, Schema):
            assert np.array_equal(coded.encoded(schema), schema.encode(table), equal_nan=True)


def test_rows_that_others_hold_stay_as_they_were_when_another_schema_is_asked_for():
    coded = CodedTable(pa.table({"country": ["FR", "DE", "AT"]}))
    both, all_three = coded.schema(np.array([0, 1])), coded.schema(np.arange(3))
    held = coded.encoded(both)
    assert coded.encoded(both) is held
    assert coded.encoded(all_three)[:, 0].tolist() == [2, 1, 0]
    assert held[:2, 0].tolist() == [1, 0]


def test_an_id_is_warned_of_as_by_the_schema_of_the_rows():
    table = pa.table({"id": np.arange(3_000)})
    with pytest.warns(UserWarning, match="2,000 different values in 2,000 rows"):
        CodedTable(table).schema(np.arange(2_000))


def test_an_infinite_number_is_refused_when_the_table_is_read():
    with pytest.raises(TableError, match="column 'amount' must hold finite numbers"):
        CodedTable(pa.table({"amount": [1.0, np.inf]}))


@given(st.lists(st.integers(0, 8), unique=True))
def test_neighbouring_rows_are_a_slice_and_all_are_the_rows_asked_for(numbers):
    rows, values = np.array(numbers, dtype=np.int64), np.arange(9)
    chosen = as_slice(rows)
    assert values[chosen].tolist() == numbers
    assert rows_of(pa.table({"x": values}), chosen)["x"].to_pylist() == numbers
    is_run = numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else False
    assert isinstance(chosen, slice) == is_run


def test_values_that_collapse_in_32_bits_are_counted():
    cards = 4_000_123_412_340_000 + np.arange(600) % 40
    coded = CodedTable(pa.table({"card": cards, "cents": 10 * np.arange(600) + 20_000_000}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        coded.schema(np.arange(600))
    (said,) = {str(each.message) for each in caught if "digits" in str(each.message)}
    assert "'card'" in said and "40 different values become 1;" in said

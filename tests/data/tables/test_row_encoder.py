"""One row: what a table with this row gives, to the last bit, or the same refusal."""

import copy
import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples import examples
from toprank.data.tables import Column, Schema, TableError

COLUMNS = (
    Column("amount", "number"),
    Column("online", "boolean"),
    Column("country", "category", ("7", "DE", "False", "FR", "Österreich", "True", "2.5")),
)
SCHEMA = Schema(COLUMNS)

scalars = st.sampled_from(
    [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8, np.bool_]
)
cells = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.floats(-1e39, 1e39),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 0.0, 1.0, -0.0, 1 + 1e-12, 2, 2**24 + 1, 2**53 + 1, 10**400]),
    st.builds(lambda kind, number: kind(number), scalars, st.integers(0, 100)),
    st.builds(np.float32, st.floats(-1e6, 1e6)),
    st.builds(np.uint64, st.integers(0, 2**64 - 1)),
    st.sampled_from(COLUMNS[2].categories),
    st.text(max_size=5),
    st.sampled_from(["\ud800", np.str_("DE"), "1.5", "", "NaN"]),
    st.decimals(),
    st.sampled_from([pd.NA, pd.NaT, np.nan, np.datetime64("2020-01-01"), b"DE", 2j, [1], (1, 2)]),
    st.dates(),
    st.datetimes(),
    st.builds(object),
)


def outcome(encode):
    """Return the bits of what comes back, or the sentence of what is raised."""
    try:
        return encode().tobytes()
    except (ValueError, TypeError) as error:
        return type(error), str(error)


@examples(400)
@given(st.sampled_from(COLUMNS), cells)
@example(COLUMNS[0], 2**63)
@example(COLUMNS[0], Decimal("1.1"))
@example(COLUMNS[0], datetime.timedelta(1))
@example(COLUMNS[2], 7.0)
@example(COLUMNS[2], 2**63 + 1)
def test_a_cell_is_what_it_is_in_a_table(column, cell):
    schema = Schema((column,))
    table = pd.DataFrame({column.name: pd.Series([cell], dtype=object)})
    by_table = outcome(lambda: schema.encode(table)[0])
    assert outcome(lambda: schema.encode_row({column.name: cell})) == by_table


plain = st.fixed_dictionaries(
    {
        "amount": st.one_of(
            st.none(), st.floats(width=32, allow_infinity=False), st.integers(-(2**60), 2**60)
        ),
        "online": st.one_of(st.none(), st.booleans()),
        "country": st.one_of(st.none(), st.sampled_from(["DE", "FR", "Österreich", "US", "日本"])),
    }
)


@given(plain)
def test_a_row_is_what_it_is_in_a_table_of_arrow(row):
    table = pa.table({name: [cell] for name, cell in row.items()})
    encoded = SCHEMA.encode_row(row)
    assert encoded.dtype == np.float32 and encoded.shape == (3,)
    assert bits(encoded) == bits(SCHEMA.encode(table)[0])


def bits(values):
    """Return the bytes of the values; one missing value is like another."""
    return np.where(np.isnan(values), np.float32(np.nan), values).tobytes()


@given(plain, st.lists(st.floats(width=32, allow_infinity=False), min_size=2, max_size=2))
def test_numbers_that_are_made_take_the_place_of_cells(row, made):
    columns = (Column("sum", "number"), *COLUMNS, Column("mean", "number"))
    encoder = Schema(columns).row_encoder(["mean", "unused", "sum", "online"])
    numbers = np.array([[*encoder.read(row), made[0], 7.0, made[1], 3.0]])
    whole = Schema(columns).encode_row({**row, "mean": made[0], "sum": made[1]})
    assert bits(encoder.encoded(numbers)[0]) == bits(whole)


@pytest.mark.parametrize("number", [np.inf, -1e39])
def test_a_made_number_that_is_not_finite_is_named(number):
    encoder = Schema((*COLUMNS, Column("mean", "number"))).row_encoder(["mean"])
    read = encoder.read({"amount": 1.0, "online": True, "country": "FR"})
    with pytest.raises(TableError, match="column 'mean' must hold finite numbers"):
        encoder.encoded(np.array([[*read, 1.0], [*read, number]]))


def test_other_names_are_ignored_and_the_row_stays_as_it_is():
    row = {"note": object(), "country": "FR", "online": True, "amount": 9.5}
    before = dict(row)
    assert SCHEMA.encode_row(row).tolist() == [9.5, 1.0, 3.0]
    assert row == before


def test_a_name_that_is_missing_is_named_with_the_nearest():
    with pytest.raises(
        TableError, match="column 'amount' is not in the row; did you mean 'amuont'"
    ):
        SCHEMA.encode_row({"amuont": 1.0, "online": True, "country": "FR"})


def test_names_may_be_numbers_as_in_a_table():
    schema = Schema.of(pd.DataFrame({0: [1.0, 2.0], 1: ["a", "b"]}))
    assert schema.encode_row({1: "b", 0: 3}).tolist() == [3.0, 1.0]
    with pytest.raises(TableError, match="'0' comes 2 times"):
        schema.encode_row({0: 1.0, "0": 2.0})


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            {"amount": "much"},
            "column 'amount' must hold numbers.*got text or categories such as 'much'",
        ),
        ({"amount": float("inf")}, "column 'amount' must hold finite numbers"),
        ({"online": 3}, "column 'online' must hold true or false.*got 3"),
        ({"country": datetime.date(2024, 1, 1)}, "column 'country' holds dates"),
        ({"country": "\ud800"}, "column 'country' must hold valid text"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(cell, words):
    with pytest.raises(TableError, match=words):
        SCHEMA.encode_row({"amount": 1.0, "online": True, "country": "FR", **cell})


@pytest.mark.parametrize("row", [[1.0, True, "FR"], "FR", None, np.zeros(3)])
def test_what_is_no_mapping_is_refused(row):
    with pytest.raises(TypeError, match="a row must map the names of columns to values"):
        SCHEMA.encode_row(row)


def test_a_schema_that_encoded_a_row_is_the_same_schema():
    row = {"amount": 1.0, "online": None, "country": "DE"}
    used = Schema(COLUMNS)
    used.encode_row(row)
    for twin in (pickle.loads(pickle.dumps(used)), copy.deepcopy(used), copy.copy(used)):
        assert twin == SCHEMA and hash(twin) == hash(SCHEMA)
        assert vars(twin) == {"columns": COLUMNS}
        assert np.array_equal(twin.encode_row(row), used.encode_row(row), equal_nan=True)

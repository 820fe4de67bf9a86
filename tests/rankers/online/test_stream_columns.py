"""Rows of a stream as arrays: numbers, hashed text, gaps, tables and errors."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from zlib import crc32

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from examples import examples
from toprank.data.tables.columns import TableError, as_frame
from toprank.rankers.online import stream_columns as all_columns
from toprank.rankers.online.stream_columns import EncodedEvent, StreamColumns, own_name

N_BUCKETS = 1000


def columns_of(*names, n_buckets=N_BUCKETS):
    columns = StreamColumns(n_buckets)
    columns.add(names)
    return columns


def check_equal(one, other):
    assert_array_equal(one.values, other.values)
    assert_array_equal(one.buckets, other.buckets)
    assert (one.values.dtype, one.buckets.dtype) == (np.float64, np.int32)
    assert (other.values.dtype, other.buckets.dtype) == (np.float64, np.int32)


def stacked(rows):
    return EncodedEvent(np.vstack([r.values for r in rows]), np.vstack([r.buckets for r in rows]))


def test_columns_keep_their_places():
    columns = columns_of("amount", "country")
    columns.add(["country", "hour", "amount", "hour"])
    assert columns.names == ["amount", "country", "hour"]
    assert len(columns) == 3
    assert columns.new_among(["hour", "day", "day", 4]) == ["day", "x4"]
    assert columns.new_among(["hour", "amount"]) == []


def test_a_cell_is_a_value_or_a_bucket():
    columns = columns_of("amount", "country", "is_abroad", "hour")
    row = columns.encode_one({"is_abroad": True, "country": "FR", "amount": 9})
    assert_array_equal(row.values, [[9, np.nan, 1, np.nan]])
    assert_array_equal(row.buckets[0, [0, 2]], [-1, -1])
    assert (row.buckets[0, [1, 3]] >= 0).all()
    assert (row.buckets < N_BUCKETS).all()


def test_text_is_hashed_with_the_name_of_its_column():
    columns = columns_of("from", "to")
    row = columns.encode_one({"from": "FR", "to": "FR"})
    assert row.buckets[0].tolist() == [
        crc32(b"from\x01FR") % N_BUCKETS,
        crc32(b"to\x01FR") % N_BUCKETS,
    ]
    assert row.buckets[0, 0] != row.buckets[0, 1]
    assert_array_equal(row.buckets, columns.encode_one({"to": "FR", "from": "FR"}).buckets)


def test_text_that_looks_like_a_gap_is_not_one():
    columns = columns_of("note")
    gap = columns.encode_one({}).buckets[0, 0]
    texts = ["", "\x00", "nan", "None", "NaN", "null"]
    buckets = [columns.encode_one({"note": text}).buckets[0, 0] for text in texts]
    assert gap not in buckets
    assert len(set(buckets)) == len(texts)


@pytest.mark.parametrize("gap", [None, np.nan, float("nan"), np.float32("nan")], ids=repr)
def test_every_gap_is_the_same(gap):
    columns = columns_of("amount", "country")
    check_equal(columns.encode_one({"amount": gap, "country": gap}), columns.encode_one({}))


def test_pandas_own_gap_is_a_gap():
    columns = columns_of("amount")
    check_equal(columns.encode_one({"amount": pd.NA}), columns.encode_one({}))


@pytest.mark.parametrize(
    "number",
    [2, 2.0, np.float32(2), np.int8(2), np.uint64(2), np.float64(2), Fraction(2), np.float16(2)],
    ids=repr,
)
def test_every_kind_of_number_is_the_same(number):
    columns = columns_of("amount")
    check_equal(columns.encode_one({"amount": number}), columns.encode_one({"amount": 2.0}))


@pytest.mark.parametrize("one", [True, np.True_, 1, 1.0], ids=repr)
def test_true_is_one(one):
    assert columns_of("flag").encode_one({"flag": one}).values.tolist() == [[1.0]]


def test_text_of_numpy_is_text():
    columns = columns_of("country")
    check_equal(
        columns.encode_one({"country": np.str_("FR")}), columns.encode_one({"country": "FR"})
    )


def test_unknown_names_are_skipped():
    columns = columns_of("amount")
    row = {"amount": 1.0, "hour": object(), 7: [1], "x8": date(2024, 1, 1)}
    check_equal(columns.encode_one(row), columns.encode_one({"amount": 1.0}))


def test_numbered_columns_are_named_like_those_of_arrays():
    assert [own_name(name) for name in (0, "0", np.int64(12), "x0", "amount", "", "-1")] == [
        *("x0", "x0", "x12", "x0", "amount", "", "-1")
    ]
    columns = columns_of("x0", "x1")
    expected = columns.encode_array(np.array([[3.0, 4.0]]))
    for row in ({0: 3.0, 1: 4.0}, {"1": 4.0, "0": 3.0}, {"x0": 3.0, "x1": 4.0}):
        assert columns.new_among(row) == []
        check_equal(columns.encode_one(row), expected)


@pytest.mark.parametrize("name", [None, 1.5, ("a", "b"), b"a"], ids=repr)
def test_an_invalid_name_is_rejected(name):
    with pytest.raises(TypeError, match=r"^a column's name must be text or a number; got"):
        columns_of("amount").new_among([name])


@pytest.mark.parametrize("value", [date(2024, 1, 1), [1], {}, b"FR", Decimal(1), 1j], ids=repr)
def test_a_value_that_is_neither_number_nor_text_is_refused(value):
    with pytest.raises(
        TableError, match=r"^column 'amount' must be numbers, true or false, or text; got"
    ):
        columns_of("amount").encode_one({"amount": value})


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.float32("inf"), 10**400], ids=str)
def test_an_infinite_number_is_refused(value):
    columns = columns_of("hour", "amount")
    with pytest.raises(
        TableError,
        match=r"^column 'amount' must be finite numbers below 1e\+100 .*infinite or larger",
    ):
        columns.encode_one({"hour": 1.0, "amount": value})


def test_the_number_of_columns_is_bounded(monkeypatch):
    monkeypatch.setattr(all_columns, "MOST_COLUMNS", 3)
    columns = columns_of("a", "b", "c")
    with pytest.raises(TableError, match=r"^a stream must have at most 3 columns; 'd' comes"):
        columns.add(["a", "d"])
    assert columns.names == ["a", "b", "c"]
    columns.add(["c", "b"])


def test_memory_does_not_grow_with_the_number_of_categories():
    columns = columns_of("card", n_buckets=8)
    buckets = {columns.encode_one({"card": f"{i}"}).buckets[0, 0] for i in range(300)}
    assert buckets == set(range(8))


CELLS = {
    "amount": st.none() | st.floats(-1e6, 1e6) | st.just(float("nan")),
    "count": st.integers(-(2**40), 2**40),
    "country": st.none() | st.text(max_size=3),
    "is_abroad": st.booleans(),
    "gap": st.none(),
}
TYPES = {
    "amount": pl.Float64,
    "count": pl.Int64,
    "country": pl.String,
    "is_abroad": pl.Boolean,
    "gap": pl.Null,
}


@examples(60)
@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=6))
def test_a_table_is_its_rows_one_by_one(rows):
    columns = columns_of(*CELLS)
    expected = stacked([columns.encode_one(row) for row in rows])
    by_polars = pl.DataFrame(rows, schema=TYPES)
    for table in (pd.DataFrame(rows), by_polars, by_polars.to_arrow()):
        check_equal(columns.encode_frame(as_frame(table)), expected)
    turned = pd.DataFrame(rows)[[*reversed(CELLS)]].assign(more="ignored")
    check_equal(columns.encode_frame(as_frame(turned)), expected)


def test_an_array_is_its_rows_one_by_one():
    matrix = np.array([[1.0, np.nan], [0.0, -2.5]])
    columns = columns_of("x0", "x1")
    rows = [columns.encode_one(dict(enumerate(row))) for row in matrix.tolist()]
    check_equal(columns.encode_array(matrix), stacked(rows))


def test_categories_of_a_table_are_their_text():
    columns = columns_of("country")
    texts = ["FR", None, "DE", "FR"]
    expected = stacked([columns.encode_one({"country": text}) for text in texts])
    for column in (
        pd.Series(texts, dtype="category"),
        pd.Series(texts, dtype="string"),
        pd.Series(texts, dtype=object),
    ):
        check_equal(columns.encode_frame(as_frame(pd.DataFrame({"country": column}))), expected)
    coded = pa.table({"country": pa.array(texts).dictionary_encode()})
    check_equal(columns.encode_frame(as_frame(coded)), expected)


def test_a_table_without_a_known_column_is_refused():
    frame = as_frame(pd.DataFrame({"amuont": [1.0]}))
    with pytest.raises(TableError, match=r"'amount'.*did you mean"):
        columns_of("amount").encode_frame(frame)


def test_infinite_numbers_of_a_table_are_refused():
    frame = as_frame(pd.DataFrame({"amount": [1.0, np.inf]}))
    with pytest.raises(TableError, match=r"(?s)'amount'.*finite"):
        columns_of("amount").encode_frame(frame)


def test_dates_of_a_table_are_refused():
    frame = as_frame(pd.DataFrame({"day": pd.to_datetime(["2024-01-01"])}))
    with pytest.raises(TableError, match="'day'"):
        columns_of("day").encode_frame(frame)


@examples(60)
@given(st.lists(st.fixed_dictionaries(CELLS), max_size=12), st.integers(1, 40))
def test_blocks_of_a_table_are_its_rows_in_their_order(rows, n_cells):
    columns = columns_of(*CELLS)
    table = pl.DataFrame(rows, TYPES)
    chunked = pl.concat([table[:5], table[5:]], rechunk=False)
    for frame in map(as_frame, (table.to_pandas(), chunked, chunked.to_arrow())):
        check_blocks(columns.rows_of_frame(frame), columns.encode_frame(frame), n_cells)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_of_an_array_are_its_rows_in_their_order(order, kind):
    matrix = np.array([[1.1, np.nan], [0, -2.5], [np.nan, 3]] * 3, dtype=kind, order=order)
    columns = columns_of("x0", "x1")
    expected = columns.encode_array(np.array(matrix, dtype=np.float64, order="C"))
    assert expected.values.flags.c_contiguous
    for n_cells in range(1, 20):
        check_blocks(columns.rows_of_array(matrix), expected, n_cells)


def check_blocks(rows, expected, n_cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_columns, "_CELLS_AT_ONCE", n_cells)
        blocks = list(rows.blocks())
    sizes = [block.stop - block.start for block in blocks]
    assert max(sizes, default=1) <= max(n_cells // rows.n_columns, 1)
    assert sum(sizes) == rows.n_rows == len(expected.values)
    if blocks:
        check_equal(stacked([rows.encode(block) for block in blocks]), expected)
    assert all(rows.encode(block).values.flags.c_contiguous for block in blocks)


def test_rows_can_be_taken_by_number_slice_and_mask():
    rows = columns_of("x0").encode_array(np.arange(4.0)[:, None])
    assert rows.take([2]).values.tolist() == [[2]]
    assert rows.take(slice(1, 3)).values.tolist() == [[1], [2]]
    assert rows.take(np.array([True, False, False, True])).buckets.tolist() == [[-1], [-1]]

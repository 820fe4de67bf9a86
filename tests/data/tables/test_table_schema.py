"""What a schema learns from a table and how it turns tables into numbers."""

import datetime
import json
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from examples import examples
from toprank.data.tables import MAX_CATEGORIES, Column, Schema, TableError, TableWarning

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
nan = np.nan


@pytest.fixture(params=list(LIBRARIES))
def frame_of(request):
    return LIBRARIES[request.param]


def encoded(table):
    return Schema.of(table).encode(table)


def test_every_library_gives_the_same_matrix(frame_of):
    table = frame_of(
        {
            "amount": [1.5, None, 3.0],
            "n_items": [1, 2, 3],
            "is_night": [True, False, True],
            "country": ["FR", None, "DE"],
        }
    )

    matrix = encoded(table)

    assert matrix.dtype == np.float32
    assert matrix.flags.c_contiguous
    assert_array_equal(matrix, [[1.5, 1, 1, 1], [nan, 2, 0, nan], [3, 3, 1, 0]])


def test_feature_types_are_q_but_for_categories(frame_of):
    schema = Schema.of(frame_of({"a": [1.5], "b": [True], "c": ["x"]}))

    assert schema.names == ["a", "b", "c"]
    assert schema.feature_types == ["q", "q", "c"]
    assert [column.kind for column in schema.columns] == ["number", "boolean", "category"]


@examples(60)
@given(st.lists(st.one_of(st.none(), st.text("ab é", max_size=3)), min_size=1, max_size=30))
def test_a_code_leads_back_to_its_category(values):
    if all(value is None for value in values):
        return
    table = pa.table({"c": pa.array(values, pa.string())})
    schema = Schema.of(table)

    codes = schema.encode(table)[:, 0]

    categories = schema.columns[0].categories
    assert list(categories) == sorted(set(values) - {None})
    assert [None if np.isnan(c) else categories[int(c)] for c in codes] == values


@examples(60)
@given(st.lists(st.one_of(st.none(), st.floats(width=32, allow_infinity=False)), min_size=1))
def test_numbers_come_back_as_they_were(values):
    expected = np.array([nan if value is None else value for value in values], dtype=np.float32)
    if np.isnan(expected).all():
        return

    for frame_of in LIBRARIES.values():
        assert_array_equal(encoded(frame_of({"x": values}))[:, 0], expected)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series([1, None, 0], dtype="UInt8"),
        pd.Series([1.0, None, 0.0], dtype="float16"),
        pd.Series([Decimal(1), None, Decimal(0)], dtype=object),
        pd.Series([1, None, False], dtype=object),
        pd.Series([Decimal(1), None, False], dtype=object),
        pd.Series(pd.arrays.SparseArray([1.0, nan, 0.0])),
        pl.Series([1, None, 0], dtype=pl.UInt64),
        pl.Series([1, None, 0], dtype=pl.Int128),
        pl.Series([Decimal(1), None, Decimal(0)]),
        pa.array([1, None, 0], pa.decimal256(50, 2)),
    ],
    ids=lambda values: str(getattr(values, "dtype", getattr(values, "type", ""))),
)
def test_numbers_of_any_storage_are_numbers(values):
    library = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
    table = pa.table({"x": values}) if isinstance(values, pa.Array) else library({"x": values})

    assert Schema.of(table).columns == (Column("x", "number"),)
    assert_array_equal(encoded(table)[:, 0], [1, nan, 0])


@pytest.mark.parametrize("dtype", [object, "boolean"])
def test_booleans_with_gaps_are_booleans(dtype):
    table = pd.DataFrame({"x": pd.Series([True, None, False], dtype=dtype)})

    assert Schema.of(table).columns == (Column("x", "boolean"),)
    assert_array_equal(encoded(table)[:, 0], [1, nan, 0])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype="category")}),
        pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype=object)}),
        pl.DataFrame({"x": pl.Series(["b", None, "a"], dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(["b", None, "a"], dtype=pl.Enum(["unused", "b", "a"]))}),
        pa.table({"x": pa.array(["b", None, "a"], pa.string_view())}),
        pa.table({"x": pa.array(["b", None, "a"]).dictionary_encode()}),
    ],
)
def test_text_of_any_storage_is_a_category_without_unused_values(table):
    assert Schema.of(table).columns == (Column("x", "category", ("a", "b")),)
    assert_array_equal(encoded(table)[:, 0], [1, nan, 0])


def test_numeric_categories_are_kept_as_text_and_match_whole_floats():
    schema = Schema.of(pd.DataFrame({"x": pd.Series([7, 8, None], dtype="category")}))

    assert schema.columns == (Column("x", "category", ("7", "8")),)
    assert_array_equal(schema.encode(pd.DataFrame({"x": [8.0, nan, 7.0]}))[:, 0], [1, nan, 0])


def test_huge_whole_numbers_are_numbers():
    assert encoded(pd.DataFrame({"x": [10**30, 1]}))[0, 0] == np.float32(1e30)


def test_columns_are_found_by_name_and_others_ignored(frame_of):
    schema = Schema.of(frame_of({"a": [1.0], "b": [2.0]}))

    assert_array_equal(schema.encode(frame_of({"z": ["?"], "b": [4.0], "a": [3.0]})), [[3, 4]])


def test_an_unseen_category_is_missing(frame_of):
    schema = Schema.of(frame_of({"c": ["a", "b"]}))

    assert_array_equal(schema.encode(frame_of({"c": ["b", "z"]}))[:, 0], [1, nan])


def test_chunks_with_different_dictionaries_share_their_codes():
    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None]).dictionary_encode()]

    assert_array_equal(encoded(pa.table({"c": pa.chunked_array(parts)}))[:, 0], [1, 0, 0, nan])


def test_a_float32_array_comes_back_itself():
    array = np.array([[1, nan], [2, 5]], dtype=np.float32)

    assert Schema.of(array).names == ["x0", "x1"]
    assert Schema.of(array).encode(array) is array


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 0], [0, 1]]),
        np.array([[True, False], [False, True]]),
        np.asfortranarray([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32),
        np.array([[1.0, 0], [False, 1]], dtype=object),
        [[1, 0], [0, 1]],
    ],
)
def test_arrays_of_numbers_become_float32(array):
    matrix = encoded(array)

    assert matrix.flags.c_contiguous
    assert matrix.dtype == np.float32
    assert_array_equal(matrix, np.eye(2))


def test_only_the_most_frequent_categories_are_kept_ties_by_name():
    names = [f"c{i:04}" for i in range(MAX_CATEGORIES + 5)]
    table = pa.table({"c": names * 2 + names[-3:]})

    with pytest.warns(TableWarning, match=r"'c' holds 1,005 .* 1,000 most .* in 10 of 2,013 rows"):
        schema = Schema.of(table)

    kept = names[: MAX_CATEGORIES - 3] + names[-3:]
    assert schema.columns[0].categories == tuple(kept)
    assert np.isnan(schema.encode(table)).sum() == 10


@pytest.mark.parametrize("convert", [int, str])
def test_a_column_of_distinct_values_is_said_to_look_like_an_id(convert):
    values = [convert(i) for i in range(950)] + [convert(0)] * 50

    with pytest.warns(TableWarning, match="'tx' looks like an id: 950 different values in 1,000"):
        Schema.of(pa.table({"tx": values}))


SHUFFLED = np.random.default_rng(0).permutation(1000)


@pytest.mark.parametrize(
    "values", [7 * np.arange(1000), 10**6 + SHUFFLED, 10**9 + 12_347 * SHUFFLED]
)
def test_whole_numbers_that_count_up_number_the_rows_or_are_all_long_look_like_an_id(values):
    with pytest.warns(TableWarning, match="'tx' looks like an id: 1,000 different values"):
        Schema.of(pa.table({"tx": values}))


AMOUNTS = np.unique(np.random.default_rng(0).gamma(1.2, 90_000, 1020).astype(int))[:1000]


@pytest.mark.parametrize(
    "values",
    [
        list(range(949)) + [0] * 51,
        list(range(999)),
        [i + 0.5 for i in range(1000)],
        AMOUNTS[SHUFFLED],  # whole amounts, all different
        5 * SHUFFLED,
    ],
)
def test_other_columns_do_not_look_like_an_id(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Schema.of(pa.table({"tx": values}))


def test_non_text_column_names_become_text():
    assert Schema.of(pd.DataFrame([[1.0, 2.0]], columns=[0, "b"])).names == ["0", "b"]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([datetime.date(2018, 4, 1)], r"holds dates; .*`time='odd'`.*`drop=\['odd'\]`"),
        ([datetime.datetime(2018, 4, 1)], "holds dates"),
        ([datetime.time(1)], "holds times of day"),
        ([datetime.timedelta(1)], "holds lengths of time"),
        ([[1, 2]], "must hold numbers, true or false, or text; it holds values of type"),
        ([{"a": 1}], "spread it over plain columns"),
        ([b"a"], "binary"),
    ],
)
def test_columns_that_cannot_be_learned_from_are_refused_by_name(frame_of, values, word):
    with pytest.raises(TableError, match=f"^column 'odd' .*{word}"):
        Schema.of(frame_of({"fine": [1], "odd": values}))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pd.DataFrame({"x": [1, "a"]}),
            "'x' must hold numbers only or text only; it holds int and",
        ),
        (pd.DataFrame({"x": [1 + 1j]}), "it holds complex"),
        (pd.DataFrame({"x": pd.Series(["\ud800"], dtype=object)}), "'x' must hold valid text"),
        (pd.DataFrame({"x": pd.period_range("2018", periods=2, freq="M")}), "'x' holds dates"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "must differ; 'a' comes 2 times"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "must differ; '1' comes 2 times"),
        (pa.table([[1], [2]], names=["a", "a"]), "must differ; 'a' comes 2 times"),
        (
            pa.table({"x": pa.nulls(3)}),
            r"'x' must hold some values; all 3 of the rows .*; leave it out with `drop=\['x'\]`",
        ),
        (pa.table({"x": [nan, None]}), "'x' must hold some values; all 2 of the rows"),
        (pa.table({"x": pa.array([None], pa.string())}), "'x' must hold some values; all 1 of"),
        (np.array([[1, nan], [2, nan]]), "'x1' must hold some values; all 2 of the rows"),
        (pa.table({"x": pa.array([], pa.float64())}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.empty((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (np.array([1.0, 2.0]), "two dimensions; got shape .*Reshape your data"),
        (np.array([["a"]]), "X must hold numbers; got an array of type"),
        (np.array([["a"]], dtype=object), "X must hold numbers only"),
        (np.array([[1j]]), "Complex data not supported"),
        ([[1, 2], [3]], "rows differ in length"),
    ],
)
def test_a_table_without_use_is_refused_in_words(table, message):
    with pytest.raises(TableError, match=message):
        Schema.of(table)


@pytest.mark.parametrize("table", [pl.LazyFrame({"a": [1]}), {"a": [1]}, 3, None])
def test_what_is_no_table_is_a_type_error(table):
    with pytest.raises(TypeError, match="X must be a pandas, polars or pyarrow data frame or a"):
        Schema.of(table)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
def test_infinite_numbers_are_refused_with_their_count(frame_of, bad):
    schema = Schema.of(frame_of({"a": [1.0], "b": [1.0]}))
    table = frame_of({"a": [1.0, 2, 3], "b": [bad, 1.0, bad]})

    with pytest.raises(TableError, match=r"column 'b' must hold finite .* 2 of 3 are infinite"):
        Schema.of(table)
    with pytest.raises(TableError, match=r"column 'b' must hold finite .* 2 of 3 are infinite"):
        schema.encode(table)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
def test_infinite_numbers_in_an_array_are_refused_with_their_count(bad):
    array = np.array([[nan, bad], [1, nan]])

    with pytest.raises(TableError, match=r"column 'x1' .* 1 of 2 are infinite"):
        Schema.of(array)
    with pytest.raises(TableError, match=r"column 'x1' .* 1 of 2 are infinite"):
        Schema.of(np.eye(2)).encode(array)


def test_a_column_that_is_not_there_is_named_with_the_nearest(frame_of):
    schema = Schema.of(frame_of({"amount": [1.0]}))

    with pytest.raises(
        TableError, match=r"column 'amount' is not in .*; did you mean 'amuont'\?$"
    ):
        schema.encode(frame_of({"amuont": [1.0]}))
    with pytest.raises(TableError, match="column 'amount' is not in the table; it has 'zzz'"):
        schema.encode(frame_of({"zzz": [1.0]}))


def test_an_array_must_have_as_many_columns_as_the_schema():
    with pytest.raises(TableError, match="X must have 2 columns, as the schema has; got 3"):
        Schema.of(np.eye(2)).encode(np.eye(3))


def test_a_column_that_changed_its_kind_is_refused_with_an_example(frame_of):
    schema = Schema.of(frame_of({"n": [1.0], "b": [True], "c": ["x"]}))
    fine = {"n": [1.0], "b": [True], "c": ["x"]}

    with pytest.raises(TableError, match=r"'n' must hold numbers, .* got text .* such as 'many'"):
        schema.encode(frame_of(fine | {"n": ["many"]}))
    with pytest.raises(TableError, match=r"'b' must hold true or false, .* such as 'maybe'"):
        schema.encode(frame_of(fine | {"b": ["maybe"]}))
    with pytest.raises(TableError, match="'b' must hold true or false, or 1 or 0; got 7"):
        schema.encode(frame_of(fine | {"b": [7]}))


def test_one_row_with_gaps_can_be_encoded(frame_of):
    schema = Schema.of(frame_of({"n": [1.0], "b": [True], "c": ["x"]}))

    assert np.isnan(schema.encode(frame_of({"n": [None], "b": [None], "c": [None]}))).all()
    assert_array_equal(schema.encode(frame_of({"n": [True], "b": [0], "c": [5]})), [[1, 0, nan]])


def test_a_schema_survives_json():
    schema = Schema.of(pa.table({"n": [1.0], "b": [True], "c": ["é"]}))

    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


GOOD = {"name": "c", "kind": "category", "categories": ["a", "b"]}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"columns": {}},
        {"columns": []},
        {"columns": [GOOD, GOOD]},
        {"columns": ["c"]},
        {"columns": [{"name": "c", "kind": "number"}]},
        {"columns": [GOOD | {"more": 1}]},
        {"columns": [GOOD | {"name": 3}]},
        {"columns": [GOOD | {"kind": "text"}]},
        {"columns": [GOOD | {"kind": ["number"]}]},
        {"columns": [GOOD | {"kind": "number"}]},
        {"columns": [GOOD | {"categories": []}]},
        {"columns": [GOOD | {"categories": "ab"}]},
        {"columns": [GOOD | {"categories": ["a", "a"]}]},
        {"columns": [GOOD | {"categories": ["a", 1]}]},
        {"columns": [GOOD | {"categories": ["a", []]}]},
    ],
)
def test_a_schema_is_not_made_from_other_json(data):
    with pytest.raises(ValueError, match=r"must (be|have|differ)"):
        Schema.from_json(data)


def test_whole_numbers_too_large_for_the_matrix_are_warned_of():
    cards = 4_000_123_412_340_000 + np.arange(600) % 40
    with pytest.warns(TableWarning, match="'card' .*whole numbers up to 4e.15 lose"):
        Schema.of(pa.table({"card": cards, "amount": np.arange(600) % 9}))


@pytest.mark.parametrize("dates", [["31/12/2024", "01/01/25"], ["1.2.2025 10:30", "2025.2.3"]])
def test_dates_as_text_are_refused_like_dates(dates):
    with pytest.raises(TableError, match="column 'paid' holds dates as text, such as"):
        Schema.of(pa.table({"paid": dates * 3, "amount": range(6)}))


def test_texts_with_slashes_and_points_are_no_dates():
    table = pa.table({"version": ["1.2.30", "10.0.12", "3.1.24"], "amount": [1.0, 2.0, 3.0]})
    assert [column.kind for column in Schema.of(table).columns] == ["category", "number"]


def test_ids_too_long_for_integers_are_warned_of_too():
    with pytest.warns(TableWarning, match="'id' .*whole numbers up to 8e.25 lose"):
        Schema.of(pa.table({"id": np.arange(1, 9) * 1e25, "amount": np.arange(8.0)}))

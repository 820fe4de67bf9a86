"""Decimal commas: which files have them, and that they change no number."""

import gzip
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from examples import examples
from toprank.data.tables import Column, Schema, TableError, TableWarning, read_batches, read_table
from toprank.data.tables.number_formats import looks_like_number

SCHEMA = Schema(
    (
        Column("amount", "number"),
        Column("n_items", "number"),
        Column("note", "category", ("1,5", "ok, fine", "x")),
    )
)
HEADER = ["amount", "n_items", "note"]


@pytest.fixture
def file(tmp_path):
    def write(*lines, delimiter=";", name="events.csv", packed=False):
        text = "\n".join(line.replace(";", delimiter) for line in lines) + "\n"
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        return path

    return write


@pytest.fixture(autouse=True)
def no_remarks():
    with warnings.catch_warnings():
        warnings.simplefilter("error", TableWarning)
        yield


def first_batch(path):
    return next(read_batches(path, schema=SCHEMA))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_decimal_commas_give_numbers_and_whole_numbers_stay_whole(file, delimiter, packed):
    path = file(
        "amount;n_items;note",
        "73,37;1;x",
        "-0,5;-2;ok, fine",
        '"1234,5";3;x',
        "+2,5;4;x",
        ",25;5;x",
        "1,5e3;6;x",
        "NA;7;x",
        "12;8;x",
        delimiter=delimiter,
        packed=packed,
    )
    amounts = [73.37, -0.5, 1234.5, 2.5, 0.25, 1500, None, 12]

    table = read_table(path)

    assert table.schema.types == [pa.float64(), pa.int64(), pa.string()]
    assert table["amount"].to_pylist() == amounts
    assert next(read_batches(path))["amount"].to_pylist() == amounts
    assert first_batch(path)["amount"].to_pylist() == amounts
    assert first_batch(path)["note"].to_pylist()[1] == "ok, fine"


def test_times_are_read_next_to_decimal_commas(file):
    path = file("at;amount", "2018-04-01 10:30:00.5;73,37", "2018-04-02 10:30:00;1,5")

    table = read_table(path)

    assert pa.types.is_timestamp(table["at"].type)
    assert table["amount"].to_pylist() == [73.37, 1.5]


@pytest.mark.parametrize(
    "lines",
    [
        ["a;b", "1.5;one, two", "2.5;three, four"],
        ["a;b", "1.5;1,5", "2.5;x", "3.5;y"],
        ["a;b", "1.5;1,2,3", "2.5;4,5,6"],
        ["a;b", "1.5;", "2.5;,"],
        ["a;b", "1.5;10:30:00,5", "2.5;10:30:01,5"],
        ['"a,b";b', "1.5;x", "2.5;y"],
    ],
)
def test_commas_in_text_leave_decimal_points_alone(file, lines):
    table = read_table(file(*lines))

    assert table[0].to_pylist()[:2] == [1.5, 2.5]
    assert pa.types.is_string(table[1].type)


def test_a_point_in_text_leaves_decimal_commas_alone(file):
    table = read_table(file("a;b", "1,5;1.5", "2,5;see 2.5", "3,5;01.04.2018"))

    assert table["a"].to_pylist() == [1.5, 2.5, 3.5]
    assert table["b"].to_pylist() == ["1.5", "see 2.5", "01.04.2018"]


def test_a_quoted_comma_in_a_comma_delimited_file_separates_thousands_with_a_remark(file):
    path = file('a,b\n"1,234",2.5')

    with pytest.warns(TableWarning, match=r"'a'.*'1,234'.*1234.*assumption.*`decimal=','`"):
        assert read_table(path).to_pylist() == [{"a": 1234.0, "b": 2.5}]


def test_where_both_separators_are_used_each_column_has_its_own_with_a_remark(file):
    path = file("a;b", "1.5;73,37", "2.5;8,1")

    with pytest.warns(TableWarning, match=r"column 'b' is text such as '73,37'.* 73.37 \(decimal"):
        table = read_table(path)

    assert table.to_pylist()[0] == {"a": 1.5, "b": 73.37}


def test_under_a_schema_only_its_number_columns_decide_the_separator(file):
    path = file("old_score;amount;n_items;note", "0.97;73,37;1;1,5")

    assert first_batch(path).to_pylist() == [
        {"old_score": "0.97", "amount": 73.37, "n_items": 1.0, "note": "1,5"}
    ]

    path = file("amount;n_items;note", "73.37;1;1,5")

    assert_array_equal(SCHEMA.encode(first_batch(path)), np.array([[73.37, 1, 0]], np.float32))


@pytest.mark.parametrize("grouped", ["1.234,56", "1 234,56", "1\u00a0234,56", "1'234,56"])
def test_separated_thousands_are_numbers_with_a_remark(file, grouped):
    path = file("amount;n_items;note", "73,37;1;x", f"{grouped};1;x")

    with pytest.warns(TableWarning, match="'amount' .* 1234.56 .decimal comma, thousands"):
        assert read_table(path)["amount"].to_pylist() == [73.37, 1234.56]
    with pytest.warns(TableWarning, match="'amount' in events.csv .* 1234.56"):
        assert first_batch(path)["amount"].to_pylist() == [73.37, 1234.56]


def test_a_wrong_value_among_decimal_commas_is_the_one_that_is_named(file):
    path = file("amount;n_items;note", "73,37;1;x", "8,1;1;x", "many;1;x")

    with pytest.raises(TableError, match=r"'amount'.*must hold numbers.*line 4 has 'many'"):
        first_batch(path)


@pytest.mark.parametrize(
    ("text", "is_number"),
    [
        ("7", True), ("7,5", True), ("7.5", True), (",5", True), ("-1e5", True), (" 1,5 ", True),
        ("1.234.567,8", True), ("", False), (",", False), ("1,2,3", False), ("1.2.3", False),
        ("7,", False), ("e5", False), ("12.34,5", False), ("1" * 200_000 + "x", False),
        ("1.111" * 50_000, False),
    ],
)  # fmt: skip
def test_a_number_is_known_with_either_separator(text, is_number):
    assert looks_like_number(text) == is_number


def rows(notes):
    amounts = st.none() | st.integers(-(10**9), 10**9).map(lambda cents: cents / 100)
    some = st.tuples(amounts, st.integers(-9, 9), st.sampled_from(notes))
    return st.lists(some, min_size=1, max_size=20)


@examples(80)
@given(rows(["x", "ok, fine", "1,5", "0.5"]), st.sampled_from(";\t|"), st.booleans())
def test_both_spellings_of_a_table_are_scored_alike(rows, delimiter, is_quoted):
    with TemporaryDirectory() as folder:
        points, commas = both_spellings(folder, rows, delimiter, is_quoted)
        from_points = SCHEMA.encode(first_batch(points))
        from_commas = SCHEMA.encode(first_batch(commas))

    amounts = [np.nan if row[0] is None else row[0] for row in rows]
    assert_array_equal(from_points[:, 0], np.array(amounts, np.float32))
    assert_array_equal(from_commas, from_points)


@examples(80)
@given(rows(["x", "ok, fine", "1,5 or 0.5"]), st.sampled_from(";\t|"), st.booleans())
def test_both_spellings_of_a_table_are_learned_alike(rows, delimiter, is_quoted):
    rows = [(0.25, 1, "x"), *rows]
    with TemporaryDirectory() as folder:
        points, commas = both_spellings(folder, rows, delimiter, is_quoted)
        from_points, from_commas = read_table(points), read_table(commas)

    assert from_commas.equals(from_points)
    assert Schema.of(from_commas).columns[:2] == SCHEMA.columns[:2]


def both_spellings(folder, rows, delimiter, is_quoted):
    return [
        written(Path(folder, f"{name}.csv"), rows, delimiter, is_quoted, separator)
        for name, separator in {"points": ".", "commas": ","}.items()
    ]


def written(path, rows, delimiter, is_quoted, separator):
    quote = '"' if is_quoted else ""
    lines = [delimiter.join(HEADER)]
    for amount, n_items, note in rows:
        number = "" if amount is None else f"{quote}{str(amount).replace('.', separator)}{quote}"
        lines.append(delimiter.join([number, str(n_items), f'"{note}"']))
    path.write_text("\n".join(lines))
    return path

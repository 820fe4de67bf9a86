"""Tables read from files: what is understood and what is said about the rest."""

import datetime
import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from toprank.data.tables import (
    Column,
    Schema,
    TableError,
    TableWarning,
    column_names,
    count_rows,
    delimited,
    read_batches,
    read_table,
    rows_as_written,
)

SCHEMA = Schema(
    (
        Column("amount", "number"),
        Column("night", "boolean"),
        Column("country", "category", ("FR",)),
    )
)


@pytest.fixture
def file(tmp_path):
    def write(content, name="events.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def parquet(tmp_path):
    def write(columns, name="events.parquet", **options):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, tmp_path / name, **options)
        return tmp_path / name

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.data"])
def test_the_delimiter_is_found_from_the_header(file, delimiter, name):
    text = f'amount{delimiter}"a,;|b"\n1.5{delimiter}x\n'

    assert read_table(file(text, name)).to_pylist() == [{"amount": 1.5, "a,;|b": "x"}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_a_bom_change_nothing(file, end, start):
    path = file(start + end + end.join(["a,b", "1,é", ""]))

    assert read_table(path).to_pylist() == [{"a": 1, "b": "é"}]


@pytest.mark.parametrize("missing", ["", "NA", "N/A", "NaN", "nan", "null", "NULL", '""'])
def test_missing_words_are_missing_in_numbers_and_text(file, missing):
    table = read_table(file(f"n,t\n1,x\n{missing},{missing}\n"))

    assert table.to_pylist() == [{"n": 1, "t": "x"}, {"n": None, "t": None}]


def test_iso_times_become_timestamps(file):
    table = read_table(file("at\n2018-04-01 10:30:00\n"))

    assert table["at"][0].as_py() == datetime.datetime(2018, 4, 1, 10, 30)


def test_quoted_fields_may_hold_line_ends_and_delimiters(file):
    assert read_table(file('a,b\n"x\n,y",2\n')).to_pylist() == [{"a": "x\n,y", "b": 2}]


def test_late_rows_widen_the_type_of_a_column(file, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 100)
    table = read_table(file("a,b\n" + "1,1\n" * 500 + "2.5,x\n"))

    assert table.schema.types == [pa.float64(), pa.string()]


@pytest.mark.parametrize("name", ["events.csv.gz", "events.csv"])
def test_gzip_is_known_by_content(file, name):
    path = file(gzip.compress(b"a,b\n1,2\n", mtime=0), name)

    assert read_table(path).to_pylist() == [{"a": 1, "b": 2}]
    assert [batch.to_pylist() for batch in read_batches(path)] == [[{"a": 1, "b": 2}]]


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a.csv", "a.bin"])
def test_parquet_is_known_by_suffix_or_content(parquet, name):
    path = parquet({"a": [1, 2]}, name)

    assert read_table(path).to_pylist() == [{"a": 1}, {"a": 2}]
    assert count_rows(path) == 2


def test_named_columns_are_read_in_the_order_asked(file, parquet):
    for path in (file("a,b,c\n1,2,3\n"), parquet({"a": [1], "b": [2], "c": [3]})):
        assert read_table(path, ["c", "a"]).column_names == ["c", "a"]
        with pytest.raises(TableError, match="column 'amuont' is not in events"):
            read_table(path, ["amuont"])


def test_columns_asked_for_as_text_keep_their_digits_and_gaps(file):
    path = file("card,amount\n0012,1\n,2\n12,3\n")
    with pytest.warns(TableWarning, match="'card' is read as categories.*'0012'"):
        assert read_table(path)["card"].to_pylist() == ["0012", None, "12"]
    as_text = read_table(path, as_text=["card"])
    assert as_text.to_pydict() == {"card": ["0012", None, "12"], "amount": [1, 2, 3]}
    with pytest.raises(TableError, match="kard"):
        read_table(path, as_text=["kard"])


def test_rows_of_a_csv_are_not_counted(file):
    assert count_rows(file("a\n1\n")) is None


def test_column_names_are_read_without_the_rows(file, tmp_path):
    assert column_names(file("a;b c;d\n1;2;x\n")) == ["a", "b c", "d"]
    pq.write_table(pa.table({"u": [1], "v": ["x"]}), tmp_path / "table.parquet")
    assert column_names(tmp_path / "table.parquet") == ["u", "v"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "events.csv must hold a table; the file is empty"),
        ("\n\n", "events.csv must hold a table; it is empty"),
        ("a,b", "must hold at least one row; it has a header but no rows"),
        ("a,b\n", "must hold at least one row; it has a header but no rows"),
        ("a,b,a\n1,2,3\n", "column names in events.csv must differ; 'a' comes 2 times"),
        ("a,b\n1,2\n\n1,2,3\n", "must have 2 fields in every line, .*; line 4 has 3; correct"),
        ('a,b\n"x\ny",2\n1\n', "line 4 has 1"),
        ('a,b\n"x,2\n', "line 2 has 1"),
        (b"a,b\n1,caf\xe9\n", "must be UTF-8; byte 0xe9 in line 2 is not; .* `encoding='cp1252'`"),
        (b"caf\xe9,b\n1,2\n", "must be UTF-8; byte 0xe9 in line 1"),
        ("a,b\n1,2\n".encode("utf-16"), "must be UTF-8; it is UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "it holds binary data"),
        (b"\x89PNG\r\n\x1a\n\0\0", "must be a table; it is a PNG picture"),
        (b"PK\x03\x04\0\0", "it is a zip archive"),
        (
            gzip.compress(b"a,b\n1,2\n" * 9, mtime=0)[:-4],
            "must be a whole gzip file; it is cut short",
        ),
        (b"\x1f\x8b not gzip", "must be a whole gzip file"),
        ("x" * (1 << 20), "its first line does not end within 1,048,576 bytes"),
        ('"' + "x\n" * 100_000, "cannot be read as a table"),
    ],
)
def test_a_csv_without_use_is_refused_in_words(file, content, message):
    path = file(content)

    with pytest.raises(TableError, match=message):
        read_table(path)
    with pytest.raises(TableError, match=message):
        list(read_batches(path))


def test_text_beyond_the_head_must_be_utf8_too(file, monkeypatch):
    monkeypatch.setattr(delimited, "_HEAD", 64)
    path = file(b"a,b\n" + b"1,cafe\n" * 50 + b"1,caf\xe9\n")

    with pytest.raises(TableError, match="must be UTF-8; some text in column 'b' is not"):
        read_table(path)
    with pytest.raises(TableError, match=r"events.csv must be UTF-8; some text in column 'b'"):
        list(read_batches(path))


def test_a_row_too_long_for_a_block_hints_at_an_open_quote(file, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 100)

    with pytest.raises(TableError, match=r"rows shorter than 100 bytes; .* quote"):
        list(read_batches(file('a,b\n1,2\n"' + "x,2\n" * 500)))


@pytest.mark.parametrize("read", [read_table, read_batches, count_rows])
@pytest.mark.parametrize("kept", [slice(-10), slice(6), slice(500)])
def test_a_truncated_parquet_is_refused_in_words(parquet, read, kept):
    path = parquet({"a": list(range(1000))})
    path.write_bytes(path.read_bytes()[kept])

    with pytest.raises(
        TableError, match=r"^events.parquet must be a whole Parquet file; it is cut"
    ):
        read(path)


@pytest.mark.parametrize("read", [read_table, lambda path: list(read_batches(path))])
def test_a_parquet_with_damaged_pages_is_refused_in_words(parquet, read):
    path = parquet({"a": list(range(1000))})
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])

    with pytest.raises(
        TableError, match=r"^events.parquet must be a whole Parquet file; it is cut"
    ):
        read(path)


def test_a_csv_named_as_parquet_is_refused_in_words(file):
    with pytest.raises(TableError, match="must be Parquet, as its suffix says"):
        read_table(file("a,b\n1,2\n", "events.parquet"))


def test_a_parquet_without_rows_or_with_twin_columns_is_refused(parquet):
    empty = parquet({"a": pa.array([], pa.int64())}, "empty.parquet")
    twins = parquet(pa.table([[1], [2]], names=["a", "a"]), "twins.parquet")

    for read in (read_table, read_batches):
        with pytest.raises(TableError, match=r"empty.parquet must hold at least one row"):
            read(empty)
        with pytest.raises(TableError, match=r"twins.parquet must differ; 'a' comes 2 times"):
            read(twins)


def test_a_file_that_is_not_there_is_named_with_the_nearest(file, tmp_path):
    file("a\n1\n", "events.csv")

    with pytest.raises(FileNotFoundError, match=r"there is no file .*; did you mean 'events.csv'"):
        read_table(tmp_path / "evnets.csv")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_batches(tmp_path / "no" / "such.csv")
    with pytest.raises(TableError, match="it is a folder; name one file"):
        count_rows(tmp_path)


@pytest.mark.parametrize("read", [read_table, read_batches, count_rows])
def test_a_pipe_is_refused_before_a_byte_of_it_is_lost(read):
    reading, writing = os.pipe()
    try:
        os.write(writing, b"a,b\n1,2\n")
        with pytest.raises(
            TableError, match=r"must be a file on disk, .* it is a pipe or a device"
        ):
            read(f"/dev/fd/{reading}")
        assert os.read(reading, 100) == b"a,b\n1,2\n"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("rows", [1, 7, 100, 250, 1000])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_batches_hold_the_rows_asked_for_and_together_all_of_them(
    file, parquet, monkeypatch, rows, kind
):
    monkeypatch.setattr(delimited, "_BLOCK", 200)
    numbers = list(range(250))
    text = "a\n" + "\n".join(map(str, numbers))
    path = file(text) if kind == "csv" else parquet({"a": numbers}, row_group_size=30)

    tables = list(read_batches(path, rows=rows))

    assert [table.num_rows for table in tables[:-1]] == [rows] * (len(tables) - 1)
    assert 0 < tables[-1].num_rows <= rows
    assert [value for table in tables for value in table["a"].to_pylist()] == numbers


def test_a_schema_fixes_the_types_of_a_csv(file):
    path = file("id,country,amount,night\n007,NA,1,true\n,1,2.5,0\n")

    (table,) = read_batches(path, schema=SCHEMA)

    assert table.to_pylist() == [
        {"id": "007", "country": "NA", "amount": 1.0, "night": True},
        {"id": "", "country": "1", "amount": 2.5, "night": False},
    ]
    assert table.schema.field("amount").type == pa.float64()
    assert_array_equal(SCHEMA.encode(table), [[1, 1, np.nan], [2.5, 0, np.nan]])


def test_a_wrong_value_under_a_schema_is_named_with_its_column(file):
    path = file("amount,night,country\n1,true,FR\nmany,true,FR\n")

    with pytest.raises(
        TableError, match=r"column 'amount' in .* must hold numbers .*line 3 has 'many'"
    ):
        list(read_batches(path, schema=SCHEMA))


def test_a_missing_schema_column_is_refused_before_the_first_batch(file, parquet):
    for path in (file("amuont,night\n1,true\n"), parquet({"amuont": [1]})):
        with pytest.raises(TableError, match=r"column 'amount' is not in .*'amuont'"):
            read_batches(path, schema=SCHEMA)


def test_progress_grows_to_the_size_of_the_file(file, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 1000)
    path = file("a,b\n" + "1,2\n" * 5000)
    seen = []

    list(read_batches(path, rows=100, on_bytes=seen.append))

    assert len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size


def test_an_abandoned_reading_leaves_the_file_free(file):
    path = file("a,b\n" + "1,2\n" * 5000)
    batches = read_batches(path, rows=10)
    assert next(batches).num_rows == 10
    batches.close()

    path.unlink()
    assert not path.exists()


def test_rows_per_batch_must_be_positive(file):
    with pytest.raises(ValueError, match="rows must be at least 1; got 0"):
        read_batches(file("a\n1\n"), rows=0)


def test_rows_are_given_as_they_were_written(file, tmp_path):
    path = file("id;amount\n007;1,50\n9007199254740993;NA\n3;\n")
    rows = rows_as_written(path, [2, 1, 2]).to_pylist()
    assert rows == [
        {"id": "9007199254740993", "amount": "NA"},
        {"id": "007", "amount": "1,50"},
        {"id": "9007199254740993", "amount": "NA"},
    ]
    pq.write_table(pa.table({"id": [7, 8, 9]}), tmp_path / "table.parquet")
    assert rows_as_written(tmp_path / "table.parquet", [3]).to_pylist() == [{"id": 9}]
    with pytest.raises(TableError, match=r"row 4 is not in .*: it has 3 rows"):
        rows_as_written(path, [4])

"""JSON, Excel and Feather: the same rows as a CSV, and what is wrong with a file in words."""

import gzip
import sys

import pandas as pd
import pyarrow as pa
import pytest

from toprank.data.tables import (
    Column,
    Reading,
    Schema,
    TableError,
    column_names,
    read_batches,
    read_table,
    read_written,
    rows_as_written,
)
from toprank.data.tables.known_numbers import KnownNumbers
from toprank.data.tables.number_formats import NumberFormat

FRAME = pd.DataFrame({"amount": [9.5, 3.0, 1234.5], "country": ["FR", "DE", None]})
SCHEMA = Schema((Column("amount", "number"), Column("country", "category", ("DE", "FR"))))


def written(kind, folder):
    path = folder / f"rows.{kind}"
    if kind == "feather":
        FRAME.to_feather(path)
    elif kind == "xlsx":
        FRAME.to_excel(path, index=False)
    elif kind == "parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_json(path, orient="records", lines="l" in kind)
        if kind.endswith(".gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    return path


@pytest.mark.parametrize("kind", ["json", "jsonl", "xlsx", "feather", "parquet"])
def test_every_kind_of_file_gives_the_same_rows(kind, tmp_path):
    path = written(kind, tmp_path)
    rows = FRAME.astype(object).where(FRAME.notna(), None).to_dict("records")

    assert read_table(path).to_pylist() == rows
    assert column_names(path) == ["amount", "country"]
    assert [
        row for batch in read_batches(path, schema=SCHEMA, rows=2) for row in batch.to_pylist()
    ] == rows
    (batch,) = read_written(path, schema=SCHEMA)
    assert batch.table.to_pylist() == rows
    assert rows_as_written(path, [3, 1]).to_pylist() == [rows[2], rows[0]]


def test_json_lines_may_lack_keys_and_mix_types(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1.5}\n\n{"a": "unknown", "b": true}\n{"a": 2}\n{"a": 3.25}\n')
    with pytest.warns(match="'unknown'"):
        table = read_table(path)
    assert table.to_pydict() == {"a": [1.5, None, 2, 3.25], "b": [None, True, None, None]}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "rows.jsonl",
            '{"a": 1}\n{"a": \n',
            "rows.jsonl must have one JSON object per line.*line 2",
        ),
        ("rows.jsonl", '{"a": 1}\n[2]\n', r"line 2 has '\[2\]'"),
        ("rows.json", "[1, 2]", "array of objects"),
        ("rows.json", "[]", "at least one row"),
        ("rows.json", '[{"a": 1}', "rows.json must be JSON"),
        ("rows.feather", "ARROW1", "whole Feather file"),
        ("rows.feather", "FEA1....", "version 1"),
        ("rows.xls", b"\xd0\xcf\x11\xe0\x00\x00", "Excel's old format"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError, match=words):
        read_table(path)


def test_categories_that_are_numbers_as_text_are_numbers(tmp_path):
    frame = pd.DataFrame({"amount": ["1,234.56", "7.50"] * 3, "shop": ["A", "B"] * 3})
    frame.astype("category").to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(match="'amount'.*1234.56"):
        table = read_table(tmp_path / "rows.parquet")
    assert table["amount"].to_pylist() == [1234.56, 7.5] * 3
    assert pa.types.is_dictionary(table["shop"].type)


@pytest.mark.parametrize("n_rows", [30, 5_000, 24_049])
def test_a_word_in_every_tenth_row_does_not_hide_the_numbers(n_rows, tmp_path):
    path = tmp_path / "rows.csv"
    amounts = ["unknown" if i % 10 == 0 else f"{i / 100:.2f}" for i in range(n_rows)]
    path.write_text("\n".join(["amount", *amounts]))
    with pytest.warns(match=f"{-(-n_rows // 10):,} cells such as 'unknown'"):
        assert pa.types.is_floating(read_table(path)["amount"].type)


def test_lists_are_left_as_they_are(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"tags": ["1,5", "2,5"]}\n')
    assert read_table(path).to_pylist() == [{"tags": ["1,5", "2,5"]}]


def test_only_the_first_of_several_sheets_is_read(tmp_path):
    path = tmp_path / "rows.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="rows", index=False)
        FRAME[:1].to_excel(book, sheet_name="notes", index=False)
    with pytest.warns(match="2 sheets; the first, 'rows'"):
        assert read_table(path).num_rows == 3


def test_without_openpyxl_a_sentence_says_how_to_install_it(tmp_path, monkeypatch):
    path = written("xlsx", tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"toprank\[excel\]"):
        read_table(path)


def test_what_was_found_in_a_file_travels_with_its_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("at,amount\n31/12/2024,EUR 1.234\n30/12/2024,EUR 5\n")
    with pytest.warns(match="the number 1234 "):
        table = read_table(path, reading=Reading(times=("at",), decimal=","))
    found = Reading.from_json(Reading.of(table).to_json())

    assert found.known_numbers == {"amount": KnownNumbers(NumberFormat(",", "."), "eur", 0)}
    assert found.known_times == {"at": "%d/%m/%Y"}
    assert pa.types.is_timestamp(table["at"].type)


def test_a_known_format_decides_how_the_next_file_is_read(tmp_path):
    path = tmp_path / "today.csv"
    path.write_text("at,amount\n03/04/2025,1.234\n")
    known = Reading(
        times=("at",),
        known_numbers={"amount": KnownNumbers(NumberFormat(",", "."))},
        known_times={"at": "%d/%m/%Y"},
    )
    schema = Schema((Column("amount", "number"),))
    for read in (read_batches, read_written):
        (batch,) = read(path, schema=schema, reading=known)
        table = getattr(batch, "table", batch)
        assert table["amount"].to_pylist() == [1234]
        assert str(table["at"][0]) == "2025-04-03 00:00:00"
    (plain,) = read_batches(path, schema=schema)
    assert plain["amount"].to_pylist() == [1.234]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"encoding": "latn-9"}, "`encoding`.*'latn-9'"),
        ({"decimal": ";"}, "`decimal`.*';'"),
        ({"thousands": "x"}, "`thousands`.*'x'"),
        ({"decimal": ",", "thousands": ","}, "`thousands` must be another"),
        ({"time_format": "d/m/y"}, "`time_format`.*'d/m/y'"),
    ],
)
def test_a_reading_that_makes_no_sense_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Reading(**given)

"""Files written whole or not at all."""

import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from toprank.data.tables import TableError, read_table, write_rows

ROWS = [
    {"row": 7, "country": 'F"R,;', "suspicion": 0.9},
    {"row": 8, "country": None, "suspicion": None},
]


@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv", "a.txt", "a.CSV", "a.csv.gz", "a.parquet", "a.pq"]
)
@pytest.mark.parametrize("frame_of", [pa.Table.from_pylist, pl.DataFrame])
def test_what_is_written_can_be_read_back(tmp_path, name, frame_of):
    write_rows(frame_of(ROWS), tmp_path / name)

    assert read_table(tmp_path / name).to_pylist() == ROWS
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_categories_are_written_as_text(tmp_path):
    write_rows(pd.DataFrame({"c": ["a", "b"]}, dtype="category"), tmp_path / "a.csv")

    assert read_table(tmp_path / "a.csv")["c"].to_pylist() == ["a", "b"]


def test_gz_is_gzip_and_tsv_has_tabs(tmp_path):
    table = pa.table({"a": [1], "b": [2]})
    write_rows(table, tmp_path / "a.csv.gz")
    write_rows(table, tmp_path / "a.tsv")

    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b'"a","b"\n1,2\n'
    assert (tmp_path / "a.tsv").read_bytes() == b'"a"\t"b"\n1\t2\n'


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(TableError, match=f"{name} must end in one of .csv, .txt, .tsv"):
        write_rows(pa.table({"a": [1]}), tmp_path / name)


def test_nested_columns_do_not_fit_a_csv_and_leave_the_old_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    with pytest.raises(TableError, match=r"got a column of type list<.*; write Parquet instead"):
        write_rows(pa.table({"a": [[1]]}), path)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none to write a.csv to"):
        write_rows(pa.table({"a": [1]}), tmp_path / "none" / "a.csv")

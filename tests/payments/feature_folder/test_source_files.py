"""Files of payments are found by folder and pattern, and what is wrong with one names it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.payments.feature_folder.source_files import (
    common_schema,
    parquet_paths,
    rows_of_file,
    source_files,
)

ROWS = pa.table({"card": ["a", "b"], "amount": [1, 2]})


def test_a_folder_a_pattern_and_a_file_name_the_same_files(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in (*paths, tmp_path / "_work.parquet", tmp_path / ".hidden.parquet"):
        pq.write_table(ROWS, path)

    assert parquet_paths(tmp_path) == paths
    assert parquet_paths(f"{tmp_path}/[ab].parquet") == paths
    assert parquet_paths(paths[0]) == paths[:1]


def test_no_file_at_all_is_refused_with_what_to_type(tmp_path):
    with pytest.raises(FileNotFoundError, match="no Parquet file at"):
        parquet_paths(tmp_path / "*.parquet")


def test_a_broken_file_and_a_lacking_column_name_the_file(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"b\.parquet must be a complete Parquet file"):
        source_files(tmp_path, ["card"])

    pq.write_table(ROWS.drop_columns(["card"]), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"column 'card' is not in .*b\.parquet"):
        source_files(tmp_path, ["card"])


def test_numbers_of_several_sizes_have_one_type_and_text_is_no_number(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet")
    pq.write_table(ROWS.set_column(1, "amount", pa.array([1.5, 2])), tmp_path / "b.parquet")
    files = source_files(tmp_path, ["card"])
    schema = common_schema(files, ["card", "amount"])
    rows = pa.concat_tables(each for file in files for each in rows_of_file(file, schema))
    assert rows["amount"].to_pylist() == [1, 2, 1.5, 2]

    pq.write_table(ROWS.set_column(1, "amount", pa.array(["1", "2"])), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"'amount' must have one type in all files"):
        common_schema(source_files(tmp_path, ["card"]), ["card", "amount"])


def test_categories_are_read_as_their_values(tmp_path):
    cards = ROWS["card"].dictionary_encode()
    pq.write_table(ROWS.set_column(0, "card", cards), tmp_path / "a.parquet")
    files = source_files(tmp_path, ["card"])
    (rows,) = rows_of_file(files[0], common_schema(files, ["card"]))
    assert rows["card"].to_pylist() == ["a", "b"]
    assert rows["card"].type == pa.string()

"""Rows of several files, on disk and in an object store."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from toprank.data import tables
from toprank.data.sources import FileRows
from toprank.data.tables import TableError, TableWarning

ROWS = pa.table(
    {
        "number": list(range(90)),
        "amount": [i / 4 for i in range(90)],
        "country": ["FR", "DE", "US"] * 30,
    }
)


@pytest.fixture
def folder(tmp_path):
    """Three files of Parquet with 30 rows each, one of them in a folder below."""
    (tmp_path / "more").mkdir()
    for i, name in enumerate(("a.parquet", "b.parquet", "more/c.parquet")):
        pq.write_table(ROWS.slice(30 * i, 30), tmp_path / name, row_group_size=7)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.md").write_text("no table")
    return tmp_path


def in_store(store, suffix="parquet"):
    for i in range(3):
        part = ROWS.slice(30 * i, 30)
        if suffix == "parquet":
            store.write_parquet(f"days/{i}.parquet", part, row_group_size=7)
        else:
            sink = pa.BufferOutputStream()
            pacsv.write_csv(part, sink)
            store.write(f"days/{i}.{suffix}", sink.getvalue().to_pybytes())
    return f"{store.url}/days"


def test_a_folder_has_the_rows_of_its_tables_in_the_order_of_their_names(folder):
    rows = FileRows.at(folder)

    assert rows.table().equals(ROWS)
    assert rows.count_rows() == 90
    assert rows.column_names() == ROWS.column_names


@pytest.mark.parametrize(
    ("pattern", "n_rows"), [("*.parquet", 60), ("**/*.parquet", 90), ("[b-z].parquet", 30)]
)
def test_a_pattern_has_the_rows_of_what_matches(folder, pattern, n_rows):
    assert FileRows.at(f"{folder}/{pattern}").table().num_rows == n_rows


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_rows_of_a_store_are_those_that_were_written(store, suffix):
    where = in_store(store, suffix)

    for each in (where, f"{where}/", f"{where}/*.{suffix}", f"{store.url}/**/?.{suffix}"):
        assert FileRows.at(each).table().equals(ROWS)
    assert FileRows.at(f"{where}/1.{suffix}").table().equals(ROWS.slice(30, 30))


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_batches_of_a_store_are_those_of_a_file(store, suffix, tmp_path):
    schema = tables.Schema.of(ROWS)
    pq.write_table(ROWS, tmp_path / "all.parquet")
    expected = pa.concat_tables(tables.read_batches(tmp_path / "all.parquet", schema=schema))
    done = []

    rows = FileRows.at(in_store(store, suffix))
    batches = list(rows.batches(schema=schema, rows=20, on_bytes=done.append))

    assert {batch.num_rows for batch in batches} == {20, 10}
    assert pa.concat_tables(batches)["amount"].equals(expected["amount"])
    assert done == sorted(done) and done[-1] == rows.n_bytes


def test_rows_by_number_are_counted_over_all_files(folder, store):
    numbers = [61, 3, 90, 31]
    expected = ROWS.take([number - 1 for number in numbers])

    for where in (folder, in_store(store)):
        assert FileRows.at(where).rows_as_written(numbers).equals(expected)
    with pytest.raises(TableError, match="row 91 is not in"):
        FileRows.at(folder).rows_as_written([2, 91])


def test_text_by_number_is_what_the_files_have(tmp_path):
    for name, card in (("a.csv", "007"), ("b.csv", "12")):
        Path(tmp_path, name).write_text(f"card,amount\n{card},9.50\n")

    rows = FileRows.at(tmp_path).rows_as_written([2, 1])

    assert rows.to_pylist() == [
        {"card": "12", "amount": "9.50"}, {"card": "007", "amount": "9.50"},
    ]  # fmt: skip


def test_codes_of_one_file_make_the_column_text_in_all(tmp_path):
    Path(tmp_path, "a.csv").write_text("shop,amount\n1200,1\n1201,2\n")
    Path(tmp_path, "b.csv").write_text("shop,amount\n0012,1.5\n0013,2\n")

    table = FileRows.at(tmp_path).table()

    assert table["shop"].to_pylist() == ["1200", "1201", "0012", "0013"]
    assert table["amount"].to_pylist() == [1, 2, 1.5, 2]


def test_how_numbers_were_written_is_kept_of_all_files(tmp_path):
    for name in ("a.csv", "b.csv"):
        Path(tmp_path, name).write_text("amount\nEUR 12.50\nEUR 9.25\n")

    with pytest.warns(TableWarning, match="read as the number"):
        table = FileRows.at(tmp_path).table()

    assert tables.Reading.of(table).known_numbers["amount"].unit == "eur"


def test_a_column_that_some_files_lack_is_missing_there_and_reported(tmp_path):
    pq.write_table(ROWS.slice(0, 5), tmp_path / "a.parquet")
    pq.write_table(ROWS.slice(5, 5).drop_columns(["country"]), tmp_path / "b.parquet")

    with pytest.warns(TableWarning, match="'country' is not in 1 of the 2 files.*b.parquet"):
        table = FileRows.at(tmp_path).table()

    assert table["country"].null_count == 5


def test_types_that_do_not_go_together_name_both_files(tmp_path):
    pq.write_table(pa.table({"at": [1.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp("s"))}), tmp_path / "b.parquet")

    with pytest.raises(TableError, match=r"'at'.*a.parquet has double, b.parquet has timestamp"):
        FileRows.at(tmp_path).table()


def test_folders_named_like_columns_are_reported_with_the_way_out(tmp_path):
    for day in ("2026-01-01", "2026-01-02"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(ROWS, tmp_path / f"day={day}" / "x.parquet")

    with pytest.warns(TableWarning, match="hive_partitioning"):
        FileRows.at(tmp_path)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no/*.csv", "no file matches no/*.csv"),
        ("http://bank/x.csv", "must be a path, or a URL that begins with s3://"),
        ("s3://", "must name a bucket"),
        ("abfs://files/x.csv", "CONTAINER@ACCOUNT"),
    ],
)
def test_places_without_rows_are_refused_in_a_sentence(where, said):
    with pytest.raises((FileNotFoundError, TableError)) as refused:
        FileRows.at(where)

    assert said in str(refused.value)


def test_an_empty_folder_says_what_its_files_must_end_in(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no table in .*\.parquet"):
        FileRows.at(tmp_path)


def test_what_a_store_lacks_is_named_with_its_url(store):
    in_store(store)

    with pytest.raises(FileNotFoundError, match=r"no file s3://.*/days/4.parquet; did you mean"):
        FileRows.at(f"{store.url}/days/4.parquet")
    with pytest.raises(FileNotFoundError, match=r"no file matches s3://.*x\*"):
        FileRows.at(f"{store.url}/days/x*")
    with pytest.raises(FileNotFoundError, match="there is no bucket 'no-such-bucket'"):
        FileRows.at("s3://no-such-bucket/days/0.parquet")
    with pytest.raises(FileNotFoundError, match="there is no bucket"):
        FileRows.at("s3://no-such-bucket/days/*.parquet")


def test_a_store_that_is_not_there_is_reported_with_its_url(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(ConnectionError, match=r"s3://payments/x\.parquet does not answer"):
        FileRows.at("s3://payments/x.parquet")


def test_a_damaged_file_of_a_store_is_named(store):
    url = store.write("bad.parquet", b"PAR1" + bytes(500))

    with pytest.raises(TableError, match=r"bad\.parquet must be a whole Parquet file"):
        FileRows.at(url).table()


@pytest.mark.parametrize("scheme", ["gs", "abfs"])
def test_urls_of_other_stores_lead_to_their_file_systems(scheme):
    from pyarrow import fs

    from toprank.data.sources.file_places import _filesystem

    kind, url = {
        "gs": (fs.GcsFileSystem, "gs://anonymous@payments/2026/day 1.parquet"),
        "abfs": (
            fs.AzureFileSystem,
            "abfs://payments@bank.dfs.core.windows.net/2026/day 1.parquet",
        ),
    }[scheme]

    filesystem, path = _filesystem(url)

    assert isinstance(filesystem, kind)
    assert path == "payments/2026/day 1.parquet"


def test_a_file_with_spaces_and_signs_in_its_name_is_read_from_a_store(store):
    url = store.write_parquet("day 1+2=3.parquet", ROWS)

    assert FileRows.at(url).table().equals(ROWS)
    assert np.array_equal(FileRows.at(url).table(["number"])["number"], ROWS["number"])

"""Data sets in a folder: which folder, and what is said of a file that cannot be used."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from toprank.data.tables import TableError
from toprank_bench import datasets

TABLE = pa.table({"amount": [1.0, 2.0, 3.0], "label": ["a", "b", "b"], "y": [0, 1, 0]})


def folder_with(path, name, table=TABLE):
    path.mkdir(exist_ok=True)
    pq.write_table(table, path / f"{name}.parquet")
    return path


def test_a_set_is_found_in_the_folder_given(tmp_path):
    folder = folder_with(tmp_path / "here", "mine")
    dataset = datasets.load("mine", folder=folder)
    assert dataset.features.equals(TABLE.select(["amount"]))
    assert dataset.metadata.equals(TABLE.select(["label"]))
    assert dataset.source == f"the file {folder / 'mine.parquet'}"


def test_a_set_is_found_in_the_folder_of_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPRANK_DATA", str(folder_with(tmp_path / "there", "mine")))
    assert datasets.load("mine").is_positive.tolist() == [False, True, False]
    assert datasets.names()["mine"] == ["folder"]


def test_the_folder_given_goes_before_that_of_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPRANK_DATA", str(folder_with(tmp_path / "there", "mine")))
    here = folder_with(tmp_path / "here", "mine")
    assert str(here) in datasets.load("mine", folder=str(here)).source
    # only one folder is looked at
    (here / "mine.parquet").unlink()
    with pytest.raises(datasets.DatasetNotFoundError):
        datasets.load("mine", folder=here)


def test_a_folder_goes_before_all_other_places(tmp_path):
    table = pa.table({"a": range(178), "y": [row < 48 for row in range(178)]})
    folder = folder_with(tmp_path / "here", "sklearn_wine_2", table)
    assert datasets.load("sklearn_wine_2", folder=folder).features.column_names == ["a"]
    assert datasets.load("sklearn_wine_2").features.num_columns == 13
    assert datasets.names(folder=folder)["sklearn_wine_2"] == ["folder", "scikit-learn"]


def test_a_folder_that_is_not_there_gets_a_sentence(tmp_path, monkeypatch):
    nowhere = tmp_path / "nowhere"
    with pytest.raises(ValueError, match=f"^folder must name a folder; .* at {nowhere}"):
        datasets.load("mine", folder=nowhere)
    monkeypatch.setenv("TOPRANK_DATA", str(nowhere))
    with pytest.raises(ValueError, match=f"^TOPRANK_DATA must name a folder; .* at {nowhere}"):
        datasets.names()


def test_a_damaged_file_gets_a_sentence(tmp_path):
    folder = folder_with(tmp_path / "here", "mine")
    path = folder / "mine.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(TableError, match=r"^mine\.parquet must be a whole Parquet file"):
        datasets.load("mine", folder=folder)
    path.write_text("amount,y\n1,0\n")
    with pytest.raises(TableError, match=r"^mine\.parquet must be Parquet"):
        datasets.load("mine", folder=folder)


def test_a_file_without_y_is_named_in_the_sentence(tmp_path):
    folder = folder_with(tmp_path / "here", "mine", TABLE.drop_columns(["y"]))
    with pytest.raises(TableError, match=r"column 'y' is not in the file .*mine\.parquet"):
        datasets.load("mine", folder=folder)

"""OpenML's sets are fetched once, kept whole and compared with their checksum."""

import hashlib
from http.client import IncompleteRead
from types import SimpleNamespace
from urllib.error import URLError

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import datasets as sklearn_datasets

from toprank.data.tables import TableError
from toprank_bench import datasets
from toprank_bench.datasets import openml
from toprank_bench.datasets.known_sets import KNOWN


class Server:
    """Replaces `fetch_openml`: returns the satellite set, or what it is given."""

    def __init__(self):
        self.n_rows, self.error, self.asked = 5_100, None, []

    def __call__(self, *, data_id, data_home, as_frame, parser, read_csv_kwargs):
        self.asked.append(data_id)
        assert as_frame and parser == "pandas" and read_csv_kwargs == {"dtype": str}
        if self.error:
            raise self.error
        rows = range(self.n_rows)
        frame = pd.DataFrame({"band": [f"{row}.5" for row in rows], "soil": ["'red'"] * len(rows)})
        frame.loc[3, "band"] = None
        target = pd.Series(["Anomaly" if row < 75 else "Normal" for row in rows])
        return SimpleNamespace(data=frame, target=target)


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr(sklearn_datasets, "fetch_openml", server)
    return server


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "kept" / "toprank" / "openml_satellite.parquet"


def test_a_set_is_fetched_once_and_then_read_from_disk(server, kept):
    assert datasets.names()["openml_satellite"] == ["OpenML"]
    fetched = datasets.load("openml_satellite")
    again = datasets.load("openml_satellite")

    assert server.asked == [40900]
    assert fetched.source == f"OpenML 40900, fetched now and kept as {kept}"
    assert again.source == f"OpenML 40900, kept as {kept}"
    assert again.features.equals(fetched.features)
    assert again.metadata.equals(fetched.metadata)
    assert (again.is_positive == fetched.is_positive).all()
    assert datasets.names()["openml_satellite"] == ["OpenML, kept on disk"]


def test_texts_become_numbers_and_categories(server):
    dataset = datasets.load("openml_satellite")
    assert dataset.features["band"].to_pylist()[2:5] == [2.5, None, 4.5]
    assert pa.types.is_dictionary(dataset.features["soil"].type)
    assert dataset.features["soil"][0].as_py() == "red"
    assert dataset.metadata["label"][0].as_py() == "Anomaly"
    assert dataset.is_positive.nonzero()[0].tolist() == list(range(75))


def test_the_checksum_is_that_of_the_kept_file(server, kept):
    datasets.load("openml_satellite")
    stated, name = kept.with_name(f"{kept.name}.sha256").read_text().split()
    assert (stated, name) == (hashlib.sha256(kept.read_bytes()).hexdigest(), kept.name)


def test_a_kept_file_that_was_altered_gets_a_sentence(server, kept):
    datasets.load("openml_satellite")
    table = pq.read_table(kept)
    pq.write_table(table.set_column(0, "band", pa.array([0.0] * 5_100)), kept)
    with pytest.raises(TableError, match=r"must have the checksum .*; delete the file"):
        datasets.load("openml_satellite")

    kept.unlink()
    assert datasets.load("openml_satellite").features.equals(table.select(["band", "soil"]))


def test_a_kept_file_without_a_checksum_is_not_trusted(server, kept):
    datasets.load("openml_satellite")
    kept.with_name(f"{kept.name}.sha256").unlink()
    with pytest.raises(TableError, match="must have the checksum"):
        datasets.load("openml_satellite")


def test_a_set_with_other_rows_gets_a_sentence_and_is_not_kept(server, kept):
    server.n_rows = 5_099
    with pytest.raises(TableError, match="must hold 5,100 rows with 75 positives"):
        datasets.load("openml_satellite")
    assert not kept.exists()


def test_nothing_is_kept_when_writing_breaks_off(server, kept, monkeypatch):
    def half_a_file(table, path, **options):
        path.write_bytes(b"PAR1")
        raise OSError("the disk is full")

    with monkeypatch.context() as broken, pytest.raises(OSError, match="the disk is full"):
        broken.setattr(pq, "write_table", half_a_file)
        datasets.load("openml_satellite")
    assert list(kept.parent.iterdir()) == []
    assert datasets.load("openml_satellite").source.startswith("OpenML 40900, fetched now")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (URLError("no route to host"), ("out of reach: <urlopen error no route", "or go online.")),
        (TimeoutError("timed out"), ("out of reach: timed out", "or go online.")),
        (IncompleteRead(b""), ("out of reach: IncompleteRead", "or go online.")),
        (ValueError("md5 checksum"), ("cannot be used: md5 checksum", "or try again later.")),
        (ImportError("pandas"), ("pandas, which reads it, is not inst", "or install pandas.")),
    ],
)
def test_a_fetch_that_fails_is_a_set_not_found(server, error, words):
    server.error = error
    with pytest.raises(datasets.DatasetNotFoundError) as caught:
        datasets.load("openml_satellite")
    for part in (*words, "set TOPRANK_DATA to a folder with openml_satellite.parquet"):
        assert part in str(caught.value)


def test_every_set_to_fetch_has_known_rows_and_positives():
    assert set(openml.names()) <= set(KNOWN)

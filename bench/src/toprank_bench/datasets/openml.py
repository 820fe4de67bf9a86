"""Public sets fetched from OpenML once, then kept on disk as Parquet.

scikit-learn fetches and compares the file with the MD5 that OpenML states. Rows and positives must
be those known before anything is kept. What is kept has its SHA-256 next to it, compared whenever
it is read.
"""

import hashlib
import os
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn import datasets as sklearn_datasets

from toprank.data.atomic import atomic_path
from toprank.data.tables.columns import TableError
from toprank.data.tables.read import read_table
from toprank_bench.datasets.dataset import Dataset, from_table
from toprank_bench.datasets.places import NotHere
from toprank_bench.datasets.text_columns import number_or_category, plain_text


class _Entry(NamedTuple):
    data_id: int
    positive_labels: tuple[str, ...]


_ENTRIES = {
    "ulb_creditcard": _Entry(42175, ("1", "1.0")),  # 1597 is the same without Time
    "adbench_mammography": _Entry(310, ("1",)),
    "openml_satellite": _Entry(40900, ("Anomaly",)),
    "metaap_bankmarketing": _Entry(1461, ("2",)),
    "onlb_adult": _Entry(1590, (">50K",)),
    "onlb_covtype": _Entry(1596, ("2",)),
    "onlb_mnist": _Entry(554, ("5", "6", "7", "8", "9")),
    "onlb_shuttle": _Entry(40685, ("2", "3", "4", "5", "6", "7")),
}


def find(name: str) -> Dataset | NotHere:
    """Return a set of OpenML, as it was kept or fetched now and kept for next time."""
    if name not in _ENTRIES:
        return NotHere("the sets known of OpenML")
    entry, path = _ENTRIES[name], _kept_file(name)
    if path.exists():
        _check_unaltered(path)
        return from_table(name, read_table(path), f"OpenML {entry.data_id}, kept as {path}")
    table = _fetched(entry)
    if isinstance(table, NotHere):
        return table
    dataset = from_table(name, table, f"OpenML {entry.data_id}, fetched now and kept as {path}")
    _keep(table, path)
    return dataset


def names() -> list[str]:
    """Return the names that can be fetched, whether they are kept already or not."""
    return list(_ENTRIES)


def is_kept(name: str) -> bool:
    """Return whether the set has been fetched before."""
    return _kept_file(name).exists()


def _kept_file(name: str) -> Path:
    # where scikit-learn keeps what it fetches
    folder = os.environ.get("SCIKIT_LEARN_DATA") or "~/scikit_learn_data"
    return Path(folder).expanduser() / "toprank" / f"{name}.parquet"


def _fetched(entry: _Entry) -> pa.Table | NotHere:
    try:
        # scikit-learn's own copy is text and slow to read, so it is not kept. All is read as
        # text: scikit-learn 1.9 fails on categories that pandas 3.1 takes for numbers.
        with TemporaryDirectory() as folder:
            bunch = sklearn_datasets.fetch_openml(
                data_id=entry.data_id,
                data_home=folder,
                as_frame=True,
                parser="pandas",
                read_csv_kwargs={"dtype": str},
            )
    except ImportError:
        return NotHere("OpenML (pandas, which reads it, is not installed)", "install pandas")
    except (OSError, HTTPException) as error:
        return NotHere(f"OpenML (out of reach: {error})", "go online")
    except ValueError as error:
        return NotHere(f"OpenML (its answer cannot be used: {error})", "try again later")
    return _table_of(bunch, entry.positive_labels)


def _table_of(bunch: Any, positive_labels: tuple[str, ...]) -> pa.Table:
    frame = pa.Table.from_pandas(bunch.data, preserve_index=False)
    columns = {name: number_or_category(plain_text(frame[name])) for name in frame.column_names}
    label = plain_text(pa.chunked_array([pa.Array.from_pandas(bunch.target)]))
    columns["label"] = label.dictionary_encode()
    columns["y"] = pc.is_in(label, pa.array(positive_labels))
    return pa.table(columns)


def _keep(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
        # The checksum is there first: no kept file is ever without one.
        with atomic_path(_checksum_file(path)) as checksum:
            checksum.write_text(f"{_sha256(temporary)}  {path.name}\n")


def _check_unaltered(path: Path) -> None:
    checksum = _checksum_file(path)
    stated = checksum.read_text().split()[:1] if checksum.exists() else []
    if stated != [_sha256(path)]:
        raise TableError(
            f"{path} must have the checksum it was kept with, in {checksum.name}; it has another; "
            "delete the file to fetch it again."
        )


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Tables to files that are either whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from toprank.tables.columns import TableError, required_frame

_DELIMITER_OF = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_PARQUET_SUFFIXES = (".parquet", ".pq")


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; it takes the place of `path` when all went well.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder, "note.txt")) as beside:
    ...         _ = beside.write_text("whole")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['note.txt']
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} must name a file to write; it is a folder.")
    beside = path.with_name(f".{token_hex(4)}-{path.name}")  # keeps the suffix
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_rows(table: Any, path: str | Path) -> None:
    """Write a table as CSV (.csv, .tsv, .txt, also .gz) or Parquet (.parquet, .pq), by suffix.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_rows(pa.table({"row": [7], "suspicion": [0.9]}), Path(folder, "list.csv"))
    ...     print(Path(folder, "list.csv").read_text(), end="")
    "row","suspicion"
    7,0.9
    """
    path = Path(path)
    is_gzip = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if is_gzip else path.name).suffix.lower()
    is_parquet = suffix in _PARQUET_SUFFIXES and not is_gzip
    if not is_parquet and suffix not in _DELIMITER_OF:
        known = ", ".join((*_DELIMITER_OF, *_PARQUET_SUFFIXES))
        raise TableError(f"{path.name} must end in one of {known}; got {suffix!r}.")
    rows = _arrow_table(table)
    with atomic_path(path) as beside:
        if is_parquet:
            pq.write_table(rows, beside)
        else:
            _write_delimited(rows, beside, _DELIMITER_OF[suffix])


def _arrow_table(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    frame = required_frame(table)
    return pa.table({name: frame.column(name) for name in frame.names})


def _write_delimited(rows: pa.Table, path: Path, delimiter: str) -> None:
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    try:
        with pa.output_stream(os.fspath(path), compression=compression) as stream:
            pacsv.write_csv(rows, stream, pacsv.WriteOptions(delimiter=delimiter))
    except pa.ArrowInvalid as error:
        arrow_type = str(error).partition(":")[2]
        raise TableError(
            f"a CSV holds plain values only; got a column of type {arrow_type}; "
            "write Parquet instead or drop the column."
        ) from error

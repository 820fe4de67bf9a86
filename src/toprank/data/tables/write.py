"""Tables to files that are either whole or not there."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from toprank.data.atomic import atomic_path
from toprank.data.tables.columns import TableError, arrow_table
from toprank.data.tables.spreadsheet import without_formulas

_DELIMITER_OF = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_PARQUET_SUFFIXES = (".parquet", ".pq")


def write_rows(table: Any, path: str | Path, *, mode: int | None = None) -> None:
    """Write a table as CSV (.csv, .tsv, .txt, also .gz) or Parquet (.parquet, .pq), by suffix.

    A new file has `mode`, if it is given; one that is replaced keeps its own.

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
    rows = arrow_table(table)
    with atomic_path(path, mode=mode) as unfinished:
        if is_parquet:
            pq.write_table(rows, unfinished)
        else:
            _write_delimited(rows, unfinished, _DELIMITER_OF[suffix])


def _write_delimited(rows: pa.Table, path: Path, delimiter: str) -> None:
    compression = "gzip" if path.suffix.lower() == ".gz" else None
    try:
        with pa.output_stream(os.fspath(path), compression=compression) as stream:
            pacsv.write_csv(
                without_formulas(rows), stream, pacsv.WriteOptions(delimiter=delimiter)
            )
    except pa.ArrowInvalid as error:
        arrow_type = str(error).partition(":")[2]
        raise TableError(
            f"a CSV holds plain values only; got a column of type {arrow_type}; "
            "write Parquet instead or drop the column."
        ) from error

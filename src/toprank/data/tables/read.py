"""Tables from files: CSV, Parquet, JSON, Excel and Feather, whole or in batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import delimited, parquet_files, record_files
from toprank.data.tables.columns import TableError, check_columns, row_number
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.schema import Schema
from toprank.data.tables.store_file import StoreFile
from toprank.data.tables.typed_columns import TypedColumns, read_columns

_START = 512  # bytes that show what a file is


class WrittenBatch(NamedTuple):
    """Rows of a file: `table` for the model to read, `written` to show them to people.

    `numbers` are those of the rows in the file, from 1, where some of its rows are left out.
    """

    table: pa.Table
    written: pa.Table
    numbers: NDArray[np.int64] | None = None


def read_table(
    path: str | Path | StoreFile,
    columns: Sequence[str] | None = None,
    *,
    as_text: Sequence[str] = (),
    required: Sequence[str] = (),
    labels: Sequence[str] = (),
    reading: Reading | None = None,
) -> pa.Table:
    """Return the rows of a file, all columns or those named.

    The columns `required` must be there: in a CSV or Parquet file, they are looked for before any
    row is read.

    A CSV may be gzipped; its delimiter (comma, semicolon, tab or bar) is found from the header,
    and decimal commas from the numbers when the delimiter is another. Empty fields, NA, N/A, NaN
    and null are missing and ISO timestamps become timestamps. What a CSV has in the columns
    `as_text` stays text: a card 0012 is not the number 12.

    Text that is mostly numbers, such as "1,234.56" or "EUR 12.50", is read as numbers, with a
    warning that says how; in columns of `labels`, text is never read as numbers. `reading` says
    how a file is written where that cannot be seen from it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "events.csv")
    ...     _ = path.write_text("amount;country\\n9,5;FR\\n;DE\\n")
    ...     read_table(path).to_pylist()
    [{'amount': 9.5, 'country': 'FR'}, {'amount': None, 'country': 'DE'}]
    """
    file = _existing(path)
    reading = reading or Reading()
    kind = _kind_of(file)
    if kind == "csv":
        return delimited.read(file, columns, as_text, required, reading, labels)
    table = _whole(file, kind, reading, [*required, *(columns or [])], columns)
    return read_columns(table, reading, row_number, as_they_are=[*as_text, *labels], is_typed=True)


def read_batches(
    path: str | Path | StoreFile,
    *,
    schema: Schema | None = None,
    rows: int = 100_000,
    on_bytes: Callable[[int], None] | None = None,
    reading: Reading | None = None,
) -> Iterator[pa.Table]:
    """Return an iterator over the file, `rows` rows at a time and the rest in the last table.

    With a `schema`, a CSV's number columns are read as float64, its booleans as booleans and all
    else as unchanged text, so that no later row can change a type. Without one, the first rows
    decide the types. The columns of times that `reading` names become timestamps. `on_bytes` is
    called with how many bytes of a CSV have been read so far.
    """
    file = _existing(path)
    rows = checks.whole_number(rows, "rows", low=1)
    reading = reading or Reading()
    kind = _kind_of(file)
    if kind == "csv":
        return regrouped(delimited.batches(file, schema, on_bytes, reading), rows)
    return (each.table for each in _typed_batches(file, kind, schema, rows, reading))


def read_written(
    path: str | Path | StoreFile,
    *,
    schema: Schema | None = None,
    rows: int = 100_000,
    on_bytes: Callable[[int], None] | None = None,
    reading: Reading | None = None,
) -> Iterator[WrittenBatch]:
    """Return an iterator over the file as `read_batches` does, each batch also as it is written.

    Of a CSV, every field is then the text it is in the file, so that no digit of an id is lost in
    a list of rows; all of it is parsed once. Without a `schema`, text is all there is.

    >>> from tempfile import TemporaryDirectory
    >>> schema = Schema.of(pa.table({"amount": [9.5, 3.0]}))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "events.csv")
    ...     _ = path.write_text("amount,card\\n9.50,007\\n")
    ...     (batch,) = read_written(path, schema=schema)
    >>> batch.table.to_pylist(), batch.written.to_pylist()
    ([{'amount': 9.5, 'card': '007'}], [{'amount': '9.50', 'card': '007'}])
    """
    file = _existing(path)
    rows = checks.whole_number(rows, "rows", low=1)
    reading = reading or Reading()
    kind = _kind_of(file)
    if kind != "csv":
        yield from _typed_batches(file, kind, schema, rows, reading)
        return
    layout = delimited.layout_of(file, reading)
    typing = delimited.typed_columns(file, layout, schema, reading)
    for text in regrouped(delimited.text_batches(file, layout, schema, on_bytes), rows):
        yield WrittenBatch(typing.typed(text), text)
    typing.end()


def rows_as_written(
    path: str | Path | StoreFile, row_numbers: Sequence[int], reading: Reading | None = None
) -> pa.Table:
    """Return the rows of these numbers, counted from 1, in the order given.

    Of a CSV, every field is the text it is in the file: no digit of an id is lost.
    """
    file = _existing(path)
    reading = reading or Reading()
    wanted = np.asarray(row_numbers, dtype=np.int64)
    kind = _kind_of(file)
    if kind == "csv":
        batches = delimited.text_batches(file, delimited.layout_of(file, reading))
    else:
        batches = _batches_of(file, kind, reading, [])
    parts, found, n_seen = [], [np.empty(0, dtype=np.int64)], 0
    for batch in batches:
        here = np.unique(wanted[(wanted > n_seen) & (wanted <= n_seen + batch.num_rows)])
        if here.size:
            parts.append(pa.Table.from_batches([batch]).take(here - n_seen - 1))
            found.append(here)
        n_seen += batch.num_rows
    numbers = np.concatenate(found)
    missing = np.setdiff1d(wanted, numbers)
    if missing.size:
        raise TableError(f"row {missing[0]} is not in {file.name}: it has {n_seen:,} rows.")
    # numbers ascend: each wanted row is found where its number is
    return pa.concat_tables(parts).take(np.searchsorted(numbers, wanted))


def column_names(path: str | Path | StoreFile, reading: Reading | None = None) -> list[str]:
    """Return the names of the columns of a file; the rows of CSV and Parquet are left unread."""
    file = _existing(path)
    reading = reading or Reading()
    kind = _kind_of(file)
    if kind == "csv":
        return delimited.layout_of(file, reading).names
    if kind == "parquet":
        return parquet_files.names_of(file)
    return record_files.read_whole(file, kind, reading.encoding).column_names


def count_rows(path: str | Path | StoreFile) -> int | None:
    """Return how many rows a Parquet file holds; None for others, which would have to be read."""
    file = _existing(path)
    if _kind_of(file) != "parquet":
        return None
    return parquet_files.n_rows_of(file)


def is_parquet(path: Path | StoreFile) -> bool:
    """Return whether a file is Parquet, by its first bytes; the only kind read from a store."""
    return _start_of(path).startswith(parquet_files.MAGIC)


def _existing(path: Any) -> Any:
    if isinstance(path, StoreFile):
        return path
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} must be a table; it is a folder; name one file.")
    if not path.exists():
        folder = path.parent
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        raise FileNotFoundError(
            f"there is no file {path}{checks.nearest_name(path.name, names) or '.'}"
        )
    if not path.is_file():
        raise TableError(
            f"{path} must be a file on disk, since it is read more than once; it is a pipe or a "
            "device; write its rows to a file first (a gzipped CSV may stay gzipped)."
        )
    return path


def _kind_of(path: Path) -> str:
    """Return "parquet", "json", "ndjson", "excel", "feather", or "csv" for all else."""
    start = _start_of(path)
    if not start:
        raise TableError(f"{path.name} must hold a table; the file is empty.")
    if start.startswith(parquet_files.MAGIC):
        return "parquet"
    if path.suffix.lower() in parquet_files.SUFFIXES:
        raise TableError(
            f"{path.name} must be Parquet, as its suffix says, but does not start like Parquet; "
            "write it again, or rename it if it is a CSV."
        )
    return record_files.kind_of_file(path, start) or "csv"


def _start_of(path: Path | StoreFile) -> bytes:
    if isinstance(path, StoreFile):
        return path.start(_START)
    with path.open("rb") as file:
        return file.read(_START)


def _whole(
    path: Path,
    kind: str,
    reading: Reading,
    required: Sequence[str],
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return all rows of a file that is no CSV."""
    if kind == "parquet":
        table = parquet_files.read_whole(path, required, columns)
    else:
        table = record_files.read_whole(path, kind, reading.encoding)
        check_columns(required, table.column_names, path.name)
        table = table if columns is None else table.select(list(columns))
    parquet_files.check_rows(table.num_rows, path.name)
    return table


def _typed_batches(
    path: Path, kind: str, schema: Schema | None, rows: int, reading: Reading
) -> Iterator[WrittenBatch]:
    """Yield the rows of a file that is no CSV, columns of text in the types of a schema."""
    batches = _batches_of(path, kind, reading, schema.names if schema else [])
    return _typed(regrouped(batches, rows), TypedColumns(schema, reading, path.name, row_number))


def _typed(tables: Iterable[pa.Table], typing: TypedColumns) -> Iterator[WrittenBatch]:
    for table in tables:
        yield WrittenBatch(typing.typed(table), table)
    typing.end()


def _batches_of(
    path: Path, kind: str, reading: Reading, required: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a file that is no CSV; what is wrong with all of it is found at once."""
    if kind == "parquet":
        return parquet_files.batches(path, required)
    return iter(_whole(path, kind, reading, required).to_batches())


def regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield the rows of batches as tables of `rows` rows, and the rest in the last one."""
    pending: list[pa.RecordBatch] = []
    n_pending = 0
    for batch in batches:
        pending.append(batch)
        n_pending += batch.num_rows
        if n_pending >= rows:
            table = _as_one(pending)
            n_pending %= rows
            for start in range(0, table.num_rows - n_pending, rows):
                yield table.slice(start, rows)
            pending = table.slice(table.num_rows - n_pending).to_batches()
    if n_pending:
        yield _as_one(pending)


def _as_one(batches: list[pa.RecordBatch]) -> pa.Table:
    """Return batches as a table; a database may give one with no value before it knows a type."""
    try:
        return pa.concat_tables(
            [pa.Table.from_batches([each]) for each in batches], promote_options="permissive"
        )
    except pa.ArrowException as error:
        raise TableError(
            f"a column must hold one type of values in all rows; {error}; convert it to one."
        ) from error

"""Tables from files: CSV, Parquet, JSON, Excel and Feather, whole or in batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.tables import delimited, record_files
from toprank.data.tables.columns import (
    TableError,
    check_columns,
    check_distinct,
    plain_names,
    row_number,
)
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.schema import Schema
from toprank.data.tables.typed_columns import TypedColumns, read_columns

_PARQUET_SUFFIXES = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_START = 512  # bytes that show what a file is


class WrittenBatch(NamedTuple):
    """Rows of a file: `table` for the model to read, `written` to show them to people.

    `numbers` are those of the rows in the file, from 1, where some of its rows are left out.
    """

    table: pa.Table
    written: pa.Table
    numbers: NDArray[np.int64] | None = None


def read_table(
    path: str | Path,
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
    path = _existing(path)
    reading = reading or Reading()
    kind = _kind_of(path)
    if kind == "csv":
        return delimited.read(path, columns, as_text, required, reading, labels)
    table = _whole(path, kind, reading, [*required, *(columns or [])], columns)
    return read_columns(table, reading, row_number, as_they_are=[*as_text, *labels], is_typed=True)


def read_batches(
    path: str | Path,
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
    path = _existing(path)
    rows = checks.whole_number(rows, "rows", low=1)
    reading = reading or Reading()
    kind = _kind_of(path)
    if kind == "csv":
        return _regrouped(delimited.batches(path, schema, on_bytes, reading), rows)
    return (each.table for each in _typed_batches(path, kind, schema, rows, reading))


def read_written(
    path: str | Path,
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
    path = _existing(path)
    rows = checks.whole_number(rows, "rows", low=1)
    reading = reading or Reading()
    kind = _kind_of(path)
    if kind != "csv":
        yield from _typed_batches(path, kind, schema, rows, reading)
        return
    layout = delimited.layout_of(path, reading)
    typing = delimited.typed_columns(path, layout, schema, reading)
    for text in _regrouped(delimited.text_batches(path, layout, schema, on_bytes), rows):
        yield WrittenBatch(typing.typed(text), text)
    typing.end()


def rows_as_written(
    path: str | Path, row_numbers: Sequence[int], reading: Reading | None = None
) -> pa.Table:
    """Return the rows of these numbers, counted from 1, in the order given.

    Of a CSV, every field is the text it is in the file: no digit of an id is lost.
    """
    path = _existing(path)
    reading = reading or Reading()
    wanted = np.asarray(row_numbers, dtype=np.int64)
    kind = _kind_of(path)
    if kind == "csv":
        batches = delimited.text_batches(path, delimited.layout_of(path, reading))
    else:
        batches = _batches_of(path, kind, reading, [])
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
        raise TableError(f"row {missing[0]} is not in {path.name}: it has {n_seen:,} rows.")
    # numbers ascend: each wanted row is found where its number is
    return pa.concat_tables(parts).take(np.searchsorted(numbers, wanted))


def column_names(path: str | Path, reading: Reading | None = None) -> list[str]:
    """Return the names of the columns of a file; the rows of CSV and Parquet are left unread."""
    path = _existing(path)
    reading = reading or Reading()
    kind = _kind_of(path)
    if kind == "csv":
        return delimited.layout_of(path, reading).names
    if kind == "parquet":
        with _parquet_file(path) as file:
            return plain_names(file.schema_arrow.names, path.name)
    return record_files.read_whole(path, kind, reading.encoding).column_names


def count_rows(path: str | Path) -> int | None:
    """Return how many rows a Parquet file holds; None for others, which would have to be read."""
    path = _existing(path)
    if _kind_of(path) != "parquet":
        return None
    with _parquet_file(path) as file:
        return file.metadata.num_rows


def _existing(path: str | Path) -> Path:
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
    with path.open("rb") as file:
        start = file.read(_START)
    if not start:
        raise TableError(f"{path.name} must hold a table; the file is empty.")
    if start.startswith(_PARQUET_MAGIC):
        return "parquet"
    if path.suffix.lower() in _PARQUET_SUFFIXES:
        raise TableError(
            f"{path.name} must be Parquet, as its suffix says, but does not start like Parquet; "
            "write it again, or rename it if it is a CSV."
        )
    return record_files.kind_of_file(path, start) or "csv"


def _whole(
    path: Path,
    kind: str,
    reading: Reading,
    required: Sequence[str],
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return all rows of a file that is no CSV."""
    if kind == "parquet":
        with _parquet_file(path) as file:
            names = plain_names(file.schema_arrow.names, path.name)
            check_columns(required, names, path.name)
            own_name = dict(zip(names, file.schema_arrow.names, strict=True))
            chosen = names if columns is None else list(columns)
            table = file.read(columns=[own_name[name] for name in chosen])
            table = table.select([own_name[name] for name in chosen]).rename_columns(chosen)
    else:
        table = record_files.read_whole(path, kind, reading.encoding)
        check_columns(required, table.column_names, path.name)
        table = table if columns is None else table.select(list(columns))
    _check_rows(table.num_rows, path)
    return table


def _typed_batches(
    path: Path, kind: str, schema: Schema | None, rows: int, reading: Reading
) -> Iterator[WrittenBatch]:
    """Yield the rows of a file that is no CSV, columns of text in the types of a schema."""
    batches = _batches_of(path, kind, reading, schema.names if schema else [])
    return _typed(_regrouped(batches, rows), TypedColumns(schema, reading, path.name, row_number))


def _typed(tables: Iterable[pa.Table], typing: TypedColumns) -> Iterator[WrittenBatch]:
    for table in tables:
        yield WrittenBatch(typing.typed(table), table)
    typing.end()


def _batches_of(
    path: Path, kind: str, reading: Reading, required: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a file that is no CSV; what is wrong with all of it is found at once."""
    if kind == "parquet":
        return _parquet_batches(path, required)
    return iter(_whole(path, kind, reading, required).to_batches())


@contextmanager
def _parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            check_distinct(file.schema_arrow.names, path.name)
            yield file
    except TableError:
        raise
    except MemoryError as error:
        raise MemoryError(f"{path.name} does not fit into it.") from error
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableError(
            f"{path.name} must be a whole Parquet file; it is cut short or damaged; "
            "write it again."
        ) from error


def _parquet_batches(path: Path, required: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with _parquet_file(path) as file:
        names = plain_names(file.schema_arrow.names, path.name)
        check_columns(required, names, path.name)
        _check_rows(file.metadata.num_rows, path)
    return _row_groups(path, names)


def _row_groups(path: Path, names: list[str]) -> Iterator[pa.RecordBatch]:
    with _parquet_file(path) as file:
        for batch in file.iter_batches():
            yield batch.rename_columns(names)


def _check_rows(n_rows: int, path: Path) -> None:
    if not n_rows:
        raise TableError(f"{path.name} must hold at least one row; it has columns but no rows.")


def _regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    pending: list[pa.RecordBatch] = []
    n_pending = 0
    for batch in batches:
        pending.append(batch)
        n_pending += batch.num_rows
        if n_pending >= rows:
            table = pa.Table.from_batches(pending)
            n_pending %= rows
            for start in range(0, table.num_rows - n_pending, rows):
                yield table.slice(start, rows)
            pending = table.slice(table.num_rows - n_pending).to_batches()
    if n_pending:
        yield pa.Table.from_batches(pending)

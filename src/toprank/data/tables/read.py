"""Tables from files: CSV and Parquet, whole or in batches of bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data import checks
from toprank.data.tables import delimited, typed_text
from toprank.data.tables.columns import TableError, check_columns, check_distinct
from toprank.data.tables.schema import Schema

_PARQUET_SUFFIXES = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"


class WrittenBatch(NamedTuple):
    """Rows of a file: `table` for the model to read, `written` to show them to people."""

    table: pa.Table
    written: pa.Table


def read_table(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    as_text: Sequence[str] = (),
    required: Sequence[str] = (),
) -> pa.Table:
    """Return the rows of a CSV or Parquet file, all columns or those named.

    The columns `required` must be there: they are looked for before any row is read.

    A CSV may be gzipped; commas, semicolons, tabs and bars are told apart by the header, and
    decimal commas by the numbers when the delimiter is another. Empty fields, NA, N/A, NaN and
    null are missing and ISO timestamps become timestamps. What a CSV has in the columns
    `as_text` stays text: a card 0012 is not the number 12.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "events.csv")
    ...     _ = path.write_text("amount;country\\n9,5;FR\\n;DE\\n")
    ...     read_table(path).to_pylist()
    [{'amount': 9.5, 'country': 'FR'}, {'amount': None, 'country': 'DE'}]
    """
    path = _existing(path)
    if not _is_parquet(path):
        return delimited.read(path, columns, as_text, required)
    with _parquet_file(path) as file:
        check_columns([*required, *(columns or [])], file.schema_arrow.names, path.name)
        table = file.read(columns=None if columns is None else list(columns))
        _check_rows(table.num_rows, path)
        return table if columns is None else table.select(list(columns))


def read_batches(
    path: str | Path,
    *,
    schema: Schema | None = None,
    rows: int = 100_000,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[pa.Table]:
    """Return an iterator over the file, `rows` rows at a time and the rest in the last table.

    With a `schema`, a CSV's number columns are read as float64, its booleans as booleans and all
    else as unchanged text, so that no later row can change a type. Without one, the first rows
    decide the types. `on_bytes` is told how many bytes of a CSV have been read so far.
    """
    path = _existing(path)
    rows = checks.whole_number(rows, "rows", low=1)
    if _is_parquet(path):
        return _regrouped(_parquet_batches(path, schema), rows)
    return _regrouped(delimited.batches(path, schema, on_bytes), rows)


def read_written(
    path: str | Path,
    *,
    schema: Schema | None = None,
    rows: int = 100_000,
    on_bytes: Callable[[int], None] | None = None,
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
    if _is_parquet(path):
        for table in _regrouped(_parquet_batches(path, schema), rows):
            yield WrittenBatch(table, table)
        return
    layout = delimited.layout_of(path)
    for text in _regrouped(delimited.text_batches(path, layout, schema, on_bytes), rows):
        yield WrittenBatch(typed_text.typed(text, layout, schema, path), text)


def rows_as_written(path: str | Path, row_numbers: Sequence[int]) -> pa.Table:
    """Return the rows of these numbers, counted from 1, in the order given.

    Of a CSV, every field is the text it is in the file: no digit of an id is lost.
    """
    path = _existing(path)
    wanted = np.asarray(row_numbers, dtype=np.int64)
    if _is_parquet(path):
        batches = _parquet_batches(path, None)
    else:
        batches = delimited.text_batches(path, delimited.layout_of(path))
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


def column_names(path: str | Path) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file, its rows left unread."""
    path = _existing(path)
    if not _is_parquet(path):
        return delimited.layout_of(path).names
    with _parquet_file(path) as file:
        return list(file.schema_arrow.names)


def count_rows(path: str | Path) -> int | None:
    """Return how many rows a Parquet file holds; None for a CSV, which would have to be read."""
    path = _existing(path)
    if not _is_parquet(path):
        return None
    with _parquet_file(path) as file:
        return file.metadata.num_rows


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise TableError(f"{path} must be a CSV or Parquet file; it is a folder; name one file.")
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


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(len(_PARQUET_MAGIC))
    if not start:
        raise TableError(f"{path.name} must hold a table; the file is empty.")
    if start == _PARQUET_MAGIC:
        return True
    if path.suffix.lower() in _PARQUET_SUFFIXES:
        raise TableError(
            f"{path.name} must be Parquet, as its suffix says, but does not start like Parquet; "
            "write it again, or rename it if it is a CSV."
        )
    return False


@contextmanager
def _parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            check_distinct(file.schema_arrow.names, path.name)
            yield file
    except TableError:
        raise
    except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
        raise TableError(
            f"{path.name} must be a whole Parquet file; it is cut short or damaged; "
            "write it again."
        ) from error


def _parquet_batches(path: Path, schema: Schema | None) -> Iterator[pa.RecordBatch]:
    with _parquet_file(path) as file:
        check_columns(schema.names if schema else [], file.schema_arrow.names, path.name)
        _check_rows(file.metadata.num_rows, path)
    return _row_groups(path)


def _row_groups(path: Path) -> Iterator[pa.RecordBatch]:
    with _parquet_file(path) as file:
        yield from file.iter_batches()


def _check_rows(n_rows: int, path: Path) -> None:
    if not n_rows:
        raise TableError(f"{path.name} must hold at least one row; it has columns but no rows.")


def _regrouped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    n_held = 0
    for batch in batches:
        held.append(batch)
        n_held += batch.num_rows
        if n_held >= rows:
            table = pa.Table.from_batches(held)
            n_held %= rows
            for start in range(0, table.num_rows - n_held, rows):
                yield table.slice(start, rows)
            held = table.slice(table.num_rows - n_held).to_batches()
    if n_held:
        yield pa.Table.from_batches(held)

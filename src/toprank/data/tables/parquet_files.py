"""Parquet files, on disk or in an object store: one group of rows in memory at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data.tables.columns import TableError, check_columns, check_distinct, plain_names
from toprank.data.tables.store_file import StoreFile

MAGIC = b"PAR1"
SUFFIXES = (".parquet", ".pq")


def names_of(path: Path | StoreFile) -> list[str]:
    """Return the names of the columns; no row is read."""
    with _opened(path) as file:
        return plain_names(file.schema_arrow.names, path.name)


def n_rows_of(path: Path | StoreFile) -> int:
    """Return how many rows the file has; none is read."""
    with _opened(path) as file:
        return file.metadata.num_rows


def read_whole(
    path: Path | StoreFile, required: Sequence[str], columns: Sequence[str] | None = None
) -> pa.Table:
    """Return all rows, all columns or those named."""
    with _opened(path) as file:
        names = plain_names(file.schema_arrow.names, path.name)
        check_columns(required, names, path.name)
        own_name = dict(zip(names, file.schema_arrow.names, strict=True))
        chosen = names if columns is None else list(columns)
        table = file.read(columns=[own_name[name] for name in chosen])
        return table.select([own_name[name] for name in chosen]).rename_columns(chosen)


def batches(path: Path | StoreFile, required: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return the rows in batches; what is wrong with all of the file is found at once."""
    with _opened(path) as file:
        names = plain_names(file.schema_arrow.names, path.name)
        check_columns(required, names, path.name)
        check_rows(file.metadata.num_rows, path.name)
    return _row_groups(path, names)


def check_rows(n_rows: int, name: str) -> None:
    """Raise for a table without rows."""
    if not n_rows:
        raise TableError(f"{name} must hold at least one row; it has columns but no rows.")


def _row_groups(path: Path | StoreFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    with _opened(path) as file:
        # one by one: what is read ahead of a store is then one group, not the whole file
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(row_groups=[group]):
                yield batch.rename_columns(names)


@contextmanager
def _opened(path: Path | StoreFile) -> Iterator[pq.ParquetFile]:
    try:
        # a store answers few large requests sooner than many small ones
        with (
            path.opened() if isinstance(path, StoreFile) else nullcontext(path) as source,
            pq.ParquetFile(source, pre_buffer=isinstance(path, StoreFile)) as file,
        ):
            check_distinct(file.schema_arrow.names, path.name)
            yield file
    except TableError:
        raise
    except MemoryError as error:
        raise MemoryError(f"{path.name} does not fit into it.") from error
    except (pa.ArrowException, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and isinstance(path, StoreFile):
            raise  # a sentence already
        raise TableError(
            f"{path.name} must be a whole Parquet file; it is cut short or damaged; "
            "write it again."
        ) from error

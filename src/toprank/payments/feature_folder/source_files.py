"""The Parquet files of a folder or pattern, checked before the long work begins."""

from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from toprank.data.tables import TableError, check_columns

_HIDDEN = (".", "_")
_BATCH_ROWS = 200_000


class SourceFile(NamedTuple):
    """A file of payments: its path, rows, bytes and columns."""

    path: Path
    n_rows: int
    n_bytes: int
    schema: pa.Schema

    @property
    def note(self) -> list[object]:
        """What is kept of a file that was read, to recognise it."""
        return [str(self.path.resolve()), self.n_rows, self.n_bytes]


def source_files(source: str | Path, columns: Sequence[str]) -> list[SourceFile]:
    """Return the Parquet files in a folder, of a pattern, or the one file, in order of names.

    A file that is damaged or lacks one of `columns` raises an error that names it.
    """
    files = [_opened(path) for path in parquet_paths(source)]
    for file in files:
        check_columns(columns, file.schema.names, str(file.path))
    return files


def parquet_paths(source: str | Path) -> list[Path]:
    """Return the Parquet files that `source` names: a file, a folder or a pattern.

    Files and folders whose names begin with a dot or an underscore are left out.
    """
    path = Path(source)
    if path.is_dir():
        found = sorted(path.rglob("*.parquet"))
        found = [each for each in found if not _is_hidden(each.relative_to(path))]
    elif path.is_file():
        found = [path]
    elif has_magic(str(source)):
        found = [Path(each) for each in sorted(glob(str(source), recursive=True))]  # noqa: PTH207
        found = [each for each in found if each.is_file()]
    else:
        found = []
    if not found:
        raise FileNotFoundError(
            f"there is no Parquet file at {source}; name a file, a folder or a pattern in quotes, "
            'such as "payments/*.parquet".'
        )
    return found


def common_schema(files: Sequence[SourceFile], columns: Sequence[str]) -> pa.Schema:
    """Return the type of each column, which all files must share but for the size of numbers."""
    fields = []
    for name in columns:
        first = files[0]
        kind = _plain(first.schema.field(name).type)
        for file in files[1:]:
            own = _plain(file.schema.field(name).type)
            try:
                together = [pa.schema([(name, each)]) for each in (kind, own)]
                kind = pa.unify_schemas(together, promote_options="permissive").field(name).type
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                raise TableError(
                    f"column {name!r} must have one type in all files; it is {own} in {file.path} "
                    f"and {kind} in {first.path}; write one of them again."
                ) from None
        fields.append((name, kind))
    return pa.schema(fields)


def rows_of_file(file: SourceFile, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a file part by part, in its order and with these columns and types."""
    try:
        with pq.ParquetFile(file.path) as opened:
            for batch in opened.iter_batches(_BATCH_ROWS, columns=schema.names):
                table = pa.Table.from_batches([batch]).select(schema.names)
                yield pa.table([_cast(table[name], schema.field(name).type)
                                for name in schema.names], schema=schema)  # fmt: skip
    except (pa.ArrowException, OSError) as error:
        raise _damaged(file.path) from error


def _opened(path: Path) -> SourceFile:
    try:
        with pq.ParquetFile(path) as opened:
            return SourceFile(
                path, opened.metadata.num_rows, path.stat().st_size, opened.schema_arrow
            )
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> TableError:
    return TableError(
        f"{path} must be a complete Parquet file; it is damaged, or no Parquet; write it again, "
        "or move it away."
    )


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(_HIDDEN) for part in path.parts)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return values if values.type == kind else values.cast(kind)

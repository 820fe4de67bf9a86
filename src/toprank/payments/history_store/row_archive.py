"""The remembered rows with all their columns, in Parquet files that are never changed.

A file is named by the number of its first row and the number of its rows: `000000001000-000000250`
follows `000000000000-000001000`. The log decides which rows count: it records the number of all
rows after their file is on disk, so files beyond that number were never acknowledged.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.atomic import atomic_path
from toprank.data.tables.columns import TableError
from toprank.data.tables.ids import id_texts
from toprank.data.tables.values import decoded
from toprank.files.faults import ModelFileError
from toprank.payments.features import cells

_NAME = re.compile(r"([0-9]{12})-([0-9]{9})\.parquet")
_NO_TIME = np.iinfo(np.int64).min


class RowsPart(NamedTuple):
    """The rows from `first` up to but not including `stop`, and their file."""

    first: int
    stop: int
    path: Path


class RowArchive:
    """The rows in a folder; `times` are the columns of times, the row's own first."""

    def __init__(self, folder: Path, times: Sequence[str]) -> None:
        self.folder, self._times = folder, times

    def append(self, rows: pa.Table, first: int, mode: int) -> None:
        """Write rows whose first has the number `first`; on disk when this returns."""
        path = self.folder / f"{first:012d}-{rows.num_rows:09d}.parquet"
        with atomic_path(path, mode=mode) as unfinished:
            try:
                pq.write_table(rows, unfinished, compression="zstd")
            except pa.ArrowNotImplementedError as error:
                raise TableError(
                    f"rows are kept as Parquet, which cannot contain such values: {error}; drop "
                    "the column or turn it into text."
                ) from error

    def drop_outside(self, first_row: int, n_rows: int) -> None:
        """Remove the files of rows that were dropped, or never acknowledged."""
        for part in self._parts():
            if part.stop <= first_row or part.stop > n_rows:
                part.path.unlink()

    def first_from(self, moment: int, first_row: int, n_rows: int) -> int:
        """Return the first row of the first file that has a row from this moment on."""
        for part in self._acknowledged(first_row, n_rows):
            rows = pq.read_table(part.path, columns=[self._times[0]])
            if self._instants(rows).max() >= moment:
                return part.first
        return n_rows

    def read(self, first_row: int, n_rows: int, since: int | None) -> list[pa.Table]:
        """Return the rows up to `n_rows` in order, those from the moment `since` on."""
        tables = (pq.read_table(part.path) for part in self._acknowledged(first_row, n_rows))
        return [self.from_moment(table, since) for table in tables]

    def files(self, first_row: int, n_rows: int) -> list[Path]:
        """Return the files of the rows up to `n_rows`, in order."""
        return [part.path for part in self._acknowledged(first_row, n_rows)]

    def from_moment(self, rows: pa.Table, since: int | None) -> pa.Table:
        """Return the rows from a moment on."""
        if since is None or not rows.num_rows:
            return rows
        return rows.filter(pa.array(self._instants(rows) >= since))

    def joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Return the rows of all tables; a column missing from one has no values there."""
        names = dict.fromkeys(name for table in tables for name in table.column_names)
        return pa.table({name: self._joined_column(tables, name) for name in names})

    def _acknowledged(self, first_row: int, n_rows: int) -> list[RowsPart]:
        if first_row == n_rows:
            return []
        parts = [part for part in self._parts() if first_row < part.stop <= n_rows]
        reached = first_row
        for part in parts:
            if part.first != reached:
                raise self._missing(reached, part.first)
            reached = part.stop
        if reached != n_rows:
            raise self._missing(reached, n_rows)
        return parts

    def _missing(self, first: int, stop: int) -> ModelFileError:
        return ModelFileError(
            f"{self.folder} has lost the file of rows {first} to {stop - 1}; restore it from a "
            "copy."
        )

    def _parts(self) -> list[RowsPart]:
        parts = []
        for path in self.folder.iterdir():
            if match := _NAME.fullmatch(path.name):
                first = int(match[1])
                parts.append(RowsPart(first, first + int(match[2]), path))
        return sorted(parts)

    def _instants(self, rows: pa.Table) -> NDArray[np.int64]:
        name = self._times[0]
        return cells.instants_or(rows.column(name), name, _NO_TIME)

    def _joined_column(self, tables: Sequence[pa.Table], name: str) -> pa.ChunkedArray:
        columns = [
            table.column(name) if name in table.column_names else pa.nulls(table.num_rows)
            for table in tables
        ]
        kinds = {column.type for column in columns if not pt.is_null(column.type)}
        if len(kinds) > 1:
            columns = _alike(
                [decoded(pa.chunked_array(c)) for c in columns], self._is_time(name, kinds), name
            )
            kinds = {column.type for column in columns if not pt.is_null(column.type)}
        kind = kinds.pop() if kinds else pa.null()
        return pa.chunked_array(
            [chunk.cast(kind) for column in columns for chunk in _chunks(column)], kind
        )

    def _is_time(self, name: str, kinds: Iterable[pa.DataType]) -> bool:
        return name in self._times or all(pt.is_temporal(kind) for kind in kinds)


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return single rows as a table; a column of mixed values is text.

    >>> table_of_rows([{"card": 7, "amount": 1.5}, {"card": "A"}]).to_pydict()
    {'card': ['7', 'A'], 'amount': [1.5, None]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])


def _chunks(column: Any) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _alike(columns: list[pa.ChunkedArray], is_time: bool, name: str) -> list[pa.Array]:
    """Return columns of several types as one type: times, numbers if exact, or text."""
    if is_time:
        return [_as_times(column, name) for column in columns]
    schemas = [pa.schema([(name, column.type)]) for column in columns]
    try:
        kind = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        return [column.cast(kind) for column in columns]
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return [column.cast(pa.large_string()) for column in columns]


def _as_times(column: pa.ChunkedArray, name: str) -> pa.Array:
    if pt.is_null(column.type):
        return pa.nulls(len(column), pa.timestamp("us"))
    instants = cells.instants_or(column, name, _NO_TIME)
    return pc.cast(pa.array(instants, mask=instants == _NO_TIME), pa.timestamp("us"))


def first_of_each_id(rows: pa.Table, row_id: str | None) -> pa.Table:
    """Return rows without those whose id came before; rows without an id are all kept."""
    if row_id is None or row_id not in rows.column_names:
        return rows
    codes = id_texts(rows.column(row_id), row_id).dictionary_encode().indices
    numbers = codes.fill_null(-1).to_numpy()
    is_first = numbers < 0
    is_first[np.unique(numbers, return_index=True)[1]] = True
    return rows if is_first.all() else rows.filter(pa.array(is_first))

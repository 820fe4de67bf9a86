"""The rows of a query."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from toprank.data.sources.databases import engine_of, masked
from toprank.data.sources.query_columns import plain_columns
from toprank.data.tables.columns import TableError, check_columns, plain_names, row_number
from toprank.data.tables.file_reading import Reading
from toprank.data.tables.read import WrittenBatch, regrouped
from toprank.data.tables.schema import Schema
from toprank.data.tables.typed_columns import TypedColumns, read_columns

_NAME = "the query"
_FETCHED = 50_000  # rows that a driver is asked for at a time


@dataclass(frozen=True)
class QueryRows:
    """Rows that a query gives, in its order; they have types of their own, as Parquet has."""

    sql: str
    database: str = field(repr=False)  # which may contain a password

    def __post_init__(self) -> None:
        if not self.sql.strip().rstrip(";"):
            raise ValueError(
                "`sql` must be a query such as 'select * from payments'; it is empty."
            )
        engine_of(self.database)

    def __repr__(self) -> str:
        return f"QueryRows({self.sql!r}, {masked(self.database)!r})"

    @property
    def name(self) -> str:
        """How messages call it."""
        return _NAME

    def table(
        self,
        columns: Sequence[str] | None = None,
        *,
        as_text: Sequence[str] = (),
        required: Sequence[str] = (),
        labels: Sequence[str] = (),
        reading: Reading | None = None,
    ) -> pa.Table:
        """Return all rows, as `tables.read_table` does of a file."""
        batches = list(self._batches([*required, *(columns or [])]))
        table = _together([pa.Table.from_batches([each]) for each in batches])
        if not table.num_rows:
            raise _no_rows()
        table = table if columns is None else table.select(list(columns))
        return read_columns(
            table, reading or Reading(), row_number, as_they_are=[*as_text, *labels], is_typed=True
        )

    def batches(
        self,
        schema: Schema | None = None,
        rows: int = 100_000,
        on_bytes: Callable[[int], None] | None = None,
        reading: Reading | None = None,
    ) -> Iterator[pa.Table]:
        """Return an iterator over the rows, `rows` at a time; a driver holds few of them."""
        return (each.table for each in self.written(schema, rows, on_bytes, reading))

    def written(
        self,
        schema: Schema | None = None,
        rows: int = 100_000,
        on_bytes: Callable[[int], None] | None = None,
        reading: Reading | None = None,
    ) -> Iterator[WrittenBatch]:
        """Return an iterator over the rows, each batch also as the database has it."""
        typing = TypedColumns(schema, reading or Reading(), _NAME, row_number)
        n_rows = 0
        for table in regrouped(self._batches(schema.names if schema else []), rows):
            n_rows += table.num_rows
            yield WrittenBatch(typing.typed(table), table)
        if not n_rows:
            raise _no_rows()
        typing.end()

    def column_names(self, reading: Reading | None = None) -> list[str]:
        """Return the names of the columns; the query is begun for that."""
        for batch in self._batches([]):
            return batch.schema.names
        return []

    may_be_text = False
    """A database has types: no row is text that has to be shown as it is written."""

    def count_rows(self) -> int | None:
        """Return None: nothing says how many rows there will be."""
        return None

    def _batches(self, required: Sequence[str]) -> Iterator[pa.RecordBatch]:
        sql = self.sql.strip().rstrip(";")
        with engine_of(self.database).query(self.database, sql, _FETCHED) as batches:
            names: list[str] = []
            for batch in batches:
                if not names:
                    names = plain_names(batch.schema.names, _NAME)
                    check_columns(required, names, _NAME)
                yield plain_columns(batch.rename_columns(names))


def _together(tables: list[pa.Table]) -> pa.Table:
    if not tables:
        raise _no_rows()
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(
            f"a column of {_NAME} must hold one type of values; {error}; cast it in the query."
        ) from error


def _no_rows() -> TableError:
    return TableError(f"{_NAME} must give at least one row; it gave none; check its conditions.")

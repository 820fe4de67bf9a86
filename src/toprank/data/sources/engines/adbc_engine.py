"""PostgreSQL through ADBC: rows come as PostgreSQL's own binary copy, in Arrow's columns."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from toprank.data.sources.databases import explained, missing_driver
from toprank.data.sources.engines.names import quoted_name, split_name

_PACKAGE = "adbc-driver-postgresql"
_LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer names


@contextmanager
def query(url: str, sql: str, rows: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Give the rows of a query, in batches that the driver sizes; none are held beyond one."""
    errors = _driver(url).Error
    with (
        explained(url, (errors, OSError, pa.ArrowException), sql),
        _driver(url).connect(url) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("set transaction read only")
        cursor.execute(sql)
        with cursor.fetch_record_batch() as reader:
            yield iter(reader)


@contextmanager
def tables(url: str) -> Iterator["PostgresTables"]:
    """Give the tables of a database, within one transaction."""
    with (
        explained(url, (_driver(url).Error, OSError, pa.ArrowException)),
        _driver(url).connect(url) as connection,
        connection.cursor() as cursor,
    ):
        yield PostgresTables(connection, cursor)


class PostgresTables:
    """The tables of PostgreSQL, within one transaction."""

    longest_name: int | None = _LONGEST_NAME
    undoes_tables = True

    def __init__(self, connection: Any, cursor: Any) -> None:
        self._connection, self._cursor = connection, cursor

    def columns(self, table: str) -> list[str] | None:
        """Return the names of a table's columns; None where there is no such table."""
        self._cursor.execute("select to_regclass($1)::text", (quoted_name(table),))
        if self._cursor.fetchone()[0] is None:
            return None
        self._cursor.execute(f"select * from {quoted_name(table)} limit 0")
        return self._cursor.fetch_arrow_table().column_names

    def create(self, table: str, schema: pa.Schema) -> None:
        """Create a table with these columns."""
        self._ingest(table, schema.empty_table(), "create")

    def replace_run(self, table: str, rows: pa.Table, run: str) -> int:
        """Delete the rows of a run and add these; return how many were deleted."""
        place = quoted_name(table)
        # two at the same time would each delete nothing, and add the rows twice
        self._cursor.execute(f"lock table {place} in share row exclusive mode")
        self._cursor.execute(f"select count(*) from {place} where run = $1", (run,))
        n_before = self._cursor.fetchone()[0]
        self._cursor.execute(f"delete from {place} where run = $1", (run,))
        self._ingest(table, rows, "append")
        return n_before

    def commit(self) -> None:
        """Keep what was done."""
        self._connection.commit()

    def _ingest(self, table: str, rows: pa.Table, mode: str) -> None:
        schema, name = split_name(table)
        self._cursor.adbc_ingest(name, rows, mode=mode, db_schema_name=schema)


def _driver(url: str) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise missing_driver(url, _PACKAGE, error) from error
    return dbapi

"""DuckDB: its own reader hands over Arrow's columns."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from toprank.data.sources.databases import explained, file_of, masked, missing_driver
from toprank.data.sources.engines.names import quoted_name

_ROWS = "toprank_rows"


@contextmanager
def query(url: str, sql: str, rows: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Give the rows of a query; the file is opened for reading, so that others may, too."""
    with _connected(url, sql, is_read_only=True) as connection:
        found = connection.sql(sql)
        if found is None:
            raise ValueError("`sql` must be a query that gives rows, such as a select.")
        yield iter(found.to_arrow_reader(rows))


@contextmanager
def tables(url: str) -> Iterator["DuckdbTables"]:
    """Give the tables of a database, within one transaction."""
    with _connected(url) as connection:
        connection.begin()
        yield DuckdbTables(connection)


class DuckdbTables:
    """The tables of DuckDB, within one transaction."""

    longest_name: int | None = None
    undoes_tables = True

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def columns(self, table: str) -> list[str] | None:
        """Return the names of a table's columns; None where there is no such table."""
        from duckdb import CatalogException

        try:
            found = self._connection.execute(f"select * from {quoted_name(table)} limit 0")
        except CatalogException:
            self._connection.rollback()
            self._connection.begin()
            return None
        return [column[0] for column in found.description]

    def create(self, table: str, schema: pa.Schema) -> None:
        """Create a table with these columns."""
        self._connection.register(_ROWS, schema.empty_table())
        self._connection.execute(f"create table {quoted_name(table)} as select * from {_ROWS}")
        self._connection.unregister(_ROWS)

    def replace_run(self, table: str, rows: pa.Table, run: str) -> int:
        """Delete the rows of a run and add these; return how many were deleted."""
        place = quoted_name(table)
        counted = self._connection.execute(f"delete from {place} where run = ?", [run])
        n_before = counted.fetchone()[0]
        self._connection.register(_ROWS, rows)
        self._connection.execute(f"insert into {place} by name select * from {_ROWS}")
        self._connection.unregister(_ROWS)
        return n_before

    def commit(self) -> None:
        """Keep what was done."""
        self._connection.commit()


@contextmanager
def _connected(url: str, sql: str = "", is_read_only: bool = False) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError as error:
        raise missing_driver(url, "duckdb", error) from error
    path = file_of(url)
    if path and is_read_only and not Path(path).exists():
        raise FileNotFoundError(f"there is no database {path} ({masked(url)}); check its name.")
    # a database in memory has nothing to protect, and cannot be opened for reading alone
    settings = {"read_only": is_read_only and bool(path)}
    with explained(url, (duckdb.Error,), sql):
        connection = duckdb.connect(path or ":memory:", **settings)
        try:
            yield connection
        finally:
            connection.close()

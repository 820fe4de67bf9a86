"""SQLite and all databases that SQLAlchemy knows: rows as Python values, fetched in batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from toprank.data.sources.databases import explained, file_of, masked, missing_driver
from toprank.data.sources.engines.names import split_name


@contextmanager
def query(url: str, sql: str, rows: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Give the rows of a query; a server that can keeps them until they are fetched."""
    with _connected(url, sql) as connection:
        # no_parameters: a percent sign in the query is no place for a value
        options = {"stream_results": True, "no_parameters": True, "max_row_buffer": rows}
        found = connection.execution_options(**options).exec_driver_sql(sql)
        if not found.returns_rows:
            raise ValueError("`sql` must be a query that gives rows, such as a select.")
        yield _batches(found, rows)


def _batches(found: Any, rows: int) -> Iterator[pa.RecordBatch]:
    names = list(found.keys())
    while fetched := found.fetchmany(rows):
        columns = [_column(values) for values in zip(*fetched, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _column(values: tuple[Any, ...]) -> pa.Array:
    """Return values as one column: decimals as numbers, and mixed ones as text."""
    if any(isinstance(each, Decimal) for each in values):
        values = tuple(None if each is None else float(each) for each in values)
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        if all(each is None or isinstance(each, int | float) for each in values):
            return pa.array([None if each is None else float(each) for each in values])
        return pa.array([None if each is None else str(each) for each in values], pa.string())


@contextmanager
def tables(url: str) -> Iterator["AlchemyTables"]:
    """Give the tables of a database, within one transaction."""
    with _connected(url, is_new_allowed=True) as connection:
        if connection.dialect.name == "sqlite":  # which otherwise locks only when it writes
            connection.exec_driver_sql("begin immediate")
        yield AlchemyTables(connection)


class AlchemyTables:
    """The tables of a database that SQLAlchemy opens, within one transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.longest_name: int | None = connection.dialect.max_identifier_length
        self.undoes_tables = connection.dialect.name in ("sqlite", "postgresql")

    def columns(self, table: str) -> list[str] | None:
        """Return the names of a table's columns; None where there is no such table."""
        from sqlalchemy import inspect
        from sqlalchemy.exc import NoSuchTableError

        schema, name = split_name(table)
        try:
            return [each["name"] for each in inspect(self._connection).get_columns(name, schema)]
        except NoSuchTableError:
            return None

    def create(self, table: str, schema: pa.Schema) -> None:
        """Create a table with these columns."""
        from sqlalchemy import Column, MetaData, Table

        place, name = split_name(table)
        columns = [Column(each.name, _type_of(each.type)) for each in schema]
        Table(name, MetaData(), *columns, schema=place).create(self._connection)

    def replace_run(self, table: str, rows: pa.Table, run: str) -> int:
        """Delete the rows of a run and add these; return how many were deleted."""
        from sqlalchemy import MetaData, Table

        place, name = split_name(table)
        there = Table(name, MetaData(), schema=place, autoload_with=self._connection)
        n_before = self._connection.execute(there.delete().where(there.c.run == run)).rowcount
        if rows.num_rows:
            self._connection.execute(there.insert(), rows.to_pylist())
        return n_before

    def commit(self) -> None:
        """Keep what was done."""
        self._connection.commit()


def _type_of(arrow_type: pa.DataType) -> Any:
    import sqlalchemy as sa

    if pt.is_boolean(arrow_type):
        return sa.Boolean()
    if pt.is_integer(arrow_type):
        return sa.BigInteger()
    if pt.is_floating(arrow_type) or pt.is_decimal(arrow_type):
        return sa.Double()
    if pt.is_timestamp(arrow_type):
        return sa.DateTime(timezone=arrow_type.tz is not None)
    if pt.is_date(arrow_type):
        return sa.Date()
    return sa.Text()


@contextmanager
def _connected(url: str, sql: str = "", is_new_allowed: bool = False) -> Iterator[Any]:
    try:
        import sqlalchemy as sa
        from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
    except ImportError as error:
        raise missing_driver(url, "sqlalchemy", error) from error
    _check_file(url, is_new_allowed)
    try:
        engine = sa.create_engine(url)
    except NoSuchModuleError as error:
        scheme = url.partition("://")[0]
        raise ValueError(
            f"{masked(url)} cannot be opened: SQLAlchemy does not know {scheme}://; check its "
            "spelling, or install the package that adds it."
        ) from error
    except ImportError as error:
        raise missing_driver(url, error.name or "its driver", error) from error
    except ArgumentError as error:
        raise ValueError(f"{masked(url)} must be a URL of a database as SQLAlchemy has it.") from (
            error
        )
    try:
        with explained(url, (_DatabaseError,), sql):
            try:
                with engine.connect() as connection:
                    yield connection
            except DBAPIError as error:
                raise _DatabaseError(str(error.orig)) from error
            except SQLAlchemyError as error:
                raise _DatabaseError(str(error)) from error
    finally:
        engine.dispose()


class _DatabaseError(Exception):
    """What a database says, without the statement and its values."""


def _check_file(url: str, is_new_allowed: bool) -> None:
    """Raise where a file of SQLite is not there: it would be made, and have no tables."""
    if not url.startswith("sqlite") or is_new_allowed:
        return
    path = file_of(url)
    if path and not path.startswith("file:") and not Path(path).exists():
        raise FileNotFoundError(f"there is no database {path} ({masked(url)}); check its name.")

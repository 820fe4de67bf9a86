"""All rows of one database of a desk, copied into another that has empty tables."""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from toprank.live.store.change_table import changes
from toprank.live.store.desk_database import metadata
from toprank.live.store.session_table import sessions
from toprank.live.store.transactions import as_sqlalchemy

_AT_ONCE = 10_000  # rows

Progress = Callable[[int], None]


def copied_tables() -> list[sa.Table]:
    """Return the tables whose rows are copied, those that others refer to first."""
    return [each for each in metadata.sorted_tables if each is not changes]


def n_rows(connection: sa.Connection) -> dict[str, int]:
    """Return how many rows each of these tables has, by its name."""
    count = sa.func.count()
    return {
        each.name: connection.execute(sa.select(count).select_from(each)).scalar_one()
        for each in copied_tables()
    }


def copy_tables(
    source: sa.Connection, target: sa.Connection, on_progress: Progress | None = None
) -> None:
    """Copy all rows, as `source` sees them; `on_progress` is called with how many more."""
    for table in copied_tables():
        query = sa.select(table).order_by(*table.primary_key.columns)
        found = source.execute(query.execution_options(yield_per=_AT_ONCE))
        for rows in found.partitions():
            _add(target, table, rows)
            if on_progress is not None:
                on_progress(len(rows))
    if target.dialect.name == "postgresql":
        _count_on(source, target)
        target.exec_driver_sql("ANALYZE")


def _add(target: sa.Connection, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> None:
    if target.dialect.name != "postgresql":
        target.execute(table.insert(), [row._asdict() for row in rows])
        return
    preparer = target.dialect.identifier_preparer
    names = ", ".join(preparer.format_column(each) for each in table.c)
    statement = f"COPY {preparer.format_table(table)} ({names}) FROM STDIN"
    raw: Any = target.connection.dbapi_connection
    try:
        with raw.cursor() as cursor, cursor.copy(statement) as copying:
            for row in rows:
                copying.write_row(row)
    except target.dialect.loaded_dbapi.Error as error:
        raise as_sqlalchemy(target.dialect, statement, error) from None


def _count_on(source: sa.Connection, target: sa.Connection) -> None:
    """Let PostgreSQL give numbers from the largest one on that there is."""
    for table in copied_tables():
        column = table.autoincrement_column
        if column is None:
            continue
        last = source.execute(sa.select(sa.func.max(column))).scalar() or 0
        if table is sessions and source.dialect.name == "sqlite":
            last = max(last, _last_session(source))  # numbers of ended ones are not given again
        if last:
            sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
            target.execute(sa.select(sa.func.setval(sequence, last)))


def _last_session(source: sa.Connection) -> int:
    """Return the number of the last session that SQLite has ever given."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = 'sessions'"
    return source.exec_driver_sql(query).scalar() or 0

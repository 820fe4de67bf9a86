"""Statements that run with every payment: compiled once, then given to the driver as they are.

SQLAlchemy prepares each execution anew, which took five times as long as the execution itself and
most of a payment's time in the database.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import sqlalchemy as sa

from toprank.live.store.transactions import as_sqlalchemy

Result = TypeVar("Result")


class CompiledStatement:
    """A statement of SQLAlchemy whose parameters are given by their places.

    Parameters
    ----------
    statement
        The statement. Values go in and out as the driver has them, so its columns must be of plain
        types: numbers, texts, bytes.
    """

    def __init__(self, statement: sa.Executable) -> None:
        self._statement = statement
        self._text = lru_cache(1)(self._compiled)

    def one(self, connection: sa.Connection, *values: Any) -> Sequence[Any] | None:
        """Return the first row for these parameters, None if there is none."""
        return self.first_of_each(connection, [values])[0]

    def first_of_each(
        self, connection: sa.Connection, rows: Iterable[Sequence[Any]]
    ) -> list[Sequence[Any] | None]:
        """Return what `one` does for each row of parameters."""

        def first(cursor: Any, text: str) -> list[Sequence[Any] | None]:
            found = []
            for values in rows:
                cursor.execute(text, values)
                found.append(cursor.fetchone())
            return found

        return self._run(connection, first)

    def all(self, connection: sa.Connection, *values: Any) -> list[Any]:
        """Return the rows for these parameters."""

        def everything(cursor: Any, text: str) -> list[Any]:
            cursor.execute(text, values)
            return cursor.fetchall()

        return self._run(connection, everything)

    def many(self, connection: sa.Connection, rows: Iterable[Sequence[Any]]) -> None:
        """Run it for each row of parameters."""
        all_rows = list(rows)

        def add(cursor: Any, text: str) -> None:
            if len(all_rows) == 1:  # psycopg sends a list as a pipeline, which takes longer
                cursor.execute(text, all_rows[0])
            else:
                cursor.executemany(text, all_rows)

        self._run(connection, add)

    def _run(self, connection: sa.Connection, work: Callable[[Any, str], Result]) -> Result:
        """Return what is done with a cursor and the text of the statement."""
        dialect, raw = connection.dialect, connection.connection.dbapi_connection
        assert raw is not None
        text = self._text(dialect)
        try:
            return work(raw.cursor(), text)
        except dialect.loaded_dbapi.Error as error:
            raise as_sqlalchemy(dialect, text, error) from None

    def _compiled(self, dialect: sa.Dialect) -> str:
        style = "qmark" if dialect.name == "sqlite" else "format"
        positional: Any = type(dialect)(paramstyle=style)  # type: ignore[call-arg]
        return str(self._statement.compile(dialect=positional))  # type: ignore[attr-defined]

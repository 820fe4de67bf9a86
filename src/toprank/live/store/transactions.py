"""How transactions begin and end, on the connections of the drivers themselves.

Those that write take their turn when they begin, not half-way, whichever process they are of.
SQLite has one writer at a time. In PostgreSQL they wait for one lock: what each of them then
reads is what the one before has committed, as READ COMMITTED takes a new look at each statement.
Those that only read see one moment. PostgreSQL also counts who has changed something, for others
to notice; SQLite does that by itself.
"""

from contextlib import suppress
from typing import Any, Literal

import sqlalchemy as sa

_WRITER_LOCK = "1953460336, 1"  # the bytes of "topr": locks of others must not be the same
ENGINE_LOCK = "1953460336, 2"

_READ_POSTGRES = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE_POSTGRES = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; "
    f"SELECT pg_advisory_xact_lock({_WRITER_LOCK}); "
    "UPDATE changes SET number = number + 1 WHERE writer = '{writer}'"
)
_BEGIN = {
    ("sqlite", None): "BEGIN",
    ("sqlite", "engine"): "BEGIN IMMEDIATE",
    ("sqlite", "others"): "BEGIN IMMEDIATE",
    ("postgresql", None): _READ_POSTGRES,
    ("postgresql", "engine"): _WRITE_POSTGRES.format(writer="engine"),
    ("postgresql", "others"): _WRITE_POSTGRES.format(writer="others"),
}


def begin(connection: sa.Connection) -> None:
    """Begin a transaction; a writer takes its turn here.

    The execution options `is_writing` and `is_engine` say for what it is.
    """
    raw = connection.connection.dbapi_connection
    if is_begun(raw):  # a quick one, in which SQLAlchemy runs its first statement
        return
    options, dialect = connection.get_execution_options(), connection.dialect
    writer = None
    if options.get("is_writing", False):
        writer = "engine" if options.get("is_engine", False) else "others"
    statement = _BEGIN[dialect.name, writer]
    try:
        run(raw, statement)
    except dialect.loaded_dbapi.Error as error:
        with suppress(dialect.loaded_dbapi.Error):  # a connection that is lost
            connection.connection.rollback()
        raise as_sqlalchemy(dialect, statement, error) from None


def run(raw: Any, statement: str) -> Any:
    """Run a statement of ours, or several, on a driver's connection; return its cursor."""
    if hasattr(raw, "prepare_threshold"):  # psycopg prepares what is run often; never several
        return raw.execute(statement, prepare=False)
    return raw.execute(statement)


def close(connection: sa.Connection) -> None:
    """Close a connection, also one that the server has closed."""
    with suppress(sa.exc.SQLAlchemyError):
        if getattr(connection.connection.dbapi_connection, "closed", False):
            connection.invalidate()  # to roll back what is lost would be logged as an error
    connection.close()


def is_begun(raw: Any) -> bool:
    """Return whether a driver's connection is in a transaction."""
    try:
        return raw.in_transaction  # SQLite's
    except AttributeError:
        return bool(raw.pgconn.transaction_status)  # 0 is idle


def as_sqlalchemy(dialect: sa.Dialect, statement: str, error: Exception) -> Exception:
    """Return a driver's error as SQLAlchemy has them, without parameters: they contain cards."""
    return sa.exc.DBAPIError.instance(
        statement, None, error, dialect.loaded_dbapi.Error, hide_parameters=True, dialect=dialect
    )


class QuickTransaction:
    """A transaction on a connection: what its own `begin` gives, in a third of the time.

    SQLAlchemy's objects and events take longer than the database does to begin and to commit,
    which counts where there is a transaction per payment.

    Parameters
    ----------
    connection
        A connection that is in no transaction. It is in one afterwards: OperationalError if
        another process writes.
    """

    def __init__(self, connection: sa.Connection) -> None:
        if is_begun(connection.connection.dbapi_connection):
            raise RuntimeError("a transaction must have ended before the next; one has not.")
        self._connection = connection
        begin(connection)

    def commit(self) -> None:
        """Make the changes last; if that fails, they are undone."""
        try:
            self._end("commit")
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        """Undo the changes."""
        # after a commit that failed, SQLAlchemy has a transaction that is over, and needs this
        if self._connection.get_transaction() is not None:
            self._connection.rollback()
        self._end("rollback")

    def _end(self, how: Literal["commit", "rollback"]) -> None:
        if self._connection.in_transaction():  # SQLAlchemy has run a statement, and knows of it
            getattr(self._connection, how)()
            return
        raw, dialect = self._connection.connection.dbapi_connection, self._connection.dialect
        assert raw is not None
        try:
            getattr(raw, how)()
        except dialect.loaded_dbapi.Error as error:
            raise as_sqlalchemy(dialect, how.upper(), error) from None

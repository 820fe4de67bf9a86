"""The database of a desk: SQLite in its folder, read by many and written by one at a time.

Readers never wait for a writer, and see what was committed when they began. Statements are those
of SQLAlchemy Core, so that other databases run them, too; what only SQLite needs is in this file.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import sqlalchemy as sa

from toprank.data import checks
from toprank.data.atomic import PRIVATE

Durability = Literal["process", "power"]

NAME = "desk.db"
FORMAT = 6
"""The version of the tables; it is written into the database."""

metadata = sa.MetaData()
"""All tables: each module of this folder adds its own."""

_WAIT = 10_000  # milliseconds for another writer to finish


class Database:
    """The tables of a desk; made by `create` and `open`.

    Parameters
    ----------
    path
        The file.
    durability
        "process": what was committed survives a killed process; "power": also a power failure,
        at the price of waiting for the disk at every commit.

    Attributes
    ----------
    turn
        A lock that whoever writes in this process holds: SQLite itself would make others wait in
        growing steps of milliseconds.
    """

    def __init__(self, path: Path, durability: Durability = "process") -> None:
        checks.one_of(durability, "durability", ("process", "power"))
        self.turn = threading.RLock()
        self.path, self.durability = path, durability
        self.engine = sa.create_engine(
            sa.URL.create("sqlite", database=os.fspath(path)),
            connect_args={"timeout": _WAIT / 1000},
            hide_parameters=True,  # cards must not get into the log of errors
        )
        sa.event.listen(self.engine, "connect", self._prepare)
        sa.event.listen(self.engine, "begin", _begin)

    @classmethod
    def create(cls, folder: str | os.PathLike[str], durability: Durability = "process") -> Self:
        """Make the database of a new desk."""
        import_tables()
        path = Path(folder, NAME)
        path.touch(PRIVATE, exist_ok=False)
        database = cls(path, durability)
        with database.writing() as connection:
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")
        return database

    @classmethod
    def open(cls, folder: str | os.PathLike[str], durability: Durability = "process") -> Self:
        """Return the database of a desk; ValueError if it is none or of a later version.

        One of an earlier version is brought up to this one.
        """
        import_tables()
        path = Path(folder, NAME)
        if not path.is_file():
            raise FileNotFoundError(_no_desk(Path(folder)))
        database = cls(path, durability)
        try:
            with database.reading() as connection:
                found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        except sa.exc.DatabaseError as error:
            raise ValueError(f"{path} cannot be read as a database: {error.orig}.") from None
        database._bring_up(found)
        return database

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a connection whose changes are committed at the end: all or, on an error, none."""
        options = {"is_writing": True}
        with (
            self.turn,
            self.engine.connect() as connection,
            connection.execution_options(**options).begin(),
        ):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection that sees one moment of the database."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    def checkpoint(self) -> None:
        """Move as much of the write-ahead log into the database as nobody is using."""
        with self.engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def truncate_log(self) -> None:
        """Move the write-ahead log into the database and empty it, if nobody is reading it.

        To wait for readers would keep writers waiting as well; it is tried again soon.
        """
        with self.engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert raw is not None
            raw.execute("PRAGMA busy_timeout = 0")
            try:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                raw.execute(f"PRAGMA busy_timeout = {_WAIT}")

    def back_up(self, path: Path) -> None:
        """Write a copy as of one moment to another file, while the database is in use."""
        path.touch(PRIVATE, exist_ok=False)
        with self.engine.connect() as connection, sqlite3.connect(path) as copy:
            raw = connection.connection.dbapi_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.backup(copy)
        copy.close()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _bring_up(self, found: int) -> None:
        """Bring a database of an earlier version up to this one; ValueError if it cannot be."""
        from toprank.live.store.desk_migrations import STEPS

        if found == FORMAT:
            return
        if found not in STEPS:
            raise ValueError(
                f"{self.path} must be of version {FORMAT} for this toprank; it is of version "
                f"{found}."
            )
        with self.writing() as connection:
            # another process may have done it meanwhile
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            while version in STEPS:
                STEPS[version](connection)
                version += 1
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")

    def _prepare(self, connection: sqlite3.Connection, _: Any) -> None:
        # the driver must not begin transactions by itself: `_begin` does
        connection.isolation_level = None
        is_synced = self.durability == "power"
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'FULL' if is_synced else 'NORMAL'}",
            f"busy_timeout = {_WAIT}",
            "foreign_keys = ON",
            "secure_delete = ON",  # what was purged must not be left in free pages
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")


def _no_desk(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} must be the folder of a desk; it is a file."
    what = f"it has no {NAME}" if folder.is_dir() else "there is no such folder"
    return f"{folder} is not a desk: {what}; make one with: toprank desk init"


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
        raw: Any = connection.connection.dbapi_connection
        if raw.in_transaction:
            raise RuntimeError("a transaction must have ended before the next; one has not.")
        self._connection = connection
        _begin(connection)

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
        raw = self._connection.connection.dbapi_connection
        assert raw is not None
        try:
            getattr(raw, how)()
        except sqlite3.Error as error:
            raise sa.exc.DBAPIError(how.upper(), None, error) from None


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction; a writer takes its turn here, not half-way."""
    is_writing = connection.get_execution_options().get("is_writing", False)
    statement = "BEGIN IMMEDIATE" if is_writing else "BEGIN"
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    if raw.in_transaction:  # a quick one, in which SQLAlchemy runs its first statement
        return
    try:
        raw.execute(statement)
    except sqlite3.OperationalError as error:
        raise sa.exc.OperationalError(statement, None, error) from None


def import_tables() -> None:
    """Import every module that adds a table to `metadata`."""
    import importlib
    import pkgutil

    from toprank.live import store

    for module in pkgutil.iter_modules(store.__path__):
        importlib.import_module(f"{store.__name__}.{module.name}")

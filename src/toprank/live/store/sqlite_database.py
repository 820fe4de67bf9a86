"""The database of a desk as a file in its folder: SQLite, with a write-ahead log."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from toprank.data.atomic import PRIVATE
from toprank.live.store import desk_migrations
from toprank.live.store.desk_database import Database

NAME = "desk.db"

_WAIT = 10_000  # milliseconds for another writer to finish


class SqliteDatabase(Database):
    """A file in the folder of the desk; see `Database`."""

    is_shared = False

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / NAME

    def make(self) -> None:
        """Make the file and its tables; FileExistsError if it is there already."""
        self.path.touch(PRIVATE, exist_ok=False)
        with self.writing() as connection:
            self.make_tables(connection)

    def check(self) -> None:
        """Raise unless there is a desk; bring one of an earlier version up to this one."""
        if not self.path.is_file():
            raise FileNotFoundError(_no_desk(self.folder))
        try:
            with self.reading() as connection:
                found = desk_migrations.version_of(connection)
        except sa.exc.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be read as a database: {error.orig}.") from None
        if found != desk_migrations.NEWEST:
            with self.writing() as connection:
                desk_migrations.bring_up(connection, self.path)

    def engine_connection(self, longest_wait: float) -> sa.Connection:
        """Return the connection of the one process that decides; see `Database`.

        That it is the only one is seen to by the lock of the folder.
        """
        options = {"is_writing": True, "is_engine": True}
        connection = self.engine.connect().execution_options(**options)
        connection.detach()  # no part of the pool, which would give it to others
        # a commit must not wait until the write-ahead log is in the database: see `checkpoint`
        connection.exec_driver_sql("PRAGMA wal_autocheckpoint = 0")
        # whoever else writes is quick, or the payment is asked to come again
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(1000 * longest_wait)}")
        connection.rollback()
        return connection

    def n_changes(self, connection: sa.Connection) -> int:
        """Return a number that changes when another connection has committed something."""
        return int(_raw(connection).execute("PRAGMA data_version").fetchone()[0])

    def checkpoint(self) -> None:
        """Move as much of the write-ahead log into the database as nobody is using."""
        with self.engine.connect() as connection:
            _raw(connection).execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def truncate_log(self) -> None:
        """Move the write-ahead log into the database and empty it, if nobody is reading it.

        To wait for readers would keep writers waiting as well; it is tried again soon.
        """
        with self.engine.connect() as connection:
            raw = _raw(connection)
            raw.execute("PRAGMA busy_timeout = 0")
            try:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                raw.execute(f"PRAGMA busy_timeout = {_WAIT}")

    def overwrite_removed(self) -> None:
        """Empty the write-ahead log; in the file, what is deleted is overwritten at once."""
        self.truncate_log()

    def back_up(self, path: Path) -> None:
        """Write a copy as of one moment to another file, while the database is in use."""
        path.touch(PRIVATE, exist_ok=False)
        with self.engine.connect() as connection, sqlite3.connect(path) as copy:
            _raw(connection).backup(copy)
        copy.close()

    def _engine(self) -> sa.Engine:
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=os.fspath(self.path)),
            connect_args={"timeout": _WAIT / 1000},
            hide_parameters=True,  # cards must not get into the log of errors
        )
        sa.event.listen(engine, "connect", self._prepare)
        return engine

    def _prepare(self, connection: sqlite3.Connection, _: Any) -> None:
        # the driver must not begin transactions by itself: `transactions.begin` does
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


def _raw(connection: sa.Connection) -> sqlite3.Connection:
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _no_desk(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} must be the folder of a desk; it is a file."
    what = f"it has no {NAME}" if folder.is_dir() else "there is no such folder"
    return f"{folder} is not a desk: {what}; make one with: toprank desk init"

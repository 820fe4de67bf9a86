"""The database of a desk in PostgreSQL: one database per desk, for any number of processes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from toprank.live.store import desk_migrations
from toprank.live.store.database_address import VARIABLE, shown
from toprank.live.store.desk_database import Database, Durability
from toprank.live.store.transactions import ENGINE_LOCK, run

_WAIT = 10_000  # milliseconds for another writer to finish
_ENDING = 2_000  # milliseconds for the process before to let go of its lock
_LONGEST_CONNECT = 5  # seconds
_KEEP_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


class EngineTakenError(ValueError):
    """Another process decides on the payments of this desk."""


class PostgresDatabase(Database):
    """A database of PostgreSQL that belongs to one desk; see `Database`.

    Parameters
    ----------
    folder
        The folder of the desk.
    address
        Where the database is.
    durability
        "process": as the server is set, which by default waits for the disk as well; "power": it
        waits, however the server is set.
    """

    is_shared = True

    def __init__(self, folder: Path, address: sa.URL, durability: Durability = "process") -> None:
        if find_spec("psycopg") is None:
            raise ImportError(
                "a desk in PostgreSQL needs psycopg; install it with: "
                "pip install 'toprank[postgres]'"
            )
        self._address = address
        super().__init__(folder, durability)

    @property
    def address(self) -> str:
        """The address, without its password."""
        return shown(self._address)

    def make(self) -> None:
        """Make the tables; ValueError if the database has any already."""
        with self.making():
            pass

    @contextmanager
    def making(self) -> Iterator[sa.Connection]:
        """Make the tables and yield a connection that fills them: all is there or nothing.

        ValueError if the database has any table already.
        """
        with self._connected() as connection:
            found = sa.inspect(connection).get_table_names()
            if found:
                raise ValueError(
                    f"the database {self.address} must be empty for a new desk; it has the table "
                    f"{found[0]!r}; make another one, for example with: createdb NAME"
                )
            connection.rollback()
            run(connection.connection.dbapi_connection, "BEGIN")  # there is nothing to count yet
            with connection.begin():
                self.make_tables(connection)
                yield connection

    def check(self) -> None:
        """Raise unless there is a desk; bring one of an earlier version up to this one."""
        with self._connected() as connection:
            found = desk_migrations.version_of(connection)
        if found is None:
            raise ValueError(
                f"the database {self.address} must be that of the desk {self.folder}; it has no "
                "tables of a desk."
            )
        if found != desk_migrations.NEWEST:
            with self.writing() as connection:
                desk_migrations.bring_up(connection, self.address)

    def engine_connection(self, longest_wait: float) -> sa.Connection:
        """Return the connection of the one process that decides; see `Database`.

        It has a lock for as long as it is open, so a process that lost it cannot write any more.
        """
        options = {"is_writing": True, "is_engine": True}
        connection = self._connected().execution_options(**options)
        connection.detach()  # no part of the pool, which would give it to others with its lock
        try:
            self._lock_engine(connection.connection.dbapi_connection)
            run(
                connection.connection.dbapi_connection,
                f"SET lock_timeout = {int(1000 * longest_wait)}",
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def n_changes(self, connection: sa.Connection) -> int:
        """Return a number that changes when others have committed something.

        For the process that decides, it is what the others have; for others, all.
        """
        is_engine = connection.get_execution_options().get("is_engine", False)
        of_whom = " WHERE writer = 'others'" if is_engine else ""
        raw = connection.connection.dbapi_connection
        return int(run(raw, f"SELECT sum(number) FROM changes{of_whom}").fetchone()[0])

    def checkpoint(self) -> None:
        """Do nothing: the server does it by itself."""

    def truncate_log(self) -> None:
        """Do nothing: the server does it by itself."""

    def overwrite_removed(self) -> None:
        """Let the server use the place of removed rows again, for others to overwrite them."""
        with self.engine.connect() as connection:
            run(connection.connection.dbapi_connection, "VACUUM")

    def back_up(self, path: Path) -> None:
        """Write a copy as of one moment to a file of SQLite, while the database is in use."""
        from toprank.live.store import table_copies
        from toprank.live.store.sqlite_database import SqliteDatabase

        copy = SqliteDatabase(path.parent)
        try:
            copy.make()
            with self.reading() as source, copy.writing() as target:
                table_copies.copy_tables(source, target)
            copy.truncate_log()
        finally:
            copy.close()

    def _engine(self) -> sa.Engine:
        keeping = {name: n for name, n in _KEEP_ALIVE.items() if name not in self._address.query}
        engine = sa.create_engine(
            self._address,
            connect_args={
                "connect_timeout": _LONGEST_CONNECT,
                "application_name": f"toprank {os.getpid()}",
                **keeping,
            },
            pool_pre_ping=True,  # the server may have been restarted
            hide_parameters=True,  # cards must not get into the log of errors
        )
        sa.event.listen(engine, "connect", self._prepare)
        return engine

    def _prepare(self, raw: Any, _: Any) -> None:
        # the driver must not begin transactions by itself: `transactions.begin` does
        raw.autocommit = True
        run(raw, f"SET lock_timeout = {_WAIT}")
        # a lost connection must give its locks back within a minute
        run(raw, "SET tcp_keepalives_idle = 30")
        run(raw, "SET tcp_keepalives_interval = 10")
        run(raw, "SET tcp_keepalives_count = 3")
        if self.durability == "power":
            run(raw, "SET synchronous_commit = on")

    def _lock_engine(self, raw: Any) -> None:
        """Take the lock of the one process that decides, which may just be ending."""
        from psycopg.errors import LockNotAvailable

        run(raw, f"SET lock_timeout = {_ENDING}")
        try:
            run(raw, f"SELECT pg_advisory_lock({ENGINE_LOCK})")
        except LockNotAvailable:
            raise EngineTakenError(
                f"another process takes the payments of the desk in {self.address}; there can be "
                "only one. To serve its pages beside it, use --pages-only."
            ) from None

    def _connected(self) -> sa.Connection:
        """Return a connection; ConnectionError says why there can be none."""
        try:
            return self.engine.connect()
        except sa.exc.OperationalError as error:
            raise ConnectionError(
                f"the database {self.address} cannot be reached: {_reason(error)}"
            ) from None


def _reason(error: sa.exc.OperationalError) -> str:
    """Return what the server or the system says, in one line."""
    lines = " ".join(str(error.orig).split())
    _, _, said = lines.rpartition(" failed: ")
    if "no password supplied" in said:
        return f"a password is required; give the whole address as {VARIABLE}."
    return said.removeprefix("FATAL: ").strip().rstrip(".?") + "."

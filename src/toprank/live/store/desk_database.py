"""The database of a desk: SQLite in its folder, or PostgreSQL by an address.

Readers never wait for a writer, and see what was committed when they began. Writers take turns,
also those of other processes: a transaction that writes sees all that was committed before it, and
numbers that it gives are in the order of the commits. Statements are those of SQLAlchemy Core, so
that both databases run them; what only one of them needs is in the file of its class.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert

from toprank.data import checks
from toprank.live.store.transactions import begin

Durability = Literal["process", "power"]

metadata = sa.MetaData()
"""All tables: each module of this folder adds its own."""

Text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Texts, in the order of their bytes wherever the database is."""

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""Whole numbers that the database gives by itself: SQLite's row number."""


def insert_new(table: sa.Table) -> Insert:
    """Return the insertion of rows that leaves out those that are there already.

    SQLite and PostgreSQL have the same words for it; SQLAlchemy has it in its dialects alone.
    """
    return insert(table).on_conflict_do_nothing()


def sum_of(column: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """Return the sum of whole numbers as one; PostgreSQL makes it a decimal number."""
    return sa.cast(sa.func.sum(column), sa.BigInteger)


class Database(ABC):
    """The tables of a desk; made by `create` and `open`.

    Parameters
    ----------
    folder
        The folder of the desk.
    durability
        "process": what was committed survives a killed process; "power": also a power failure,
        at the price of waiting for the disk at every commit.

    Attributes
    ----------
    is_shared
        Whether several processes may serve pages from it.
    turn
        A lock that whoever writes in this process holds: SQLite itself would make others wait in
        growing steps of milliseconds.
    """

    is_shared: ClassVar[bool]

    def __init__(self, folder: Path, durability: Durability = "process") -> None:
        checks.one_of(durability, "durability", ("process", "power"))
        self.turn = threading.RLock()
        self.folder, self.durability = folder, durability
        self.engine = self._engine()
        sa.event.listen(self.engine, "begin", begin)

    @staticmethod
    def create(folder: str | os.PathLike[str], durability: Durability = "process") -> "Database":
        """Make the database of a new desk, where the settings in its folder say."""
        import_tables()
        database = _of(Path(folder), durability)
        try:
            database.make()
        except BaseException:
            database.close()
            raise
        return database

    @staticmethod
    def open(folder: str | os.PathLike[str], durability: Durability = "process") -> "Database":
        """Return the database of a desk; ValueError if it is none or of a later version.

        One of an earlier version is brought up to this one.
        """
        import_tables()
        database = _of(Path(folder), durability)
        try:
            database.check()
        except BaseException:
            database.close()
            raise
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

    @abstractmethod
    def make(self) -> None:
        """Make the tables; an error if there are some already."""

    @abstractmethod
    def check(self) -> None:
        """Raise unless there is a desk; bring one of an earlier version up to this one."""

    @abstractmethod
    def engine_connection(self, longest_wait: float) -> sa.Connection:
        """Return the connection of the one process that decides; nobody else can have it.

        Its transactions write, and wait at most so many seconds for other writers. ValueError if
        another process has it.
        """

    @abstractmethod
    def n_changes(self, connection: sa.Connection) -> int:
        """Return a number that changes when others have committed something.

        It is asked on the connection that is meant by "others", outside of transactions.
        """

    @abstractmethod
    def checkpoint(self) -> None:
        """Do now what would keep commits waiting later."""

    @abstractmethod
    def truncate_log(self) -> None:
        """Empty the log of what was written, if nobody is reading it."""

    @abstractmethod
    def overwrite_removed(self) -> None:
        """Let nothing that was deleted be left in the files, as far as the database can do it."""

    @abstractmethod
    def back_up(self, path: Path) -> None:
        """Write a copy as of one moment to a file of SQLite, while the database is in use."""

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @staticmethod
    def make_tables(connection: sa.Connection) -> None:
        """Make the tables as they are in this version."""
        from toprank.live.store import change_table, desk_migrations

        metadata.create_all(connection)
        change_table.begin_to_count(connection)
        desk_migrations.stamp(connection)

    @abstractmethod
    def _engine(self) -> sa.Engine:
        """Return what connects to it."""


def import_tables() -> None:
    """Import every module that adds a table to `metadata`."""
    import importlib
    import pkgutil

    from toprank.live import store

    for module in pkgutil.iter_modules(store.__path__):
        importlib.import_module(f"{store.__name__}.{module.name}")


def _of(folder: Path, durability: Durability) -> Database:
    from toprank.live.store.database_address import address_of

    address = address_of(folder)
    if address is None:
        from toprank.live.store.sqlite_database import SqliteDatabase

        return SqliteDatabase(folder, durability)
    from toprank.live.store.postgres_database import PostgresDatabase

    return PostgresDatabase(folder, address, durability)

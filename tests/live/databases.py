"""New databases of desks: files of SQLite, or of a PostgreSQL server.

`TOPRANK_TEST_DATABASE=postgresql` runs the tests of the live system on PostgreSQL. A desk says
where its data are in its settings, so all that is opened later is opened there, too.
"""

import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from toprank.live.desk_settings import NAME, DeskSettings
from toprank.live.store import database_address, table_copies
from toprank.live.store.desk_database import Database, metadata
from toprank.live.store.postgres_database import PostgresDatabase
from toprank.live.store.sqlite_database import SqliteDatabase

ON_POSTGRES = os.environ.get("TOPRANK_TEST_DATABASE") == "postgresql"

only_sqlite = pytest.mark.skipif(ON_POSTGRES, reason="it is about the file of SQLite.")

_numbers = itertools.count()
_server = []  # the one that is running


def create(folder, durability="process"):
    """The database of a folder without a desk."""
    # servers of pages alone, started by tests of HTTP, have their database in their folder
    if ON_POSTGRES and _server and not (Path(folder) / NAME).exists():
        DeskSettings(database=new_address()).write(folder)
    return Database.create(folder, durability)


def empty(folder):
    """The database of a new folder, without any table."""
    folder.mkdir()
    if not ON_POSTGRES:
        return SqliteDatabase(folder)
    DeskSettings(database=new_address()).write(folder)
    return PostgresDatabase(folder, database_address.address_of(folder))


def folder(path):
    """A new folder."""
    path.mkdir()
    return path


def settings_of(kind="desk", *, is_postgres=ON_POSTGRES, **given):
    """Settings whose database is new; of kind "template" it outlives the test."""
    return DeskSettings(**given, database=new_address(kind=kind) if is_postgres else "")


def copy(folder, target):
    """A copy of a desk's folder with a database of its own."""
    shutil.copytree(folder, target)
    if ON_POSTGRES:
        settings = DeskSettings.read(folder)
        replace(settings, database=new_address()).write(target)
        source, made = Database.open(folder), Database.create(target)
        with source.reading() as old, made.writing() as new:
            table_copies.copy_tables(old, new)
        source.close()
        made.close()
    return target


def from_template(folder, target, **given):
    """A copy of a desk that nobody has open, with other settings."""
    shutil.copytree(folder, target)
    template = DeskSettings.read(folder).database
    DeskSettings(**given, database=new_address(template) if ON_POSTGRES else "").write(target)


def new_address(template="", kind="desk"):
    """The address of a new database, empty or like another one."""
    name = f"{kind}_{next(_numbers)}"
    of = f" TEMPLATE {template.rpartition('/')[2]}" if template else ""
    run(f"CREATE DATABASE {name}{of}")
    return _server[0].url(name)


def be_impatient(connection):
    """Let a connection that would write not wait for others."""
    statement = "SET lock_timeout = 1" if ON_POSTGRES else "PRAGMA busy_timeout = 0"
    connection.exec_driver_sql(statement)
    connection.commit()


def stored(database):
    """All that a database has stored, as bytes."""
    if not ON_POSTGRES:
        database.truncate_log()
        return database.path.read_bytes()
    with database.reading() as connection:
        rows = [connection.execute(sa.select(each)).all() for each in metadata.sorted_tables]
    return repr(rows).encode()


def end_engines(address):
    """End the connection of whoever takes the payments of a desk, as if it had been killed."""
    if address:
        locks = (
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        run(f"SELECT pg_terminate_backend(pid, 5000) FROM ({locks}) AS engines", address)


def serve(server):
    """Make databases on a server from now on, or on none."""
    _server[:] = [] if server is None else [server]


def drop_new():
    """Yield once, and remove the databases that were made meanwhile."""
    first = next(_numbers)
    yield
    names = [f"desk_{number}" for number in range(first + 1, next(_numbers))]
    for name in names:
        run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def run(statement, address=None):
    import psycopg

    with psycopg.connect(address or _server[0].url(), autocommit=True) as connection:
        connection.execute(statement)

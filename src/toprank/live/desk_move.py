"""A desk's data, moved from the file in its folder to PostgreSQL: all of them, or nothing.

Nobody may serve or change the desk meanwhile. The copy is made in one transaction and compared
before it is committed; only then do the settings name the new place. The file stays, under another
name, for whoever wants to go back.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from toprank.live.desk import SERVE_LOCK, Desk
from toprank.live.desk_clock import wall_time
from toprank.live.store import audit_chain, table_copies
from toprank.live.store.audit_chain import Verified
from toprank.live.store.database_address import parsed, shown
from toprank.live.store.postgres_database import PostgresDatabase
from toprank.live.store.sqlite_database import SqliteDatabase
from toprank.payments.history_store.writer_lock import WriterLock

Progress = Callable[[str, int, int], None]

MOVED = "desk.db.moved"
"""What the file is called afterwards."""


class MovedDesk(NamedTuple):
    """How many rows were copied, the audit that was verified there, and where it is."""

    n_rows: int
    audit: Verified
    address: str


class DeskMove:
    """A move that is about to begin: nobody else may serve or tidy the desk until it is closed.

    Parameters
    ----------
    folder
        The desk, whose data are in the folder.
    address
        The empty database in PostgreSQL.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self._url = parsed(address, "--to")
        self._desk = Desk.open(folder)
        try:
            if not isinstance(self._desk.database, SqliteDatabase):
                where = self._desk.settings.database
                raise ValueError(f"the data of {folder} are in PostgreSQL already: {where}.")
            self._source = self._desk.database
            self._target = PostgresDatabase(folder, self._url, self._source.durability)
            self._lock = WriterLock(folder / SERVE_LOCK, folder, wait=0.0)
        except BaseException:
            self._desk.close()
            raise

    def run(self, actor: str, progress: Progress | None = None) -> MovedDesk:
        """Copy, compare, and let the desk use the copy; an error leaves everything as it was."""
        address = shown(self._url)
        # the tables cannot change until this ends
        with (
            self._desk.tidying(),
            self._source.writing() as source,
            self._target.making() as target,
        ):
            total, done = sum(table_copies.n_rows(source).values()), 0

            def count(n_more: int) -> None:
                nonlocal done
                done += n_more
                if progress is not None:
                    progress("copying rows", done, total)

            table_copies.copy_tables(source, target, count)
            n_rows, audit = _compared(source, target)
            details: dict[str, Any] = {"to": address, "rows": n_rows, "hash": audit.hash}
            audit_chain.add(target, wall_time(), actor, "desk moved", "desk", details)
        replace(self._desk.settings, database=address).write(self._desk.folder)
        self._source.truncate_log()
        self._source.close()
        self._source.path.rename(self._desk.folder / MOVED)
        return MovedDesk(n_rows, audit, address)

    def close(self) -> None:
        """Let others use the desk."""
        self._target.close()
        self._desk.close()
        self._lock.release()

    def __enter__(self) -> "DeskMove":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _compared(source: sa.Connection, target: sa.Connection) -> tuple[int, Verified]:
    """Return the number of rows and the audit of the copy; ValueError unless both are equal."""
    before, after = table_copies.n_rows(source), table_copies.n_rows(target)
    for name, n in before.items():
        if after[name] != n:
            raise ValueError(
                f"the copy must have the {n:,} rows of the table {name!r}; it has "
                f"{after[name]:,}. Nothing was moved."
            )
    audit, copied = audit_chain.verify(source), audit_chain.verify(target)
    if audit != copied:
        raise ValueError("the copy must have the same audit; it has another. Nothing was moved.")
    return sum(before.values()), copied

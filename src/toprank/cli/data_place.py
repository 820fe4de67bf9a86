"""DATA as it was typed: a path, a URL of an object store, or a query of a database."""

from dataclasses import dataclass, field
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import Any

import click

from toprank.cli.existing_files import is_model, no_file

# known without an import: what is not local is looked at when it is read
_QUERY = "the query"


@dataclass(frozen=True)
class DataPlace:
    """Where the rows of a command are; nothing is opened before `source` is asked for."""

    typed: str = ""
    sql: str | None = None
    database: str | None = field(default=None, repr=False)

    @property
    def path(self) -> Path | None:
        """The path of what was typed; None for a URL or a query."""
        return None if self.sql is not None or "://" in self.typed else Path(self.typed)

    @property
    def name(self) -> str:
        """How messages call it."""
        if self.sql is not None:
            return _QUERY
        return Path(self.typed).name or self.typed

    @property
    def run_name(self) -> str:
        """What the name of a run says of it: a query is named by what it asks."""
        from toprank.data.sources import masked

        if self.sql is None:
            return masked(self.typed)
        return f"query {_digest(self.sql, self.database or '')}"

    @cached_property
    def source(self) -> Any:
        """What reads the rows: a `FileRows` or a `QueryRows`."""
        from toprank.data.sources import FileRows, QueryRows

        if self.sql is not None:
            return QueryRows(self.sql, self.database or "")
        return FileRows.at(self.typed)

    @property
    def is_model(self) -> bool:
        """Whether it is a file that `fit` wrote, typed where the rows should be."""
        return self.path is not None and is_model(self.path)

    def check(self) -> None:
        """Raise where there are no such files: at once, for a path without a long import."""
        path = self.path
        if path is not None and path.is_file():
            return
        if path is not None and not path.exists() and not has_magic(self.typed):
            raise no_file(path)
        _ = self.source

    def is_same_file(self, other: Path) -> bool:
        """Return whether a file to write is one of those that are read."""
        path = self.path
        if path is None or not other.exists():
            return False
        if path.is_file():
            return other.samefile(path)
        if not path.exists() and not has_magic(self.typed):  # stdin, or a name that is wrong
            return False
        return any(other.samefile(each) for each in self.source.files)


def place_of(typed: str | None, sql: str | None, database: str | None) -> DataPlace | None:
    """Return where the rows are, as the options say; None where nothing does."""
    if sql is None:
        return None if typed is None else DataPlace(typed)
    if typed is not None:
        raise click.UsageError(
            f"DATA must be left out with --sql: the rows are those of the query; got {typed!r}."
        )
    if database is None:
        raise click.UsageError(
            "--sql must come with --database, the URL of its database, such as "
            "postgresql://user@host/name, duckdb:///payments.duckdb or sqlite:///payments.sqlite; "
            "or set TOPRANK_DATABASE."
        )
    return DataPlace("", sql, database)


def _digest(sql: str, database: str) -> str:
    """Return a short name of a query: another query, or another database, has another."""
    from hashlib import sha256

    from toprank.data.sources import masked

    words = " ".join(sql.split())
    return sha256(f"{masked(database)} {words}".encode()).hexdigest()[:8]

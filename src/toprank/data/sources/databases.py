"""Databases by their URL: which library opens one, and what goes wrong, in sentences.

PostgreSQL is read through ADBC and DuckDB through its own reader: both hand over Arrow's columns,
batch by batch. All else goes through SQLAlchemy.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from toprank.data.tables.columns import TableError

_HIDDEN = "***"
_MOST_OF_A_REASON = 300  # characters
_ENGINES = {"postgresql": "adbc_engine", "postgres": "adbc_engine", "duckdb": "duckdb_engine"}
_SECRET_PARAMETERS = re.compile(r"(?i)\b((?:password|passwd|pwd|token|secret\w*|sas)=)[^&#\s]*")
_EXAMPLES = (
    "postgresql://user@host/name, duckdb:///payments.duckdb, sqlite:///payments.sqlite or another "
    "URL of SQLAlchemy"
)


class Tables(Protocol):
    """The tables of a database, within one transaction that `commit` ends."""

    longest_name: int | None
    undoes_tables: bool
    """Whether a table that was created is gone where nothing is committed."""

    def columns(self, table: str) -> list[str] | None:
        """Return the names of a table's columns; None where there is no such table."""

    def create(self, table: str, schema: pa.Schema) -> None:
        """Create a table with these columns."""

    def replace_run(self, table: str, rows: pa.Table, run: str) -> int:
        """Delete the rows of a run and add these; return how many were deleted."""

    def commit(self) -> None:
        """Keep what was done; without it, nothing is changed."""


class Engine(Protocol):
    """How one library reads and writes a database."""

    def query(self, url: str, sql: str, rows: int) -> AbstractContextManager[Any]:
        """Give an iterator over record batches of at most about so many rows."""

    def tables(self, url: str) -> AbstractContextManager[Tables]:
        """Give the tables, to be written."""


def engine_of(url: str) -> Engine:
    """Return what reads and writes the database of a URL."""
    scheme = url.partition("://")[0].lower()
    if "://" not in url or not scheme:
        raise ValueError(f"`database` must be a URL such as {_EXAMPLES}; got {masked(url)!r}.")
    name = _ENGINES.get(scheme, "sqlalchemy_engine")
    return import_module(f"toprank.data.sources.engines.{name}")


def masked(url: str) -> str:
    """Return a URL without its password.

    >>> masked("postgresql://ann:opensesame@db.bank.example/payments?password=x")
    'postgresql://ann:***@db.bank.example/payments?password=***'
    """
    scheme, found, rest = url.partition("://")
    if not found:
        return re.sub(r":[^@\s]*@", f":{_HIDDEN}@", url)
    end = min((rest.find(each) for each in "/?#" if each in rest), default=len(rest))
    # a password may contain a slash: all up to the last @ belongs to it
    at = rest.rfind("@", 0, end) if "@" in rest[:end] else rest.find("@")
    if at >= 0 and ":" in rest[:at]:
        rest = f"{rest.partition(':')[0]}:{_HIDDEN}{rest[at:]}"
    return _SECRET_PARAMETERS.sub(rf"\g<1>{_HIDDEN}", f"{scheme}://{rest}")


def without_secrets(text: str, url: str) -> str:
    """Return a message of a driver without the password of the URL.

    >>> without_secrets("no pwd opensesame", "postgresql://ann:opensesame@host/db")
    'no pwd ***'
    """
    try:
        password = urlsplit(url).password
    except ValueError:
        password = None
    text = text.replace(url, masked(url))
    for secret in {password, unquote(password or "")} - {None, ""}:
        text = text.replace(str(secret), _HIDDEN)
    return _SECRET_PARAMETERS.sub(rf"\g<1>{_HIDDEN}", text)


def file_of(url: str) -> str:
    """Return the file that the URL of DuckDB or SQLite names; "" for a database in memory.

    >>> file_of("duckdb:///data/a.duckdb"), file_of("duckdb:////srv/a.duckdb"), file_of("duckdb://")
    ('data/a.duckdb', '/srv/a.duckdb', '')
    """
    path = unquote(url.partition("://")[2].partition("?")[0])
    path = path.removeprefix("/")
    return "" if path == ":memory:" else path


def missing_driver(url: str, package: str, error: ImportError) -> ImportError:
    """Return the error of a library that is not installed."""
    scheme = url.partition("://")[0]
    name = "'toprank[databases]'" if package in _IN_EXTRA else _PIP_NAMES.get(package, package)
    return ImportError(
        f"{scheme}:// requires {package}, which is not installed: pip install {name}",
        name=error.name,
    )


_IN_EXTRA = ("adbc-driver-postgresql", "duckdb", "sqlalchemy")
_PIP_NAMES = {"MySQLdb": "mysqlclient", "psycopg2": "psycopg2-binary"}


@contextmanager
def explained(url: str, errors: tuple[type[Exception], ...], sql: str = "") -> Iterator[None]:
    """Turn what a driver raises into one sentence, without the password."""
    try:
        yield
    except errors as error:
        raise _as_sentence(url, without_secrets(str(error), url), sql) from error


def _as_sentence(url: str, said: str, sql: str) -> Exception:
    place, reason = masked(url), _reason(said)
    for pattern, kind, way_out in _ANSWERS:
        if re.search(pattern, said, re.IGNORECASE):
            return kind(f"{place}: {reason}; {way_out}.")
    if sql:
        return TableError(f"{place} cannot run the query ({reason}); correct `sql`.")
    return TableError(f"{place}: {reason}.")


def _reason(said: str) -> str:
    """Return what a database says, on one line, without what is the driver's own.

    >>> _reason('NOT_FOUND: Failed to prepare query: ERROR:  no column "a"\\nLINE 1: select a')
    'no column "a"'
    """
    said = re.sub(r"^\w+: (?:\[libpq\] )?Failed to [\w ]+: ", "", said)
    said = re.split(r"\n\s*Query was|\s*SQLSTATE|\n\[SQL|\n\s*Is the server running", said)[0]
    said = re.sub(r"\b(?:ERROR|FATAL|[A-Z][a-z]+(?: [A-Z][a-z]+)* Error):\s*", "", said)
    said = said.replace("could not begin COPY: ", "")
    said = re.sub(r"\bLINE \d+:[^\n]*(?:\n\s*\^+)?", "", said)
    said = re.sub(r"\s*\bHINT:\s*", "; ", said)
    return re.sub(r"\s+", " ", said).strip().rstrip(".!;")[:_MOST_OF_A_REASON]


_ANSWERS: list[tuple[str, type[Exception], str]] = [
    (
        "password authentication|no password supplied|authentication failed|Access denied",
        PermissionError,
        "give the password in the URL, or as the database has it by its usual means (PGPASSWORD "
        "or ~/.pgpass for PostgreSQL)",
    ),
    (
        "permission denied|not authorized|readonly database",
        PermissionError,
        "ask for the right, or use another user",
    ),
    (
        "Connection refused|could not connect|could not translate host|timeout expired|"
        "No route to host|Can't connect|server closed the connection",
        ConnectionError,
        "check host and port, and that the server runs",
    ),
    (
        r"database \"[^\"]*\" does not exist|database does not exist|unable to open database file",
        FileNotFoundError,
        "check the name of the database",
    ),
    (
        "not a valid DuckDB|file is not a database",
        TableError,
        "name a database file of the kind that the URL says",
    ),
    (
        "schema .*does not exist|Schema with name",
        TableError,
        "create the schema first, or name another table",
    ),
    (
        "Failed to download extension",
        ConnectionError,
        "name a file of DuckDB's own, or install that extension of DuckDB first",
    ),
    ("Cannot open file", FileNotFoundError, "check the name of the folder"),
    ("Conflicting lock|database is locked", ConnectionError, "end the program that has it open"),
]

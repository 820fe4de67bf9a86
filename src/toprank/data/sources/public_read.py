"""`toprank.read`: a table from wherever rows are."""

from collections.abc import Sequence
from os import PathLike

import pyarrow as pa

from toprank.data.sources.file_rows import FileRows
from toprank.data.sources.query_rows import QueryRows
from toprank.data.tables.file_reading import Reading


def read(
    where: str | PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    sql: str | None = None,
    database: str | None = None,
    as_text: Sequence[str] = (),
    times: Sequence[str] = (),
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    time_format: str | None = None,
) -> pa.Table:
    """Return the rows of files, of an object store or of a query, as a table of Arrow's.

    Parameters
    ----------
    where
        A file (CSV, Parquet, JSON, Excel, Feather; also gzipped), a folder of such files, a
        pattern such as "payments/*.parquet", or one of these as s3://, gs:// or abfs://.
    columns
        The columns to read; None for all.
    sql, database
        In place of `where`: a query, and the URL of its database, such as
        "postgresql://user@host/name", "duckdb:///payments.duckdb", "sqlite:///payments.sqlite" or
        another URL of SQLAlchemy.
    as_text
        Columns of a CSV that stay text: a card 0012 is not the number 12.
    times
        Columns of times, which become timestamps; `time_format` says how they are written.
    encoding, decimal, thousands, time_format
        How text files are written, where that cannot be seen from them.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in ("1", "2"):
    ...         _ = Path(folder, f"day{day}.csv").write_text(f"day,amount\\n{day},9.5\\n")
    ...     read(f"{folder}/day*.csv").to_pylist()
    [{'day': 1, 'amount': 9.5}, {'day': 2, 'amount': 9.5}]
    """
    reading = Reading(encoding, decimal, thousands, time_format, tuple(times))
    source: FileRows | QueryRows
    if sql is not None:
        if where is not None or database is None:
            raise ValueError(
                "`sql` must come with `database`, the URL of a database, and without `where`."
            )
        source = QueryRows(sql, database)
    elif where is None or database is not None:
        raise ValueError("`where` must say where rows are, or `sql` and `database` a query.")
    else:
        source = FileRows.at(where)
    return source.table(columns, as_text=as_text, required=[*as_text, *times], reading=reading)

"""Lists in a table of a database, each the rows of one run: written again, they are replaced."""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt

from toprank.data.sources.databases import Tables, engine_of, masked
from toprank.data.tables.columns import TableError, quoted

RUN = "run"
"""The column that says which run a row belongs to."""


@dataclass(frozen=True)
class RunTable:
    """A table, `schema.name` or `name`, of the database of a URL.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     alerts = RunTable("alerts", f"sqlite:///{folder}/desk.sqlite")
    ...     alerts.write(pa.table({"rank": [1, 2]}), "2026-11-19")
    ...     alerts.write(pa.table({"rank": [1, 2, 3]}), "2026-11-19")
    0
    2
    """

    name: str
    database: str = field(repr=False)  # which may contain a password

    @property
    def place(self) -> str:
        """Where the table is, without the password."""
        return f"table {self.name} of {masked(self.database)}"

    def check(self) -> None:
        """Raise where the table cannot be made, or exists and is no table of runs."""
        if not self.name.strip(".") or any(not part for part in self.name.split(".")):
            raise TableError(f"a table must be NAME or SCHEMA.NAME; got {self.name!r}.")
        with engine_of(self.database).tables(self.database) as tables:
            there = tables.columns(self.name)
            self._check(there, [RUN])
            if there is None and tables.undoes_tables:  # shows at once whether it is allowed
                tables.create(self.name, pa.schema([(RUN, pa.string())]))

    def write(self, rows: pa.Table, run: str) -> int:
        """Write the rows of a run in one transaction; return how many of it they replace.

        The table is created if it is not there. If it is, it must have all columns of the rows;
        it may have others, which are left empty.
        """
        listed = _with_run(rows, run)
        with engine_of(self.database).tables(self.database) as tables:
            _check_lengths(listed.column_names, tables)
            there = tables.columns(self.name)
            self._check(there, listed.column_names)
            if there is None:
                tables.create(self.name, listed.schema)
            n_replaced = tables.replace_run(self.name, listed, run)
            tables.commit()
        return n_replaced

    def _check(self, there: list[str] | None, names: list[str]) -> None:
        """Raise unless a table that exists has these columns."""
        if there is None:
            return
        if missing := [name for name in names if name not in there]:
            what = "column" if len(missing) == 1 else "columns"
            raise TableError(
                f"{self.place} must have all columns of the list; it has no {what} "
                f"{quoted(missing)}; add what is missing, or name another table."
            )


def _with_run(rows: pa.Table, run: str) -> pa.Table:
    """Return rows with the run in front, in types and under names that databases take."""
    columns = {RUN: pa.array([run] * rows.num_rows, pa.string())}
    used = {RUN}
    for name in rows.column_names:
        free = name
        while free.casefold() in used:  # most databases do not tell Rank from rank
            free = f"data_{free}"
        used.add(free.casefold())
        columns[free] = _plain(rows[name], name)
    return pa.table(columns)


def _plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if pt.is_dictionary(kind):
        return _plain(column.cast(kind.value_type), name)
    if pt.is_null(kind) or pt.is_large_string(kind):
        return column.cast(pa.string())
    if pt.is_decimal(kind) or pt.is_float16(kind) or pt.is_unsigned_integer(kind):
        return column.cast(pa.float64() if not pt.is_unsigned_integer(kind) else pa.int64())
    if pt.is_timestamp(kind) and kind.unit != "us":
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    if pt.is_nested(kind):
        raise TableError(
            f"column {name!r} holds {kind}, which a table of a database cannot take; leave it "
            "out of the data, or write the list with -o to a .parquet file."
        )
    return column


def _check_lengths(names: list[str], tables: Tables) -> None:
    """Raise for a name that the database would cut: two of them may then be the same."""
    most = tables.longest_name
    for name in names:
        if most is not None and len(name.encode()) > most:
            raise TableError(
                f"column {name!r} must be at most {most} bytes long for this database; rename it "
                "in the data."
            )

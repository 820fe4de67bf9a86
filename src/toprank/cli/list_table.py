"""--to-table: the list of a run in a table of a database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from toprank.cli.data_place import DataPlace


@dataclass(frozen=True)
class ListTable:
    """A `RunTable` that takes the list, and the name of the run."""

    table: Any
    run: str

    @classmethod
    def of(
        cls,
        name: str | None,
        run: str | None,
        database: str | None,
        model: Path,
        data: DataPlace,
    ) -> Self | None:
        """Return the table of --to-table, which can be written to; None without the option."""
        from datetime import UTC, datetime

        if name is None:
            _check_unused(run, database, data)
            return None
        if database is None:
            raise click.UsageError(
                "--to-table must come with --database, the URL of its database, such as "
                "postgresql://user@host/name or sqlite:///alerts.sqlite; or set TOPRANK_DATABASE."
            )
        from toprank.data.sources import RunTable

        table = RunTable(name, database)
        table.check()
        day = datetime.now(UTC).date()
        return cls(table, run or f"{model} {data.run_name} {day}")

    def write(self, alerts: Any, for_verdicts: bool) -> str:
        """Write the list; return in words what was written."""
        n_replaced = self.table.write(alerts.to_table(for_verdicts), self.run)
        replaced = f", in place of {n_replaced:,} rows of that run" if n_replaced else ""
        return f"{self.table.place} (run {self.run!r}{replaced})"


def _check_unused(run: str | None, database: str | None, data: DataPlace) -> None:
    """Raise for options that have no meaning without --to-table."""
    from click.core import ParameterSource

    if run is not None:
        raise click.UsageError("--run must come with --to-table: it names the run in the table.")
    source = click.get_current_context().get_parameter_source("database")
    if data.sql is None and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--database must come with --sql, to read from it, or with --to-table, to write to it."
        )

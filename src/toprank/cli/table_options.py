"""Options of every command that reads a table: where its rows are and how they are written."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import click
from click.core import ParameterSource

from toprank.cli.data_place import place_of
from toprank.cli.option_names import SEPARATORS, as_typed

_SEPARATORS = {typed: separator for separator, typed in SEPARATORS.items()}


data_argument = click.argument("data", type=click.Path(), required=False)
"""DATA: a file, a folder, a pattern or a URL; left out where --sql gives the rows."""


def source_options(
    *, required: bool = True, passes_database: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds --sql and --database, and passes DATA on as a `DataPlace`.

    Where it is not `required` and nothing says where rows are, DATA is None. With
    `passes_database`, the command has a use of its own for --database and gets it.
    """
    uses = "--sql and of --to-table" if passes_database else "--sql"
    options = (
        click.option(
            "--sql", metavar="QUERY",
            help="Query whose rows are read in place of DATA: 'select * from payments'.",
        ),
        click.option(
            "--database", metavar="URL", envvar="TOPRANK_DATABASE",
            help=f"Database of {uses}: postgresql://user@host/name, duckdb:///file, "
            "sqlite:///file or another URL of SQLAlchemy.  [default: TOPRANK_DATABASE]",
        ),
    )  # fmt: skip

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_place(
            *arguments: Any, data: str | None, sql: str | None, database: str | None, **others: Any
        ) -> Any:
            place = place_of(data, sql, database)
            if place is None and required:
                raise click.UsageError(
                    "Missing argument 'DATA': a file, a folder, a pattern or a URL; or give "
                    "--sql and --database."
                )
            if passes_database:
                others["database"] = database
            elif sql is None and _is_typed("database"):
                raise click.UsageError("--database must come with --sql, whose database it is.")
            return command(*arguments, data=place, **others)

        for option in reversed(options):
            with_place = option(with_place)
        return with_place

    return decorated


def _is_typed(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def table_options(
    data: str = "DATA", *, times: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options and passes them on as one `reading`.

    `reading()` returns a `toprank.data.tables.Reading`: the command calls it when it knows that
    its files exist, since the import takes a while. Help texts call the file `data`. Without
    `times`, there is no --time-format.
    """
    options = [
        click.option(
            "--encoding", help=f"Encoding of {data} if it is not UTF-8, such as latin-1 or utf-16."
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help=f"Decimal separator of the numbers in {data}.  [default: found from the numbers]",
        ),
        click.option(
            "--thousands",
            type=click.Choice([".", ",", "'", "space", "none"]),
            help=f"What separates thousands in {data}.  [default: found from the numbers]",
        ),
    ]
    if times:
        options.append(
            click.option(
                "--time-format",
                help=f"Format of the times in {data}, such as '%d/%m/%Y %H:%M'.  [default: found "
                "from the times]",
            )
        )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_reading(
            *arguments: Any,
            encoding: str | None,
            decimal: str | None,
            thousands: str | None,
            time_format: str | None = None,
            **others: Any,
        ) -> Any:
            return command(
                *arguments,
                reading=partial(_reading, encoding, decimal, thousands, time_format),
                **others,
            )

        for option in reversed(options):
            with_reading = option(with_reading)
        return with_reading

    return decorated


def _reading(
    encoding: str | None, decimal: str | None, thousands: str | None, time_format: str | None
) -> Any:
    """Return how a file is written, as given; a mistake is one of the call."""
    from toprank.data.tables import Reading

    if thousands is not None:
        thousands = _SEPARATORS.get(thousands, thousands)
    try:
        return Reading(encoding, decimal, thousands, time_format)
    except ValueError as error:
        raise click.UsageError(as_typed(str(error))) from error

"""The option of all commands that record rows."""

from pathlib import Path

import click

results_option = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("bench-results"),
    show_default=True,
    help="Folder of the rows.",
)

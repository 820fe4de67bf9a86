"""`toprank keys`: who may send payments and labels to a desk, and read from it."""

from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank keys add desk loader --scope payments --scope labels
  toprank keys list desk
  toprank keys revoke desk loader
"""

_SCOPES = ("payments", "labels", "read", "metrics")
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_NAME = click.argument("name")


@click.group(epilog=EXAMPLES, short_help="Make, list and revoke the API keys of a desk.")
def keys() -> None:
    """Make, list and revoke the API keys of a desk; a server that is running follows at once."""


@keys.command(short_help="Make a key and print it.")
@_FOLDER
@_NAME
@click.option(
    "--scope", "scopes", type=click.Choice(_SCOPES), multiple=True, required=True,
    help="What the key may do; repeat it for several: send payments, send labels, read payments "
    "and alerts, read metrics.",
)  # fmt: skip
def add(folder: Path, name: str, scopes: tuple[str, ...]) -> None:
    """Make a key called NAME for the desk in FOLDER, and print it.

    The key is shown once: only its hash is stored. NAME appears in the audit of all that is done
    with the key.
    """
    from toprank.cli import screen
    from toprank.cli.desk_actor import actor

    api_keys, database = _opened(folder)
    from toprank.live.desk_clock import wall_time

    with database.writing() as connection:
        key = api_keys.add(connection, name, scopes, wall_time(), actor())
    screen.show(key)
    screen.remark(f"Made key {name!r} ({', '.join(scopes)}). Keep it: it is not shown again.")


@keys.command("list", short_help="Print the keys, without what is secret in them.")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_keys(folder: Path, as_json: bool) -> None:
    """Print the keys of the desk in FOLDER: name, scopes, when made, last used and revoked."""
    from toprank.cli import screen
    from toprank.cli.desk_actor import minute_text
    from toprank.wording import aligned

    api_keys, database = _opened(folder)
    with database.reading() as connection:
        found = api_keys.all_keys(connection)
    rows = [
        {
            "name": each.name,
            "scopes": sorted(each.scopes),
            "made": minute_text(each.made_at),
            "used": minute_text(each.used_at),
            "revoked": minute_text(each.revoked_at),
        }
        for each in found
    ]
    if as_json:
        screen.print_json(rows)
        return
    cells = [[row["name"], " ".join(row["scopes"]), *list(row.values())[2:]] for row in rows]
    shown = [[cell or "-" for cell in row] for row in cells]
    screen.show(aligned([["name", "scopes", "made", "last used", "revoked"], *shown]))


@keys.command(short_help="Revoke a key.")
@_FOLDER
@_NAME
def revoke(folder: Path, name: str) -> None:
    """Revoke the key called NAME of the desk in FOLDER; it cannot be used any more."""
    from toprank.cli import screen
    from toprank.cli.desk_actor import actor

    api_keys, database = _opened(folder)
    from toprank.live.desk_clock import wall_time

    with database.writing() as connection:
        api_keys.revoke(connection, name, wall_time(), actor())
    screen.remark(f"Revoked key {name!r}.")


def _opened(folder: Path) -> tuple[Any, Any]:
    """Return the module of keys and the database of a desk."""
    from toprank.cli import desk_extra

    desk_extra.check_installed()
    from toprank.live.store import api_keys
    from toprank.live.store.desk_database import Database

    return api_keys, Database.open(folder)

"""`toprank users`: who may log in to the pages of a desk."""

from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank users add desk anna --role investigator
  toprank users list desk
  toprank users role desk anna senior
  toprank users link desk anna          # for a lost password
  toprank users disable desk anna
  toprank users enable desk anna        # back again
"""

_ROLES = ("investigator", "senior", "rule_author", "approver", "auditor", "admin")
_FOLDER = click.argument("folder", type=click.Path(path_type=Path))
_NAME = click.argument("name")
_ADDRESS = click.option(
    "--address",
    default="http://127.0.0.1:8321",
    show_default=True,
    help="Where the desk is served, for the link.",
)


@click.group(epilog=EXAMPLES, short_help="Make, list and disable the accounts of a desk.")
def users() -> None:
    """Make, list and change the accounts of a desk; a server that is running follows at once."""


@users.command(short_help="Make an account and print a link to set its password.")
@_FOLDER
@_NAME
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the person may do.")
@_ADDRESS
def add(folder: Path, name: str, role: str, address: str) -> None:
    """Make an account called NAME at the desk in FOLDER, and print a link.

    Whoever opens the link sets the password. It works once, within 24 hours.
    """
    _show_link(address, name, _change(folder, "add", name, role))


@users.command(short_help="Print a new link to set a password.")
@_FOLDER
@_NAME
@_ADDRESS
def link(folder: Path, name: str, address: str) -> None:
    """Print a new link for the account called NAME of the desk in FOLDER; the one before ends.

    The password of now works until the link is used.
    """
    _show_link(address, name, _change(folder, "new_link", name))


@users.command(short_help="Give an account another role.")
@_FOLDER
@_NAME
@click.argument("role", type=click.Choice(_ROLES))
def role(folder: Path, name: str, role: str) -> None:
    """Give the account called NAME of the desk in FOLDER another ROLE, and end its sessions."""
    from toprank.cli import screen

    _change(folder, "change_role", name, role)
    screen.remark(f"{name} is now {role}; the sessions of before have ended.")


@users.command(short_help="Disable an account.")
@_FOLDER
@_NAME
def disable(folder: Path, name: str) -> None:
    """Disable the account called NAME of the desk in FOLDER, and end its sessions.

    The name is not given again: the audit has what was done under it.
    """
    from toprank.cli import screen

    _change(folder, "disable", name)
    screen.remark(f"Disabled the account {name!r}.")


@users.command(short_help="Enable a disabled account again and print a link.")
@_FOLDER
@_NAME
@_ADDRESS
def enable(folder: Path, name: str, address: str) -> None:
    """Enable the disabled account called NAME of the desk in FOLDER, and print a link.

    It has the role of before. The password of before is gone: the link sets a new one.
    """
    _show_link(address, name, _change(folder, "enable", name))


@users.command("list", short_help="Print the accounts.")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_users(folder: Path, as_json: bool) -> None:
    """Print the accounts of the desk in FOLDER: name, role, when made, last login, disabled."""
    from toprank.cli import screen
    from toprank.cli.desk_actor import minute_text
    from toprank.wording import aligned

    database = _database(folder)
    from toprank.live.store import account_table

    with database.reading() as connection:
        found = account_table.all_accounts(connection)
    if as_json:
        screen.print_json(
            [
                {
                    "name": each.name,
                    "role": each.role,
                    "has_password": each.has_password,
                    "made": minute_text(each.made_at),
                    "last_login": minute_text(each.seen_at),
                    "disabled": minute_text(each.disabled_at),
                }
                for each in found
            ]
        )
        return
    rows = [
        [each.name, each.role, "set" if each.has_password else "not set"]
        + [minute_text(at) or "-" for at in (each.made_at, each.seen_at, each.disabled_at)]
        for each in found
    ]
    screen.show(aligned([["name", "role", "password", "made", "last login", "disabled"], *rows]))


def _change(folder: Path, change: str, *values: str) -> Any:
    """Return what a function of `accounts` returns."""
    from toprank.cli.desk_actor import actor

    database = _database(folder)
    from toprank.live.desk_clock import wall_time
    from toprank.live.people import accounts

    with database.writing() as connection:
        return getattr(accounts, change)(connection, *values, wall_time(), actor())


def _show_link(address: str, name: str, secret: str) -> None:
    from toprank.cli import screen
    from toprank.live.people.accounts import LINK_HOURS

    screen.show(f"{address.rstrip('/')}/link/{secret}")
    screen.remark(
        f"Give this link to {name}: it sets the password, once, within {LINK_HOURS} hours. It is "
        "not shown again."
    )


def _database(folder: Path) -> Any:
    from toprank.cli import desk_extra

    desk_extra.check_installed()
    from toprank.live.store.desk_database import Database

    return Database.open(folder)

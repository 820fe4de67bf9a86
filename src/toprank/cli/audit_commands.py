"""`toprank audit`: who did what in a live system, and whether that was changed afterwards."""

from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank audit verify desk
  toprank audit verify desk --expect 6d1f0c35    # a hash that was noted elsewhere
  toprank audit show desk --last 20
"""

_FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group(epilog=EXAMPLES, short_help="Show and verify who did what in a live system.")
def audit() -> None:
    """Show who did what in a live system, or verify that nobody changed these entries."""


@audit.command(short_help="Verify that no entry was changed or removed.")
@_FOLDER
@click.option("--expect", help="Hash that must be in the chain: the last one of an earlier run.")
def verify(folder: Path, expect: str | None) -> None:
    """Verify the audit of FOLDER: each entry must contain the hash of the one before.

    Note the printed hash elsewhere: with --expect, a later run also shows whether the end of the
    chain was cut off or all of it was written anew.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.store import audit_chain

    with Desk.open(folder) as opened, opened.database.reading() as connection:
        found = audit_chain.verify(connection, expect)
    screen.show(f"{found.n_entries:,} entries, none changed; the last hash is {found.hash}.")


@audit.command(short_help="Print the entries.")
@_FOLDER
@click.option(
    "--last", default=50, show_default=True, type=click.IntRange(1), help="Number of entries."
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON lines.")
def show(folder: Path, last: int, as_json: bool) -> None:
    """Print the newest entries of the audit of FOLDER, the oldest of them first."""
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.engine.lookups import time_text
    from toprank.live.store import audit_chain

    with Desk.open(folder) as opened, opened.database.reading() as connection:
        n_entries = audit_chain.n_entries(connection)
        found = list(audit_chain.entries(connection, since=n_entries - last))
    for each in found:
        if as_json:
            screen.print_json(each._asdict())
        else:
            facts = " ".join(f"{name}={value}" for name, value in each.details.items())
            screen.show(
                f"{each.number:>6}  {time_text(each.at)[:19]}  {each.actor}  {each.action}  "
                f"{each.subject}  {facts}".rstrip()
            )

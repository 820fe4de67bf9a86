"""`toprank replay`: run the log of a live system again, and compare."""

from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank replay desk
  toprank replay desk --from 2025-03-01
"""


@click.command(epilog=EXAMPLES, short_help="Prove that the log gives the same again.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "since",
    metavar="TIME",
    help="Compare payments received from this time on.  [default: all]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def replay(folder: Path, since: str | None, as_json: bool) -> None:
    """Run the log of FOLDER again, with the rules and the model of then.

    Features, decisions and scores must be equal to those of then, bit for bit. Where they are not,
    the differences are printed and the exit code is 1.
    """
    from toprank.cli import desk_extra, screen

    desk_extra.check_installed()
    from toprank.live.desk import Desk
    from toprank.live.log_replay import replay as run_again
    from toprank.payments.features.cells import instant

    moment = None if since is None else instant(since, "--from")
    with Desk.open(folder) as opened, screen.busy("running the log again"):
        result = run_again(opened, moment)
    if as_json:
        screen.print_json(vars(result))
    else:
        screen.show("\n".join([*result.differences, result.sentence]))
    if result.n_different or not result.n_payments:
        raise click.exceptions.Exit(1)

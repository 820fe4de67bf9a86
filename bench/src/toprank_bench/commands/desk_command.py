"""`toprank bench desk`: the pages of a large desk, timed."""

from pathlib import Path

import click

from toprank_bench.commands.results_option import results_option

EXAMPLES = """
\b
Examples:
  toprank bench desk --quick
  toprank bench desk --results bench/results
"""


@click.command(epilog=EXAMPLES, short_help="Time the queue and the card of a large desk.")
@click.option("--quick", is_flag=True, help="Use 200,000 payments instead of 10 million.")
@results_option
def desk(quick: bool, results: Path) -> None:
    """Time the pages of a desk with 10 million payments and 100,000 alerts, at the server.

    Payments and alerts are written directly into a temporary database of some 8 GB. The exit code
    is 1 where a target was missed.
    """
    from toprank.cli import desk_extra, screen
    from toprank.present.summary import aligned

    desk_extra.check_installed()
    from toprank_bench.desk_pages.page_times import run

    figures = run(results, quick=quick, report=screen.remark)
    rows = [[each.name, each.shown, each.unit, each.target, each.verdict] for each in figures]
    screen.show(aligned([["figure", "value", "unit", "target", ""], *rows]))
    missed = [each.name for each in figures if each.verdict == "missed"]
    if missed:
        raise ValueError(f"targets were missed in: {', '.join(missed)}.")

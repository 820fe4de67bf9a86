"""`toprank simulate`: simulated payments of any length, to a Parquet or CSV file."""

from pathlib import Path

import click

from toprank.cli import log_lines

EXAMPLES = """
\b
Examples:
  toprank simulate -o payments.parquet
  toprank simulate -o small.csv --cards 500 --terminals 1000 --days 90
  toprank simulate -o rare.parquet --worldline --details --claims --checks 100
  toprank simulate -o drift.parquet --starts card:60 --stops terminal:120
  toprank simulate -o winter.parquet --start 2024-10-01 --days 120 --christmas
  toprank simulate -o large.parquet --cards 100000 --terminals 50000 --days 730 --seed 7
  toprank simulate -o months/ --cards 440000 --volume 0.807 --days 182
"""


@click.command(epilog=EXAMPLES, short_help="Simulate card payments with frauds, of any size.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path),
    help="File to write, .parquet or .csv, or a folder for one Parquet file per day.",
)  # fmt: skip
@click.option(
    "--cards", default=5_000, show_default=True, type=click.IntRange(1), help="Number of cards."
)
@click.option(
    "--terminals", default=10_000, show_default=True, type=click.IntRange(1),
    help="Number of terminals.",
)  # fmt: skip
@click.option(
    "--days", default=183, show_default=True, type=click.IntRange(1), help="Number of days."
)
@click.option(
    "--volume", default=1.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="How often each card pays, times 1.92 a day.",
)  # fmt: skip
@click.option("--start", default="2018-04-01", show_default=True, help="First day.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
@click.option("--details", is_flag=True, help="Add country, channel and merchant type.")
@click.option(
    "--pattern",
    is_flag=True,
    help="Add the pattern behind each fraud: 1 amount, 2 terminal, 3 card; 0 for none. Leave it "
    "out when fitting: it gives the label away.",
)
@click.option(
    "--worldline",
    is_flag=True,
    help="0.18 % frauds; 90 % of them online, in a column channel; amounts of zero in 3 % of the "
    "genuine payments and 12 % of the frauds.",
)
@click.option(
    "--test-payments",
    is_flag=True,
    help="A small payment before a compromised card's first large one of the day.",
)
@click.option(
    "--starts",
    multiple=True,
    metavar="PATTERN:DAY",
    help="No fraud by amount, terminal or card before that day, counted from 0; may be repeated.",
)
@click.option(
    "--stops", multiple=True, metavar="PATTERN:DAY",
    help="No fraud of that pattern from that day on; may be repeated.",
)  # fmt: skip
@click.option(
    "--christmas", is_flag=True, help="Half as many payments again from 1 to 24 December."
)
@click.option(
    "--claims",
    is_flag=True,
    help="Add claimed_on, the day on which a fraud is claimed: about a week later, and one in ten "
    "never.",
)
@click.option(
    "--checks",
    default=0,
    type=click.IntRange(0),
    help="Cards to check per day. Adds the column verdict, empty for the payments of other cards; "
    "the cards checked are those that pay furthest above their usual amount.",
)
def simulate(
    output: Path,
    cards: int,
    terminals: int,
    days: int,
    volume: float,
    start: str,
    seed: int,
    details: bool,
    pattern: bool,
    worldline: bool,
    test_payments: bool,
    starts: tuple[str, ...],
    stops: tuple[str, ...],
    christmas: bool,
    claims: bool,
    checks: int,
) -> None:
    """Simulate card payments with frauds among them, and write them to files of any length.

    The defaults follow the published figures of the Fraud Detection Handbook: about 1.75 million
    payments, 0.84 % of them frauds. The columns are id, paid_at, card, terminal, amount and
    is_fraud. A longer run begins with the payments of a shorter one. Memory grows with cards and
    terminals, not with days.
    """
    from toprank.cli import paths, screen
    from toprank.simulator import Simulation, write_csv, write_folder, write_parquet

    simulation = Simulation(
        n_cards=cards,
        n_terminals=terminals,
        n_days=days,
        start=start,
        random_state=seed,
        details=details,
        keep_pattern=pattern,
        worldline=worldline,
        test_payments=test_payments,
        starts=_schedule("--starts", starts),
        stops=_schedule("--stops", stops),
        christmas=christmas,
        claims=claims,
        checks_a_day=checks,
        volume=volume,
    )
    write = {"": write_folder, ".csv": write_csv}.get(output.suffix.lower(), write_parquet)
    if write is write_folder:
        _check_folder(output)
    else:
        paths.check_output(output, data=Path())  # no file is read that could be overwritten
    with screen.progress_bar() as progress:
        written = write(
            simulation, output, lambda done, total: progress("simulating payments", done, total)
        )
    log_lines.report(rows=written.n_payments)
    percent = 100 * written.n_frauds / max(1, written.n_payments)
    screen.remark(
        f"Wrote {output}: {written.n_payments:,} payments of {days:,} "
        f"{'day' if days == 1 else 'days'}, {written.n_frauds:,} of them frauds ({percent:.2g} %)."
    )


def _check_folder(output: Path) -> None:
    """Raise unless the folder is new or empty: days of another run must not stay in it."""
    if output.exists() and not output.is_dir():
        raise click.UsageError(f"-o must end in .parquet or .csv, or name a folder; got {output}.")
    if output.is_dir() and any(output.iterdir()):
        raise click.UsageError(f"-o must name a new or empty folder; {output} has files.")


def _schedule(option: str, given: tuple[str, ...]) -> dict[str, int]:
    """Return the day of each pattern in texts such as 'card:60'."""
    schedule: dict[str, int] = {}
    for text in given:
        pattern, _, day = text.partition(":")
        if not (day.isascii() and day.isdigit()):
            raise click.UsageError(
                f"{option} must be a pattern and a day such as card:60; got {text!r}."
            )
        if pattern in schedule:
            raise click.UsageError(f"{option} must name a pattern once; got {pattern!r} twice.")
        schedule[pattern] = int(day)
    return schedule

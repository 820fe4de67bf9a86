"""`toprank bench attack`: the attack run, recorded and shown as a table."""

from pathlib import Path

import click

from toprank_bench.commands.results_option import results_option

EXAMPLES = """
\b
Examples:
  toprank bench attack --quick
  toprank bench attack --results bench/results
"""


@click.command(epilog=EXAMPLES, short_help="Attack files, tables, commands and streams.")
@click.option("--quick", is_flag=True, help="Make fewer trials: minutes in all.")
@results_option
def attack(quick: bool, results: Path) -> None:
    """Attack toprank, record how many trials failed, and print a table of them.

    Model files are changed, tables made messy, commands killed and run in pairs, streams sent
    hostile lines. The exit code is 1 where a trial failed.
    """
    import toprank_bench as library
    from toprank.cli import screen
    from toprank.present.summary import aligned
    from toprank_bench.row_file import read_rows

    experiment = library.find_experiment("attack")
    experiment = experiment.made_quick() if quick else experiment
    with screen.progress_bar() as progress:
        ran = library.run(
            experiment, results, resume=False, n_jobs=1, folder=None, progress=progress,
            report=lambda sentence: screen.remark(f"note: {sentence}"),
        )  # fmt: skip
    if ran.failed:
        cell, sentence = next(iter(ran.failed.items()))
        raise ValueError(f"{cell} could not be run: {sentence}")
    rows, shown = read_rows(ran.path), experiment.metrics
    table = [[row["data"], *(f"{row['figures'][name]:,.0f}" for name in shown)] for row in rows]
    screen.show(aligned([["class", *shown], *table]))
    for row in rows:
        for kind, count in row["facts"]["failures_by_kind"].items():
            screen.show(f"{row['data']}: {kind} ({count:,})")
    n_failures, n_trials = (sum(row["figures"][name] for row in rows) for name in shown)
    if n_failures:
        raise ValueError(f"{n_failures:,.0f} of {n_trials:,.0f} trials failed.")

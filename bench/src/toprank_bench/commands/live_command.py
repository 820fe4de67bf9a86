"""`toprank bench live`: the live system measured, recorded and shown as a table."""

from pathlib import Path

import click

from toprank_bench.commands.results_option import results_option

EXAMPLES = """
\b
Examples:
  toprank bench live --quick
  toprank bench live --data folder --results bench/results
  toprank bench live --only latency --only sustained --pin
  toprank bench live --show --results bench/results
"""


@click.command(epilog=EXAMPLES, short_help="Measure the live system: load, kills, restarts.")
@click.option("--quick", is_flag=True, help="Use fewer payments and seconds: minutes in all.")
@click.option(
    "--only", multiple=True, metavar="STAGE",
    help="Stage to run: generator, latency, sustained, batches, alert, forgetting, start, "
    "kills, live-equals-batch, broken, breaker, hostile-rules, backtest, score-one; repeatable.",
)  # fmt: skip
@click.option("--pin", is_flag=True, help="Give the server and the load a core each.")
@click.option("--show", is_flag=True, help="Show what is recorded and run nothing.")
@results_option
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder that keeps the made-up payments and their model for the next run.",
)
def live(
    quick: bool, only: tuple[str, ...], pin: bool, show: bool, results: Path, data: Path | None
) -> None:
    """Measure a desk that is served: answer times, rates, restarts, kills, broken requests.

    The server is a process of its own, asked over loopback. Run it on a machine that does nothing
    else: what others do makes answers late. The exit code is 1 where a target was missed.
    """
    from toprank.cli import desk_extra, screen
    from toprank.present.summary import aligned
    from toprank_bench.live_load import stage_rows
    from toprank_bench.row_file import read_rows

    if not show:
        desk_extra.check_installed()
        from toprank_bench.live_load.live_runner import run_stages
        from toprank_bench.live_load.live_stages import chosen_stages

        ran = run_stages(
            chosen_stages(only), results, quick=quick, is_pinned=pin, folder=data,
            report=screen.remark,
        )  # fmt: skip
        rows = stage_rows.last_rows(ran.rows)
    else:
        rows = stage_rows.last_rows(read_rows(stage_rows.live_file(results, quick)))
        rows = [row for row in rows if not only or row["stage"] in only]
    screen.show(aligned([stage_rows.HEADINGS, *stage_rows.table_lines(rows)]))
    if not show and ran.failed:
        name, sentence = next(iter(ran.failed.items()))
        raise ValueError(f"stage {name} could not be run: {sentence}")
    missed = [row["stage"] for row in rows
              if any(each.verdict == "missed" for each in stage_rows.figures_of(row))]  # fmt: skip
    if missed:
        raise ValueError(f"targets were missed in: {', '.join(missed)}.")

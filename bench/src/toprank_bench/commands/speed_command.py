"""`toprank bench speed`: races against what one would use instead, run and shown."""

from pathlib import Path

import click

from toprank_bench.commands.results_option import results_option

EXAMPLES = """
\b
Examples:
  toprank bench speed --quick
  toprank bench speed --only trees --only tree-ap-exp --data folder
  toprank bench speed --resume
  toprank bench speed --again --only boosting
  toprank bench speed --show --plot scaling.svg
"""

_PICTURES = (".svg", ".png", ".pdf")


@click.command(epilog=EXAMPLES, short_help="Measure speed against other libraries, with limits.")
@click.option("--quick", is_flag=True, help="Use fewer rows and rounds: minutes in all.")
@click.option(
    "--only", multiple=True, metavar="NAME",
    help="Race or family of races to run: boosting, trees, anomaly, online, one-row, "
    "payment-scores, first-fit, features, memory, scaling; repeatable.",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Resume a run: keep the rows that are recorded.")
@click.option(
    "--again", is_flag=True, help="Run recorded races again; the last row of a race counts."
)
@click.option("--show", is_flag=True, help="Show what is recorded and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --show: print JSON.")
@click.option(
    "--plot", type=click.Path(path_type=Path),
    help="With --show: plot seconds by rows to this .svg, .png or .pdf file.",
)  # fmt: skip
@results_option
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of data sets, as NAME.parquet.  [default: the one in TOPRANK_DATA]",
)
def speed(
    quick: bool,
    only: tuple[str, ...],
    resume: bool,
    again: bool,
    show: bool,
    as_json: bool,
    plot: Path | None,
    results: Path,
    data: Path | None,
) -> None:
    """Time toprank and what one would use instead, in turns within one process.

    Each race gives the median of its rounds, which is compared with a limit. Run it on a machine
    that does nothing else. If the data sets metaap_satimage and ulb_creditcard are not in the
    folder --data, made-up rows of the same shape are used.
    """
    if show:
        _show(quick, only, as_json, plot, results)
        return
    if as_json or plot is not None:
        raise click.UsageError("--json and --plot must come with --show.")
    if resume and again:
        raise click.UsageError(
            "--resume keeps recorded races and --again runs them; give one of the two."
        )
    _run(quick, only, resume, again, results, data)


def _run(
    quick: bool,
    only: tuple[str, ...],
    resume: bool,
    again: bool,
    results: Path,
    data: Path | None,
) -> None:
    from toprank.cli import screen
    from toprank_bench import speed as library

    raced = library.run(
        library.chosen_races(only),
        results,
        quick=quick,
        resume=resume,
        again=again,
        folder=data,
        report=screen.remark,
    )
    n_rows = raced.n_before + raced.n_new
    screen.remark(f"{raced.path} has {n_rows} of {raced.n_races} races, {raced.n_new} new.")
    if raced.failed:
        name, sentence = next(iter(raced.failed.items()))
        raise ValueError(
            f"{len(raced.failed)} of {raced.n_races} races failed and are tried again with "
            f"--resume; the first, {name}: {sentence}"
        )
    if not n_rows:
        raise ValueError("none of these races could be run.")


def _show(
    quick: bool, only: tuple[str, ...], as_json: bool, plot: Path | None, results: Path
) -> None:
    from toprank.cli import paths, screen
    from toprank.data.atomic import atomic_path
    from toprank_bench import row_file
    from toprank_bench import speed as library
    from toprank_bench.speed.speed_runner import speed_file

    if plot is not None:
        if plot.suffix.lower() not in _PICTURES:
            raise click.UsageError(
                f"--plot must end in one of {', '.join(_PICTURES)}; got {plot.name!r}."
            )
        paths.check_output(plot, data=Path())
    rows = row_file.read_rows(speed_file(results, quick))
    summary = library.race_summary_of(library.chosen_races(only), rows, quick)
    picture = library.picture_of(summary) if plot is not None else None
    if as_json:
        screen.print_json(library.facts_of(summary))
    else:
        click.echo(library.text_of(summary))
    if plot is not None and picture is not None:
        with atomic_path(plot) as temporary:
            picture.savefig(temporary, format=plot.suffix.lower()[1:], dpi=150)
        screen.remark(f"Wrote {plot}")

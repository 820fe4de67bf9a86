"""`toprank bench`: experiments listed, run and shown.

Only click is imported at the top: `toprank --help` loads this file.
"""

from pathlib import Path
from typing import Any

import click

from toprank_bench.commands.attack_command import attack
from toprank_bench.commands.desk_command import desk
from toprank_bench.commands.live_command import live
from toprank_bench.commands.speed_command import speed
from toprank_bench.commands.workers_command import workers

EXAMPLES = """
\b
Examples:
  toprank bench list
  toprank bench run sgbap-table3 --quick --jobs 2 --data folder
  toprank bench run sgbap-table3 --resume --jobs 2
  toprank bench show sgbap-table3 --quick
  toprank bench show metaap-suite -o suite.html
  toprank bench rows tree-size --results bench/results
  toprank bench pages docs/results --results bench/results
  toprank bench speed --quick
  toprank bench attack --quick
  toprank bench live --quick
  toprank bench desk --quick
"""

_FORMATS = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}
_PICTURES = (".svg", ".png")

_results = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("bench-results"),
    show_default=True,
    help="Folder of the rows, one file per experiment.",
)
_quick = click.option(
    "--quick", is_flag=True, help="Use fewer data sets, seeds and settings: minutes, not hours."
)


@click.group(epilog=EXAMPLES, short_help="Run experiments: rivals, published tables, speed.")
def bench() -> None:
    """List, run and show experiments: tables of papers with our figures next to theirs."""


bench.add_command(speed)
bench.add_command(attack)
bench.add_command(live)
bench.add_command(desk)
bench.add_command(workers)


@bench.command("list", short_help="List all experiments.")
@_results
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(results: Path, as_json: bool) -> None:
    """List all experiments, with how much of each is recorded and how many minutes it takes.

    Minutes are approximate and for one process.
    """
    import toprank_bench as library
    from toprank.cli import screen
    from toprank.present import summary

    facts = [_facts(library.find_experiment(name), results) for name in library.names()]
    if as_json:
        screen.print_json(facts)
        return
    head = ["name", "sets", "cells", "recorded", "minutes", "quick", "title"]
    rows = [[_shown(each[name]) for name in head] for each in facts]
    click.echo(summary.aligned([head, *rows]))


@bench.command("run", short_help="Run an experiment, or the rest of it.")
@click.argument("name")
@_quick
@click.option("--resume", is_flag=True, help="Resume a run: keep the rows that are recorded.")
@click.option(
    "--jobs", default=1, show_default=True, type=click.IntRange(1),
    help="Number of processes, each with one thread.",
)  # fmt: skip
@_results
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of data sets, as NAME.parquet.  [default: the one in TOPRANK_DATA]",
)
def run_(
    name: str, quick: bool, resume: bool, jobs: int, results: Path, data: Path | None
) -> None:
    """Run the experiment NAME, or the one in a .toml file, and record a row per cell.

    A cell is one method on one data set with one random seed.

    A run that was stopped or killed is resumed with --resume; what failed is tried again.
    """
    import toprank_bench as library
    from toprank.cli import screen

    experiment = _experiment(name, quick)
    with screen.progress_bar() as progress:
        ran = library.run(
            experiment,
            results,
            resume=resume,
            n_jobs=jobs,
            folder=data,
            progress=progress,
            report=lambda sentence: screen.remark(f"note: {sentence}"),
        )
    n_rows = ran.n_before + ran.n_new
    screen.remark(f"{ran.path} has {n_rows:,} of {ran.n_cells:,} rows, {ran.n_new:,} of them new.")
    if ran.failed:
        cell, sentence = next(iter(ran.failed.items()))
        raise ValueError(
            f"{len(ran.failed):,} of {ran.n_cells:,} cells failed and are tried again with "
            f"--resume; the first, {cell}: {sentence}"
        )
    if not n_rows:
        raise ValueError(f"nothing of {experiment.name} could be run.")


@bench.command("rows", short_help="Print recorded rows as JSON lines.")
@click.argument("name")
@_results
def rows_(name: str, results: Path) -> None:
    """Print the recorded rows of the experiment NAME, or of `speed`, as JSON lines."""
    import json

    from toprank_bench import row_file

    rows = row_file.read_rows(row_file.rows_file(results, name))
    if not rows:
        raise ValueError(f"{results} has no rows of {name!r}; name another folder with --results.")
    for row in rows:
        click.echo(json.dumps(row, ensure_ascii=False))


@bench.command("show", short_help="Show the figures of an experiment.")
@click.argument("name")
@_quick
@click.option("--metric", help="Metric to show.  [default: the experiment's first]")
@click.option(
    "--format", "form", type=click.Choice(tuple(_FORMATS.values())),
    help="Format of the output.  [default: text, or that of the file's ending]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File to write; .svg and .png are the plot of mean ranks.  [default: print it]",
)  # fmt: skip
@_results
def show_(
    name: str,
    quick: bool,
    metric: str | None,
    form: str | None,
    output: Path | None,
    results: Path,
) -> None:
    """Show the figures of NAME next to the published ones, and how the methods rank."""
    from toprank.cli import paths, screen
    from toprank_bench import experiment_summary, row_file

    if output is not None:
        _check_ending(output, form)
        paths.check_output(output, data=Path())
    experiment = _experiment(name, quick)
    rows = row_file.read_rows(row_file.rows_file(results, experiment.name))
    summary = experiment_summary.summary_of(experiment, rows, metric)
    if output is None:
        if form == "json":
            screen.print_json(experiment_summary.facts_of(summary))
        else:
            click.echo(_written(summary, form or "text"), nl=False)
        return
    _write(summary, output, form)
    screen.remark(f"Wrote {output}")


@bench.command("targets", short_help="Show which targets are met.")
@_results
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def targets_(results: Path, as_json: bool) -> None:
    """Compare the recorded rows with every target of the experiments."""
    from toprank.cli import screen
    from toprank.present import summary
    from toprank_bench import pages

    experiments = pages.recorded_experiments(results)
    if as_json:
        screen.print_json(pages.target_facts(experiments))
        return
    lines = pages.target_lines(experiments)
    click.echo(summary.aligned([pages.TARGET_HEADINGS, *lines]))


@bench.command("pages", short_help="Write all results as Markdown pages.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_results
def pages_(folder: Path, results: Path) -> None:
    """Write a page for every experiment that has rows to FOLDER, and an index of them."""
    from toprank.cli import screen
    from toprank_bench import pages

    written = pages.write_pages(results, folder)
    screen.remark(f"Wrote {len(written)} files to {folder}")


@bench.command("pictures", short_help="Draw the pictures of the guide.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--only", multiple=True, metavar="FILE", help="Picture to draw; repeatable.")
@_results
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of data sets, as NAME.parquet.  [default: the one in TOPRANK_DATA]",
)
def pictures_(folder: Path, only: tuple[str, ...], results: Path, data: Path | None) -> None:
    """Draw the pictures that the guide shows of experiments, into FOLDER.

    Most are made from recorded rows; a few learn again, on data sets of the folder --data.
    """
    from toprank.cli import screen
    from toprank_bench.pictures import picture_table

    written = picture_table.write_pictures(
        results,
        folder,
        only=only,
        folder=data,
        report=lambda sentence: screen.remark(f"note: {sentence}"),
    )
    if not written:
        raise ValueError("no picture could be drawn.")
    screen.remark(f"Wrote {len(written)} files to {folder}")


def _experiment(name: str, quick: bool) -> Any:
    import toprank_bench as library

    experiment = library.find_experiment(name)
    return experiment.made_quick() if quick else experiment


def _facts(experiment: Any, results: Path) -> dict[str, Any]:
    from toprank_bench import row_file, runner

    rows = row_file.read_rows(row_file.rows_file(results, experiment.name))
    return {
        "name": experiment.name,
        "title": experiment.title,
        "sets": len(experiment.data),
        "cells": len(runner.cells_of(experiment)),
        "recorded": len(runner.recorded(experiment, rows)),
        "minutes": experiment.minutes,
        "quick": experiment.quick.minutes,
    }


def _shown(value: Any) -> str:
    if value is None:
        return "?"
    return value if isinstance(value, str) else f"{value:,.0f}"


def _check_ending(output: Path, form: str | None) -> None:
    endings = (*_FORMATS, *_PICTURES)
    if output.suffix.lower() not in endings and form is None:
        raise click.UsageError(
            f"-o must end in one of {', '.join(endings)}, or --format must be given; "
            f"got {output.name!r}."
        )


def _written(summary: Any, form: str) -> str:
    import json

    from toprank_bench import experiment_summary

    if form == "json":
        return json.dumps(experiment_summary.facts_of(summary), indent=2) + "\n"
    if form == "text":
        return experiment_summary.text_of(summary) + "\n"
    return (
        experiment_summary.markdown(summary)
        if form == "markdown"
        else experiment_summary.html_page(summary)
    )


def _write(summary: Any, output: Path, form: str | None) -> None:
    from toprank.data.atomic import atomic_path
    from toprank_bench import experiment_summary

    ending = output.suffix.lower()
    with atomic_path(output) as temporary:
        if form is None and ending in _PICTURES:
            experiment_summary.picture_of(summary).savefig(temporary, format=ending[1:], dpi=150)
        else:
            text = _written(summary, form or _FORMATS[ending])
            temporary.write_text(text, encoding="utf-8", newline="\n")

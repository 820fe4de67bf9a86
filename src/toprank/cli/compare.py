"""`toprank compare`: every learner side by side on the user's own rows."""

from pathlib import Path
from typing import Any

import click

from toprank.cli.fit import LONGEST_GAP, check_roles

EXAMPLES = """
\b
Examples:
  toprank compare payments.parquet --label is_fraud --time paid_at --budget 100
  toprank compare claims.csv --label outcome --positive fraud --learners auto,log,ap-exp
  toprank compare payments.csv --label is_fraud --time paid_at -o comparison.svg --json
"""


@click.command(epilog=EXAMPLES, short_help="Put every learner side by side on your rows.")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--label", required=True, help="Column that says which rows are positive.")
@click.option("--positive", help="Value of the label to rank first.  [default: the rarer]")
@click.option("--time", help="Column of times: the test then comes after the training rows.")
@click.option(
    "--gap", type=click.FloatRange(0, LONGEST_GAP), help="Days left out before the test."
)
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Checks a day, or a list.",
)  # fmt: skip
@click.option(
    "--learners",
    help="Which, with commas between: auto, log, ap-exp, ap-sigmoid, ap-lambda, auc-exp, "
    "auc-hinge, rank-boost, non-linear, metaap, treerank, rank-forest; log is always among them.  "
    "[default: all]",
)
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--trees", default=300, show_default=True, type=click.IntRange(1),
    help="Trees of a learner that has many.",
)  # fmt: skip
@click.option(
    "--minutes", default=10.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Time for what auto tries; past it, no new recipe is begun.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Seed of everything drawn.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Picture to write, .png or .svg.  [default: none]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def compare(
    data: Path,
    label: str,
    positive: str | None,
    time: str | None,
    gap: float | None,
    budget: int,
    learners: str | None,
    drop: tuple[str, ...],
    trees: int,
    minutes: float,
    seed: int,
    jobs: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Let every learner learn from the labelled rows of DATA, and say which are better.

    The rows are parted as by fit. All learners are judged on the same test rows, which none of
    them learned from; nothing is kept but what is printed.
    """
    from toprank import comparison, summary, tables
    from toprank.cli import files, screen

    check_roles(label, time, gap, drop)
    names = _learner_names(learners)
    if output is not None:
        _check_picture(output)
        files.check_output(output, data)
    with screen.busy(f"reading {data.name}"):
        table = tables.read_table(data)
    named = [name for name in (label, time, *drop) if name is not None]
    tables.check_columns(named, table.column_names, data.name)
    task = _prepared(table, label, time, gap, positive_label=positive, drop=drop, seed=seed)
    with screen.progress_bar() as progress:
        compared = comparison.compare_learners(
            task,
            budget,
            names,
            n_estimators=trees,
            time_limit=60 * minutes,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
    if as_json:
        screen.print_json(comparison.facts_of(compared, label, time))
    else:
        click.echo(comparison.text_of(compared, summary.noun_of(label)))
    if output is not None:
        _write_picture(comparison.picture_of(compared), output)
        screen.remark(f"Wrote {output}")


def _learner_names(learners: str | None) -> list[str]:
    from toprank import comparison

    if learners is None:
        return list(comparison.LEARNERS)
    try:
        return comparison.check_learners(name.strip() for name in learners.split(","))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error


def _prepared(
    table: Any, label: str, time: str | None, gap: float | None, seed: int, **options: Any
) -> Any:
    import numpy as np

    from toprank import training
    from toprank.cli import screen

    pause = None if gap is None else np.timedelta64(round(gap * 86_400_000_000), "us")
    task = training.prepare(table, label, time=time, gap=pause, random_state=seed, **options)
    if task.n_unlabelled:
        screen.remark(f"note: {task.n_unlabelled:,} rows without a label were left out.")
    return task


def _check_picture(output: Path) -> None:
    if output.suffix.lower() not in (".png", ".svg"):
        raise click.UsageError(f"-o must name a picture, .png or .svg; got {output.name!r}.")


def _write_picture(figure: Any, output: Path) -> None:
    """Write the figure; whoever reads that file meets the old picture or the whole new one."""
    from toprank.model_file.archive import replaced_in_one_step

    with replaced_in_one_step(output) as beside:
        figure.savefig(beside, format=output.suffix[1:].lower(), dpi=150)

"""`toprank fit`: from a labelled table to a model, its report and honest figures."""

import math
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

EXAMPLES = """
\b
Examples:
  toprank fit payments.parquet --label is_fraud --time paid_at --budget 100 -o payments.toprank
  toprank fit claims.csv --label outcome --positive fraud --drop claim_id --drop name
  toprank fit payments.csv --label is_fraud --time paid_at --gap 14 --json
  toprank fit "payments/*.parquet" --label is_fraud --cluster tcp://scheduler:8786
"""
LONGEST_GAP = 36_525  # days; beyond a century, it is a mistake


@click.command(epilog=EXAMPLES, short_help="Learn from labelled rows; write a model and a report.")
@click.argument("data")
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
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--trees",
    default=300,
    show_default=True,
    type=click.IntRange(1),
    help="Trees of the plain recipe; other recipes have up to twice as many.",
)
@click.option(
    "--minutes",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Time for trying recipes; past it, no new one is begun.",
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Seed of everything drawn.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Model file to write; the report goes beside it.  [default: DATA with .toprank]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Train on the Dask cluster of this scheduler: tcp://host:8786. DATA is then a file, a "
    "folder or a pattern of Parquet that workers can read.",
)
@click.option(
    "--loss", help="With --cluster: what the trees learn, such as ap-exp.  [default: log]"
)
def fit(
    data: str,
    label: str,
    positive: str | None,
    time: str | None,
    gap: float | None,
    budget: int,
    drop: tuple[str, ...],
    trees: int,
    minutes: float,
    seed: int,
    jobs: int | None,
    output: Path | None,
    as_json: bool,
    cluster: str | None,
    loss: str | None,
) -> None:
    """Learn from the labelled rows of DATA (CSV or Parquet) and write a model and a report.

    The rows are parted by time when --time is given (train, validation, gap, test), at random
    otherwise. The printed figures are those of the test rows, which nothing was learned from.
    """
    from toprank import summary, tables
    from toprank.cli import files, screen

    check_roles(label, time, gap, drop)
    _check_place(cluster, loss)
    path = Path(data)
    output = output or _model_beside(path if cluster is None else _place_of(data))
    files.check_output(output, path)
    page = report_path(output)
    if cluster is not None:
        fit_on_cluster(
            cluster, data, output, budget, label=label, time=time, trees=trees, seed=seed,
            loss=loss or "log", as_json=as_json, positive_label=positive, drop=drop,
            gap=duration(gap),
        )  # fmt: skip
        return
    files.check_output(page, path)
    with screen.busy(f"reading {path.name}"):
        table = tables.read_table(path)
    named = [name for name in (label, time, *drop) if name is not None]
    tables.check_columns(named, table.column_names, path.name)
    trained = fit_and_write(
        table, output, path.name, budget, label=label, time=time, trees=trees, minutes=minutes,
        jobs=jobs, seed=seed, positive_label=positive, drop=drop, gap=gap,
    )  # fmt: skip
    if as_json:
        screen.print_json(summary.facts_of(trained, label, time))
    else:
        click.echo(summary.text_of(trained, summary.noun_of(label)))
    screen.remark(f"Wrote {output} and {page}")


def fit_and_write(
    table: Any,
    output: Path,
    title: str,
    budget: int,
    *,
    label: str,
    time: str | None,
    gap: float | None = None,
    trees: int = 300,
    minutes: float = 10.0,
    jobs: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Train, write the model and its report, and return the outcome."""
    from toprank import model_file, summary, training
    from toprank.cli import screen
    from toprank.report import report_of, write_report

    task = training.prepare(
        table, label, time=time, gap=duration(gap), random_state=seed, **options
    )
    remarks = []
    if task.n_unlabelled:
        remarks.append(f"{task.n_unlabelled:,} rows without a label were left out.")
        screen.remark(f"note: {remarks[0]}")
    with screen.progress_bar() as progress:
        trained = training.train(
            task,
            budget,
            n_estimators=trees,
            time_limit=60 * minutes,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
    with screen.busy("writing the report"):
        report = report_of(trained, title, summary.noun_of(label), remarks)
        model_file.save(trained.ranker, output, summary.facts_of(trained, label, time))
        write_report(report, report_path(output))
    return trained


def fit_on_cluster(
    address: str,
    data: str,
    output: Path,
    budget: int,
    *,
    label: str,
    trees: int,
    seed: int,
    loss: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Train on a Dask cluster, write the model and print what came of it."""
    from toprank import cluster_training, losses, model_file, summary
    from toprank.boosting.cluster import LostWorkerError
    from toprank.cli import screen

    losses.make_loss(loss)  # an unknown one is refused before any row is read
    with cluster_training.connected(address) as client, screen.progress_bar() as progress:
        try:
            task = cluster_training.prepare(
                client, data, label, random_state=seed, progress=progress, **options
            )
            for remark in task.remarks():
                screen.remark(f"note: {remark}")
            trained = cluster_training.train(
                client, task, budget, loss=loss, n_estimators=trees, random_state=seed,
                progress=progress,
            )  # fmt: skip
        except LostWorkerError as error:
            raise ConnectionError(str(error)) from error
    facts = cluster_training.facts_of(trained)
    model_file.save(trained.chosen.ranker, output, facts)
    if as_json:
        screen.print_json(facts)
    else:
        click.echo(cluster_training.text_of(trained, summary.noun_of(label)))
    screen.remark(f"Wrote {output}; of a training on a cluster there is no HTML report.")


def report_path(model: Path) -> Path:
    """Return where the report of a model lies: beside it."""
    if model.suffix.lower() == ".html":
        raise click.UsageError(
            f"-o must name the model; {model.name} is the name of its report; end it in .toprank."
        )
    return model.with_suffix(".html")


def check_roles(label: str, time: str | None, gap: float | None, drop: tuple[str, ...]) -> None:
    """Raise when a column is asked to be two things, or a gap has no times to lie between."""
    if time == label:
        raise click.UsageError(f"--time must name another column than --label; got {label!r}.")
    if label in drop:
        raise click.UsageError(f"--drop must not name the label; got {label!r}.")
    if gap is not None and (time is None or math.isnan(gap)):
        raise click.UsageError("--gap must be a number of days, and it needs --time.")


def _check_place(cluster: str | None, loss: str | None) -> None:
    """Raise for an option that has no meaning where the training takes place."""
    if cluster is None:
        if loss is not None:
            raise click.UsageError(
                "--loss must come with --cluster; on one machine, several losses are tried."
            )
        return
    because = {
        "minutes": "one recipe is trained there; --trees says how long it takes",
        "jobs": "the threads are those of the workers",
    }
    for option, reason in because.items():
        if click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT:
            raise click.UsageError(f"--{option} must be left out with --cluster: {reason}.")


def _model_beside(path: Path) -> Path:
    return path.parent / f"{Path(path.name.removesuffix('.gz')).stem}.toprank"


def _place_of(data: str) -> Path:
    """Return the file or folder that a model can be named after, where `data` may be a pattern."""
    plain = takewhile(lambda part: not set("*?[") & set(part), Path(data).parts)
    path = Path(*plain)
    if "://" in data or not path.name:
        raise click.UsageError(f"-o must name the model to write; {data!r} has no name for it.")
    return path


def duration(days: float | None) -> Any:
    import numpy as np

    return None if days is None else np.timedelta64(round(days * 86_400_000_000), "us")

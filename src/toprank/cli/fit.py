"""`toprank fit`: from a labelled table to a model, its report and honest figures."""

import math
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from toprank.cli.fit_cluster import fit_on_cluster, place_of
from toprank.cli.payments import Past, history_path, past_of, remember, with_past

EXAMPLES = """
\b
Examples:
  toprank fit payments.parquet --label is_fraud --time paid_at --budget 100 -o payments.toprank
  toprank fit payments.parquet --label is_fraud --time paid_at --card card --terminal shop \\
    --amount amount
  toprank fit claims.csv --label outcome --positive fraud --drop claim_id --drop name
  toprank fit payments.csv --label is_fraud --time paid_at --gap 14 --json
  toprank fit claims.csv --label is_fraud --learner metaap -o tree.toprank
  toprank fit "payments/*.parquet" --label is_fraud --cluster tcp://scheduler:8786
"""
LONGEST_GAP = 36_525  # days; beyond a century, it is a mistake
LEARNERS = ("auto", "metaap", "treerank", "rank-forest")


@click.command(epilog=EXAMPLES, short_help="Learn from labelled rows; write a model and a report.")
@click.argument("data")
@click.option("--label", required=True, help="Column that says which rows are positive.")
@click.option(
    "--positive",
    help="Value of the label to rank first.  [default: 1, yes, fraud, or the rarer]",
)
@click.option("--time", help="Column of times: the test then comes after the training rows.")
@click.option(
    "--gap", type=click.FloatRange(0, LONGEST_GAP), help="Days left out before the test."
)
@click.option(
    "--card",
    help="Column of cards, accounts or customers. With it, --time, --terminal and --amount, the "
    "model learns from what each card and terminal did before, and a history is written beside "
    "it; cards are then checked, not rows.",
)
@click.option("--terminal", help="With --card: column of terminals, shops or payees.")
@click.option("--amount", help="With --card: column of amounts.")
@click.option(
    "--delay", type=click.IntRange(1, LONGEST_GAP),
    help="With --card: days after which labels are known; also the gap.  [default: 7]",
)  # fmt: skip
@click.option("--id", "row_id", help="With --card: column of ids, for labels that come later.")
@click.option(
    "--features", type=click.Path(path_type=Path),
    help="With --card: JSON file of features, in place of the usual ones.",
)  # fmt: skip
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Checks a day, or a list.",
)  # fmt: skip
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--learner",
    default="auto",
    show_default=True,
    type=click.Choice(LEARNERS),
    help="auto keeps the best of many recipes. metaap and treerank grow one tree that can be "
    "read: choose one when each alert must be justified by a rule. forest grows many.",
)
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
    card: str | None,
    terminal: str | None,
    amount: str | None,
    delay: int | None,
    row_id: str | None,
    features: Path | None,
    budget: int,
    drop: tuple[str, ...],
    learner: str,
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
    from toprank import summary
    from toprank.cli import files, screen

    check_roles(label, time, gap, drop)
    past = past_of(time, card, terminal, amount, row_id, delay, features)
    _check_past(past, label, drop, cluster)
    _check_place(cluster, loss)
    _check_learner(learner, cluster)
    path = Path(data)
    output = output or _model_beside(path if cluster is None else place_of(data))
    files.check_output(output, path)
    page = report_path(output)
    options = {
        "label": label, "time": time, "gap": gap_of(gap), "trees": trees, "seed": seed,
        "positive_label": positive, "drop": drop,
    }  # fmt: skip
    if cluster is None:
        files.check_output(page, path)
        if past is not None:
            files.check_output(history_path(output), path)
        table = _read(path, [name for name in (label, time, *drop) if name is not None], past)
        trained = fit_and_write(
            table,
            output,
            path.name,
            budget,
            learner=learner,
            minutes=minutes,
            jobs=jobs,
            past=past,
            **options,
        )
        beside = "" if past is None else f", {history_path(output)}"
        written = f"{output}{beside} and {page}"
    else:
        trained = fit_on_cluster(cluster, data, output, budget, loss=loss or "log", **options)
        written = f"{output}; of a training on a cluster there is no HTML report."
    if as_json:
        screen.print_json(summary.facts_of(trained, label, time))
    else:
        click.echo(summary.text_of(trained, summary.noun_of(label)))
    screen.remark(f"Wrote {written}")
    if learner in ("metaap", "treerank"):
        screen.remark(f"The whole tree in words: toprank explain {quote(str(output))} --tree")


def fit_and_write(
    table: Any,
    output: Path,
    title: str,
    budget: int,
    *,
    label: str,
    time: str | None,
    learner: str = "auto",
    trees: int = 300,
    minutes: float = 10.0,
    jobs: int | None = None,
    seed: int = 0,
    past: Past | None = None,
    **options: Any,
) -> Any:
    """Train, write the model, its history and its report, and return the outcome."""
    from toprank import model_file, summary, training
    from toprank.cli import screen
    from toprank.report import report_of, write_report

    history = None
    if past is not None:
        dropped = [name for name in options.get("drop", ()) if name in table.column_names]
        table = table.drop_columns(dropped)
        table, history = with_past(table, past, label, options.get("positive_label"))
        options = _options_with_past(past, options)
    task = training.prepare(table, label, time=time, random_state=seed, **options)
    remarks = []
    if task.n_unlabelled:
        remarks.append(f"{task.n_unlabelled:,} rows without a label were left out.")
        screen.remark(f"note: {remarks[0]}")
    with screen.progress_bar() as progress:
        trained = training.train(
            task,
            budget,
            learner=learner,
            n_estimators=trees,
            time_limit=60 * minutes,
            random_state=seed,
            n_jobs=jobs,
            progress=progress,
        )
    with screen.busy("writing the report"):
        report = report_of(trained, title, summary.noun_of(label), remarks)
        facts = summary.facts_of(trained, label, time)
        if past is not None and history is not None:
            facts["payments"], facts["history"] = past.roles._asdict(), history.id
            remember(history, history_path(output))
        model_file.save(trained.ranker, output, facts)
        write_report(report, report_path(output))
    return trained


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


def refuse_given(beside: str, reasons: Mapping[str, str]) -> None:
    """Raise when one of these options was given, beside one where it has no meaning."""
    for option, reason in reasons.items():
        if click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT:
            raise click.UsageError(f"--{option} must be left out with {beside}: {reason}.")


def _check_place(cluster: str | None, loss: str | None) -> None:
    """Raise for an option that has no meaning where the training takes place."""
    if cluster is None:
        if loss is not None:
            raise click.UsageError(
                "--loss must come with --cluster; on one machine, several losses are tried."
            )
        return
    refuse_given(
        "--cluster",
        {
            "minutes": "one recipe is trained there; --trees says how long it takes",
            "jobs": "the threads are those of the workers",
        },
    )


def _check_past(past: Past | None, label: str, drop: tuple[str, ...], cluster: str | None) -> None:
    """Raise where the columns of payments are asked to be something else, too."""
    if past is None:
        return
    if cluster is not None:
        raise click.UsageError("--card must be left out with --cluster: a past needs all rows.")
    for name in past.roles.names:
        if name == label or name in drop:
            other = "--label" if name == label else "--drop"
            raise click.UsageError(f"{other} must not name a column of the past; got {name!r}.")


def _options_with_past(past: Past, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a training that learns from the features of cards, not their names."""
    from toprank.tables.spans import span_of

    roles = past.roles
    names = [roles.card, roles.terminal, *([roles.row_id] if roles.row_id else [])]
    gap = options.get("gap")
    return {
        **options,
        "drop": names,
        "gap": span_of(past.delay, "--delay") if gap is None else gap,
        "card": roles.card,
        "amount": roles.amount,
    }


def _check_learner(learner: str, cluster: str | None) -> None:
    """Raise for an option that has no meaning for a tree or a forest."""
    if learner == "auto":
        return
    if cluster is not None:
        raise click.UsageError(
            f"--learner {learner} must be trained on one machine; with --cluster, leave it out "
            "and choose what boosted trees learn with --loss."
        )
    grown = "it has 100" if learner == "rank-forest" else "it is one tree"
    refuse_given(
        f"--learner {learner}",
        {"trees": grown, "minutes": "no recipes are tried"},
    )


def _read(path: Path, named: list[str], past: Past | None) -> Any:
    """Return the table in a file, which must have the columns that were named."""
    from toprank import tables
    from toprank.cli import screen

    keys: list[str] = []
    if past is not None:
        roles = past.roles
        keys = [name for name in (roles.card, roles.terminal, roles.row_id) if name is not None]
        named = [*named, *roles.names]
    tables.check_columns(named, tables.column_names(path), path.name)
    with screen.busy(f"reading {path.name}"):
        return tables.read_table(path, as_text=keys)


def _model_beside(path: Path) -> Path:
    return path.parent / f"{Path(path.name.removesuffix('.gz')).stem}.toprank"


def gap_of(days: float | None) -> Any:
    """Return the days of --gap as a span of time."""
    from toprank.tables.spans import span_of

    return None if days is None else span_of(days, "--gap", unit="d")

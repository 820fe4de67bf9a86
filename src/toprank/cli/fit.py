"""`toprank fit`: from a labelled table to a model, its report and honest figures."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from glob import has_magic
from pathlib import Path
from shlex import quote
from typing import Any

import click
from click.core import ParameterSource

from toprank import registry
from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.feature_folders import (
    check_positive,
    opened_folder,
    roles_in,
    sample_line,
)
from toprank.cli.fit_cluster import fit_on_cluster, place_of
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank fit payments.parquet --label is_fraud --time paid_at --budget 100 -o payments.toprank
  toprank fit payments.parquet --label is_fraud --time paid_at --card card --terminal shop \\
    --amount amount
  toprank fit claims.csv --label outcome --positive fraud --drop claim_id --drop name
  toprank fit payments.csv --label is_fraud --time paid_at --gap 14 --json
  toprank fit claims.csv --label is_fraud --learner metaap -o tree.toprank
  toprank fit "s3://payments/2026/*.parquet" --label is_fraud -o payments.toprank
  toprank fit --sql "select * from payments" --database postgresql://ann@db/bank \\
    --label is_fraud -o payments.toprank
  toprank fit features/ --label is_fraud -o payments.toprank
  toprank fit "payments/*.parquet" --label is_fraud --cluster tcp://scheduler:8786
"""
_SAMPLE_ROWS = 1_000_000
LONGEST_GAP = 36_525  # days; beyond a century, it is a mistake


@click.command(epilog=EXAMPLES, short_help="Learn from labelled rows; write a model and a report.")
@data_argument
@click.option("--label", required=True, help="Column that says which rows are positive.")
@click.option(
    "--positive",
    help="Value of the label to rank first.  [default: 1, yes, fraud, or the less frequent one]",
)
@click.option("--time", help="Column of times: the test then comes after the training rows.")
@click.option(
    "--gap", type=click.FloatRange(0, LONGEST_GAP), help="Days left out before the test."
)
@click.option(
    "--card",
    help="Column of cards, accounts or customers. With it, --time, --terminal and --amount, the "
    "model learns from what each card and terminal did before, and a history is written next to "
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
    help="With --card: JSON file of features, in place of the default ones.",
)  # fmt: skip
@click.option(
    "--card-key", type=click.Path(path_type=Path),
    help="With --card: file of a secret key. The history then keeps keyed hashes of the cards, "
    "and rank, stream, evaluate and explain need the same file.",
)  # fmt: skip
@click.option(
    "--names", type=click.Path(path_type=Path),
    help="JSON or CSV file of columns in words for the reasons, such as "
    '{"TX_AMOUNT": "amount in euros"}; kept with the model.',
)  # fmt: skip
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Checks per day, or per list.",
)  # fmt: skip
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--keep", multiple=True,
    help="Column to learn from although it looks like an id; may be repeated.",
)  # fmt: skip
@source_options()
@table_options()
@force_option
@click.option(
    "--learner",
    default="auto",
    show_default=True,
    type=click.Choice(list(registry.fit_choices())),
    help="auto keeps the best of many recipes. metaap and treerank grow one tree that can be "
    "read: choose one when each alert must be justified by a rule. rank-forest grows many.",
)
@click.option(
    "--trees",
    default=300,
    show_default=True,
    type=click.IntRange(1),
    help="Trees of the plain recipe; other recipes have up to twice as many.",
)
@click.option(
    "--effort",
    default="normal",
    show_default=True,
    type=click.Choice(["quick", "normal", "thorough"]),
    help="How much to try. The same effort gives the same model on any machine.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    help="Most minutes to learn for; what did not fit in is reported.  [default: no limit]",
)
@click.option(
    "--no-refit", is_flag=True,
    help="Write the model that the figures are of, which has not learned from the newest rows.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
@click.option(
    "--losses",
    help="Losses that may be tried in addition to log-loss, comma-separated; log tries no other.  "
    "[default: ap-exp,ap-lambda]",
)
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option(
    "--rows", type=click.IntRange(1_000),
    help="With a folder of features: about how many rows to learn from.  "
    f"[default: {_SAMPLE_ROWS}]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Model file to write; the report goes next to it.  [default: DATA with .toprank]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Train on the Dask cluster of this scheduler: tcp://host:8786. DATA is then a file, a "
    "folder or a pattern of Parquet that workers can read.",
)
@click.option(
    "--loss",
    help="What boosted trees learn, such as log or ap-exp; one recipe is then trained, without a "
    "search for a better one. ap-card ranks each day's cards and needs --card.  "
    "[default with --cluster: log]",
)
def fit(
    data: DataPlace,
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
    card_key: Path | None,
    names: Path | None,
    budget: int,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    learner: str,
    trees: int,
    effort: str,
    minutes: float | None,
    no_refit: bool,
    seed: int,
    losses: str | None,
    jobs: int | None,
    rows: int | None,
    output: Path | None,
    as_json: bool,
    cluster: str | None,
    loss: str | None,
    reading: Callable[[], Any],
) -> None:
    """Learn from the labelled rows of DATA and write a model and a report.

    DATA is a CSV, Parquet, JSON, Excel or Feather file; a folder of such files or a pattern in
    quotes; or one of these in an object store: s3://, gs:// or abfs://. With --sql, the rows are
    those of a query. In a folder that `toprank features` wrote, the columns of times, cards and
    the like are known.

    The rows are split by time when --time is given (train, validation, gap, test), at random
    otherwise. The printed figures are those of the test rows, which nothing was learned from. The
    model that is written then also learns from these, the newest rows.

    Columns that only name their rows are left out, and a note says so. What else is remarkable
    about DATA, such as numbers written as text, is noted as well.
    """
    from toprank.cli import paths, screen

    check_roles(label, time, gap, drop, keep)
    roles: dict[str, Any] = {
        "card": card,
        "terminal": terminal,
        "amount": amount,
        "row_id": row_id,
    }
    folder = None if cluster is not None else opened_folder(data.path)
    if folder is not None:
        _refuse_beside_folder()
        check_positive(folder, positive)
        roles |= roles_in(folder, label, {"time": time, **roles})
        time = roles.pop("time")
    elif rows is not None:
        raise click.UsageError("--rows must come with a folder that toprank features wrote.")
    about_past = {"--delay": delay, "--features": features, "--card-key": card_key}
    _check_past(roles, label, time, about_past, drop, cluster)
    _check_place(cluster)
    _check_learner(learner, cluster)
    _check_loss(loss, learner, card, cluster)
    output = output or _default_output(data, cluster)
    paths.check_output(output, data, "model")
    page = report_path(output)
    if cluster is None:
        paths.check_inputs(data, features, card_key)
    options: dict[str, Any] = {
        "time": time, "gap": gap_of(gap), "positive_label": positive, "drop": drop,
    }  # fmt: skip
    if cluster is None:
        from toprank.cli.rank import read_names
        from toprank.payments.model_files import check_free
        from toprank.payments.payment_model import PaymentModel

        paths.check_output(page, data, "page")
        check_free(output)
        model = PaymentModel(
            label,
            **options,
            **roles,
            keep=keep,
            delay=_delay_of(folder, delay),
            features=None if features is None else features_in(features),
            card_key=card_key,
            names=None if names is None else read_names(names),
            budget=budget,
            learner=learner,
            losses=_loss_names(losses),
            loss=loss,
            n_estimators=trees,
            effort=effort,
            time_limit=None if minutes is None else 60 * minutes,
            refit=not no_refit,
            random_state=seed,
            n_jobs=-1 if jobs is None else jobs,
        )
        if folder is None:
            table = _read(data, label, time, [*drop, *keep], roles, reading())
            learn = partial(model.fit, table)
        else:
            learn = partial(model.fit_folder, folder, most_rows=rows or _SAMPLE_ROWS)
        written = fit_and_write(model, learn, output, data.name, folder)
        trained = model.training_
        figures = trained.chosen.test
        report_budget(budget, figures.longest_list, figures.day is not None)
    else:
        trained = fit_on_cluster(
            cluster, data.typed, output, budget, label=label, loss=loss or "log", trees=trees,
            seed=seed, refit=not no_refit, **options,
        )  # fmt: skip
        written = f"{output}; there is no HTML report of a training on a cluster."
    from toprank.present import summary
    from toprank.workflow.plain_facts import training_facts

    log_lines.report(rows=trained.task.is_positive.size)
    if as_json:
        screen.print_json(training_facts(trained, label, time))
    else:
        screen.show(summary.text_of(trained, summary.noun_of(label)))
    screen.remark(f"Wrote {written}")
    if learner in ("metaap", "treerank"):
        screen.remark(f"The whole tree in words: toprank explain {quote(str(output))} --tree")


def fit_and_write(
    model: Any, learn: Callable[..., Any], output: Path, title: str, folder: Any = None
) -> str:
    """Fit a payment model, write it, its history and its report; return what was written.

    `learn` is the method that fits it, with its rows; `folder` is where these are, if in one.
    """
    from toprank.cli import screen
    from toprank.cli.rank import note_unknown_names
    from toprank.payments.model_files import history_folder
    from toprank.present import summary
    from toprank.present.report import report_of, write_report

    with screen.progress_bar() as progress:
        learn(progress=progress)
    if model.names:
        note_unknown_names(model.names, model)
    remarks = []
    if n_unlabelled := model.training_.task.n_unlabelled:
        remarks.append(f"{n_unlabelled:,} rows without a label were left out.")
        screen.remark(f"note: {remarks[0]}")
    if folder is not None:
        nouns = summary.noun_of(model.label_column)
        remarks.append(sample_line(folder, model.training_, nouns))
        screen.remark(f"note: {remarks[-1]}")
    page = report_path(output)
    with screen.busy("writing the report"):
        noun = summary.noun_of(model.label_column)
        report = report_of(model.training_, title, noun, remarks, model.describer())
        model.save(output)
        model.close()
        write_report(report, page)
    history = "" if model.state_ is None else f", {history_folder(output)}"
    return f"{output}{history} and {page}"


def report_path(model: Path) -> Path:
    """Return the path of a model's report: next to it."""
    if model.suffix.lower() == ".html":
        raise click.UsageError(
            f"-o must name the model; {model.name} is the name of its report; end it in .toprank."
        )
    return model.with_suffix(".html")


def report_budget(budget: int, longest: int, per_day: bool) -> None:
    """Say so where -k is more than the rows of the longest list."""
    from toprank.cli import screen

    if budget > longest:
        screen.remark(
            f"note: -k {budget:,} is more than there is to check: "
            f"{'the longest day has' if per_day else 'there are'} {longest:,} rows, and the "
            "figures are those of checking all of them."
        )


def check_roles(
    label: str,
    time: str | None,
    gap: float | None,
    drop: tuple[str, ...],
    keep: tuple[str, ...] = (),
) -> None:
    """Raise when a column is asked to be two things, or a gap has no times."""
    if time == label:
        raise click.UsageError(f"--time must name another column than --label; got {label!r}.")
    if label in drop:
        raise click.UsageError(f"--drop must not name the label; got {label!r}.")
    for name in keep:
        if name in (label, time, *drop):
            raise click.UsageError(
                f"--keep must name a column to learn from; {name!r} is given to --label, --time "
                "or --drop."
            )
    if gap is not None and (time is None or math.isnan(gap)):
        raise click.UsageError("--gap must be a number of days, and it needs --time.")


def refuse_given(other: str, reasons: Mapping[str, str]) -> None:
    """Raise when one of these options was given together with one where it has no meaning."""
    for option, reason in reasons.items():
        if _is_given(option):
            typed = option.replace("_", "-")
            raise click.UsageError(f"--{typed} must be left out with {other}: {reason}.")


def _is_given(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT


def _refuse_beside_folder() -> None:
    """Raise for an option that says how features are computed, where they are already."""
    why = "the features of the folder are computed already"
    reading = "the folder has Parquet files, which have numbers and times as such"
    refuse_given(
        "a folder of features",
        {
            **dict.fromkeys(("delay", "features", "card_key"), why),
            **dict.fromkeys(("encoding", "decimal", "thousands", "time_format"), reading),
        },
    )


def _delay_of(folder: Any, days: int | None) -> str:
    """Return the delay of labels: that of the folder, as given, or a week."""
    if folder is not None:
        return str(folder.settings.delay)
    return "7d" if days is None else f"{days}d"


def _check_place(cluster: str | None) -> None:
    """Raise for an option that has no meaning where the training takes place."""
    if cluster is None:
        return
    refuse_given(
        "--cluster",
        {
            "sql": "it reads Parquet",
            "minutes": "one recipe is trained there; --trees says how long it takes",
            "effort": "one recipe is trained there; --trees says how long it takes",
            "losses": "one recipe is trained there; --loss names what it learns",
            "jobs": "the threads are those of the workers",
            "names": "no report is written there; give it to rank",
            "keep": "no column is left out there but those of --drop",
            **dict.fromkeys(
                ("encoding", "decimal", "thousands", "time_format"),
                "it reads Parquet, which has numbers and times as such",
            ),
        },
    )


def _check_past(
    roles: dict[str, str | None],
    label: str,
    time: str | None,
    others: dict[str, Any],
    drop: tuple[str, ...],
    cluster: str | None,
) -> None:
    """Raise where options about cards do not fit together, naming them as they were typed."""
    named = {f"--{name.removeprefix('row_')}": column for name, column in roles.items()}
    if roles["card"] is None:
        for option, value in {**named, **others}.items():
            if value is not None:
                raise click.UsageError(
                    f"{option} must come with --card: it is about the past of cards."
                )
        return
    if cluster is not None:
        raise click.UsageError(
            "--card must be left out with --cluster: the past of a card requires all rows."
        )
    for option in ("--time", "--terminal", "--amount"):
        if ({"--time": time} | named)[option] is None:
            raise click.UsageError(
                f"{option} must be given with --card, to know the past of each card."
            )
    columns = [time, *(column for column in roles.values() if column is not None)]
    if len(set(columns)) < len(columns):
        raise click.UsageError(
            "--time, --card, --terminal, --amount and --id must name different columns; got "
            f"{', '.join(map(str, columns))}."
        )
    for name in columns:
        if name == label or name in drop:
            other = "--label" if name == label else "--drop"
            raise click.UsageError(
                f"{other} must not name a column of --time, --card, --terminal, --amount or --id; "
                f"got {name!r}."
            )


def features_in(path: Path) -> Any:
    """Return the features that a JSON file describes."""
    from toprank.payments.features import from_json

    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path.name} must hold a list of features as JSON, such as "
            f'[{{"kind": "SinceLast", "key": "card"}}]; {error}'
        ) from error


def _check_learner(learner: str, cluster: str | None) -> None:
    """Raise for an option that has no meaning for a tree or a forest."""
    from toprank.cli import screen

    row = registry.fit_choices()[learner].row
    if row.judges_itself:
        return
    if cluster is not None:
        raise click.UsageError(
            f"--learner {learner} must be trained on one machine; with --cluster, leave it out "
            "and choose what boosted trees learn with --loss."
        )
    for option in ("minutes", "effort"):
        if _is_given(option):
            screen.remark(f"note: --{option} has no effect with --learner {learner}.")
    trees = "it has none"
    if row.trees is not None:
        trees = "it is one tree" if row.trees == "one" else f"it has {row.default('n_estimators')}"
    refuse_given(
        f"--learner {learner}",
        {
            "trees": trees,
            "losses": "no recipes are tried",
        },
    )


def _check_loss(loss: str | None, learner: str, card: str | None, cluster: str | None) -> None:
    """Raise where --loss names no loss, one of cards without cards, or comes with a search."""
    if loss is None:
        return
    from toprank.losses import LOSSES, LOSSES_OF_GROUPS

    if learner != "auto":
        raise click.UsageError(
            f"--loss must be left out with --learner {learner}: it is what boosted trees learn."
        )
    if cluster is None:
        why = f"one recipe is trained with --loss {loss}"
        refuse_given("--loss", {"losses": why, "minutes": why, "effort": why})
    _check_known_loss("--loss", loss, [*LOSSES, *LOSSES_OF_GROUPS])
    if loss not in LOSSES_OF_GROUPS:
        return
    if cluster is not None:
        raise click.UsageError(
            f"--loss {loss} must be left out with --cluster: the rows of a card must be together."
        )
    if card is None:
        raise click.UsageError(
            f"--loss {loss} must come with --card, --time, --terminal and --amount: it ranks each "
            "day's cards."
        )


def _check_known_loss(option: str, name: str, known: Sequence[str]) -> None:
    from toprank.data import checks

    if name not in known:
        hint = checks.nearest_name(name, list(known)) or "."
        raise click.UsageError(f"{option} must be among {', '.join(known)}; got {name!r}{hint}")


def _loss_names(losses: str | None) -> list[str] | None:
    """Return the losses that may be tried, each of which must be known."""
    if losses is None:
        return None
    from toprank.losses import LOSSES

    names = [name.strip() for name in losses.split(",")]
    for name in names:
        _check_known_loss("--losses", name, [*LOSSES])
    return names


def _read(
    data: DataPlace,
    label: str,
    time: str | None,
    named: list[str],
    roles: dict[str, str | None],
    reading: Any,
) -> Any:
    """Return the rows of DATA, which must have the columns that were named."""
    from dataclasses import replace

    from toprank.cli import screen

    given = [name for name in roles.values() if name is not None]
    keys = [name for role, name in roles.items() if name is not None and role != "amount"]
    times = () if time is None else (time,)
    with screen.busy(f"reading {data.name}"):
        return data.source.table(
            as_text=keys,
            required=[label, *times, *named, *given],
            labels=[label],
            reading=replace(reading, times=times),
        )


def _default_output(data: DataPlace, cluster: str | None) -> Path:
    """Return where the model goes if nothing says so: next to a file or folder on this machine."""
    path = data.path if cluster is None else place_of(data.typed)
    if path is None or has_magic(path.name) or path.name in ("", ".."):
        raise click.UsageError(
            f"-o must name the model to write: {data.name} has no name on this machine that "
            "it could take."
        )
    return path.parent / f"{Path(path.name.removesuffix('.gz')).stem}.toprank"


def gap_of(days: float | None) -> Any:
    """Return the days of --gap as a span of time."""
    from toprank.data.tables.spans import span_of

    return None if days is None else span_of(days, "--gap", unit="d")

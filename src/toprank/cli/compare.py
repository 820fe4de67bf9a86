"""`toprank compare`: every learner, or every remedy for imbalance, on the user's own rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.fit import LONGEST_GAP, check_roles, gap_of, report_budget
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank compare payments.parquet --label is_fraud --time paid_at --budget 100
  toprank compare claims.csv --label outcome --positive fraud --learners auto,log,ap-exp
  toprank compare payments.csv --label is_fraud --time paid_at -o comparison.svg --json
  toprank compare payments.csv --label is_fraud --time paid_at --imbalance -o sampling.png
  toprank compare claims.csv --label outcome --imbalance --methods under,smote --ratios 0.1,1
"""

# options of only one of the two comparisons
_OF_LEARNERS = ("budget", "learners", "minutes")
_OF_IMBALANCE = ("methods", "ratios", "base")


@click.command(epilog=EXAMPLES, short_help="Put every learner side by side on your rows.")
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
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1),
    help="Checks per day, or per list.",
)  # fmt: skip
@click.option(
    "--learners",
    help="Learners, comma-separated: auto, log, ap-exp, ap-sigmoid, ap-lambda, auc-exp, "
    "auc-hinge, rank-boost, non-linear, metaap, treerank, rank-forest; log is always among them.  "
    "[default: all]",
)
@click.option(
    "--imbalance", is_flag=True,
    help="Compare remedies for imbalance around one learner instead: sampling, weights, costs.",
)  # fmt: skip
@click.option(
    "--methods",
    help="Remedies, comma-separated: none, weights, under, over, tomek, smote, "
    "easy-ensemble, balance-cascade, cost-boost; none is always among them.  [default: all]",
)
@click.option(
    "--ratios",
    help="Positives per negative that the remedies bring about, comma-separated, each above that "
    "of the rows and at most 1.  [default: three in between]",
)
@click.option(
    "--base",
    help="The learner to put the remedies around: any of --learners but auto.  [default: log]",
)
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--keep", multiple=True,
    help="Column to learn from although it looks like an id; may be repeated.",
)  # fmt: skip
@source_options()
@table_options()
@force_option
@click.option(
    "--trees", default=300, show_default=True, type=click.IntRange(1),
    help="Number of trees, for learners with many.",
)  # fmt: skip
@click.option(
    "--minutes", default=10.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Time for what auto tries; past it, no new recipe is started.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Threads.  [default: all cores]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="Picture to write, .png or .svg.  [default: none]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def compare(
    data: DataPlace,
    label: str,
    positive: str | None,
    time: str | None,
    gap: float | None,
    budget: int,
    learners: str | None,
    imbalance: bool,
    methods: str | None,
    ratios: str | None,
    base: str | None,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    trees: int,
    minutes: float,
    seed: int,
    jobs: int | None,
    output: Path | None,
    as_json: bool,
    reading: Callable[[], Any],
) -> None:
    """Let every learner learn from the labelled rows of DATA, and say which are better.

    The rows are split as by fit. All learners are judged on the same test rows, which none of
    them learned from; nothing is written but what is printed.

    With --imbalance, one learner learns from the rows as they are and after every remedy for
    imbalance, at several ratios; ratios and thresholds are chosen on validation.
    """
    from toprank.cli import paths, screen

    check_roles(label, time, gap, drop, keep)
    _check_use(imbalance)
    paths.check_inputs(data)
    run = (
        _imbalance(methods, ratios, base)
        if imbalance
        else _learners(learners, budget=budget, time_limit=60 * minutes)
    )
    task = _task(
        data, label, time, gap, output, reading(),
        positive_label=positive, drop=drop, keep=keep, seed=seed,
    )  # fmt: skip
    if not imbalance:
        report_budget(budget, *_longest_list(task))
    with screen.progress_bar() as progress:
        compared = run.compare(
            task,
            n_estimators=trees,
            random_state=seed,
            n_jobs=-1 if jobs is None else jobs,
            progress=progress,
        )
    log_lines.report(rows=task.is_positive.size)
    if as_json:
        screen.print_json(run.facts_of(compared, label, time))
    else:
        from toprank.present import summary

        screen.show(run.text_of(compared, summary.noun_of(label)))
    if output is not None:
        _write_picture(run.picture_of(compared), output)
        screen.remark(f"Wrote {output}")


class _CompareRun(NamedTuple):
    """One of the two comparisons, and how its outcome is reported."""

    compare: Callable[..., Any]
    text_of: Callable[..., str]
    facts_of: Callable[..., dict[str, Any]]
    picture_of: Callable[..., Any]


def _learners(learners: str | None, budget: int, time_limit: float) -> _CompareRun:
    from toprank.present.comparison import learner_summary
    from toprank.workflow import comparison

    compare = partial(
        comparison.compare_learners,
        budget=budget,
        learners=_learner_names(learners),
        time_limit=time_limit,
    )
    return _CompareRun(
        compare, learner_summary.text_of, learner_summary.facts_of, learner_summary.picture_of
    )


def _imbalance(chosen: str | None, ratios: str | None, base: str | None) -> _CompareRun:
    from toprank.present.comparison import remedy_summary
    from toprank.workflow.comparison import imbalance, methods

    try:
        names = methods.METHODS if chosen is None else methods.check_methods(_parts(chosen))
        base = methods.check_base("log" if base is None else base)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    compare = partial(
        imbalance.compare_methods, names=names, ratios=_ratio_numbers(ratios), base=base
    )
    return _CompareRun(
        compare, remedy_summary.text_of, remedy_summary.facts_of, remedy_summary.picture_of
    )


def _check_use(imbalance: bool) -> None:
    """Refuse an option that the requested comparison would silently ignore."""
    context = click.get_current_context()
    for name in _OF_LEARNERS if imbalance else _OF_IMBALANCE:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            way = "must be left out with" if imbalance else "must come with"
            raise click.UsageError(f"--{name} {way} --imbalance.")


def _task(
    data: DataPlace,
    label: str,
    time: str | None,
    gap: float | None,
    output: Path | None,
    reading: Any,
    **options: Any,
) -> Any:
    from dataclasses import replace

    from toprank.cli import paths, screen

    if output is not None:
        _check_picture(output)
        paths.check_output(output, data, "picture")
    times = () if time is None else (time,)
    with screen.busy(f"reading {data.name}"):
        table = data.source.table(
            required=[label, *times, *options["drop"], *options["keep"]],
            labels=[label],
            reading=replace(reading, times=times),
        )
    return _prepared(table, label, time, gap, **options)


def _longest_list(task: Any) -> tuple[int, bool]:
    """Return the rows of the longest day of the test, or of all of it, and whether it has days."""
    import numpy as np

    days = task.days("test")
    if days is None:
        return task.split.test.size, False
    return int(np.unique(days, return_counts=True)[1].max()), True


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _ratio_numbers(ratios: str | None) -> list[float] | None:
    if ratios is None:
        return None
    try:
        numbers = [float(part) for part in _parts(ratios)]
    except ValueError:
        numbers = []
    if not numbers or not all(0 < number <= 1 for number in numbers):
        raise click.UsageError(
            f"--ratios must be numbers above 0 and at most 1, comma-separated; got {ratios!r}."
        )
    return numbers


def _learner_names(learners: str | None) -> list[str]:
    from toprank.workflow import comparison

    if learners is None:
        return comparison.comparable_learners()
    try:
        return comparison.check_learners(_parts(learners))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error


def _prepared(
    table: Any, label: str, time: str | None, gap: float | None, seed: int, **options: Any
) -> Any:
    from toprank.cli import screen
    from toprank.workflow.task import prepare

    task = prepare(table, label, time=time, gap=gap_of(gap), random_state=seed, **options)
    if task.n_unlabelled:
        screen.remark(f"note: {task.n_unlabelled:,} rows without a label were left out.")
    return task


def _check_picture(output: Path) -> None:
    if output.suffix.lower() not in (".png", ".svg"):
        raise click.UsageError(f"-o must name a picture, .png or .svg; got {output.name!r}.")


def _write_picture(figure: Any, output: Path) -> None:
    """Write the figure; whoever reads that file gets the old picture or the whole new one."""
    from toprank.data.atomic import atomic_path

    with atomic_path(output) as unfinished:
        figure.savefig(unfinished, format=output.suffix[1:].lower(), dpi=150)

"""`toprank explain`: why a row is where it is, or above another; or the whole tree of a model."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from math import floor, log10
from pathlib import Path
from typing import Any

import click

from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.explain_tree import explain_tree, path_facts
from toprank.cli.paths import card_key_option
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank explain payments.toprank today.csv --row 4711
  toprank explain payments.toprank today.csv --row 4711 --above 12 --json
  toprank explain tree.toprank --tree -o tree.svg
"""
_MOST_DIGITS = 6


@click.command(
    epilog=EXAMPLES, short_help="Say why a row is where it is, or above another; show a tree."
)
@click.argument("model", type=click.Path(path_type=Path))
@data_argument
@click.option("--row", type=click.IntRange(1), help="Row of DATA, counted from 1.")
@click.option("--above", type=click.IntRange(1), help="Say why --row ranks above this row.")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(1), help="Reasons to give."
)
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of a model fitted with --card.  [default: the one next to it]",
)  # fmt: skip
@click.option(
    "--tree", "is_tree", is_flag=True,
    help="Print the tree, and its rules, of a model fitted with --learner metaap or treerank, or "
    "with anomalies --detector tree.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="With --tree: picture to write, .svg, or .dot for Graphviz.  [default: none]",
)  # fmt: skip
@card_key_option
@source_options(required=False)
@table_options()
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the reasons or the rules as JSON.")
def explain(
    model: Path,
    data: DataPlace | None,
    row: int | None,
    above: int | None,
    reasons: int,
    history: Path | None,
    card_key: Path | None,
    is_tree: bool,
    output: Path | None,
    as_json: bool,
    reading: Callable[[], Any],
) -> None:
    """Say which columns moved a row's suspicion most, or make it differ from another row.

    With --tree, no DATA is needed: the tree is printed, and then the rules of each of its groups.
    """
    from toprank.cli import paths

    if is_tree:
        _check_alone()
        paths.check_inputs(model)
        explain_tree(model, output, as_json)
        return
    if output is not None:
        raise click.UsageError("-o must come with --tree: it names a picture of the tree.")
    if data is None or row is None:
        missing = "DATA" if data is None else "--row"
        raise click.UsageError(f"{missing} must be given, or --tree to see the model's tree.")
    if row == above:
        raise click.UsageError(f"--above must name another row than --row; got {row} for both.")
    paths.check_inputs(model, data, history, card_key)
    numbers = [row] if above is None else [row, above]
    opened = paths.opened_model(model, history, data=data, card_key=card_key)
    _explain_rows(opened, data, numbers, reasons, as_json, reading())


def _explain_rows(
    opened: AbstractContextManager[Any],
    data: DataPlace,
    numbers: list[int],
    n_reasons: int,
    as_json: bool,
    reading: Any,
) -> None:
    from toprank.cli import paths, screen
    from toprank.present import summary
    from toprank.rankers import reasons as why

    with opened as payments:
        reading = paths.reading_for(payments, reading)
        with paths.batches(data, payments.schema_, "reading", reading=reading) as batches:
            rows = _rows_of(payments.batches_with_features(batches), numbers, data.name)
        ranker, label = payments.ranker_, payments.label_column
        describer = payments.describer()
    scored = _scored(ranker, rows, numbers, paths.tree_noun(ranker, label))
    if len(numbers) == 1:
        given: Sequence[Any] = why.explain(ranker, rows, n_reasons, describer)[0]
    else:
        given = why.why_above(ranker, rows, 0, 1, n_reasons)
    if as_json:
        listed = [each.to_json() for each in given]
        screen.print_json({"rows": scored, "reasons": listed})
        return
    digits = _digits([each.contribution for each in given])
    for row in scored:
        score = f"{row['suspicion']:.{digits}f}"
        is_likely = "probability" in row
        chance = f", probability {summary.percent(row['probability'])}" if is_likely else ""
        screen.show(f"row {row['row']:,}: suspicion {score}{chance}")
        if "path" in row:
            screen.show(summary.indented(row["path"]["text"]))
    start = float(ranker.contributions(rows)[0, -1])
    _print_reasons(given, [row["suspicion"] for row in scored], start, digits)
    if len(numbers) == 2 and scored[0]["suspicion"] < scored[1]["suspicion"]:
        first, second = numbers
        screen.remark(f"note: row {first} is below row {second}; the reasons say how they differ.")


def _scored(ranker: Any, rows: Any, numbers: list[int], noun: str) -> list[dict[str, Any]]:
    """Return the rows' scores in plain values and, of a tree, the path of each."""
    from toprank.workflow.alert_list import has_probabilities

    suspicion = ranker.suspicion(rows)
    scored: list[dict[str, Any]] = [
        {"row": number, "suspicion": float(score)}
        for number, score in zip(numbers, suspicion, strict=True)
    ]
    if has_probabilities(ranker):
        for row, chance in zip(scored, ranker.calibration_.probability(suspicion), strict=True):
            row["probability"] = float(chance)
    if hasattr(ranker, "paths"):
        for row, path in zip(scored, _paths(ranker, rows, noun), strict=True):
            row["path"] = path
    return scored


def _paths(ranker: Any, rows: Any, noun: str) -> list[dict[str, Any]]:
    """Return each row's way through a tree in plain values; outside its bounds there is none."""
    from toprank.rankers.anomaly.listing import conditions_outside, outside_text

    paths = [path_facts(path, noun) for path in ranker.paths(rows)]
    if hasattr(ranker, "box_"):
        for path, beyond in zip(paths, conditions_outside(ranker, rows), strict=True):
            if beyond:
                path |= {"group": None, "tests": beyond, "text": outside_text(beyond)}
    return paths


def _print_reasons(
    given: Sequence[Any], suspicion: list[float], start: float, digits: int
) -> None:
    """Print what each reason adds, and what is left to make up the whole."""
    from toprank.cli import screen

    is_one = len(suspicion) == 1
    for each in given:
        screen.show(f"  {_signed(each.contribution, digits)}  {each}")
    if not given:
        screen.show("  no column moved it" if is_one else "  no column distinguishes them")
        return
    whole = suspicion[0] - (start if is_one else suspicion[1])
    rest = whole - sum(each.contribution for each in given)
    screen.show(f"  {_signed(rest, digits)}  all other columns")
    if is_one:
        screen.show(f"  {_signed(start, digits)}  where every row starts")


def _digits(parts: list[float]) -> int:
    """Return how many decimals show two digits of the largest part: of most models, two."""
    largest = max(map(abs, parts), default=1.0)
    return max(2, min(1 - floor(log10(largest)), _MOST_DIGITS)) if largest > 0 else 2


def _signed(part: float, digits: int) -> str:
    return f"{round(part, digits) + 0.0:+.{digits}f}"  # the sum makes no -0 of a small part


def _check_alone() -> None:
    """Raise for what is given together with --tree and would be ignored."""
    for name, shown in {
        "data": "DATA",
        "sql": "--sql",
        "row": "--row",
        "above": "--above",
    }.items():
        if click.get_current_context().params[name] is not None:
            raise click.UsageError(f"{shown} must be left out with --tree: no row is looked at.")


def _rows_of(batches: Iterable[Any], numbers: list[int], name: str) -> Any:
    """Return the rows of these numbers, counted from 1, without holding the whole file."""
    import pyarrow as pa

    found, n_seen = {}, 0
    for batch in batches:
        for number in numbers:
            if n_seen < number <= n_seen + batch.num_rows:
                found[number] = batch.slice(number - n_seen - 1, 1)
        n_seen += batch.num_rows
        if len(found) == len(numbers):
            return pa.concat_tables([found[number] for number in numbers])
    missing = next(number for number in numbers if number not in found)
    raise ValueError(f"row {missing:,} is not in {name}: it has {n_seen:,} rows.")

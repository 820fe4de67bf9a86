"""`toprank explain`: why a row is where it is, or above another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank explain payments.toprank today.csv --row 4711
  toprank explain payments.toprank today.csv --row 4711 --above 12 --json
"""


@click.command(epilog=EXAMPLES, short_help="Say why a row is where it is, or above another.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--row", required=True, type=click.IntRange(1), help="Row of DATA, counted from 1.")
@click.option("--above", type=click.IntRange(1), help="Say why --row stands above this row.")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(1), help="Reasons to give."
)
@click.option("--json", "as_json", is_flag=True, help="Print the reasons as JSON.")
def explain(
    model: Path, data: Path, row: int, above: int | None, reasons: int, as_json: bool
) -> None:
    """Say which columns moved a row's suspicion most, or part it from another row."""
    from toprank import reasons as why
    from toprank import summary
    from toprank.cli import files, screen

    if row == above:
        raise click.UsageError(f"--above must name another row than --row; got {row} for both.")
    ranker, _ = files.open_model(model)
    numbers = [row] if above is None else [row, above]
    rows = _rows_of(data, numbers, ranker.schema_)
    suspicion = ranker.suspicion(rows)
    probability = ranker.calibration_.probability(suspicion)
    if above is None:
        given: Sequence[Any] = why.explain(ranker, rows, reasons)[0]
    else:
        given = why.why_above(ranker, rows, 0, 1, reasons)
    if as_json:
        listed = [vars(each) | {"text": str(each)} for each in given]
        scored = [
            {"row": number, "suspicion": float(score), "probability": float(chance)}
            for number, score, chance in zip(numbers, suspicion, probability, strict=True)
        ]
        screen.print_json({"rows": scored, "reasons": listed})
        return
    for number, score, chance in zip(numbers, suspicion, probability, strict=True):
        click.echo(f"row {number:,}: suspicion {score:.2f}, probability {summary.percent(chance)}")
    if above is not None and suspicion[0] < suspicion[1]:
        screen.remark(f"note: row {row} is below row {above}; the reasons say how they differ.")
    start = float(ranker.contributions(rows)[0, -1])
    whole = suspicion[0] - (start if above is None else suspicion[1])
    for each in given:
        click.echo(f"  {each.contribution:+.2f}  {each}")
    if not given:
        click.echo("  no column moved it" if above is None else "  no column parts them")
        return
    click.echo(f"  {whole - sum(each.contribution for each in given):+.2f}  all other columns")
    if above is None:
        click.echo(f"  {start:+.2f}  where every row starts")


def _rows_of(data: Path, numbers: list[int], schema: Any) -> Any:
    """Return the rows of these numbers, counted from 1, without holding the whole file."""
    import pyarrow as pa

    from toprank.cli import files

    found, n_seen = {}, 0
    with files.batches(data, schema, "reading") as batches:
        for batch in batches:
            for number in numbers:
                if n_seen < number <= n_seen + batch.num_rows:
                    found[number] = batch.slice(number - n_seen - 1, 1)
            n_seen += batch.num_rows
            if len(found) == len(numbers):
                return pa.concat_tables([found[number] for number in numbers])
    missing = next(number for number in numbers if number not in found)
    raise ValueError(f"row {missing:,} is not in {data.name}: it has {n_seen:,} rows.")

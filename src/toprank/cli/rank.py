"""`toprank rank`: the rows to check, most suspicious first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank rank payments.toprank today.csv -k 100 -o alerts.csv
  toprank rank payments.toprank today.parquet -k 20
  toprank rank payments.toprank today.csv --json | jq '.alerts[0].reasons'
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--budget", "-k", type=click.IntRange(1), help="Rows to list.  [default: as fitted]")
@click.option("--reasons", default=5, show_default=True, help="Reasons a row.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def rank(
    model: Path, data: Path, budget: int | None, reasons: int, output: Path | None, as_json: bool
) -> None:
    """List the rows of DATA that MODEL finds most suspicious, each with its reasons.

    DATA may be larger than memory. Its columns may come in any order, and others may stand beside
    them: all are carried into the list.
    """
    from toprank import model_file, summary, tables
    from toprank.alert_list import top_alerts
    from toprank.cli import screen

    ranker = model_file.load(model)
    facts = model_file.read_manifest(model)["facts"]
    budget = budget or int(facts.get("budget", 100))
    alerts = top_alerts(ranker, batches(data, ranker.schema_), budget, reasons)
    listed = alerts.to_table()
    noun = summary.noun_of(str(facts.get("label", "")))
    screen.remark(
        f"{alerts.n_seen:,} rows scored; expect about {summary.counted(alerts.expected)} {noun} "
        f"in these {len(alerts.suspicion):,}."
    )
    if output is not None:
        tables.write_rows(listed, output)
        screen.remark(f"Wrote {output}")
    elif as_json:
        screen.print_json(
            {
                "rows": alerts.n_seen,
                "expected": alerts.expected._asdict(),
                "alerts": _objects(alerts),
            }
        )
    elif screen.is_terminal():
        click.echo(screen.alert_lines(alerts))
    else:
        screen.print_csv(listed)


def batches(data: Path, schema: Any) -> Iterator[Any]:
    """Give the file batch by batch, with a bar of how much of it is read."""
    from toprank import tables
    from toprank.cli import screen

    n_rows, n_bytes = tables.count_rows(data), data.stat().st_size
    with screen.progress_bar() as progress:
        seen = 0
        on_bytes = None if n_rows else lambda done: progress("scoring", done, n_bytes)
        for batch in tables.read_batches(data, schema=schema, on_bytes=on_bytes):
            yield batch
            seen += batch.num_rows
            if n_rows:
                progress("scoring", seen, n_rows)


def _objects(alerts: Any) -> list[dict[str, Any]]:
    rows = alerts.to_table().drop_columns(["reasons"]).to_pylist()
    for row, reasons in zip(rows, alerts.reasons, strict=True):
        row["reasons"] = [vars(reason) | {"text": str(reason)} for reason in reasons]
    return rows

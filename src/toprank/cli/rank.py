"""`toprank rank`: the rows to check, most suspicious first."""

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


@click.command(epilog=EXAMPLES, short_help="List the rows to check, with reasons.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--budget", "-k", type=click.IntRange(1), help="Rows to list.  [default: as fitted]")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(0), help="Reasons a row."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def rank(
    model: Path, data: Path, budget: int | None, reasons: int, output: Path | None, as_json: bool
) -> None:
    """List the rows of DATA that MODEL finds most suspicious, each with its reasons.

    DATA may be larger than memory. Its columns may come in any order, and others may stand beside
    them: all are carried into the list.
    """
    from toprank.alert_list import top_alerts
    from toprank.cli import files, screen

    if output is not None:
        files.check_list_output(output, data)
    ranker, facts = files.open_model(model)
    with files.batches(data, ranker.schema_, "scoring") as batches:
        alerts = top_alerts(ranker, batches, budget or facts.budget, reasons)
    screen.remark(
        f"{alerts.n_seen:,} rows scored, {len(alerts.suspicion):,} listed"
        f"{_expectation(alerts, facts.label or '')}."
    )
    if output is not None:
        write_list(alerts, data, output)
    if as_json:
        screen.print_json(document(alerts))
    elif output is None:
        print_list(alerts, data)


def write_list(alerts: Any, data: Path, output: Path) -> None:
    """Write the list of rows of `data` to a file, and say so."""
    from toprank import tables
    from toprank.cli import screen

    tables.write_rows(_listed(alerts, data, output), output)
    screen.remark(f"Wrote {output}")


def print_list(alerts: Any, data: Path) -> None:
    """Print the list of rows of `data`: in lines for a person, as CSV for a program."""
    from toprank.cli import screen

    if screen.is_terminal():
        click.echo(screen.alert_lines(alerts))
    else:
        screen.print_csv(_listed(alerts, data))


def document(alerts: Any) -> dict[str, Any]:
    """Return the list in plain values, the reasons apart and in words."""
    rows = alerts.to_table().drop_columns(["reasons"]).to_pylist()
    for row, reasons in zip(rows, alerts.reasons, strict=True):
        row["reasons"] = [vars(reason) | {"text": str(reason)} for reason in reasons]
    expected = {} if alerts.expected is None else {"expected": alerts.expected._asdict()}
    return {"rows": alerts.n_seen, **expected, "alerts": rows}


def _expectation(alerts: Any, label: str) -> str:
    """Return how many positives to expect; nothing where there were no labels to learn from."""
    from toprank import summary

    if alerts.expected is None:
        return ""
    noun = summary.noun_of(label)
    return f"; expect about {summary.counted(alerts.expected)} {noun} among them"


def _listed(alerts: Any, data: Path, output: Path | None = None) -> Any:
    """Return the list as a table; text that came from a CSV goes into text as it was."""
    from dataclasses import replace

    from toprank import tables

    is_text = output is None or output.suffix.lower() not in (".parquet", ".pq")
    if is_text and tables.count_rows(data) is None:
        alerts = replace(alerts, rows=tables.rows_as_written(data, alerts.row_numbers))
    return alerts.to_table()

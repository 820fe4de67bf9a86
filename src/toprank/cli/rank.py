"""`toprank rank`: the rows to check, most suspicious first."""

from pathlib import Path
from typing import Any

import click

EXAMPLES = """
\b
Examples:
  toprank rank payments.toprank today.csv -k 100 -o alerts.csv
  toprank rank payments.toprank today.parquet -k 20
  toprank rank payments.toprank today.parquet --remember -o alerts.csv
  toprank rank payments.toprank today.csv --json | jq '.alerts[0].reasons'
"""


@click.command(epilog=EXAMPLES, short_help="List the rows to check, with reasons.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--budget", "-k", type=click.IntRange(1), help="Rows to list.  [default: as fitted]")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(0), help="Reasons a row."
)
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of a model fitted with --card.  [default: the one beside it]",
)  # fmt: skip
@click.option(
    "--remember", "is_remembered", is_flag=True,
    help="Add the rows of DATA to the history, for those of tomorrow.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def rank(
    model: Path,
    data: Path,
    budget: int | None,
    reasons: int,
    history: Path | None,
    is_remembered: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """List the rows of DATA that MODEL finds most suspicious, each with its reasons.

    DATA may be larger than memory. Its columns may come in any order, and others may stand beside
    them: all are carried into the list. A model fitted with --card lists cards: of each, the most
    suspicious row.
    """
    from toprank.cli import files, screen

    if output is not None:
        files.check_list_output(output, data)
    as_text = not as_json and is_text(output)
    with files.opened_model(model, history, for_writing=is_remembered) as payments:
        if is_remembered and payments.state_ is None:
            raise click.UsageError(
                "--remember must be left out: the model was fitted without --card."
            )
        with files.batches(data, payments.schema_, "scoring", is_written=as_text) as batches:
            alerts = payments.rank(
                batches,
                budget,
                n_reasons=reasons,
                remember=is_remembered,
                cleared_within=cleared_within,
            )
    screen.remark(_what_was_done(alerts, payments))
    if output is not None:
        write_list(alerts if as_text else as_written(alerts, data, output), output)
    if as_json:
        screen.print_json(document(alerts))
    elif output is None:
        print_list(alerts)
    if is_remembered:
        screen.remark(f"Remembered {alerts.n_seen:,} rows in {payments.state_.folder.parent}")


def write_list(alerts: Any, output: Path) -> None:
    """Write the list to a file, and say so."""
    from toprank import tables
    from toprank.cli import screen

    tables.write_rows(alerts.to_table(), output)
    screen.remark(f"Wrote {output}")


def print_list(alerts: Any) -> None:
    """Print the list: in lines for a person, as CSV for a program."""
    from toprank.cli import screen

    if screen.is_terminal():
        click.echo(screen.alert_lines(alerts))
    else:
        screen.print_csv(alerts.to_table())


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


def is_text(output: Path | None) -> bool:
    """Return whether a list goes into text: fields of a CSV then stay as they are."""
    return output is None or output.suffix.lower() not in (".parquet", ".pq")


def as_written(alerts: Any, data: Path, output: Path | None = None) -> Any:
    """Return the list with its rows as they are in a CSV, which is read again for that."""
    from dataclasses import replace

    from toprank import tables

    if not is_text(output) or tables.count_rows(data) is not None:
        return alerts
    return replace(alerts, rows=tables.rows_as_written(data, alerts.row_numbers))

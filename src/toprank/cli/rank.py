"""`toprank rank`: the rows to check, most suspicious first."""

from pathlib import Path
from typing import Any

import click

from toprank.cli.table_options import table_options

EXAMPLES = """
\b
Examples:
  toprank rank payments.toprank today.csv -k 100 -o alerts.csv
  toprank rank payments.toprank today.parquet -k 20
  toprank rank payments.toprank today.parquet --remember -o alerts.csv
  toprank rank payments.toprank today.csv --json | jq '.alerts[0].reasons'
"""


def _span(_context: Any, _option: Any, value: str) -> str:
    """Return a length of time, which must be one."""
    from toprank.data.tables.spans import span_of

    try:
        span_of(value, "--cleared-within")
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error
    return value


@click.command(epilog=EXAMPLES, short_help="List the rows to check, with reasons.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--budget", "-k", type=click.IntRange(1), help="Rows to list.  [default: as fitted]")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(0), help="Reasons per row."
)
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of a model fitted with --card.  [default: the one beside it]",
)  # fmt: skip
@click.option(
    "--remember", "is_remembered", is_flag=True,
    help="Add the rows of DATA to the history, so that later payments know them.",
)  # fmt: skip
@click.option(
    "--cleared-within", default="14d", show_default=True, callback=_span,
    help="Mark cards that an investigator cleared within this time.",
)  # fmt: skip
@table_options()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def rank(
    model: Path,
    data: Path,
    budget: int | None,
    reasons: int,
    history: Path | None,
    is_remembered: bool,
    cleared_within: str,
    output: Path | None,
    as_json: bool,
    reading: Any,
) -> None:
    """List the rows of DATA that MODEL finds most suspicious, each with its reasons.

    DATA may be larger than memory. Its columns may come in any order, and may be more than the
    model needs: all are carried into the list. A model fitted with --card lists each card once,
    by its most suspicious row. Cards that `toprank label` recorded as fraud are left out, as the
    figures of fit assume; cards cleared lately are marked.

    The list has an empty column `verdict`: fill in fraud, genuine or unsure, and give the file to
    `toprank label`. In CSV, text that a spreadsheet would run as a formula gets an apostrophe in
    front.
    """
    from toprank.cli import paths, screen
    from toprank.payments.model_files import history_folder

    if output is not None:
        paths.check_list_output(output, data)
    as_text = not as_json and is_text(output)
    with paths.opened_model(model, history, for_writing=is_remembered, data=data) as payments:
        if is_remembered and payments.state_ is None:
            raise click.UsageError(
                "--remember must be left out: the model was fitted without --card."
            )
        reading = paths.reading_for(payments, reading)
        with paths.batches(data, payments.schema_, "scoring", as_text, reading) as batches:
            alerts = payments.rank(
                batches,
                budget,
                n_reasons=reasons,
                remember=is_remembered,
                cleared_within=cleared_within,
            )
    screen.remark(_what_was_done(alerts, payments))
    if budget is not None and budget > alerts.n_seen:
        screen.remark(
            f"note: -k {budget:,} is more than the {alerts.n_seen:,} rows of {data.name}."
        )
    if output is not None:
        listed = alerts if as_text else as_written(alerts, data, output, reading)
        write_list(listed, output, for_verdicts=bool(payments.label_column))
    if as_json:
        screen.print_json(document(alerts))
    elif output is None:
        print_list(alerts, for_verdicts=bool(payments.label_column))
    if is_remembered:
        screen.remark(f"Remembered {alerts.n_seen:,} rows in {history or history_folder(model)}")


def write_list(alerts: Any, output: Path, for_verdicts: bool = False) -> None:
    """Write the list to a file, and say so."""
    from toprank.cli import screen
    from toprank.data import tables

    tables.write_rows(alerts.to_table(for_verdicts), output)
    screen.remark(f"Wrote {output}")


def print_list(alerts: Any, for_verdicts: bool = False) -> None:
    """Print the list: in lines for a person, as CSV for a program."""
    from toprank.cli import screen

    if screen.is_terminal():
        click.echo(screen.alert_lines(alerts))
    else:
        screen.print_csv(alerts.to_table(for_verdicts))


def document(alerts: Any) -> dict[str, Any]:
    """Return the list in plain values, the reasons apart and in words."""
    rows = alerts.to_table().drop_columns(["reasons"]).to_pylist()
    for row, reasons in zip(rows, alerts.reasons, strict=True):
        row["reasons"] = [vars(reason) | {"text": str(reason)} for reason in reasons]
    expected = {} if alerts.expected is None else {"expected": alerts.expected._asdict()}
    return {"rows": alerts.n_seen, **expected, "alerts": rows}


def _what_was_done(alerts: Any, payments: Any) -> str:
    """Return how many rows were scored and listed, what to expect and what is special."""
    import numpy as np

    from toprank.present import summary

    n_listed = len(alerts.suspicion)
    noun = "" if payments.card is None else " cards"
    line = f"{alerts.n_seen:,} rows scored, {n_listed:,}{noun} listed"
    if alerts.expected is not None:
        positives = summary.noun_of(payments.label_column)
        line += f"; expect about {summary.counted(alerts.expected)} {positives} among them"
    if alerts.n_left_out:
        line += f"; {alerts.n_left_out:,} rows of cards known as fraud were left out"
    if alerts.cleared is not None and (n_cleared := int((~np.isnat(alerts.cleared)).sum())):
        line += f"; {n_cleared:,} of the cards were cleared lately"
    return f"{line}."


def is_text(output: Path | None) -> bool:
    """Return whether a list goes into text: fields of a CSV then stay as they are."""
    return output is None or output.suffix.lower() not in (".parquet", ".pq")


def as_written(alerts: Any, data: Path, output: Path | None = None, reading: Any = None) -> Any:
    """Return the list with its rows as they are in a CSV, which is read again for that."""
    from dataclasses import replace

    from toprank.data import tables

    if not is_text(output) or tables.count_rows(data) is not None:
        return alerts
    return replace(alerts, rows=tables.rows_as_written(data, alerts.row_numbers, reading))

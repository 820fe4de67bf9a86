"""`toprank rank`: the rows to check, most suspicious first."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.feature_folders import check_model, latest_day, opened_folder
from toprank.cli.list_table import ListTable
from toprank.cli.paths import card_key_option
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank rank payments.toprank today.csv -k 100 -o alerts.csv
  toprank rank payments.toprank today.parquet -k 20
  toprank rank payments.toprank today.parquet --remember -o alerts.csv
  toprank rank payments.toprank "s3://payments/2026-11-19/*.parquet" -o alerts.csv
  toprank rank payments.toprank --sql "select * from today" \\
    --database postgresql://ann@db/bank --to-table alerts --run 2026-11-19
  toprank rank payments.toprank features/ -o alerts.csv
  toprank rank payments.toprank today.csv --json | jq '.alerts[0].reasons'
"""


@click.command(epilog=EXAMPLES, short_help="List the rows to check, with reasons.")
@click.argument("model", type=click.Path(path_type=Path))
@data_argument
@click.option("--budget", "-k", type=click.IntRange(1), help="Rows to list.  [default: as fitted]")
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(0), help="Reasons per row."
)
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of a model fitted with --card.  [default: the one next to MODEL]",
)  # fmt: skip
@click.option(
    "--remember", "is_remembered", is_flag=True,
    help="Add the rows of DATA to the history, so that later payments know them.",
)  # fmt: skip
@click.option(
    "--cleared-within", default="14d", show_default=True,
    help="Flag cards that an investigator cleared within this time.",
)  # fmt: skip
@click.option(
    "--names", type=click.Path(path_type=Path),
    help="JSON or CSV file of columns in words for the reasons, such as "
    '{"TX_AMOUNT": "amount in euros"}.  [default: as given to fit]',
)  # fmt: skip
@card_key_option
@source_options(passes_database=True)
@table_options()
@force_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option(
    "--to-table", metavar="NAME",
    help="Table of --database that the list is written to, in one transaction; it is created if "
    "it is not there.",
)  # fmt: skip
@click.option(
    "--run", metavar="NAME",
    help="With --to-table: name of this run, in the column run; what the table has of the same "
    "run is replaced.  [default: MODEL, DATA and the date in UTC]",
)  # fmt: skip
@click.option(
    "--page", type=click.Path(path_type=Path),
    help="HTML page to write: the alerts, their reasons and the last 30 days of each card.  "
    "[default: next to -o, as .html]",
)  # fmt: skip
@click.option("--no-page", is_flag=True, help="Write no HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def rank(
    model: Path,
    data: DataPlace,
    budget: int | None,
    reasons: int,
    history: Path | None,
    card_key: Path | None,
    is_remembered: bool,
    cleared_within: str,
    names: Path | None,
    output: Path | None,
    to_table: str | None,
    run: str | None,
    database: str | None,
    page: Path | None,
    no_page: bool,
    as_json: bool,
    reading: Callable[[], Any],
) -> None:
    """List the rows of DATA that MODEL finds most suspicious, each with its reasons.

    DATA is a file, a folder, a pattern in quotes, or one of these in an object store (s3://, gs://,
    abfs://); with --sql, the rows are those of a query. They may be more than fit into memory. Of
    a folder that `toprank features` wrote, the latest day is ranked.

    Columns may come in any order, and may be more than the model needs: all are carried into the
    list. A model fitted with --card lists each card once, by its most suspicious row. Cards that
    `toprank label` recorded as fraud are left out, as the figures of fit assume; cards cleared
    lately are flagged.

    The list has an empty column `verdict`: fill in fraud, genuine or unsure, and give the file to
    `toprank label`. In CSV, text that a spreadsheet would run as a formula gets an apostrophe in
    front.
    """
    from toprank.cli import paths, screen

    folder = opened_folder(data.path)
    page = _page_path(page, no_page, output, model)
    for place, kind in ((output, None), (page, "page")):
        if place is not None:
            paths.check_output(place, data, kind)
    paths.check_inputs(model, data, history, card_key)
    _check_span(cleared_within)
    if output is not None:
        paths.check_list_output(output, data)
    given_names = None if names is None else read_names(names)
    listing = ListTable.of(to_table, run, database, model, data)
    # a table takes numbers as numbers
    as_text = not as_json and listing is None and is_text(output)
    with paths.opened_model(
        model, history, for_writing=is_remembered, data=data, card_key=card_key
    ) as payments:
        check_model(payments, model.name, folder, data)
        if folder is not None:
            data = DataPlace(str(folder.file_of(folder.days[-1].day)))
        if is_remembered and payments.folder_settings_ is not None:
            raise click.UsageError(
                "--remember must be left out: the model was fitted on a folder of features, and "
                "has no history; add files to the folder with toprank features."
            )
        if is_remembered and payments.state_ is None:
            raise click.UsageError(
                "--remember must be left out: the model was fitted without --card."
            )
        if given_names is not None:
            payments.names = {**(payments.names or {}), **given_names}
            note_unknown_names(given_names, payments)
        how = paths.reading_for(payments, reading())
        reader = (
            latest_day(folder)
            if folder is not None
            else paths.batches(data, payments.schema_, "scoring", as_text, how)
        )
        with reader as batches:
            alerts = payments.rank(
                batches,
                budget,
                n_reasons=reasons,
                remember=is_remembered,
                cleared_within=cleared_within,
            )
        shown: Any = None
        if page is not None:
            is_shown = as_text or not len(alerts.suspicion)
            as_listed = alerts if is_shown else as_written(alerts, data, reading=how)
            shown = alert_page(as_listed, payments, model, data, is_remembered, how)
    log_lines.report(rows=alerts.n_seen, listed=len(alerts.suspicion))
    if folder is not None:
        screen.remark(f"The list of {folder.days[-1].day}, the latest day of {folder.path}.")
    screen.remark(_what_was_done(alerts, payments))
    if budget is not None and budget > alerts.n_seen:
        screen.remark(
            f"note: -k {budget:,} is more than the {alerts.n_seen:,} rows of {data.name}."
        )
    written = []
    if output is not None:
        listed = alerts if as_text else as_written(alerts, data, output, how)
        write_list(listed, output, for_verdicts=bool(payments.label_column))
        written.append(str(output))
    if page is not None:
        from toprank.present.alert_page import write_alert_page

        write_alert_page(shown, page)
        written.append(str(page))
    if listing is not None:
        written.append(listing.write(alerts, for_verdicts=bool(payments.label_column)))
    if written:
        screen.remark(f"Wrote {' and '.join(written)}")
    if as_json:
        screen.print_json(document(alerts))
    elif output is None and listing is None:
        print_list(alerts, for_verdicts=bool(payments.label_column))
    if is_remembered:
        from toprank.payments.model_files import history_folder

        screen.remark(f"Remembered {alerts.n_seen:,} rows in {history or history_folder(model)}")


def _check_span(value: str) -> None:
    """Raise unless --cleared-within is a length of time."""
    from toprank.data.tables.spans import span_of

    try:
        span_of(value, "--cleared-within")
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def write_list(alerts: Any, output: Path, for_verdicts: bool = False) -> None:
    """Write the list to a file, for its owner alone; text has our numbers rounded for reading."""
    from toprank.data import tables
    from toprank.data.atomic import PRIVATE

    table = alerts.to_table(for_verdicts, rounded=is_text(output))
    tables.write_rows(table, output, mode=PRIVATE)


def print_list(alerts: Any, for_verdicts: bool = False) -> None:
    """Print the list: in lines for a person, as CSV for a program."""
    from toprank.cli import screen

    if screen.is_terminal():
        screen.show(screen.alert_lines(alerts))
    else:
        screen.print_csv(alerts.to_table(for_verdicts, rounded=True))


def document(alerts: Any) -> dict[str, Any]:
    """Return the list in plain values, the reasons apart and in words."""
    rows = alerts.to_table().drop_columns(["reasons"]).to_pylist()
    for place, row in enumerate(rows):
        row["reasons"] = [each.to_json() for each in alerts.reasons[place]]
        if alerts.less_suspicious is not None:
            row["together"] = alerts.together[place] if alerts.together else []
            row["less_suspicious"] = [each.to_json() for each in alerts.less_suspicious[place]]
    expected = {} if alerts.expected is None else {"expected": alerts.expected._asdict()}
    return {"rows": alerts.n_seen, **expected, "alerts": rows}


def read_names(path: Path) -> dict[str, str]:
    """Return columns in words from a JSON object, or from the first two fields of CSV lines."""
    import csv
    import json

    content = path.read_text(encoding="utf-8-sig")
    try:
        if path.suffix.lower() == ".json":
            found = json.loads(content)
        else:
            lines = [line for line in csv.reader(content.splitlines()) if any(line)]
            found = {column.strip(): words.strip() for column, words in lines}
    except ValueError as error:
        raise ValueError(_no_names(path)) from error
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ValueError(_no_names(path))
    return {column: words for column, words in found.items() if words}


def note_unknown_names(names: dict[str, str], payments: Any) -> None:
    """Report names of columns that the model does not have."""
    from toprank.cli import screen
    from toprank.data import checks

    known = [*payments.ranker_.schema_.names, *payments.facts.values()]
    if payments.state_ is not None:
        known += payments.state_.history.columns
    if payments.schema_ is not None:
        known += payments.schema_.names
    for name in names:
        if name not in known and name.lower() != "column":
            hint = checks.nearest_name(name, known) or "."
            screen.remark(f"note: --names has {name!r}, which the model does not use{hint}")


def _no_names(path: Path) -> str:
    return (
        f"{path.name} must have a column and its words per line (CSV), or be a JSON object such "
        'as {"TX_AMOUNT": "amount in euros"}; see --names.'
    )


def _page_path(page: Path | None, no_page: bool, output: Path | None, model: Path) -> Path | None:
    """Return where the page of a list is written; None if it is not.

    It must not replace the report of the model, which may have the same name.
    """
    if no_page:
        if page is not None:
            raise click.UsageError("--page must be left out with --no-page.")
        return None
    if page is not None:
        if page.suffix.lower() not in (".html", ".htm"):
            raise click.UsageError(f"--page must end in .html; got {page.name}.")
        return page
    if output is None:
        return None
    stem = output.name.split(".")[0]
    default = output.parent / f"{stem}.html"
    is_report = default.resolve() == model.with_suffix(".html").resolve()
    return output.parent / f"{stem}.alerts.html" if is_report else default


def alert_page(
    alerts: Any,
    payments: Any,
    model: Path,
    data: DataPlace,
    is_remembered: bool = False,
    how: Any = None,
) -> Any:
    """Return the page of a list, with the latest payments of each card from the history."""
    from toprank import __version__
    from toprank.cli import paths
    from toprank.present import summary
    from toprank.present.alert_page import PAST_DAYS, AlertPage, past_rows

    pasts = None
    if payments.state_ is not None and alerts.facts is not None:
        if is_remembered:
            rows = payments.recent_payments(alerts, PAST_DAYS)
        else:
            with paths.batches(data, payments.schema_, "reading again", reading=how) as batches:
                rows = payments.recent_payments(alerts, PAST_DAYS, batches)
        pasts = [
            past_rows(each, payments.facts, payments.label_column, fact)
            for each, fact in zip(rows, alerts.facts.to_pylist(), strict=True)
        ]
    return AlertPage(
        title=f"Alerts in {data.name}",
        alerts=alerts,
        facts=payments.facts,
        noun=summary.noun_of(payments.label_column),
        made_with=f"toprank {__version__} from {model.name}",
        names=payments.names or {},
        pasts=pasts,
    )


def _what_was_done(alerts: Any, payments: Any) -> str:
    """Return how many rows were scored and listed, what to expect and what is special."""
    import numpy as np

    from toprank.present import summary

    n_listed = len(alerts.suspicion)
    noun = "" if payments.card is None else f" {summary.plural('card', n_listed)}"
    scored = f"{alerts.n_seen:,} {summary.plural('row', alerts.n_seen)} scored"
    line = f"{scored}, {n_listed:,}{noun} listed"
    if alerts.expected is not None:
        positives = summary.noun_of(payments.label_column)
        line += f"; expect about {summary.counted(alerts.expected)} {positives} among them"
    if alerts.n_left_out:
        line += f"; {alerts.n_left_out:,} rows of cards known as fraud were left out"
    if alerts.cleared is not None and (n_cleared := int((~np.isnat(alerts.cleared)).sum())):
        line += (
            f"; {n_cleared:,} of the cards {'was' if n_cleared == 1 else 'were'} cleared lately"
        )
    return f"{line}."


def is_text(output: Path | None) -> bool:
    """Return whether a list goes into text: fields of a CSV then stay as they are."""
    return output is None or output.suffix.lower() not in (".parquet", ".pq")


def as_written(
    alerts: Any, data: DataPlace, output: Path | None = None, reading: Any = None
) -> Any:
    """Return the list with its rows as they are in a CSV, which is read again for that."""
    from dataclasses import replace

    if not is_text(output) or not data.source.may_be_text:
        return alerts
    return replace(alerts, rows=data.source.rows_as_written(alerts.row_numbers, reading))

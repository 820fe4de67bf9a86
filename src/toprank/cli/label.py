"""`toprank label`: verdicts and claims that came later, for the ledger of a model."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank label payments.toprank alerts.csv                       # the verdicts of a list
  toprank label payments.toprank claims.parquet --known-at reported_at
  toprank label payments.toprank checks.csv --source investigator --who "team 2"
"""

_SOURCES = {"investigator": "an investigator's verdict", "claim": "a claim"}


@click.command(epilog=EXAMPLES, short_help="Record which payments were fraud.")
@click.argument("model", type=click.Path(path_type=Path))
@data_argument
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of the model.  [default: the one next to it]",
)  # fmt: skip
@click.option(
    "--known-at",
    help="Column of the times at which the labels became known.  [default: the time of the "
    "newest payment in the history]",
)
@click.option(
    "--source", type=click.Choice(("investigator", "claim")),
    help="Where the labels come from.  [default: investigator for verdicts, claim for labels]",
)  # fmt: skip
@click.option("--who", default="", help="Name to record with the labels.")
@source_options()
@table_options()
def label(
    model: Path,
    data: DataPlace,
    history: Path | None,
    known_at: str | None,
    source: str | None,
    who: str,
    reading: Callable[[], Any],
) -> None:
    """Record the labels of payments that the history of MODEL remembers.

    DATA is a list that `toprank rank` wrote, with its column `verdict` filled in (fraud, genuine
    or unsure), or a table with the columns of --id and --label that MODEL was fitted with. A
    payment may be labelled again: the label known last holds, and of those known at the same time
    an investigator's. Terminals where frauds were found are then more suspicious to `toprank
    rank`, cards found fraudulent leave its list, and `toprank refit` learns from all of it.

    The exit code is 1 where no label found its payment.
    """
    from dataclasses import replace

    from toprank.cli import paths, screen

    paths.check_inputs(model, data)
    from toprank.data import tables
    from toprank.payments.verdicts import VERDICT, overruling_label, verdicts_in

    with paths.opened_model(model, history, for_writing=True, data=data) as payments:
        if payments.row_id is None:
            raise ValueError(
                f"{model.name} must be fitted with --card and --id for labels to find their "
                "payments; it was not; fit it again with both."
            )
        times = () if known_at is None else (known_at,)
        required = [payments.row_id, *times]
        labels = [payments.label_column, VERDICT]
        how = replace(reading(), times=times)
        there = data.source.column_names(how)
        table = data.source.table(
            columns=[name for name in (*required, *labels) if name in there] or None,
            as_text=[payments.row_id],
            required=required,
            labels=labels,
            reading=how,
        )
        found = verdicts_in(table, payments.row_id, payments.label_column, payments.classes_)
        known = None
        if known_at is not None:
            known = tables.time_column(table, known_at)[found.rows]
        counts = payments.label(
            found.ids, found.is_positive, known_at=known, source=source or found.source, who=who
        )
        over = None
        if counts.n_overruled:
            over = overruling_label(payments.state_.ledger, found.ids, found.is_positive)
    log_lines.report(labels=len(found.ids), recorded=counts.n_new + counts.n_corrected)
    for line in _lines(found, counts, payments.row_id, over):
        screen.remark(line)
    if not counts.n_new + counts.n_corrected + counts.n_known + counts.n_overruled:
        sys.exit(1)


def _lines(found: Any, counts: Any, row_id: str, over: Any = None) -> list[str]:
    """Return what became of the labels, a line for each thing worth knowing."""
    said = [
        f"{count:,} {what}"
        for count, what in (
            (counts.n_new, "new"),
            (counts.n_corrected, "corrected"),
            (counts.n_known, "known already"),
            (counts.n_overruled, "overruled"),
        )
        if count
    ]
    labels = "1 label" if len(found.ids) == 1 else f"{len(found.ids):,} labels"
    lines = [f"{labels}: {', '.join(said) or 'none found its payment'}."]
    if over is not None:
        lines.append(
            f"note: payment {over.row_id!r} stays {'fraud' if over.is_positive else 'genuine'}: "
            f"{_SOURCES[over.source]} known since {_at(over.known)} says so, and holds over the "
            "label given; the label known last holds, and of those known at the same time an "
            "investigator's."
        )
    if counts.n_unknown:
        first = ", ".join(repr(str(found.ids[place])) for place in counts.unknown[:3])
        lines.append(
            f"note: the history has no payment for {counts.n_unknown:,} of the ids in "
            f"{row_id!r}, such as {first}; they were not recorded."
        )
    if found.n_empty or found.n_unsure:
        lines.append(
            f"{found.n_empty:,} rows have no verdict, {found.n_unsure:,} are unsure: nothing was "
            "recorded for them."
        )
    return lines


def _at(moment: Any) -> str:
    return str(moment.astype("datetime64[s]")).replace("T", " ")

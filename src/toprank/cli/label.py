"""`toprank label`: verdicts that came later, for the history of a model."""

from pathlib import Path

import click

EXAMPLES = """
\b
Examples:
  toprank label payments.toprank verdicts.csv
  toprank label payments.toprank claims.parquet --known-at reported_at
"""


@click.command(epilog=EXAMPLES, short_help="Tell a model's history which rows were positive.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of the model.  [default: the one beside it]",
)  # fmt: skip
@click.option(
    "--known-at", help="Column of when each became known.  [default: as late as --delay of fit]"
)
def label(model: Path, data: Path, history: Path | None, known_at: str | None) -> None:
    """Take in labels, new ones and corrections, of rows that the history of MODEL remembers.

    DATA has two columns, called as those of --id and --label when MODEL was fitted. Terminals
    where frauds were found are then more suspicious to `toprank rank`; the model itself learns
    when it is fitted again.
    """
    from toprank import tables
    from toprank.cli import files, payments, screen

    ranker, facts = files.open_model(model)
    past = payments.open_history(model, facts, history)
    if past is None or past.row_id is None:
        raise ValueError(
            f"{model.name} must be fitted with --card and --id for labels to find their rows; it "
            "was not; fit it again with both."
        )
    named = [past.row_id, past.label_column, *([known_at] if known_at else [])]
    table = tables.read_table(data, named, as_text=[past.row_id])
    truths = tables.truths(table, past.label_column, *payments.classes_of(ranker))
    known = table.filter(truths.is_valid())
    taken = past.label(
        known[past.row_id].to_pylist(),
        truths.drop_null().to_numpy(zero_copy_only=False),
        None if known_at is None else tables.time_column(known, known_at),
    )
    payments.remember(past, history or payments.history_path(model))
    screen.remark(
        f"{taken.n_new:,} of {known.num_rows:,} labels are new, {taken.n_corrected:,} correct an "
        f"earlier one, {taken.n_known:,} were known already, {taken.n_unknown:,} have an unknown "
        f"{past.row_id}."
    )

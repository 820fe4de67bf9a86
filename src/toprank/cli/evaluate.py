"""`toprank evaluate`: how a model ranks labelled rows."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.paths import card_key_option
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank evaluate payments.toprank october.csv
  toprank evaluate payments.toprank october.parquet --time paid_at -k 50 --json
"""


@click.command(epilog=EXAMPLES, short_help="Measure how a model ranks labelled rows.")
@click.argument("model", type=click.Path(path_type=Path))
@data_argument
@click.option("--label", help="Column of labels.  [default: as fitted]")
@click.option("--time", help="Column of times, for a list per day.  [default: as fitted]")
@click.option(
    "--history", type=click.Path(path_type=Path),
    help="History of a model fitted with --card.  [default: the one next to it]",
)  # fmt: skip
@click.option(
    "--budget", "-k", type=click.IntRange(1),
    help="Checks per day, or per list.  [default: as fitted]",
)  # fmt: skip
@card_key_option
@source_options()
@table_options()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def evaluate(
    model: Path,
    data: DataPlace,
    label: str | None,
    time: str | None,
    history: Path | None,
    card_key: Path | None,
    budget: int | None,
    as_json: bool,
    reading: Callable[[], Any],
) -> None:
    """Measure how well MODEL ranks the labelled rows of DATA."""
    from toprank.cli import paths, screen

    paths.check_inputs(model, data)
    from toprank.cli.fit import report_budget
    from toprank.data.tables.columns import shortened
    from toprank.present import summary
    from toprank.workflow.plain_facts import evaluation_facts

    with paths.opened_model(model, history, data=data, card_key=card_key) as payments:
        _check_labelled(payments.ranker_, model)
        label = label or payments.label_column
        if not label:
            raise click.UsageError("--label must name the column of labels; the model names none.")
        how = paths.reading_for(payments, reading(), time or payments.time)
        with paths.batches(data, payments.schema_, "scoring", reading=how) as batches:
            named = [label] if time is None else [label, time]
            learned = _LearnedRows(payments.learned_until, time or payments.time)
            rows = learned.counted(_watched(batches, named, payments.schema_, data.name))
            figures = payments.evaluate(rows, budget, label=label, time=time)
    learned.report(model.name)
    log_lines.report(rows=figures.is_positive.size, budget=figures.budget)
    report_budget(figures.budget, figures.longest_list, figures.day is not None)
    if as_json:
        screen.print_json(evaluation_facts(figures))
        return
    noun = summary.noun_of(label)
    share = summary.percent(figures.is_positive.mean())
    positive = f"label {shortened(payments.classes_[0])}"
    screen.show(f"{figures.is_positive.size:,} rows, {share} {noun} ({positive})")
    screen.show(summary.aligned(summary.figures_rows([(model.name, figures)], noun)))
    screen.show(f"AUC {figures.roc_auc}")
    for line in summary.card_lines(figures, noun):
        screen.show(line)


class _LearnedRows:
    """Counts the rows that are not newer than the newest one that the model learned from."""

    def __init__(self, until: Any, time: str | None) -> None:
        self._until, self._time = until, time
        self._n_rows = self._n_learned = 0

    def counted(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches as they are."""
        from toprank.data.tables.times import time_column

        for batch in batches:
            name = self._time if self._time in batch.column_names else None
            if self._until is not None and name is not None:
                moments = time_column(batch, name)
                self._n_rows += moments.size
                self._n_learned += int((moments <= self._until).sum())
            yield batch

    def report(self, model: str) -> None:
        """Say how many rows the model may have learned from."""
        from toprank.cli import screen

        if self._n_learned:
            screen.remark(
                f"note: {self._n_learned:,} of {self._n_rows:,} rows are not newer than the "
                f"newest one that {model} learned from ({self._until.astype('datetime64[D]')}): "
                "if they were among those, the figures are too good."
            )


def _watched(batches: Iterable[Any], names: list[str], schema: Any, source: str) -> Iterator[Any]:
    """Yield batches, which must have these columns; note columns that say little to the model."""
    from toprank.data import tables

    watch = tables.NewValues(schema, source)
    for batch in batches:
        tables.check_columns(names, batch.column_names, source)
        watch.see(batch)
        yield batch
    watch.end()


def _check_labelled(ranker: Any, model: Path) -> None:
    from toprank.workflow.alert_list import has_probabilities

    if not has_probabilities(ranker):
        raise ValueError(
            f"{model.name} must come from labelled rows to be measured; its learner, "
            f"{type(ranker).__name__}, learned without labels; judge such learners with toprank "
            "anomalies DATA --label COLUMN --compare."
        )

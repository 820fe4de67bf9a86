"""`toprank anomalies`: the most unusual rows of a table that has no labels."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import click

from toprank.cli import log_lines
from toprank.cli.data_place import DataPlace
from toprank.cli.existing_files import force_option
from toprank.cli.fit import refuse_given
from toprank.cli.table_options import data_argument, source_options, table_options

EXAMPLES = """
\b
Examples:
  toprank anomalies payments.csv -k 100 -o unusual.csv --report unusual.html
  toprank anomalies payments.parquet --drop card --drop paid_at --model unusual.toprank
  toprank anomalies payments.csv -k 20 --detector tree --tree
  toprank anomalies payments.csv --compare
  toprank anomalies payments.csv --label checked -k 50 --json
"""
_MOST_JUDGED = 100_000


@click.command(epilog=EXAMPLES, short_help="List the most unusual rows; no labels are needed.")
@data_argument
@click.option(
    "--budget", "-k", default=100, show_default=True, type=click.IntRange(1), help="Rows to list."
)
@click.option("--drop", multiple=True, help="Column to leave out; may be repeated.")
@click.option(
    "--keep", multiple=True,
    help="Column to look at although it looks like an id; may be repeated.",
)  # fmt: skip
@source_options()
@table_options(times=False)
@force_option
@click.option(
    "--detector",
    default="forest",
    show_default=True,
    type=click.Choice(("forest", "tree")),
    help="forest finds more; tree is a single tree that people can read, with a rule per row.",
)
@click.option(
    "--bounds",
    default="range",
    show_default=True,
    type=click.Choice(("range", "robust")),
    help="The box whose space counts: around all rows, or around most of them where a few extreme "
    "values would make it too large.",
)
@click.option(
    "--label",
    help="Column of known anomalies: 1 or yes for anomalies, 0 or no for others, empty where not "
    "known. It chooses the detector and is never learned from.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="List no rows; judge detectors side by side, by space and by --label if given.",
)
@click.option(
    "--reasons", default=5, show_default=True, type=click.IntRange(0), help="Reasons per row."
)
@click.option("--tree", is_flag=True, help="With --detector tree: print the tree and its rules.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option(
    "--model", type=click.Path(path_type=Path),
    help="Model file to write, for toprank rank on other rows.",
)  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), help="HTML page to write.")
@click.option("--json", "as_json", is_flag=True, help="Print the list or the figures as JSON.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1),
    help="Random seed.",
)  # fmt: skip
def anomalies(
    data: DataPlace,
    budget: int,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    detector: str,
    bounds: str,
    label: str | None,
    compare: bool,
    reasons: int,
    tree: bool,
    output: Path | None,
    model: Path | None,
    report: Path | None,
    as_json: bool,
    seed: int,
    reading: Callable[[], Any],
) -> None:
    """List the rows of DATA that are most unusual, with what makes them so.

    A row is unusual when few rows have values near its own, taken together. No label is needed,
    and no probability is given: unusual is not wrong. Columns that only name their rows are not
    looked at. All columns are carried into the list.
    """
    from toprank.cli import paths, screen
    from toprank.cli.rank import as_written, document, print_list, write_list

    _check_call(label, drop, keep, detector, compare, tree)
    paths.check_inputs(data)
    from toprank.workflow.alert_list import most_unusual

    _check_outputs(data, output, model, report)
    how = reading()
    table = _read(data, label, [*drop, *keep], how)
    features, known = _features_and_labels(table, label, drop, keep)
    if compare:
        _compare(features, known, seed, as_json)
        return
    fitted, remarks = _fitted(features, known, _new_detector(detector, bounds, seed), seed)
    alerts = most_unusual(fitted, table, budget, reasons)
    log_lines.report(rows=alerts.n_seen, listed=len(alerts.suspicion))
    rows = "row" if alerts.n_seen == 1 else "rows"
    screen.remark(
        f"{alerts.n_seen:,} {rows} read, the {len(alerts.suspicion):,} most unusual listed."
    )
    if budget > alerts.n_seen:
        screen.remark(
            f"note: -k {budget:,} is more than the {alerts.n_seen:,} rows of {data.name}."
        )
    if model is not None:
        _write_model(fitted, model, budget, table)
    if report is not None:
        _write_report(report, data, fitted, alerts, features, bounds, seed, remarks)
    if output is not None:
        write_list(as_written(alerts, data, output, how), output)
        screen.remark(f"Wrote {output}")
    if as_json:
        screen.print_json(
            {"detector": type(fitted).__name__, **document(alerts), **_tree_facts(fitted, tree)}
        )
    elif tree:
        _print_tree(fitted, None if output else alerts)
    elif output is None:
        print_list(alerts if screen.is_terminal() else as_written(alerts, data, reading=how))


def _check_call(
    label: str | None,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    detector: str,
    compare: bool,
    tree: bool,
) -> None:
    """Raise for options that contradict each other."""
    if label is not None and label in drop:
        raise click.UsageError(f"--drop must not name the label; got {label!r}.")
    if contradicting := {label, *drop} & set(keep):
        raise click.UsageError(
            f"--keep must name a column to look at; {sorted(map(str, contradicting))[0]!r} is "
            "given to --label or --drop."
        )
    if tree and detector != "tree":
        raise click.UsageError(
            "--tree must come with --detector tree: a forest has no single tree to print."
        )
    if label is not None:
        refuse_given(
            "--label",
            {
                "detector": "the labels choose it; --drop leaves out a column of labels",
                "bounds": "the detectors to choose from have their own",
            },
        )
    if compare:
        no_list = "it lists no rows"
        refuse_given(
            "--compare",
            {
                "detector": "several are judged",
                "bounds": "all are judged in one box",
                **dict.fromkeys(("budget", "reasons", "tree", "output", "report"), no_list),
                "model": "it keeps none",
            },
        )


def _check_outputs(
    data: DataPlace, output: Path | None, model: Path | None, report: Path | None
) -> None:
    """Raise unless all files can be written, each at a place of its own."""
    from toprank.cli import paths

    if output is not None:
        paths.check_list_output(output, data)
    for path, kind in ((model, "model"), (report, "page")):
        if path is not None:
            paths.check_output(path, data, kind)
    named = [path.resolve() for path in (output, model, report) if path is not None]
    if len(set(named)) < len(named):
        raise click.UsageError("-o, --model and --report must name different files.")


def _read(data: DataPlace, label: str | None, named: list[str], reading: Any) -> Any:
    """Return the table in a file, which must have the columns that were named."""
    from toprank.cli import screen

    labels = [] if label is None else [label]
    with screen.busy(f"reading {data.name}"):
        return data.source.table(required=[*labels, *named], labels=labels, reading=reading)


def _features_and_labels(
    table: Any, label: str | None, drop: tuple[str, ...], keep: tuple[str, ...]
) -> tuple[Any, Any]:
    """Return the columns to look at, and what the label says of each row; None without one."""
    import pyarrow.types as pt

    from toprank.data.tables import TableError
    from toprank.data.tables.id_columns import without_ids
    from toprank.rankers.anomaly.known_labels import known_labels

    names = [name for name in table.column_names if name not in {label, *drop}]
    if not names:
        raise TableError(
            "the table must have a column to look at in addition to the label and the dropped "
            f"ones; got only {', '.join(map(repr, table.column_names))}."
        )
    _refuse_columns(
        [name for name in names if pt.is_temporal(table[name].type)],
        "dates or times",
        "or turn them into numbers such as the hour of the day",
    )
    _refuse_columns(
        [name for name in names if table[name].null_count == table.num_rows],
        "no value at all",
        "for nothing can be learned from it",
    )
    return table.select(without_ids(table, names, keep)), None if label is None else known_labels(
        table, label
    )


def _refuse_columns(names: list[str], contents: str, advice: str) -> None:
    """Raise where columns hold what cannot be used, and name the way to leave all of them out."""
    from toprank.data.tables import TableError

    if names:
        word = "column holds" if len(names) == 1 else "columns hold"
        drops = " ".join(f"--drop {quote(name)}" for name in names)
        raise TableError(
            f"{word} {contents}: {', '.join(map(repr, names))}; leave out with {drops}, {advice}."
        )


def _new_detector(name: str, bounds: str, seed: int) -> Any:
    from toprank import AnomalyTreeRank
    from toprank.rankers.anomaly.anomaly_forest import AnomalyForest

    tree = AnomalyTreeRank(bounds=bounds, random_state=seed)
    if name == "tree":
        return tree
    # isolation trees have no box to choose: extreme values do not blow anything up there
    return AnomalyForest(None if bounds == "range" else tree, random_state=seed, n_jobs=-1)


def _fitted(features: Any, known: Any, detector: Any, seed: int) -> tuple[Any, list[str]]:
    """Return the fitted detector, chosen by labels if there are any, and what the report says."""
    from toprank.cli import screen

    remarks = []
    if known is not None:
        detector, remark = _chosen(features, known, seed)
        screen.remark(remark)
        remarks.append(remark)
    with screen.busy(f"looking at {features.num_rows:,} rows"):
        fitted = detector.fit(features)
    return fitted, remarks + _warn_of_atoms(features, fitted.schema_)


def _chosen(features: Any, known: Any, seed: int) -> tuple[Any, str]:
    """Return the detector that the labels favour, not fitted yet, and why it is that one."""
    import numpy as np
    from sklearn.base import clone

    from toprank.cli import screen
    from toprank.rankers.anomaly.detector_choice import DetectorChoice
    from toprank.rankers.anomaly.detector_comparison import default_detectors

    rows = _rows_to_judge(known, seed)
    defaults = default_detectors(features.num_columns, rows.size, seed, n_jobs=-1)
    # a list without reasons helps little
    detectors = {name: each for name, each in defaults.items() if hasattr(each, "contributions")}
    with screen.busy("choosing a detector"):
        choice = DetectorChoice(detectors, random_state=seed).fit(features.take(rows), known[rows])
    best = choice.judged_[0]
    if best.average_precision is None:
        why = f"the smallest area under the mass-volume curve, {best.area}"
    else:
        n_labels = np.count_nonzero(~np.isnan(known))
        why = f"AP {best.average_precision:.2f} on {n_labels:,} labelled rows"
    remark = f"Chose {choice.chosen_} among {len(detectors)} that give reasons: {why}."
    return clone(choice.detector_), remark


def _rows_to_judge(known: Any, seed: int) -> Any:
    """Return the rows to judge detectors by: of very many, those with a label and a sample."""
    import numpy as np

    from toprank.cli import screen

    if known.size <= _MOST_JUDGED:
        return np.arange(known.size)
    generator = np.random.default_rng(seed)
    drawn = generator.choice(known.size, _MOST_JUDGED, replace=False)
    rows = np.union1d(drawn, np.flatnonzero(~np.isnan(known)))
    screen.remark(f"note: detectors are judged by {rows.size:,} of the {known.size:,} rows.")
    return rows


def _warn_of_atoms(features: Any, schema: Any) -> list[str]:
    """Warn of values that so many rows share that space says nothing; return what was said."""
    import warnings

    from toprank.rankers.anomaly.atoms import AtomWarning, atoms_of, atoms_sentence

    sentence = atoms_sentence(atoms_of(schema.encode(features), schema))
    if not sentence:
        return []
    warnings.warn(sentence, AtomWarning, stacklevel=2)
    return [sentence]


def _compare(features: Any, known: Any, seed: int, as_json: bool) -> None:
    """Print how detectors do, side by side."""
    import numpy as np

    from toprank.cli import screen
    from toprank.data.tables import Schema
    from toprank.rankers.anomaly.detector_comparison import (
        as_text,
        default_detectors,
        judge_detectors,
    )

    labels = np.full(features.num_rows, np.nan) if known is None else known
    rows = _rows_to_judge(labels, seed)
    judged_rows = features.take(rows)
    _warn_of_atoms(judged_rows, Schema.of(judged_rows))
    with screen.busy("judging detectors"):
        judged = judge_detectors(
            default_detectors(features.num_columns, rows.size, seed, n_jobs=-1),
            judged_rows,
            y=labels[rows],
            random_state=seed,
        )
    if as_json:
        screen.print_json([vars(each) | {"area": each.area._asdict()} for each in judged])
    else:
        screen.show(as_text(judged))


def _write_model(fitted: Any, model: Path, budget: int, table: Any) -> None:
    from toprank import files
    from toprank.cli import screen
    from toprank.data.tables import Reading

    reading = Reading.of(table).to_json()
    files.save(fitted, model, {"budget": budget, "rows": table.num_rows, "reading": reading})
    screen.remark(f"Wrote {model}")


def _write_report(
    report: Path,
    data: DataPlace,
    fitted: Any,
    alerts: Any,
    features: Any,
    bounds: str,
    seed: int,
    remarks: list[str],
) -> None:
    """Write the page, and report how tightly the detector encloses held-out rows."""
    from toprank.cli import screen
    from toprank.present.report.anomaly_report import anomaly_report_of, write_anomaly_report
    from toprank.rankers.anomaly.held_out import held_out_curve

    with screen.busy("measuring space"):
        held_out = held_out_curve(fitted, features, bounds, seed)
    contents = anomaly_report_of(
        fitted, alerts, features, held_out, title=data.name, remarks=remarks
    )
    write_anomaly_report(contents, report)
    screen.remark(
        f"Area under the mass-volume curve of {held_out.n_judged:,} held-out rows: "
        f"{held_out.area}; .5 is chance, lower is better."
    )
    screen.remark(f"Wrote {report}")


def _print_tree(fitted: Any, alerts: Any) -> None:
    """Print the tree, its rules and, unless they went to a file, the rows of the list."""
    from toprank.cli import screen
    from toprank.cli.explain_tree import tree_text
    from toprank.present import summary
    from toprank.rankers.trees.reading.words import SPACE

    screen.show(tree_text(fitted, summary.rules_of(fitted), SPACE))
    if alerts is not None:
        screen.show(f"\n{screen.alert_lines(alerts)}")


def _tree_facts(fitted: Any, tree: bool) -> dict[str, Any]:
    """Return the groups of the tree in plain values, if requested."""
    if not tree:
        return {}
    from toprank.cli.explain_tree import tree_facts
    from toprank.present import summary
    from toprank.rankers.trees.reading.words import SPACE

    return {"groups": tree_facts(fitted, summary.rules_of(fitted), SPACE)["groups"]}

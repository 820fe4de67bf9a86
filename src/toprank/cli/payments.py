"""Models that know cards and terminals by their past: the history beside the model file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from toprank.cli import files, screen

LATE_DAYS = 7  # rows up to so much older than the newest still find what they need
FORGET_DAYS = 400  # cards unseen for longer are forgotten, so that a history cannot grow for ever


class Past(NamedTuple):
    """What the command line says of payments: which column is what, and when labels are known."""

    roles: Any
    delay: str
    features: Path | None


def past_of(
    time: str | None,
    card: str | None,
    terminal: str | None,
    amount: str | None,
    row_id: str | None,
    delay: int | None,
    features: Path | None,
) -> Past | None:
    """Return what the options say of payments; None where --card is left out."""
    from toprank.transactions.payments import Roles

    if card is None:
        others = {"--terminal": terminal, "--amount": amount, "--id": row_id, "--delay": delay}
        for option, value in {**others, "--features": features}.items():
            if value is not None:
                raise click.UsageError(f"{option} must come with --card: it is about its past.")
        return None
    for option, value in {"--time": time, "--terminal": terminal, "--amount": amount}.items():
        if value is None:
            raise click.UsageError(f"{option} must be given with --card, to tell its past.")
    roles = Roles(str(time), card, str(terminal), str(amount), row_id)
    if len(set(roles.names)) < len(roles.names):
        raise click.UsageError(
            "--time, --card, --terminal, --amount and --id must name different columns; got "
            f"{', '.join(roles.names)}."
        )
    return Past(roles, f"{7 if delay is None else delay}d", features)


def with_past(table: Any, past: Past, label: str, labels: Any) -> tuple[Any, Any]:
    """Return a labelled table with features of the past beside its columns, and the history."""
    from toprank import tables
    from toprank.transactions.payments import new_history, with_features

    features = None if past.features is None else _features_in(past.features)
    history = new_history(past.roles, label, past.delay, features)
    tables.check_columns(history.columns, table.column_names)
    with screen.busy(f"{len(history.names)} features of the past"):
        classes = labels.positive, labels.negative
        return with_features(history, table, classes, labels=labels), history


def history_path(model: Path) -> Path:
    """Return where the history of a model lies: beside it."""
    if model.suffix.lower() == ".history":
        raise click.UsageError(
            f"-o must name the model; {model.name} is the name of its history; end it in .toprank."
        )
    return model.with_suffix(".history")


def noted_roles(noted: Any) -> Any:
    """Return which column is what, as `fit` noted it; None where it did not, or is not sound."""
    from toprank.transactions.payments import Roles

    if not isinstance(noted, dict) or set(noted) != set(Roles._fields):
        return None
    if not all(isinstance(noted[name], str) for name in Roles._fields if name != "row_id"):
        return None
    return Roles(**noted)


def open_history(model: Path, facts: files.Facts, given: Path | None = None) -> Any:
    """Return the history a model needs, as given or from beside it; None if it needs none."""
    from toprank.transactions.features import History

    if facts.payments is None:
        if given is not None:
            raise click.UsageError(
                f"--history must be left out: {model.name} was fitted without --card, and knows "
                "no history."
            )
        return None
    path = given or history_path(model)
    if not path.exists():
        raise FileNotFoundError(
            f"{model.name} knows cards by their history, and there is no file {path}; name it "
            "with --history, or fit again."
        )
    with screen.busy(f"reading {path.name}"):
        history = History.load(path)
    if history.id != facts.history:
        raise ValueError(
            f"{path.name} must be the history that was written with {model.name}; it belongs to "
            "another model; name the right one with --history, or fit again."
        )
    return history


@contextmanager
def batches(data: Path, ranker: Any, history: Any, doing: str) -> Iterator[Iterator[Any]]:
    """Give the rows of a file batch by batch, with the features the ranker needs beside them.

    The history, if there is one, remembers the rows as they pass: in memory only.
    """
    if history is None:
        with files.batches(data, ranker.schema_, doing) as plain:
            yield plain
    else:
        with files.batches(data, _schema_of_rows(ranker, history), doing) as plain:
            yield _with_features(plain, data, ranker, history)


@contextmanager
def batches_to_list(
    data: Path, ranker: Any, history: Any, as_text: bool, must_be_new: bool
) -> Iterator[Iterator[Any]]:
    """Give the rows as `batches` does, each batch with its rows as the file has them.

    Where `as_text`, those of a CSV are text. Where they `must_be_new`, it is an error that most of
    them are not after the newest row of the history; it is raised once all rows are read.
    """
    if history is None:
        with files.batches(data, ranker.schema_, "scoring", is_written=as_text) as plain:
            yield plain
    else:
        schema = _schema_of_rows(ranker, history)
        with files.batches(data, schema, "scoring", is_written=as_text) as plain:
            yield _listable(plain, data, ranker, history, must_be_new)


def remember(history: Any, path: Path) -> None:
    """Write a history to a file, without what no row needs that is less than a week late."""
    import numpy as np

    with screen.busy(f"writing {path.name}"):
        if history.until is not None:
            history.purge(
                history.until - np.timedelta64(LATE_DAYS, "D"),
                forget=history.until - np.timedelta64(FORGET_DAYS, "D"),
            )
        history.save(path)


def classes_of(ranker: Any) -> tuple[Any, Any]:
    """Return the labels a ranker was fitted with, the positive first."""
    first, second = ranker.classes_.tolist()
    return (first, second) if first == ranker.positive_label_ else (second, first)


def _features_in(path: Path) -> Any:
    """Return the features that a JSON file describes."""
    from toprank.transactions.features import from_json

    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path.name} must hold a list of features as JSON, such as "
            f'[{{"kind": "SinceLast", "key": "card"}}]; {error}'
        ) from error


def _with_features(plain: Iterator[Any], data: Path, ranker: Any, history: Any) -> Iterator[Any]:
    for batch in _listable(plain, data, ranker, history, must_be_new=False):
        yield batch.table


def _listable(
    plain: Iterator[Any], data: Path, ranker: Any, history: Any, must_be_new: bool
) -> Iterator[Any]:
    """Give each batch with features of the past beside its columns, and as it came."""
    from toprank import tables
    from toprank.transactions.arrivals import Arrivals
    from toprank.transactions.payments import with_features

    arrivals, n_before = Arrivals(history.until), history.n_too_late
    for batch in plain:
        if not isinstance(batch, tables.WrittenBatch):
            batch = tables.WrittenBatch(batch, batch)
        arrivals.see(tables.time_column(batch.table, history.time))
        yield batch._replace(table=with_features(history, batch.table, classes_of(ranker)))
    if must_be_new:
        arrivals.check_new(data.name)
    _tell_of_join(arrivals, data)
    if not arrivals.is_in_order:
        screen.remark(
            f"note: the rows of {data.name} should be in order of {history.time!r}; a row is "
            "not known to rows of its file that come long before it."
        )
    if n_late := history.n_too_late - n_before:
        screen.remark(
            f"note: {n_late:,} rows of {data.name} are older than what the history keeps; nothing "
            "of their past is known, and their suspicion says little."
        )


def _tell_of_join(arrivals: Any, data: Path) -> None:
    """Say so where rows do not begin where the history ends."""
    days = arrivals.days_between
    if days is None:
        return
    if days < 0:
        screen.remark(
            f"note: {data.name} begins before the history ends; a row that it knows already is "
            "counted twice."
        )
    if days > 1:
        screen.remark(
            f"note: the history ends {days:.0f} days before {data.name} begins; what came between "
            "is missing from its features. Rank those rows first, with --remember."
        )


def _schema_of_rows(ranker: Any, history: Any) -> Any:
    """Return the columns to read: those the ranker takes as they are, and the amounts."""
    from toprank.tables import Column, Schema
    from toprank.transactions.features.kinds import number_columns

    numbers = number_columns(history.features)
    made = {*history.names, *numbers}
    own = [column for column in ranker.schema_.columns if column.name not in made]
    columns = (*own, *(Column(name, "number") for name in numbers))
    return Schema(columns) if columns else None

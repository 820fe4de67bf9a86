"""Folders of features as the DATA of fit and rank."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from toprank.cli.data_place import DataPlace

_NOTES, _WORK = "features.json", "_work"


def is_feature_folder(data: str | Path | None) -> bool:
    """Return whether DATA is a folder that `toprank features` wrote or is writing."""
    if data is None:
        return False
    return Path(data, _NOTES).is_file() or Path(data, _WORK).is_dir()


def opened_folder(data: str | Path | None) -> Any:
    """Return the folder of features that DATA is; None if it is something else, as a URL is."""
    if data is None or not is_feature_folder(data):
        return None
    from toprank.payments.feature_folder import FeatureFolder

    return FeatureFolder.open(data)


def roles_in(folder: Any, label: str, given: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the columns by their roles as the folder has them; `given` must not say otherwise."""
    known = folder.settings.roles._asdict()
    for name, column in {"label": label, **given}.items():
        wanted = folder.settings.label if name == "label" else known[name]
        if column not in (None, wanted):
            option = f"--{name.removeprefix('row_')}"
            needed = f"must be {wanted!r}" if wanted else "must be left out"
            raise click.UsageError(
                f"{option} {needed}, as in the features of {folder.path}; got {column!r}."
            )
    return {name: known[name] for name in given}


def check_positive(folder: Any, positive: str | None) -> None:
    """Raise where --positive names another label than the features were computed with."""
    if positive is not None and positive != str(folder.classes[0]):
        raise click.UsageError(
            f"--positive must be {folder.classes[0]!r}, as in the features of {folder.path}; got "
            f"{positive!r}."
        )


def sample_line(folder: Any, training: Any, noun: str) -> str:
    """Return in a sentence how many of the folder's rows were learned from."""
    task = training.task
    n_rows, n_positive = task.is_positive.size, int(task.is_positive.sum())
    all_positive = sum(each.n_positives for each in folder.days)
    which = f"all {n_positive:,}" if n_positive == all_positive else f"{n_positive:,}"
    n_test = training.chosen.test.is_positive.size
    return (
        f"Learned from {n_rows:,} of {folder.n_rows:,} rows: {which} {noun} and a sample of the "
        f"others; the figures are of all {n_test:,} rows of the test days."
    )


def check_model(model: Any, name: str, folder: Any, data: DataPlace) -> None:
    """Raise unless a model and DATA both have features computed before, or neither has."""
    own = model.folder_settings_
    if own is None and folder is None:
        return
    if own is None:
        raise click.UsageError(
            f"{data.name} is a folder of features, and {name} was not fitted on one; name a file "
            f"of payments, or fit a model with: toprank fit {data.typed}"
        )
    if folder is None:
        there = data.source.column_names()
        lacking = [each for each in model.schema_.names if each not in there]
        if lacking:
            raise click.UsageError(
                f"{data.name} must have the features of the past, since {name} was fitted on a "
                f"folder of them; it has no {lacking[0]!r}; compute them with toprank features, "
                "and name the folder"
            )
    elif (difference := _difference(own, folder.settings)) is not None:
        raise click.UsageError(
            f"{folder.path} must have the features that {name} was fitted on; {difference}."
        )


def _difference(own: Any, others: Any) -> str | None:
    from dataclasses import replace

    return own.difference(replace(others, positive=own.positive, drop=own.drop))


@contextmanager
def latest_day(folder: Any) -> Iterator[Iterator[Any]]:
    """Give the rows of the latest day; the list has the columns of the payments alone."""
    from toprank.cli import screen
    from toprank.data.tables import WrittenBatch

    day = folder.days[-1]
    with screen.progress_bar() as progress:

        def counted() -> Iterator[Any]:
            n_read = 0
            for table in folder.batches([day.day]):
                n_read += table.num_rows
                progress("scoring", n_read, day.n_rows)
                yield WrittenBatch(table, table.select(folder.columns))

        yield counted()

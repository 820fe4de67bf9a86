"""Lots of rows: the days where there are times, else lots drawn at random.

What runs here runs on the workers, one partition at a time. The same partition under the same
number falls into the same lots each time, so that its rows need not be kept.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import tables
from toprank.data.tables.labels import rows_by_value

_DRAWN_LOTS = 1000


class SplitColumns(NamedTuple):
    """What workers must know to find the label and the lot of a row."""

    label: str
    time: str | None
    seed: int


class PartCounts(NamedTuple):
    """The rows of one partition: how many in all, and of each label how many in which lots."""

    n_rows: int
    by_label: dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]]


class Wanted(NamedTuple):
    """The rows that are wanted of every partition: those in some lots."""

    roles: SplitColumns
    positive: Any
    lots: NDArray[np.int64]


class ChosenRows(NamedTuple):
    """Rows of one partition by their place, with label and lot."""

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    lots: NDArray[np.int64]


def counted_lots(part: Any, number: int, roles: SplitColumns, features: list[str]) -> PartCounts:
    """Return how many rows of each label a partition holds in which lots."""
    if not len(part):
        return PartCounts(0, {})
    # in all parts now, rather than in the test rows once the trees are grown
    tables.check_finite_columns(pa.Table.from_pandas(part[features], preserve_index=False))
    rows = rows_by_value(part, roles.label)
    lots = lots_of(part, number, roles, rows)
    counts = {value: np.unique(lots[each], return_counts=True) for value, each in rows.items()}
    return PartCounts(len(part), counts)


def chosen_rows(part: Any, number: int, wanted: Wanted) -> ChosenRows:
    """Return the labelled rows of a partition that are wanted."""
    none = np.empty(0, dtype=np.intp)
    if not len(part):
        return ChosenRows(none, none.astype(bool), none.astype(np.int64))
    by_label = rows_by_value(part, wanted.roles.label)
    lots = lots_of(part, number, wanted.roles, by_label)
    labelled = np.sort(np.concatenate([none, *by_label.values()]))
    rows = labelled[np.isin(lots[labelled], wanted.lots)]
    return ChosenRows(rows, np.isin(rows, by_label.get(wanted.positive, none)), lots[rows])


def lots_of(
    part: Any, number: int, roles: SplitColumns, rows_of_labels: dict[Any, NDArray[np.intp]]
) -> NDArray[np.int64]:
    """Return the lot of each row: its day since 1970, or one drawn, labels spread evenly."""
    if roles.time is not None:
        return tables.time_column(part, roles.time).astype("datetime64[D]").astype(np.int64)
    generator = np.random.default_rng([roles.seed, number])
    lots = np.zeros(len(part), dtype=np.int64)
    for rows in rows_of_labels.values():
        place = (generator.permutation(rows.size) + generator.random()) / rows.size
        lots[rows] = _DRAWN_LOTS * place
    return lots

"""Buckets of rows: days if the rows have times, else buckets drawn at random.

These functions run on the workers, one partition at a time. The same partition with the same
number gives the same buckets every time, so that its rows need not be kept.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data import tables
from toprank.data.tables.labels import rows_by_value

_DRAWN_BUCKETS = 1000


class SplitColumns(NamedTuple):
    """What workers need to find the label and the bucket of a row."""

    label: str
    time: str | None
    seed: int


class PartCounts(NamedTuple):
    """The rows of one partition: their number, and for each label its buckets and rows in them."""

    n_rows: int
    by_label: dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]]


class Wanted(NamedTuple):
    """Which rows are wanted from every partition: those in some buckets."""

    roles: SplitColumns
    positive: Any
    buckets: NDArray[np.int64]


class ChosenRows(NamedTuple):
    """Positions of some rows in a partition, with their labels and buckets."""

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    buckets: NDArray[np.int64]


def counted_buckets(
    part: Any, number: int, roles: SplitColumns, features: list[str]
) -> PartCounts:
    """Return how many rows of each label a partition has in each bucket."""
    if not len(part):
        return PartCounts(0, {})
    # now, for all rows, rather than for the test rows after the trees have grown
    tables.check_finite_columns(pa.Table.from_pandas(part[features], preserve_index=False))
    rows = rows_by_value(part, roles.label)
    buckets = buckets_of(part, number, roles, rows)
    counts = {value: np.unique(buckets[each], return_counts=True) for value, each in rows.items()}
    return PartCounts(len(part), counts)


def chosen_rows(part: Any, number: int, wanted: Wanted) -> ChosenRows:
    """Return the labelled rows of a partition that are wanted."""
    none = np.empty(0, dtype=np.intp)
    if not len(part):
        return ChosenRows(none, none.astype(bool), none.astype(np.int64))
    by_label = rows_by_value(part, wanted.roles.label)
    buckets = buckets_of(part, number, wanted.roles, by_label)
    labelled = np.sort(np.concatenate([none, *by_label.values()]))
    rows = labelled[np.isin(buckets[labelled], wanted.buckets)]
    return ChosenRows(rows, np.isin(rows, by_label.get(wanted.positive, none)), buckets[rows])


def buckets_of(
    part: Any, number: int, roles: SplitColumns, rows_of_labels: dict[Any, NDArray[np.intp]]
) -> NDArray[np.int64]:
    """Return the bucket of each row: its day since 1970, or one drawn, labels evenly spread."""
    if roles.time is not None:
        return tables.time_column(part, roles.time).astype("datetime64[D]").astype(np.int64)
    generator = np.random.default_rng([roles.seed, number])
    buckets = np.zeros(len(part), dtype=np.int64)
    for rows in rows_of_labels.values():
        place = (generator.permutation(rows.size) + generator.random()) / rows.size
        buckets[rows] = _DRAWN_BUCKETS * place
    return buckets

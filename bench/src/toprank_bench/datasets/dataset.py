"""A named table with its rare class marked, checked against what is known of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables.columns import TableError, check_columns, quoted, shortened
from toprank_bench.datasets.known_sets import KnownSet, known_of

_LEARNED_ROLES = ("amount",)  # the other roles say when and who


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of features, which of its rows are positive, and where it was found.

    `positive` says in words what a positive is. `metadata` holds the columns nobody may learn
    from: the original class, ids, the part a row came from. `roles` maps `time`, `card`,
    `terminal`, `amount` and the like to columns of `features`, for the sets that have them.
    """

    name: str
    features: pa.Table
    is_positive: NDArray[np.bool_]
    positive: str
    source: str
    metadata: pa.Table
    roles: Mapping[str, str]

    @property
    def X(self) -> pa.Table:  # noqa: N802
        """The features a learner takes as they are: without those that say when and who."""
        apart = {column for role, column in self.roles.items() if role not in _LEARNED_ROLES}
        return _without(self.features, apart)

    @property
    def y(self) -> NDArray[np.bool_]:
        """Another name of `is_positive`."""
        return self.is_positive

    def __repr__(self) -> str:
        n_rows, n_positive = self.is_positive.size, int(np.count_nonzero(self.is_positive))
        return (
            f"<Dataset {self.name}: {n_rows:,} rows, {self.features.num_columns:,} features, "
            f"{n_positive:,} positive ({self.positive}), from {self.source}>"
        )


def from_table(name: str, table: pa.Table, source: str) -> Dataset:
    """Return the data set of a table with a column `y` of 0 and 1.

    A column `label` is never a feature. A known name must have the rows and positives it is
    known to have, and its metadata are known too.

    >>> table = pa.table({"amount": [9.5, 3.0], "label": ["theft", "none"], "y": [1, 0]})
    >>> from_table("mine", table, "a list")
    <Dataset mine: 2 rows, 1 features, 1 positive (y == 1), from a list>
    """
    known = known_of(name)
    is_positive = _is_positive(table, source)
    _check_counts(name, known, is_positive, source)
    metadata = [column for column in ("label", *known.metadata) if column in table.column_names]
    features = _without(table, {*metadata, "y"})
    if not features.num_columns:
        raise TableError(
            f"{source} must hold at least one feature; it has {quoted(table.column_names)} only."
        )
    return Dataset(
        name=name,
        features=features,
        is_positive=is_positive,
        positive=known.positive,
        source=source,
        metadata=table.select(metadata),
        roles={r: column for r, column in known.roles.items() if column in features.column_names},
    )


def _without(table: pa.Table, names: set[str]) -> pa.Table:
    return table.select([column for column in table.column_names if column not in names])


def _is_positive(table: pa.Table, source: str) -> NDArray[np.bool_]:
    check_columns(["y"], table.column_names, source)
    y = table["y"]
    if y.null_count:
        raise TableError(
            f"column 'y' of {source} must hold 0 or 1 in every row; "
            f"{y.null_count:,} of {len(y):,} are missing."
        )
    if not (pt.is_boolean(y.type) or pt.is_integer(y.type) or pt.is_floating(y.type)):
        raise TableError(f"column 'y' of {source} must hold 0 and 1; it is of type {y.type}.")
    values = y.to_numpy()
    other = values[(values != 0) & (values != 1)]
    if other.size:
        raise TableError(
            f"column 'y' of {source} must hold 0 and 1; got {shortened(other[0].item())}."
        )
    is_positive = values == 1
    n_positive = int(np.count_nonzero(is_positive))
    if n_positive in (0, is_positive.size):
        raise TableError(
            f"column 'y' of {source} must hold both classes; "
            f"got {n_positive:,} positives in {is_positive.size:,} rows."
        )
    return is_positive


def _check_counts(name: str, known: KnownSet, is_positive: NDArray[np.bool_], source: str) -> None:
    if known.n_rows is None:
        return
    n_rows, n_positive = is_positive.size, int(np.count_nonzero(is_positive))
    if (n_rows, n_positive) != (known.n_rows, known.n_positive):
        raise TableError(
            f"{source} must hold {known.n_rows:,} rows with {known.n_positive:,} positives to be "
            f"{name}; it holds {n_rows:,} with {n_positive:,}; get the public set again, or give "
            "yours another name."
        )

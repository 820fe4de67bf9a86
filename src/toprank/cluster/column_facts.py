"""What the columns of a large table contain, found out where its partitions are.

The facts of one partition are small. Joined, they give the schema of the whole table, which never
has to be in one place.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank.data.tables import Column, Schema, TableError
from toprank.data.tables import schema as schemas
from toprank.data.tables import values as column_values
from toprank.data.tables.columns import required_frame
from toprank.data.tables.id_columns import count_up, may_be_ids

_KEPT_HASHES = 4096


@dataclass(frozen=True)
class PartitionColumnFacts:
    """What one column contains, in one partition or in several; without rows, nothing.

    `largest` is None unless all numbers are whole, `hashes` unless all are integers. Of integers,
    `extremes` are the lowest and the highest, and `counts_up` says that each is larger than the
    one before.
    """

    kind: str = "missing"
    n_rows: int = 0
    n_present: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    largest: float | None = 0.0
    hashes: NDArray[np.uint64] | None = field(default_factory=lambda: np.empty(0, np.uint64))
    extremes: tuple[int, ...] = ()
    counts_up: bool = True

    def n_distinct(self) -> int | None:
        """Return about how many integers are distinct, from how dense the lowest hashes are."""
        if self.hashes is None:
            return None
        if self.hashes.size < _KEPT_HASHES:
            return self.hashes.size
        return round((_KEPT_HASHES - 1) / (float(self.hashes[-1]) / 2**64))

    def n_distinct_ids(self) -> int | None:
        """Return about how many integers are distinct if they may be ids; None if not."""
        n_distinct = self.n_distinct()
        if not n_distinct or not self.extremes:
            return None
        lowest, highest = self.extremes
        is_id = self.counts_up or may_be_ids(lowest, highest, n_distinct, self.n_rows)
        return n_distinct if is_id else None


def facts_of_columns(frame: Any) -> dict[str, PartitionColumnFacts]:
    """Return what each column of one partition contains."""
    table = required_frame(frame)
    return {name: _facts(table.column(name), name) for name in table.names}


def joined(
    some: dict[str, PartitionColumnFacts], more: dict[str, PartitionColumnFacts]
) -> dict[str, PartitionColumnFacts]:
    """Return what the columns of both contain; `some` comes before `more`."""
    return {name: _joined(name, some[name], more[name]) for name in some}


def learned(facts: dict[str, PartitionColumnFacts]) -> tuple[Schema, list[str]]:
    """Return the schema of the whole table, and the warnings about it.

    >>> parts = [pa.table({"country": ["FR", None]}), pa.table({"country": ["DE", "FR"]})]
    >>> schema, _ = learned(joined(*map(facts_of_columns, parts)))
    >>> schema == Schema.of(pa.concat_tables(parts))
    True
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = Schema(tuple(_column(name, column) for name, column in facts.items()))
    return schema, [str(warning.message) for warning in caught]


def _facts(values: pa.ChunkedArray, name: str) -> PartitionColumnFacts:
    kind = column_values.kind_of(values, name)
    if kind == "category":
        categories = column_values.category_counts(values)
        n_present = sum(categories.values())
        # without any text, the type is no evidence: other partitions decide
        known = kind if n_present else "missing"
        return PartitionColumnFacts(
            known, len(values), n_present, categories, largest=None, hashes=None
        )
    if kind == "missing":
        return PartitionColumnFacts(n_rows=len(values))
    numbers = column_values.finite_numbers(values, name)
    n_present = int(np.count_nonzero(~np.isnan(numbers)))
    is_integer = pt.is_integer(values.type)
    return PartitionColumnFacts(
        kind if n_present else "missing",
        len(values),
        n_present,
        largest=schemas.largest_whole(values.type, numbers),
        hashes=_lowest_hashes(values) if is_integer else None,
        extremes=tuple(pc.min_max(values).as_py().values()) if is_integer and n_present else (),
        counts_up=is_integer and count_up(values),
    )


def _joined(
    name: str, some: PartitionColumnFacts, more: PartitionColumnFacts
) -> PartitionColumnFacts:
    largest = hashes = None
    if some.largest is not None and more.largest is not None:
        largest = max(some.largest, more.largest)
    if some.hashes is not None and more.hashes is not None:
        hashes = np.union1d(some.hashes, more.hashes)[:_KEPT_HASHES]
    return PartitionColumnFacts(
        _joined_kind(name, some, more),
        some.n_rows + more.n_rows,
        some.n_present + more.n_present,
        some.categories + more.categories,
        largest,
        hashes,
        (min(both), max(both)) if (both := [*some.extremes, *more.extremes]) else (),
        some.counts_up and more.counts_up and some.extremes[-1:] < (more.extremes[:1] or (inf,)),
    )


def _joined_kind(name: str, some: PartitionColumnFacts, more: PartitionColumnFacts) -> str:
    kinds = {some.kind, more.kind} - {"missing"}
    if len(kinds) < 2:
        return kinds.pop() if kinds else "missing"
    if kinds == {"number", "boolean"}:
        return "number"
    raise TableError(
        f"column {name!r} must have one kind of values; it has {some.kind} values in some "
        f"partitions and {more.kind} values in others; convert them to one of the two."
    )


def _column(name: str, facts: PartitionColumnFacts) -> Column:
    """Return what `Schema.of` would have learned, with its errors and warnings."""
    if facts.kind == "category":
        return schemas.category_column(name, facts.categories, facts.n_rows)
    return schemas.number_column(
        name, facts.kind, facts.n_rows, facts.n_present, facts.largest, facts.n_distinct_ids()
    )


def _lowest_hashes(values: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Return the lowest hashes of the distinct whole numbers, in ascending order."""
    distinct = pc.unique(values).drop_null().to_numpy(zero_copy_only=False)
    hashes = distinct.astype(np.int64, copy=False).view(np.uint64)
    # SplitMix64's finisher: spreads any numbers evenly over 64 bits
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return np.unique(hashes ^ (hashes >> np.uint64(31)))[:_KEPT_HASHES]

"""What the partitions of a large table hold, found out where they are.

The facts of one partition are small. Joined, they give the schema and the classes that the whole
table would have given, though it never was in one place.
"""

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from toprank import checks, inputs
from toprank.inputs import Rows
from toprank.tables import Column, Schema, TableError
from toprank.tables import schema as schemas
from toprank.tables import values as column_values
from toprank.tables.columns import required_frame

_KEPT_HASHES = 4096
_KEPT_LABELS = 3  # one more than may be


@dataclass(frozen=True)
class ColumnFacts:
    """What one column holds, in one partition or in several; without rows, nothing."""

    kind: str = "missing"
    n_rows: int = 0
    n_present: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    is_integer: bool = True
    is_whole: bool = True
    largest: float = 0.0
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    def n_distinct(self) -> int:
        """Return how many whole numbers differ, by how close together the lowest hashes lie."""
        if self.hashes.size < _KEPT_HASHES:
            return self.hashes.size
        return round((_KEPT_HASHES - 1) / (float(self.hashes[-1]) / 2**64))


class LabelFacts(NamedTuple):
    """How often each label comes in one partition, rows of no weight left out."""

    values: NDArray
    counts: NDArray[np.int64]


def facts_of_columns(frame: Any) -> dict[str, ColumnFacts]:
    """Return what each column of one partition holds."""
    table = required_frame(frame)
    return {name: _facts(table.column(name), name) for name in table.names}


def joined(some: dict[str, ColumnFacts], more: dict[str, ColumnFacts]) -> dict[str, ColumnFacts]:
    """Return what the columns of both hold; `some` comes before `more`."""
    return {name: _joined(name, some[name], more[name]) for name in some}


def learned(facts: dict[str, ColumnFacts]) -> tuple[Schema, list[str]]:
    """Return the schema that the whole table has, and what there is to warn of.

    >>> parts = [pa.table({"country": ["FR", None]}), pa.table({"country": ["DE", "FR"]})]
    >>> schema, _ = learned(joined(*map(facts_of_columns, parts)))
    >>> schema == Schema.of(pa.concat_tables(parts))
    True
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = Schema(tuple(_column(name, column) for name, column in facts.items()))
    return schema, [str(warning.message) for warning in caught]


def facts_of_labels(frame: Any, labels: Any, weight: Any) -> LabelFacts:
    """Return the labels of one partition, at most three of them: more than two are refused."""
    values, _, _ = _counted_rows(frame, labels, weight)
    distinct, counts = np.unique(values, return_counts=True)
    return LabelFacts(distinct[:_KEPT_LABELS], counts[:_KEPT_LABELS])


def classes_of(facts: list[LabelFacts], positive_label: Any = None) -> tuple[NDArray, Any]:
    """Return both classes in sorted order, and the positive one: the rarer unless named."""
    held = [part for part in facts if part.values.size]
    if not held:
        raise ValueError("X must hold at least one row of some weight; got none.")
    classes, place = np.unique(np.concatenate([part.values for part in held]), return_inverse=True)
    counts = np.bincount(place, np.concatenate([part.counts for part in held]))
    # two of the more frequent and one of the rarer tell the same as all rows
    few = np.repeat(classes, np.where(counts > counts.min(), 2, 1))
    labels = inputs.read_labels(few, positive_label)
    return labels.classes, labels.positive


def encoded(frame: Any, labels: Any, weight: Any, schema: Schema, positive: Any) -> Rows:
    """Return the rows of one partition, those of no weight left out."""
    values, weights, chosen = _counted_rows(frame, labels, weight)
    features = schema.encode(frame)
    return Rows(features if weights is None else features[chosen], values == positive, weights)


def _counted_rows(
    frame: Any, labels: Any, weight: Any
) -> tuple[NDArray, NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return labels and weights of the rows that have a weight, and which rows those are."""
    if len(labels) != len(frame):
        raise ValueError(
            "X and y must have the same rows in every partition; got one with "
            f"{len(frame)} rows and {len(labels)} labels. Take both from one frame."
        )
    n_missing = int(labels.isna().sum())
    if n_missing:
        raise ValueError(
            f"y must hold a label in every row; got a partition with {n_missing} of {len(labels)} "
            "missing. Drop those rows from X and y."
        )
    values = np.asarray(labels)
    if weight is None:
        return values, None, np.ones(len(values), dtype=bool)
    weights = checks.finite_vector(weight, "sample_weight")
    if len(weights) != len(frame):
        raise ValueError(
            "X and sample_weight must have the same rows in every partition; got one with "
            f"{len(frame)} rows and {len(weights)} weights. Take both from one frame."
        )
    if weights.min(initial=0) < 0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min():g}.")
    chosen = weights > 0
    return values[chosen], weights[chosen], chosen


def _facts(values: pa.ChunkedArray, name: str) -> ColumnFacts:
    kind = column_values.kind_of(values, name)
    if kind == "category":
        categories = column_values.category_counts(values)
        n_present = sum(categories.values())
        # without any text, the type says little: other partitions decide
        return ColumnFacts(
            kind if n_present else "missing", len(values), n_present, categories, False, False
        )
    if kind == "missing":
        return ColumnFacts(n_rows=len(values))
    numbers = column_values.finite_numbers(values, name)
    present = np.abs(numbers[~np.isnan(numbers)])
    is_integer = pt.is_integer(values.type)
    return ColumnFacts(
        kind if present.size else "missing",
        len(values),
        present.size,
        is_integer=is_integer,
        is_whole=is_integer or bool((present > 2**53).all()),
        largest=float(present.max(initial=0)),
        hashes=_lowest_hashes(values) if is_integer else np.empty(0, np.uint64),
    )


def _joined(name: str, some: ColumnFacts, more: ColumnFacts) -> ColumnFacts:
    return ColumnFacts(
        _joined_kind(name, some, more),
        some.n_rows + more.n_rows,
        some.n_present + more.n_present,
        some.categories + more.categories,
        some.is_integer and more.is_integer,
        some.is_whole and more.is_whole,
        max(some.largest, more.largest),
        np.union1d(some.hashes, more.hashes)[:_KEPT_HASHES],
    )


def _joined_kind(name: str, some: ColumnFacts, more: ColumnFacts) -> str:
    kinds = {some.kind, more.kind} - {"missing"}
    if len(kinds) < 2:
        return kinds.pop() if kinds else "missing"
    if kinds == {"number", "boolean"}:
        return "number"
    raise TableError(
        f"column {name!r} must hold one kind of values; it holds {some.kind} values in some "
        f"partitions and {more.kind} values in others; turn them into one of the two."
    )


def _column(name: str, facts: ColumnFacts) -> Column:
    """Return what `Schema.of` would have learned, with its errors and warnings."""
    schemas._check_present(facts.n_present, name, facts.n_rows)
    if facts.kind == "category":
        schemas._check_no_dates(facts.categories, name)
        schemas._warn_of_id(name, len(facts.categories), facts.n_rows)
        return Column(name, facts.kind, schemas._most_frequent(name, facts.categories))
    if facts.is_whole:
        schemas._warn_of_lost_digits(name, facts.largest)
    if facts.is_integer:
        schemas._warn_of_id(name, facts.n_distinct(), facts.n_rows)
    return Column(name, facts.kind)


def _lowest_hashes(values: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Return the lowest hashes of the distinct whole numbers, rising."""
    distinct = pc.unique(values).drop_null().to_numpy(zero_copy_only=False)
    hashes = distinct.astype(np.int64, copy=False).view(np.uint64)
    # SplitMix64's finisher: spreads any numbers evenly over 64 bits
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return np.unique(hashes ^ (hashes >> np.uint64(31)))[:_KEPT_HASHES]

"""Values shared by so many rows that volume says nothing about them.

A single value of a number has no volume, whatever share of the rows has it: with 89 % of the rows
at one point, a curve of mass against volume is 0 up to a mass of .89 for any detector that knows
the point, and what is left of its area says little about the detector. An atom is such a value:

    a fifth of the rows or more have it, and 20 times as many as the values of the column have
    on average.

The second rule exempts counts of few different values. A whole row that a fifth of the rows repeat
is an atom by the same rules. Categories and booleans have no volume in the first place, and a
constant column takes none away.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.tables import Schema
from toprank.rankers.reasons import value_text

_LEAST_SHARE = 0.2
_LEAST_CROWDED = 20.0
_MOST_NAMED = 3


class AtomWarning(UserWarning):
    """One value has so many rows that volume says nothing."""


class Atom(NamedTuple):
    """A value that a share of the rows has in a column; column None is all columns at once."""

    column: str | None
    value: str
    share: float

    def __str__(self) -> str:
        if self.column is None:
            return f"{100 * self.share:.0f} % of the rows are equal in every column"
        return f"{self.column!r} is {self.value} in {100 * self.share:.0f} % of the rows"


def atoms_of(features: NDArray[np.float32], schema: Schema) -> list[Atom]:
    """Return the atoms of encoded rows, column by column, and last those of whole rows.

    >>> rate = np.append(np.zeros(800), np.random.default_rng(0).random(200))
    >>> features = np.column_stack([rate, 2 * rate]).astype(np.float32)
    >>> for atom in atoms_of(features, Schema.of(features)):
    ...     print(atom)
    'x0' is 0 in 80 % of the rows
    'x1' is 0 in 80 % of the rows
    80 % of the rows are equal in every column
    """
    return [*_atoms_of_columns(features, schema), *_atoms_of_rows(features, schema)]


def atoms_sentence(atoms: list[Atom]) -> str:
    """Return what atoms mean for comparing detectors, or an empty text if there are none.

    >>> print(atoms_sentence([Atom("rate", "0", 0.89)]))
    'rate' is 0 in 89 % of the rows: one value has rows but no volume, so that mass-volume curves \
say little about a detector here; leave the column out, or compare by labels.
    """
    if not atoms:
        return ""
    columns = [atom for atom in atoms if atom.column is not None]
    rows = [atom for atom in atoms if atom.column is None]
    words = [str(atom) for atom in (*columns[:_MOST_NAMED], *rows)]
    n_more = len({atom.column for atom in columns[_MOST_NAMED:]})
    if n_more:
        words.append(f"{n_more} more columns have such values")
    them = "the column" if len({atom.column for atom in columns}) == 1 else "such columns"
    return (
        f"{', '.join(words)}: one value has rows but no volume, so that mass-volume curves say "
        f"little about a detector here; leave {them} out, or compare by labels."
    )


def _atoms_of_columns(features: NDArray[np.float32], schema: Schema) -> list[Atom]:
    everyone = np.arange(len(features))
    return [
        Atom(column.name, value_text(float(values[rows[0]]), column), rows.size / len(features))
        for column, values in zip(schema.columns, features.T, strict=True)
        if column.kind == "number"
        for rows in _sharing(values, everyone)
        if _is_crowded(values[:, None], rows)
    ]


def _atoms_of_rows(features: NDArray[np.float32], schema: Schema) -> list[Atom]:
    if features.shape[1] == 1:
        return []  # the column's atom is the row's
    is_number = [column.kind == "number" for column in schema.columns]
    groups = [np.arange(len(features))]
    for values in features.T:
        groups = [part for rows in groups for part in _sharing(values, rows)]
    return [
        Atom(None, _row_text(features[rows[0]], schema), rows.size / len(features))
        for rows in groups
        if _is_crowded(features[:, is_number], rows)
    ]


def _sharing(values: NDArray[np.float32], rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows that share a value, for each value that a fifth of all rows have."""
    _, group, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
    return [rows[group == i] for i in np.flatnonzero(counts >= _LEAST_SHARE * values.size)]


def _is_crowded(numbers: NDArray[np.float32], rows: NDArray[np.intp]) -> bool:
    """Return whether rows with the same numbers are many, given the number of values."""
    n_places = 1.0
    for values in numbers.T:
        is_known = ~np.isnan(values)
        if is_known[rows[0]]:  # a missing value is not among the values
            n_places *= np.unique(values[is_known]).size
    return rows.size / len(numbers) * n_places >= _LEAST_CROWDED


def _row_text(row: NDArray[np.float32], schema: Schema) -> str:
    return ", ".join(value_text(*each) for each in zip(row, schema.columns, strict=True))

"""Rows that are copies of each other: one in training and one in the test would be known by heart.

Rows of a few categories are often equal without being copies, and new rows will equal them, too.
So rows count as copies only where a column has a value of its own for most of them, and where
more are equal than chance would make them if the columns had nothing to do with each other.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from toprank.splits.parts import Split

_LEAST_DISTINCT = 0.5  # values of one column, as a share of the distinct rows
_MORE_THAN_CHANCE = 3.0
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def copies(features: pa.Table) -> NDArray[np.int64] | None:
    """Return a number per row, the same for copies; None where there are none.

    >>> values = np.arange(10) % 9
    >>> numbers = copies(pa.table({"amount": values, "points": values, "at": values}))
    >>> bool(numbers[0] == numbers[9])
    True
    """
    n_rows = features.num_rows
    hashes, most_distinct = np.zeros(n_rows, dtype=np.uint64), 0
    by_chance = n_rows * (n_rows - 1) / 2  # pairs, each equal with these chances
    for column in features.columns:
        coded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
        most_distinct = max(most_distinct, len(coded.dictionary))
        codes = coded.indices.to_numpy(zero_copy_only=False)
        by_chance *= float(np.square(np.bincount(codes) / n_rows).sum())
        hashes = (hashes ^ codes.astype(np.uint64)) * _MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    distinct, groups = np.unique(hashes, return_inverse=True)
    is_distinct = most_distinct >= _LEAST_DISTINCT * distinct.size
    n_equal = n_rows - distinct.size
    return groups if is_distinct and n_equal > _MORE_THAN_CHANCE * by_chance else None


def copied_share(split: Split, groups: NDArray[np.int64]) -> float:
    """Return the share of test rows that are copies of rows to learn from."""
    learned = np.concatenate([split.train, split.validation])
    return float(np.isin(groups[split.test], groups[learned]).mean())


def with_copies_together(split: Split, groups: NDArray[np.int64]) -> Split:
    """Return a random split in which copies are in one part: that of the first of them."""
    part = np.empty(groups.size, dtype=np.int8)
    for number, rows in enumerate(split.parts().values()):
        part[rows] = number
    _, first = np.unique(groups, return_index=True)
    together = part[first][groups]
    train, validation, test = (np.flatnonzero(together == number) for number in range(3))
    return replace(split, train=train, validation=validation, test=test)

"""A small tree written by hand, and trees grown on small tables with names for their columns."""

import numpy as np

from toprank.data.tables import Column, Schema
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Nodes, Unions

SCHEMA = Schema(
    (
        Column("amount", "number"),
        Column("country", "category", ("DE", "FR", "home")),
        Column("is_new", "boolean"),
    )
)

#  0  amount <= 120 (or missing)     yes: leaf 1, no: 2
#  2  country in {home}              yes: leaf 3, no: leaf 4
#     leaves 1 and 3 lead to 5, leaf 4 is group 1
#  5  amount <= 60                   yes: leaf 6, group 3; no (or missing): leaf 7, group 2
ROWS = (
    # amount, country, how many, positives
    (30.0, 1, 100, 1),
    (60.0, 2, 10, 0),
    (61.0, 0, 40, 3),
    (np.nan, 1, 5, 1),
    (119.0, 2, 5, 0),
    (121.0, 2, 20, 2),
    (140.0, 2, 16, 1),
    (121.0, 0, 14, 11),
    (400.0, 1, 30, 20),
)


def rows():
    """Features and labels of the training rows: 240 rows, 39 of them positive."""
    features, is_positive = [], []
    for amount, country, n_rows, n_positive in ROWS:
        features += [[amount, country, i % 2] for i in range(n_rows)]
        is_positive += [i < n_positive for i in range(n_rows)]
    return np.array(features, dtype=np.float32), np.array(is_positive)


def tree():
    n_rows = np.array([240.0, 160, 80, 36, 44, 196, 110, 86])
    hits = np.array([39.0, 5, 34, 3, 31, 8, 1, 7])
    nodes = Nodes(
        column=_whole(0, -1, 1, -1, -1, 0, -1, -1),
        threshold=np.array([120, *[np.nan] * 4, 60.5, np.nan, np.nan]),
        is_missing_left=np.array([True, *[False] * 7]),
        set_start=_whole(-1, -1, 0, -1, -1, -1, -1, -1),
        left=_whole(1, 5, 3, 5, -1, 6, -1, -1),
        right=_whole(2, 5, 4, 5, -1, 7, -1, -1),
        parent=_whole(-1, 0, 0, 2, 2, 0, 5, 5),
        union=_whole(0, 2, 0, 2, 1, 2, 4, 3),
        n_rows=n_rows,
        mass=n_rows,
        hits=hits,
        gain=np.ones(8),
    )
    unions = Unions(
        tree=_whole(0, 0, 0, 0, 0),
        parent=_whole(-1, 0, 0, 2, 2),
        left=_whole(1, -1, 3, -1, -1),
        right=_whole(2, -1, 4, -1, -1),
        depth=_whole(0, 1, 1, 2, 2),
        root=_whole(0, -1, 5, -1, -1),
        place=np.array([0, 0, 44, 44, 130]),
        rank=_whole(-1, 0, -1, 1, 2),
        n_rows=n_rows[[0, 4, 5, 7, 6]],
        mass=n_rows[[0, 4, 5, 7, 6]],
        hits=hits[[0, 4, 5, 7, 6]],
    )
    goes_left = np.array([False, False, True])
    return MetaTrees(nodes, unions, np.array([0], dtype=np.int32), goes_left)


def schema_of(table):
    """Names for the columns of a made table: numbers are a, b, ..., categories A, B, ..."""
    return Schema(
        tuple(
            Column("ABCD"[j], "category", tuple(f"{'ABCD'[j]}{code}" for code in range(n)))
            if n
            else Column("abcd"[j], "number")
            for j, n in enumerate(map(int, table.n_categories))
        )
    )


def _whole(*numbers):
    return np.array(numbers, dtype=np.int32)

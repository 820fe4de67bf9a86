"""Facts of the training rows about a graph: how many take each path, and the values at cuts.

Cuts and groups know their rows, paths do not: a place is reached by several paths, and its rows
are those of all of them. So the rows follow their paths once, after the tree has grown.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.trees.reading.compact import Cut, Graph, Tally
from toprank.rankers.trees.reading.conditions import OneOf

_PRIME = 0x9E3779B97F4A7C15
_64_BITS = 2**64 - 1


class Seen(NamedTuple):
    """Facts of the training rows: arrays only, so that they can be saved with the tree.

    `below` and `above` are the column's values on both sides of each cut's threshold (NaN for
    categories, infinite where there is none). A path is identified by its code; `totals` are its
    rows, mass and hits. Codes are in rising order.
    """

    below: NDArray[np.float64]
    above: NDArray[np.float64]
    has_missing: NDArray[np.bool_]
    is_whole: NDArray[np.bool_]
    path: NDArray[np.uint64]
    totals: NDArray[np.float64]

    def tally(self, code: int) -> Tally:
        """Return the rows of one path."""
        place = int(np.searchsorted(self.path, np.uint64(code)))
        is_there = place < self.path.size and int(self.path[place]) == code
        return Tally(*map(float, self.totals[place])) if is_there else Tally()

    def tallies(self) -> dict[int, Tally]:
        """Return the rows of every path that has any, by its code."""
        return {
            int(code): Tally(*map(float, totals))
            for code, totals in zip(self.path, self.totals, strict=True)
        }


def seen_in(
    graph: Graph,
    features: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    weight: NDArray[np.float64] | None = None,
) -> Seen:
    """Return the facts of the training rows; columns without a cut are left at False."""
    n_columns = features.shape[1]
    below, above = np.full((2, len(graph.cuts)), np.nan)
    has_missing, is_whole = np.zeros((2, n_columns), dtype=bool)
    for column in graph.columns:
        values = np.sort(features[:, column])  # missing values come last
        n_present = values.size - np.count_nonzero(np.isnan(values))
        has_missing[column] = n_present < values.size
        values = values[:n_present].astype(np.float64)
        is_whole[column] = np.array_equal(values, np.rint(values))
        numbers = [
            i
            for i, cut in enumerate(graph.cuts)
            if cut.column == column and not isinstance(cut.yes_if, OneOf)
        ]
        padded = np.concatenate([[-np.inf], values, [np.inf]])
        places = np.searchsorted(values, [threshold_of(graph.cuts[i]) for i in numbers], "right")
        below[numbers], above[numbers] = padded[places], padded[places + 1]
    path, totals = _paths_taken(graph, features, is_positive, weight)
    return Seen(below, above, has_missing, is_whole, path, totals)


def threshold_of(cut: Cut) -> float:
    """Return the threshold of a cut of an interval."""
    highs = [side.high for side in (cut.yes_if, cut.no_if) if side.low == -np.inf]
    return min(highs)


def next_code(code: int, number: int, is_no: bool) -> int:
    """Return the code of a path that continues through a cut."""
    return (code * _PRIME + 2 * number + is_no + 1) & _64_BITS


def _paths_taken(
    graph: Graph,
    features: NDArray[np.float32],
    is_positive: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the codes of all paths with rows, rising, and the rows, mass and hits of each."""
    codes = np.zeros(len(features), dtype=np.uint64)
    pending: dict[int, list[NDArray[np.intp]]] = {graph.root: [np.arange(len(features))]}
    for number, cut in enumerate(graph.cuts):
        rows = np.concatenate(pending.pop(number, [np.zeros(0, np.intp)]))
        is_yes = _holds(cut.yes_if, features[rows, cut.column])
        for place, is_no in ((cut.yes, False), (cut.no, True)):
            going = rows[is_yes != is_no]
            step = np.uint64(2 * number + is_no + 1)
            codes[going] = codes[going] * np.uint64(_PRIME) + step
            pending.setdefault(place, []).append(going)
    path, which = np.unique(codes, return_inverse=True)
    weights = np.ones(len(features)) if weight is None else weight
    sums = (None, weights, weights * is_positive)
    totals = [np.bincount(which, each, minlength=path.size) for each in sums]
    return path, np.column_stack(totals).astype(np.float64)


def _holds(condition, values: NDArray[np.float32]) -> NDArray[np.bool_]:
    is_missing = np.isnan(values)
    if isinstance(condition, OneOf):
        allowed = np.zeros(condition.n_codes, dtype=bool)
        allowed[list(condition.codes)] = True
        is_met = allowed[np.where(is_missing, 0, values).astype(np.intp)]
    else:
        wide = values.astype(np.float64)
        is_met = (condition.low < wide) & (wide <= condition.high)
    return np.where(is_missing, condition.with_missing, is_met)

"""Leaf corrections: what rows labelled since a fit add to the leaves they fall into.

A leaf is a small model of its own: the rows in it, and how far their log-odds are from what the
other trees say of them. As a model of the row at hand, with probability p, curvature H is worth
n = H / (p (1 - p)) rows, n p of them positive. One more row of label y makes the odds

    (n p + y) / (n (1 - p) + 1 - y)

so the log-odds move up by log(1 + (1 - p) / H) or down by log(1 + p / H): a Newton step where
steps are small, and never beyond what so many rows could say. A row falls into a leaf of each
tree, and the leaves' curvatures H_t come from the same rows: together they are worth one leaf of
the harmonic mean of H_t, and share the step in proportion to 1 / H_t. H_t is the curvature of the
rows that the trees were fitted on, by which a leaf keeps to its fitted value, plus that of the
rows since then.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.data import checks
from toprank.files.state import stored_vector
from toprank.rankers.boosted.flat_trees import FlatNodes, FlatTrees
from toprank.rankers.online.stream_columns import EncodedEvent
from toprank.rankers.stream.reservoir import StoredRows
from toprank.rankers.stream.row_features import RowFeatures

_LARGEST = 1e6  # of a leaf or the start, in log-odds
_LEAST_CURVATURE, _MOST_CURVATURE = 1e-6, 1e30  # of a leaf
_KEPT_AT_ONCE = 64  # rows whose leaves' values are kept


class CorrectionScores(NamedTuple):
    """Log-odds of rows as of their moment, while leaves were corrected."""

    raw: NDArray[np.float64]
    """Of the scored rows."""
    learned: NDArray[np.float64]
    """Of the rows that were learned, before each was."""
    leaf_values: dict[int, NDArray[np.float32]]
    """The values of all leaves when a row was scored, of the highest scored rows."""


class CorrectedTrees:
    """Trees whose leaves move with every label, and the features that they take.

    A row's raw score is its log-odds.

    Parameters
    ----------
    trees
        The fitted trees; their leaves are copied.
    features
        How rows become features.
    curvature
        Of each node, as much as the rows of the fit are worth at a leaf; above 0.
    """

    def __init__(
        self, trees: FlatTrees, features: RowFeatures, curvature: NDArray[np.float64]
    ) -> None:
        nodes = trees.nodes._replace(cut=trees.nodes.cut.copy())
        self.trees = FlatTrees(trees.start, trees.first, nodes, trees.cover, trees.n_features)
        self.features, self.curvature = features, curvature

    def raw(self, rows: EncodedEvent | StoredRows) -> NDArray[np.float64]:
        """Return the log-odds of rows."""
        return self.trees.raw(self.features.of_rows(rows))

    def leaves(self, rows: EncodedEvent | StoredRows) -> NDArray[np.int32]:
        """Return the leaves that rows fall into, (row, tree)."""
        return self.trees.leaves(self.features.of_rows(rows))

    def learn(
        self,
        rows: EncodedEvent | StoredRows,
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64],
    ) -> None:
        """Correct the leaves by labelled rows, one after the other."""
        nothing = np.empty((0, self.trees.first.size - 1), dtype=np.int32)
        no_counts = np.empty(0, dtype=np.int64)
        self.score_and_learn(nothing, no_counts, self.leaves(rows), is_positive, weight)

    def score_and_learn(
        self,
        scored: NDArray[np.int32],
        n_known: NDArray[np.int64],
        learned: NDArray[np.int32],
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64],
        highest: float = math.inf,
    ) -> CorrectionScores:
        """Return the log-odds of rows in the leaves `scored`, and learn those in `learned`.

        For each scored row, `n_known` says how many rows are learned before it is scored. Of rows
        whose log-odds are `highest` or more, the leaves' values at that moment are returned, too.
        """
        raw, cut = np.empty(n_known.size), self.trees.nodes.cut
        before = np.empty(len(learned))
        values: dict[int, NDArray[np.float32]] = {}
        room = np.empty((_KEPT_AT_ONCE if highest < math.inf else 0, cut.size), dtype=np.float32)
        next_row = 0
        while next_row >= 0:
            first = next_row
            next_row = _score_and_correct(
                scored, n_known, learned, is_positive, weight,
                self.trees.start, cut, self.curvature, raw, before, highest, room, first,
            )  # fmt: skip
            stop = next_row if next_row >= 0 else n_known.size
            high = first + np.flatnonzero(raw[first:stop] >= highest)
            values |= {int(row): room[k].copy() for k, row in enumerate(high)}
        return CorrectionScores(raw, before, values)

    def shares(
        self, row: EncodedEvent, cut: NDArray[np.float32] | None = None
    ) -> NDArray[np.float64]:
        """Return by how much each column of one row raises its log-odds.

        Those of an earlier moment, if `cut` has the values of the leaves then.
        """
        trees = self.trees
        if cut is not None:
            nodes = trees.nodes._replace(cut=cut)
            trees = FlatTrees(trees.start, trees.first, nodes, trees.cover, trees.n_features)
        by_feature = trees.shares(self.features.of_rows(row))[0, :-1]
        shares = np.zeros(row.values.shape[1])
        np.add.at(shares, self.features.column, by_feature)
        return shares

    def soften(self, times: float) -> None:
        """Make later rows count more: the curvature so far counts `times` less."""
        np.maximum(self.curvature / times, _LEAST_CURVATURE, out=self.curvature)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return what a file keeps."""
        return {
            "start": np.array([self.trees.start], dtype=np.float32),
            "first": self.trees.first,
            "cover": self.trees.cover,
            "curvature": self.curvature,
            **{f"node_{name}": array for name, array in self.trees.nodes._asdict().items()},
            **self.features._asdict(),
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, NDArray], n_columns: int, n_buckets: int) -> Self:
        """Return the trees that `to_arrays` gave; raises ValueError if they are invalid."""
        features = RowFeatures.restored(arrays, n_columns, n_buckets)
        trees = _stored_trees(arrays, features.column.size)
        curvature = stored_vector(arrays, "curvature", np.float64, trees.cover.size)
        if not ((curvature >= _LEAST_CURVATURE) & (curvature <= _MOST_CURVATURE)).all():
            raise ValueError(
                f"curvature must be between {_LEAST_CURVATURE:g} and {_MOST_CURVATURE:g}."
            )
        return cls(trees, features, curvature)


def _stored_trees(arrays: Mapping[str, NDArray], n_features: int) -> FlatTrees:
    """Return trees that no kernel leaves the arrays of, or walks without end."""
    child = stored_vector(arrays, "node_child", np.int32)
    size = child.size
    nodes = FlatNodes(
        child,
        stored_vector(arrays, "node_column", np.int32, size),
        stored_vector(arrays, "node_cut", np.float32, size),
        stored_vector(arrays, "node_is_missing_left", np.bool_, size),
        stored_vector(arrays, "node_set_start", np.int32, size),
        stored_vector(arrays, "node_set_size", np.int32, size),
        stored_vector(arrays, "node_goes_right", np.uint8),
    )
    first = stored_vector(arrays, "first", np.int64)
    if first.size < 2 or first[0] != 0 or first[-1] != size or (first[1:] <= first[:-1]).any():
        raise ValueError(f"first must rise from 0 to the {size} nodes.")
    end = np.repeat(first[1:], np.diff(first))
    is_inner = child >= 0
    # children come after their parents and within their tree: every walk ends
    after = child[is_inner] > np.flatnonzero(is_inner)
    if (child < -1).any() or not (after & (child[is_inner] < end[is_inner] - 1)).all():
        raise ValueError("node_child must name two later nodes of the same tree, or be -1.")
    if ((nodes.column < 0) | (nodes.column >= n_features)).any():
        raise ValueError(f"node_column must be between 0 and {n_features - 1}.")
    if not np.isfinite(nodes.cut).all() or (np.abs(nodes.cut[~is_inner]) > _LARGEST).any():
        raise ValueError(f"node_cut must be finite, of leaves at most {_LARGEST:g} in size.")
    _check_sets(nodes)
    cover = stored_vector(arrays, "cover", np.float32, size)
    if not (np.isfinite(cover).all() and (cover >= 0).all()):
        raise ValueError("cover must contain finite numbers of 0 or more.")
    start = stored_vector(arrays, "start", np.float32, 1)[0]
    checks.number_from(abs(float(start)), "start", 0, _LARGEST)
    return FlatTrees(start, first, nodes, cover, n_features)


def _check_sets(nodes: FlatNodes) -> None:
    has_set = nodes.set_start >= 0
    stop = nodes.set_start.astype(np.int64) + (nodes.set_size.astype(np.int64) + 7) // 8
    is_sound = (nodes.set_size >= 0) & (stop <= nodes.goes_right.size)
    if (nodes.set_start < -1).any() or not is_sound[has_set].all():
        raise ValueError("node_set_start and node_set_size must lie within node_goes_right.")


def curvatures(
    trees: FlatTrees, features: NDArray[np.float32], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the curvature of log-loss at each leaf of trees, on rows whose log-odds they give."""
    found = np.zeros(trees.cover.size)
    _add_curvatures(trees.leaves(features), weight, trees.start, trees.nodes.cut, found)
    return found


@njit(cache=True, nogil=True)
def _score_and_correct(
    scored, n_known, learned, is_positive, weight, start, cut, curvature, raw, before, highest,
    room, first,
):  # fmt: skip
    """Score rows from `first` on; return -1 at the end, or the next row once `room` is full."""
    at = n_known[first - 1] if first > 0 else 0
    n_kept = 0
    for row in range(first, n_known.size):
        while at < n_known[row]:
            before[at] = _correct(learned[at], is_positive[at], weight[at], start, cut, curvature)
            at += 1
        raw[row] = _log_odds(scored[row], start, cut)
        if raw[row] >= highest:
            room[n_kept] = cut
            n_kept += 1
            if n_kept == room.shape[0]:
                return row + 1
    while at < learned.shape[0]:
        before[at] = _correct(learned[at], is_positive[at], weight[at], start, cut, curvature)
        at += 1
    return -1


@njit(cache=True, nogil=True)
def _log_odds(leaves, start, cut):
    total = start
    for leaf in leaves:
        total = np.float32(total + cut[leaf])  # as the trees are summed elsewhere
    return total


@njit(cache=True, nogil=True)
def _add_curvatures(leaves, weight, start, cut, found):
    for row in range(leaves.shape[0]):
        odds = math.exp(-abs(float(_log_odds(leaves[row], start, cut))))
        own = weight[row] * odds / (1 + odds) ** 2
        for leaf in leaves[row]:
            found[leaf] += own


@njit(cache=True, nogil=True)
def _correct(leaves, is_positive, weight, start, cut, curvature):
    """Move the leaves of a row by its label; return its log-odds before."""
    raw = _log_odds(leaves, start, cut)
    odds = math.exp(-abs(float(raw)))
    small = odds / (1 + odds)  # the probability of the less probable label
    chance = small if raw < 0 else 1 - small
    inverse = 0.0
    for leaf in leaves:
        inverse += 1 / curvature[leaf]
    mean = leaves.size / inverse
    missing = weight * (1 - chance if is_positive else chance)
    step = math.log1p(missing / mean) / inverse
    own = weight * small * (1 - small)
    for leaf in leaves:
        moved = step / curvature[leaf]
        cut[leaf] = np.float32(cut[leaf] + (moved if is_positive else -moved))
        curvature[leaf] += own
    return raw

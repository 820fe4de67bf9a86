"""The trees of a booster as flat arrays, walked by our own kernels.

XGBoost takes 0.2 ms to score a single row and 0.6 ms to explain it, nearly all of which is
call overhead. These kernels add the leaves in XGBoost's order, in float32, so that a row
has the same score, to the last bit, either way.

Exact shares of features (Shapley values, with the cover of a node as its probability) are
sums over leaves. With r_j the part of the cover that the cuts by feature j let through to the
leaf and o_j = 1 where the row itself passes all of them, 0 otherwise, feature i gets

    leaf value * (o_i - r_i) * integral from 0 to 1 of prod over j != i of (t o_j + (1 - t) r_j)

The integrand is a polynomial of a degree below the number of features on the path, which a few
Gauss points integrate without error: two of them up to four features, four up to eight. For two
points t at a time, side by side in the processor, a tree is walked down once, for the products,
and up once, for the sums of leaves below each node.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from numpy.typing import NDArray

from toprank.files import ubjson

if TYPE_CHECKING:
    from xgboost import Booster

_N_PROBES = 16


class FlatNodes(NamedTuple):
    """Nodes of all trees, tree by tree and level by level; a right child follows its left one.

    `child` is the left child, -1 at leaves. `cut` is where a row goes left below, and the value
    of a leaf. A cut by categories has a bit for each of the first `set_size` codes, from byte
    `set_start` of `goes_right` on; `set_start` is -1 for a cut by numbers.
    """

    child: NDArray[np.int32]
    column: NDArray[np.int32]
    cut: NDArray[np.float32]
    is_missing_left: NDArray[np.bool_]
    set_start: NDArray[np.int32]
    set_size: NDArray[np.int32]
    goes_right: NDArray[np.uint8]


class PathFacts(NamedTuple):
    """What exact shares need of every node, and Gauss points from 0 to 1.

    `ratio` is the part of the cover that the cut above lets through to the node, `reach` what all
    cuts above by that cut's feature do. `before` is the last node on the path to an inner node
    that a cut by its own feature led to; the root where none did.

    A tree takes `n_pairs` pairs of points; `points` and `weights`, which are divided by 1 - t,
    have a row for every such number. `inverse` holds 1 / (t + (1 - t) reach) by tree, pair and
    node, in this order, for both points; those of a tree begin at `inverse_first`.
    """

    ratio: NDArray[np.float64]
    reach: NDArray[np.float64]
    before: NDArray[np.int32]
    inverse_first: NDArray[np.int64]
    inverse: NDArray[np.float64]
    n_pairs: NDArray[np.int64]
    points: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """A booster's trees; `is_exact` says whether they score exactly as XGBoost does.

    `first` holds the first node of each tree and, last, how many nodes there are.
    """

    start: np.float32
    first: NDArray[np.int64]
    nodes: FlatNodes
    cover: NDArray[np.float32]
    n_features: int
    is_exact: bool = False

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the raw score of every row."""
        out = np.empty(len(features))
        _add_leaves(np.ascontiguousarray(features), self.start, self.first, *self.nodes, out)
        return out

    def leaves(self, features: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the leaf that every row falls into, of each tree, (row, tree)."""
        out = np.empty((len(features), self.first.size - 1), dtype=np.int32)
        _find_leaves(np.ascontiguousarray(features), self.first, *self.nodes, out)
        return out

    def shares(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return each feature's exact share of each raw score, with the mean score last."""
        features, out = np.ascontiguousarray(features), self._mean_alone(len(features))
        _add_exact_shares(features, self.first, *self.nodes, *self._path_facts, out)
        return out

    def path_shares(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return each feature's share along the paths, with the mean score last.

        A cut's feature gets the change in mean from the node to its child.
        """
        features, out = np.ascontiguousarray(features), self._mean_alone(len(features))
        _add_path_shares(features, self.first, *self.nodes, self._mean, out)
        return out

    def _mean_alone(self, n_rows: int) -> NDArray[np.float64]:
        """Return the shares before any feature is known: the mean score in the last column."""
        shares = np.zeros((n_rows, self.n_features + 1))
        shares[:, -1] = self._mean_score
        return shares

    @cached_property
    def _mean_score(self) -> float:
        return float(self.start) + float(self._mean[self.first[:-1]].sum())

    @cached_property
    def _mean(self) -> NDArray[np.float64]:
        """The cover-weighted mean of the leaves below each node."""
        return _means(
            self.nodes.child, _cover_ratios(self.nodes.child, self.cover), self.nodes.cut
        )

    @cached_property
    def _path_facts(self) -> PathFacts:
        # lazy, since forests never need it: deep trees have many points
        ratio = _cover_ratios(self.nodes.child, self.cover)
        reach, before, n_unique = _reaches(self.first, self.nodes.child, self.nodes.column, ratio)
        n_pairs = np.maximum((n_unique + 3) // 4, 1)  # n points are enough for a degree below 2 n
        points, weights = _gauss_points(int(n_pairs.max()))
        inverse_first = np.append(0, np.cumsum(np.diff(self.first) * n_pairs))
        inverse = _inverses(self.first, reach, inverse_first, n_pairs, points)
        return PathFacts(ratio, reach, before, inverse_first, inverse, n_pairs, points, weights)


def of(booster: Booster) -> FlatTrees:
    """Return the flat trees of a booster, built once and cached as long as it lives."""
    with _lock:
        known = _known.get(booster)
        if known is None or known[0] != booster.num_boosted_rounds():
            known = _known[booster] = booster.num_boosted_rounds(), _flattened(booster)
        return known[1]


# Not stored in the boosters: models are copied, pickled and saved without these.
_known: WeakKeyDictionary[Booster, tuple[int, FlatTrees]] = WeakKeyDictionary()
_lock = Lock()


def _flattened(booster: Booster) -> FlatTrees:
    learner = ubjson.read(bytes(booster.save_raw("ubj")))["learner"]
    trees = learner["gradient_booster"]["model"]["trees"]
    sizes = [len(tree["left_children"]) for tree in trees]
    joined = {name: np.concatenate([tree[name] for tree in trees]) for name in _JOINED}
    order, child, first = _level_order(
        np.cumsum([0, *sizes]), joined["left_children"], joined["right_children"]
    )
    column = joined["split_indices"][order].astype(np.int32)
    column[child < 0] = 0
    flat = FlatTrees(
        _start_of(learner),
        first,
        FlatNodes(
            child,
            column,
            joined["split_conditions"][order].astype(np.float32),
            joined["default_left"][order].astype(np.bool_),
            *_category_sets(trees, sizes, order),
        ),
        joined["sum_hessian"][order].astype(np.float32),
        booster.num_features(),
    )
    return replace(flat, is_exact=_scores_alike(booster, flat))


_JOINED = (
    "left_children", "right_children", "split_indices", "split_conditions", "default_left",
    "sum_hessian",
)  # fmt: skip


def _start_of(learner: dict[str, Any]) -> np.float32:
    """Return the raw score before the first tree."""
    written = json.loads(learner["learner_model_param"]["base_score"])
    start = np.float32(written[0] if isinstance(written, list) else written)
    if learner["objective"]["name"].startswith("binary:"):  # written as a probability
        return -np.log(np.float32(1) / start - np.float32(1))
    return start


def _category_sets(
    trees: list[dict[str, Any]], sizes: list[int], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Return where each node's bits begin, -1 for none, how many it has, and all bits."""
    n_nodes = sum(sizes)
    start, size = np.full(n_nodes, -1, dtype=np.int32), np.zeros(n_nodes, dtype=np.int32)
    bits: list[NDArray[np.uint8]] = [np.empty(0, dtype=np.uint8)]
    n_bytes = n_before = 0
    for tree, n_here in zip(trees, sizes, strict=True):
        for node, begin, count in zip(
            tree["categories_nodes"],
            tree["categories_segments"],
            tree["categories_sizes"],
            strict=True,
        ):
            codes = np.asarray(tree["categories"][begin : begin + count], dtype=np.int64)
            bits.append(np.zeros(codes.max(initial=0) // 8 + 1, dtype=np.uint8))
            np.bitwise_or.at(bits[-1], codes // 8, (1 << codes % 8).astype(np.uint8))
            start[n_before + node], size[n_before + node] = n_bytes, 8 * bits[-1].size
            n_bytes += bits[-1].size
        n_before += n_here
    return start[order], size[order], np.concatenate(bits)


def _cover_ratios(child: NDArray[np.int32], cover: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each node's part of the cover of the node above it; 1 for roots."""
    ratio, cover = np.ones(child.size), cover.astype(np.float64)
    inner = np.flatnonzero(child >= 0)
    left = child[inner]
    for side in (left, left + 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio[side] = cover[side] / cover[inner]
        ratio[side[cover[inner] <= 0]] = 0.5  # no training row came here: neither side is likelier
    return ratio


def _gauss_points(most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return pairs of points and weights, which are divided by 1 - t, for each number of pairs."""
    points, weights = np.zeros((most + 1, most, 2)), np.zeros((most + 1, most, 2))
    for number in range(1, most + 1):
        point, weight = np.polynomial.legendre.leggauss(2 * number)
        points[number, :number] = (point.reshape(-1, 2) + 1) / 2
        weights[number, :number] = weight.reshape(-1, 2) / 2 / (1 - points[number, :number])
    return points, weights


def _scores_alike(booster: Booster, flat: FlatTrees) -> bool:
    """Return whether a few rows, some of them with gaps, score the same by XGBoost itself.

    Another XGBoost release may add up in another order; then it scores single rows, too.
    """
    generator = np.random.default_rng(0)
    inner = np.flatnonzero(flat.nodes.child >= 0)
    probes = np.full((_N_PROBES, flat.n_features), np.nan, dtype=np.float32)
    for probe in probes[1:]:
        cuts = generator.permutation(inner)[: 8 * flat.n_features]
        by_set = flat.nodes.set_start[cuts] >= 0
        probe[flat.nodes.column[cuts]] = np.where(by_set, 0, flat.nodes.cut[cuts])
    expected = booster.inplace_predict(probes, predict_type="margin", validate_features=False)
    return bool((flat.raw(probes) == expected).all())


@njit(cache=True, nogil=True)
def _level_order(offsets, left, right):
    """Return the nodes of each tree level by level, their left children and the first nodes.

    Nodes removed by pruning are dropped.
    """
    n_trees = offsets.size - 1
    order = np.empty(left.size, dtype=np.int64)
    child = np.full(left.size, -1, dtype=np.int32)
    first = np.zeros(n_trees + 1, dtype=np.int64)
    end = 0
    for tree in range(n_trees):
        offset = offsets[tree]
        at = end
        order[end] = offset
        end += 1
        while at < end:
            node = order[at]
            if left[node] >= 0:
                child[at] = end
                order[end] = offset + left[node]
                order[end + 1] = offset + right[node]
                end += 2
            at += 1
        first[tree + 1] = end
    return order[:end], child[:end], first


@njit(cache=True, nogil=True)
def _reaches(first, child, column, ratio):
    """Return `reach` and `before` of every node, and the most features on one path of a tree."""
    n_nodes = child.size
    reach, before = np.ones(n_nodes), np.zeros(n_nodes, dtype=np.int32)
    above = np.full(n_nodes, -1, dtype=np.int64)
    n_unique = np.zeros(n_nodes, dtype=np.int64)
    most = np.zeros(first.size - 1, dtype=np.int64)
    for tree in range(first.size - 1):
        root = first[tree]
        for node in range(root, first[tree + 1]):
            left = child[node]
            if left < 0:
                most[tree] = max(most[tree], n_unique[node])
                continue
            at = node
            while at != root and column[above[at]] != column[node]:
                at = above[at]
            before[node] = at
            for side in range(left, left + 2):
                above[side] = node
                reach[side] = reach[at] * ratio[side]
                n_unique[side] = n_unique[node] + (at == root)
    return reach, before, most


@njit(cache=True, nogil=True)
def _inverses(first, reach, inverse_first, n_pairs, points):
    inverse = np.empty((inverse_first[-1], 2))
    for tree in range(first.size - 1):
        at = inverse_first[tree]
        for pair in range(n_pairs[tree]):
            t = points[n_pairs[tree], pair]
            for node in range(first[tree], first[tree + 1]):
                for k in range(2):
                    inverse[at, k] = 1 / (t[k] + (1 - t[k]) * reach[node])
                at += 1
    return inverse


@njit(cache=True, nogil=True)
def _means(child, ratio, cut):
    """Return the mean of the leaves below each node."""
    mean = cut.astype(np.float64)
    for node in range(child.size - 1, -1, -1):
        left = child[node]
        if left >= 0:
            mean[node] = ratio[left] * mean[left] + ratio[left + 1] * mean[left + 1]
    return mean


@njit(cache=True, nogil=True)
def _right(value, cut, is_missing_left, set_start, set_size, goes_right):
    """Return 1 where a row with this value goes to the right of a cut, 0 for the left.

    It takes the fields of one node: passing all arrays takes longer than the work itself.
    """
    if np.isnan(value):
        return 0 if is_missing_left else 1
    if set_start < 0:
        return 1 if value >= cut else 0
    code = int(value)
    if code >= set_size:
        return 0
    return (goes_right[set_start + (code >> 3)] >> (code & 7)) & 1


@njit(cache=True, nogil=True)
def _add_leaves(
    features, start, first, child, column, cut, is_missing_left, set_start, set_size, goes_right,
    out,
):  # fmt: skip
    for row in range(features.shape[0]):
        values = features[row]
        total = start
        for tree in range(first.size - 1):
            node = first[tree]
            left = child[node]
            while left >= 0:
                node = left + _right(
                    values[column[node]], cut[node], is_missing_left[node],
                    set_start[node], set_size[node], goes_right,
                )  # fmt: skip
                left = child[node]
            total = np.float32(total + cut[node])  # in float32 and in this order, as XGBoost
        out[row] = total


@njit(cache=True, nogil=True)
def _find_leaves(
    features, first, child, column, cut, is_missing_left, set_start, set_size, goes_right, out
):
    for row in range(features.shape[0]):
        values = features[row]
        for tree in range(first.size - 1):
            node = first[tree]
            left = child[node]
            while left >= 0:
                node = left + _right(
                    values[column[node]], cut[node], is_missing_left[node],
                    set_start[node], set_size[node], goes_right,
                )  # fmt: skip
                left = child[node]
            out[row, tree] = node


@njit(cache=True, nogil=True)
def _add_path_shares(
    features, first, child, column, cut, is_missing_left, set_start, set_size, goes_right,
    mean, out,
):  # fmt: skip
    for row in range(features.shape[0]):
        values, shares = features[row], out[row]
        for tree in range(first.size - 1):
            node = first[tree]
            left = child[node]
            while left >= 0:
                after = left + _right(
                    values[column[node]], cut[node], is_missing_left[node],
                    set_start[node], set_size[node], goes_right,
                )  # fmt: skip
                shares[column[node]] += mean[after] - mean[node]
                node = after
                left = child[node]


@njit(cache=True, nogil=True)
def _add_exact_shares(
    features, first, child, column, cut, is_missing_left, set_start, set_size, goes_right,
    ratio, reach, before, inverse_first, inverse, n_pairs, points, weights, out,
):  # fmt: skip
    most = 0
    for tree in range(first.size - 1):
        most = max(most, first[tree + 1] - first[tree])
    # by the node's place in its tree:
    hot = np.zeros(most, dtype=np.int64)  # the child that the row goes to, of an inner node
    passes = np.zeros(most, dtype=np.bool_)  # o of the feature of the cut above
    below = np.zeros((most, 2))  # products on the way down, sums of leaves on the way up
    for row in range(features.shape[0]):
        values, shares = features[row], out[row]
        for tree in range(first.size - 1):
            root = first[tree]
            n_nodes = first[tree + 1] - root
            passes[0] = True
            for place in range(n_nodes):
                node = root + place
                left = child[node] - root
                if left < 0:
                    continue
                right = _right(
                    values[column[node]], cut[node], is_missing_left[node],
                    set_start[node], set_size[node], goes_right,
                )  # fmt: skip
                hot[place] = left + right
                passes[left + right] = passes[before[node] - root]
                passes[left + 1 - right] = False
            for pair in range(n_pairs[tree]):
                t, weight = points[n_pairs[tree], pair], weights[n_pairs[tree], pair]
                at = inverse_first[tree] + pair * n_nodes
                below[0] = 1.0
                for place in range(n_nodes):
                    node = root + place
                    left = child[node] - root
                    old = before[node] - root
                    if left < 0:
                        for k in range(2):
                            below[place, k] *= cut[node]
                    elif passes[old]:
                        warm, cold = hot[place], 2 * left + 1 - hot[place]
                        for k in range(2):
                            here = below[place, k] * inverse[at + old, k]
                            below[warm, k] = here * (t[k] + (1 - t[k]) * reach[root + warm])
                            below[cold, k] = here * ((1 - t[k]) * reach[root + cold])
                    else:
                        for k in range(2):
                            below[left, k] = below[place, k] * ratio[root + left]
                            below[left + 1, k] = below[place, k] * ratio[root + left + 1]
                for place in range(n_nodes - 1, -1, -1):
                    node = root + place
                    left = child[node] - root
                    if left < 0:
                        continue
                    for k in range(2):
                        below[place, k] = below[left, k] + below[left + 1, k]
                    old, warm = before[node] - root, hot[place]
                    if passes[old]:
                        share = 0.0
                        for k in range(2):
                            # undo what the cut above by this feature adds for these
                            share += weight[k] * (
                                below[warm, k] * inverse[at + warm, k]
                                - below[place, k] * inverse[at + old, k]
                            )
                        shares[column[node]] += share

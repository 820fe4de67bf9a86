"""The suspicion of rows by a tree of trees: by group, and within groups.

    rank + soft       groups by their share of positives, rows of one group by the soft path
    soft              the soft path alone: rows may cross the borders of groups
    rank + distance   groups from left to right, rows of one group by their distance to the
                      nearest cut, as published
    rank              groups from left to right, rows of one group are equal

From left to right, a small group of only positives that was split off late comes after a large
group with few: the order reflects what was known at each split. Sorted by their shares, shrunk
towards those of the unions above them, groups are where an investigator would put them.

On the soft path a cut sends a part of the row to each side, more evenly the nearer the value is to
the threshold: 1 / (1 + exp((x - threshold) / (softness * std))) of it to the left, std being
the column's in training. The score is the mean of the leaves' shares of positives, each shrunk
towards that of the nodes above it: (positives + shrinkage * share above) / (rows + shrinkage).

Suspicion is on the scale of log-odds, where a sigmoid gives probabilities. A group reaches
halfway to the log-odds of its two neighbours; a row whose own share is the group's is in the
middle. Groups whose shares are out of order are pooled, with a small gap that keeps them distinct.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit

from toprank.rankers.trees.kernel import walking
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, Nodes, Unions

SCORINGS = ("rank + soft", "soft", "rank + distance", "rank")

_LEAST_STD = 1e-12
_LEAST_STEP = 0.01
_OUTER_REACH = 2.0  # of the first group upwards and of the last one downwards
_EDGE = 1e-9  # of a group's range: a row must not reach the next group
LEAST_SHARE = 1e-9
"""Shares are clipped at this and at 1 minus this before they become log-odds."""
_DOUBT = 0.1


@dataclass(frozen=True)
class Scoring:
    """How rows are scored; `softness` and `shrinkage` are those of the soft path."""

    way: str = "rank + soft"
    softness: float = 0.25
    shrinkage: float = 5.0


def scores(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return the suspicion of every row by the first tree."""
    if scoring.way == "soft":
        return log_odds(soft_scores(tree, features, std, scoring))
    groups = group_ranges(tree, scoring.shrinkage)
    if scoring.way == "rank + distance":
        distance, _, found = border_distances(tree, features)
        rank = tree.unions.rank[tree.nodes.union[found]]
        return groups.place(rank, 2 * distance)
    rank = tree.unions.rank[tree.nodes.union[leaves(tree, features)]]
    if scoring.way == "rank":
        return groups.place(rank, np.zeros(len(rank)))
    share = soft_scores(tree, features, std, scoring)
    return groups.place(rank, log_odds(share) - groups.level[rank])


def contributions(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return what each column adds to each row's suspicion; the last number is the baseline.

    A cut adds the change in the mean suspicion of the groups below it; what the soft path moves a
    row within its group is divided among columns as the cuts moved its share. Distances to cuts,
    where they order rows within a group, are not attributed to any column.
    """
    suspicion = scores(tree, features, std, scoring)
    parts = np.zeros((len(features), features.shape[1] + 1))
    if scoring.way.endswith("soft"):
        width = scoring.softness * np.maximum(std, _LEAST_STD)
        value = _means_below(tree, shrunk_shares(tree.nodes, scoring.shrinkage))
        walking.add_soft_contributions(features, tree.roots[0], *_cuts(tree), width, value, parts)
        start = float(value[tree.roots[0]])
    if scoring.way == "soft":
        parts = in_log_odds(parts[:, :-1], start)
    else:
        groups = group_ranges(tree, scoring.shrinkage)
        rank = tree.unions.rank[tree.nodes.union[leaves(tree, features)]]
        middle = groups.place(np.arange(groups.level.size), np.zeros(groups.level.size))
        if scoring.way == "rank + soft":
            _scale_to(parts, suspicion - middle[rank])
        means = _means_below(tree, middle[tree.unions.rank[tree.nodes.union]])
        walking.add_contributions(features, tree.roots[0], *_cuts(tree), means, parts)
    parts[:, -1] = suspicion - parts[:, :-1].sum(axis=1)
    return parts


def _scale_to(parts: NDArray[np.float64], totals: NDArray[np.float64]) -> None:
    """Scale the parts of each row so that they add up to its total, if they add up at all."""
    moved = parts.sum(axis=1)
    # where cuts cancel out, a small total must not inflate their parts
    is_clear = np.abs(moved) > 0.01 * np.abs(parts).sum(axis=1)
    scale = np.divide(totals, moved, out=np.zeros(moved.size), where=is_clear & (moved != 0))
    parts *= np.maximum(scale, 0.0)[:, None]


def ordered(tree: MetaTrees, scoring: Scoring) -> MetaTrees:
    """Return the tree with its groups in the order of this scoring."""
    if scoring.way != "rank + soft":
        return tree
    return tree.ranked_by(shrunk_shares(tree.unions, scoring.shrinkage))


class GroupRanges(NamedTuple):
    """Log-odds of each group, by rank, and the range of suspicion between its neighbours."""

    level: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def place(self, rank: NDArray, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the suspicion of rows in their group's range; a lead of 0 is its middle."""
        within = _EDGE + (1 - 2 * _EDGE) * expit(lead)
        return self.low[rank] + (self.high[rank] - self.low[rank]) * within


def group_ranges(tree: MetaTrees, shrinkage: float) -> GroupRanges:
    """Return where the groups of the first tree are on the scale of suspicion."""
    unions = tree.unions
    groups = np.flatnonzero((unions.rank >= 0) & (unions.tree == 0))
    groups = groups[np.argsort(unions.rank[groups])]
    mass = unions.mass[groups]
    # no positive in so many rows does not prove that the next one is negative
    share = np.maximum(shrunk_shares(unions, shrinkage)[groups], 1 / (mass + 2))
    falling = isotonic_regression(share, weights=mass, increasing=False).x
    level = log_odds(falling)
    for rank in range(1, level.size):
        level[rank] = min(level[rank], level[rank - 1] - _LEAST_STEP)
    borders = (level[:-1] + level[1:]) / 2
    high = np.append(level[0] + _OUTER_REACH, borders)
    low = np.append(borders, level[-1] - _OUTER_REACH)
    return GroupRanges(level, low, high)


def log_odds(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of shares, clipped to one in a billion at 0 and 1."""
    return logit(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))


def doubted(share: Any, average: float) -> Any:
    """Return shares with a tenth of the average mixed in.

    Forests of deep trees give 0 to rows that are merely rare: log-odds would be minus infinity
    there and no sigmoid could fit them.
    """
    return (1 - _DOUBT) * share + _DOUBT * average


def in_log_odds(parts: NDArray[np.float64], start: float) -> NDArray[np.float64]:
    """Return parts of a share as parts of its log-odds, in proportion, and last the baseline's.

    >>> in_log_odds(np.array([[0.2, 0.2]]), start=0.1).round(3).tolist()
    [[1.099, 1.099, -2.197]]
    """
    moved = parts.sum(axis=1)
    first = log_odds(np.array([start]))[0]
    change = log_odds(start + moved) - first
    scale = np.divide(change, moved, out=np.zeros(moved.size), where=np.abs(moved) > 1e-15)
    return np.column_stack([parts * scale[:, None], first + change - scale * moved])


def add_leaf_contributions(
    trees: MetaTrees, features: NDArray[np.float32], value: NDArray[np.float64], parts: NDArray
) -> None:
    """Add, over all trees, each column's effect on the leaves' values, and last their baseline."""
    means = _means_below(trees, value)
    for root in trees.roots:
        walking.add_contributions(features, root, *_cuts(trees), means, parts)
        parts[:, -1] += means[root]


def leaves(tree: MetaTrees, features: NDArray[np.float32], number: int = 0) -> NDArray[np.int32]:
    """Return the last node of every row's path through one of the trees."""
    return walking.leaves(features, tree.roots[number], *_cuts(tree))


def soft_scores(
    tree: MetaTrees, features: NDArray[np.float32], std: NDArray[np.float64], scoring: Scoring
) -> NDArray[np.float64]:
    """Return the mean share of positives of the leaves that a row reaches on the soft path."""
    width = scoring.softness * np.maximum(std, _LEAST_STD)
    shares = shrunk_shares(tree.nodes, scoring.shrinkage)
    return walking.soft_means(features, tree.roots[0], *_cuts(tree), width, shares)


def border_distances(
    tree: MetaTrees, features: NDArray[np.float32], is_whole_path: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the signed distance of every row to the nearest cut of its last local tree.

    Or of its whole path. Also returned: the column of that cut, -1 if no number was compared, and
    the last node of the path.
    """
    nodes = tree.nodes
    return walking.border_distances(
        features, tree.roots[0], *_cuts(tree), nodes.mass, nodes.hits, is_whole_path
    )


def shrunk_shares(parts: Nodes | Unions, shrinkage: float) -> NDArray[np.float64]:
    """Return the share of positives of every node or union, shrunk towards the share above it."""
    return walking.shrunk_shares(parts.parent, parts.mass, parts.hits, float(shrinkage))


def column_std(
    features: NDArray[np.float32], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the weighted standard deviation of every column; 0 without any value."""
    return _spread(features, np.empty(0) if weight is None else weight)


def _means_below(tree: MetaTrees, value: NDArray[np.float64]) -> NDArray[np.float64]:
    nodes = tree.nodes
    return walking.means_below(nodes.column, nodes.left, nodes.right, nodes.mass, value)


def _cuts(tree: MetaTrees) -> tuple[NDArray, ...]:
    """Return the arrays that kernels need to follow paths."""
    nodes = tree.nodes
    return (
        nodes.column,
        nodes.threshold,
        nodes.is_missing_left,
        nodes.set_start,
        tree.goes_left,
        nodes.left,
        nodes.right,
    )


@njit(cache=True, nogil=True)
def _spread(features, weight):
    """Return every column's standard deviation by Welford's method: one pass, no copy, no loss."""
    n_columns = features.shape[1]
    mass, mean, squares = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
    for row in range(features.shape[0]):
        here = weight[row] if weight.size else 1.0
        for column in range(n_columns):
            value = features[row, column]
            if np.isnan(value):
                continue
            mass[column] += here
            gap = value - mean[column]
            mean[column] += gap * here / mass[column]
            squares[column] += here * gap * (value - mean[column])
    for column in range(n_columns):
        if mass[column] > 0:
            squares[column] = np.sqrt(squares[column] / mass[column])
    return squares

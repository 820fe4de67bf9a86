"""Bootstrap resamples of a ranking, drawn group by group instead of row by row.

Each row appears a Poisson(1) number of times in a resample, independently of the others. So the m
positives of a group appear Poisson(m) times together: one draw per group and class is enough, and
a resample costs as much as there are groups, not rows.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import pdtr

from toprank.data import checks
from toprank.metrics.ranking import Ranking

Seed = int | np.random.Generator | None

_GROUPS_AT_ONCE = 1 << 16
"""Counts that are drawn by one call: a quarter of a megabyte per class."""


def resamples(ranking: Ranking, n_resamples: int, random_state: Seed) -> Iterator[Ranking]:
    """Yield `n_resamples` resampled rankings; one that lacks a class is drawn again."""
    positives, negatives = _cells(ranking.n_positive), _cells(ranking.n_negative)
    for drawn in _resampled([ranking], positives, negatives, n_resamples, random_state):
        yield drawn[0]


def paired_resamples(
    is_positive: NDArray[np.bool_],
    suspicions: list[NDArray[np.float64]],
    rankings: list[Ranking],
    n_resamples: int,
    random_state: Seed,
) -> Iterator[list[Ranking]]:
    """Yield pairs of resampled rankings; both rankings of a pair see the same resampled rows."""
    groups = [
        ranking.group_of(suspicion)
        for ranking, suspicion in zip(rankings, suspicions, strict=True)
    ]
    positives, negatives = (
        _joint_cells(groups[0][chosen], groups[1][chosen])
        for chosen in (is_positive, ~is_positive)
    )
    return _resampled(rankings, positives, negatives, n_resamples, random_state)


def percentile_band(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return the low and the high end of the middle `level` of resampled values."""
    tail = (1 - checks.number_above(level, "level", 0, 0.999)) / 2
    return np.quantile(values, [tail, 1 - tail], axis=0)


class _Cells(NamedTuple):
    """Rows of one class that are drawn together, because no ranking here distinguishes them.

    Cell c holds `sizes[c]` rows, which are in group `groups[r, c]` of ranking r. Both are int32:
    drawing is memory-bound, and half the bytes make a comparison a third faster.
    """

    sizes: NDArray[np.int32]
    groups: NDArray[np.int32]


def _cells(sizes: NDArray[np.int64]) -> _Cells:
    occupied = np.flatnonzero(sizes)
    return _Cells(sizes[occupied].astype(np.int32), occupied[None, :].astype(np.int32))


def _joint_cells(groups: NDArray[np.int64], other_groups: NDArray[np.int64]) -> _Cells:
    n_other = int(other_groups.max()) + 1
    cells, sizes = np.unique(groups * n_other + other_groups, return_counts=True)
    both = np.stack([cells // n_other, cells % n_other])
    return _Cells(sizes.astype(np.int32), both.astype(np.int32))


def _resampled(
    rankings: list[Ranking],
    positives: _Cells,
    negatives: _Cells,
    n_resamples: int,
    random_state: Seed,
) -> Iterator[list[Ranking]]:
    generator = np.random.default_rng(random_state)
    sizes = [ranking.threshold.size for ranking in rankings]
    n_groups, left = max(sizes), checks.whole_number(n_resamples, "n_resamples", 2)
    # many at once: a call takes longer than to draw a short ranking
    at_once = max(1, _GROUPS_AT_ONCE // (len(rankings) * n_groups))
    while left > 0:
        drawn = np.zeros((min(left, at_once), 2, len(rankings), n_groups), dtype=np.int32)
        _draw(generator, *positives, *negatives, *_poisson_tables(), drawn)
        left -= len(drawn)
        for n_positive, n_negative in drawn:
            yield [
                Ranking(ranking.threshold, n_positive[i, :size], n_negative[i, :size])
                for i, (ranking, size) in enumerate(zip(rankings, sizes, strict=True))
            ]


@cache
def _poisson_tables() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return tables that turn a uniform number into a Poisson count of mean 0 to 15.

    `cumulative[mean, count]` is the chance of at most `count`. `first_guess[mean, slot]` is the
    count at the lower end of one of 4,096 slots of (0, 1), nearly always that of the whole slot.
    """
    means, counts, slots = np.arange(16), np.arange(64), np.arange(4096) / 4096
    cumulative = pdtr(counts, means[:, None])
    cumulative[:, -1] = 1  # more than 63 has a chance below 1e-16; a search must end
    first_guess = np.array([np.searchsorted(row, slots, side="right") for row in cumulative])
    return first_guess, cumulative


@njit(cache=True)
def _draw(
    generator,
    positive_sizes,
    positive_groups,
    negative_sizes,
    negative_groups,
    first_guess,
    cumulative,
    drawn,
):
    """Draw resamples, each into `drawn[resample, class]`; a class without rows is drawn again."""
    for counts in drawn:
        while not _draw_poisson(
            generator, positive_sizes, positive_groups, first_guess, cumulative, counts[0]
        ):
            pass
        while not _draw_poisson(
            generator, negative_sizes, negative_groups, first_guess, cumulative, counts[1]
        ):
            pass


@njit(cache=True)
def _draw_poisson(generator, sizes, groups, first_guess, cumulative, counts):
    """Add a Poisson count of each cell to its groups and return whether any was above 0."""
    n_tabled, n_slots = first_guess.shape
    any_drawn = False
    for cell in range(sizes.size):
        mean = sizes[cell]
        if mean < n_tabled:
            uniform = generator.random()
            count = first_guess[mean, int(uniform * n_slots)]
            while uniform >= cumulative[mean, count]:
                count += 1
        else:
            count = generator.poisson(mean)
        any_drawn |= count > 0
        for ranking in range(groups.shape[0]):
            counts[ranking, groups[ranking, cell]] += count
    return any_drawn

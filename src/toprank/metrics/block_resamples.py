"""Average precision under resamples of whole blocks of rows, such as days.

Rows of one day share what happened on that day, so that resampling them one by one makes a
difference look surer than it is. Here whole blocks are drawn, positives and negatives together.
Rows may be in several lists, each ranked by a model of its own: the AP is then the mean, over all
positives, of the precision at each one's place in its own list.
"""

import numpy as np
from numpy.typing import NDArray

_VALUES_AT_ONCE = 1 << 21  # of resamples times positives: some 50 MB while they are summed


class BlockResamples:
    """The same resamples of blocks for any number of scores to compare.

    `lists` and `blocks` number each row's list and block.

    >>> is_positive = np.array([True, False, True, False])
    >>> day = np.array([0, 0, 1, 1])
    >>> resamples = BlockResamples(is_positive, None, day, day, 100, seed=0)
    >>> resamples.average_precisions(np.array([3.0, 2.0, 1.0, 4.0]))[0].item()
    0.75
    """

    def __init__(
        self,
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        lists: NDArray[np.intp],
        blocks: NDArray[np.intp],
        n_resamples: int,
        seed: int,
    ) -> None:
        weight = np.ones(is_positive.size) if weight is None else weight
        numbers, block = np.unique(blocks, return_inverse=True)
        counts = np.random.default_rng(seed).poisson(1.0, (n_resamples, numbers.size))
        with_positives = np.unique(block[is_positive])
        counts = counts[counts[:, with_positives].any(axis=1)]
        self._counts = np.vstack([np.ones(numbers.size), counts])
        self._lists = [
            _RankedList(rows, is_positive[rows], weight[rows], block[rows])
            for rows in (np.flatnonzero(lists == each) for each in np.unique(lists))
        ]

    def __len__(self) -> int:
        return len(self._counts)

    def average_precisions(self, raw: NDArray, n_first: int | None = None) -> NDArray[np.float64]:
        """Return the AP of the original rows, then of each resample, or only the first of these.

        Equal scores count as one group.
        """
        by_list = [each.sums(raw[each.rows], self._counts[:n_first]) for each in self._lists]
        precisions, weights = np.sum(by_list, axis=0)
        return precisions / weights


class _RankedList:
    """The rows of one list."""

    def __init__(self, rows, is_positive, weight, block):
        self.rows, self._is_positive, self._weight = rows, is_positive, weight
        self._own, self._block = np.unique(block, return_inverse=True)

    def sums(self, raw: NDArray, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the positives' precisions and of their weights, per resample."""
        if not self._is_positive.any():
            return np.zeros((2, len(counts)))
        levels = np.unique(-raw[self._is_positive])
        found = self._by_level_and_block(raw, levels, self._is_positive)
        others = self._by_level_and_block(raw, levels, ~self._is_positive)
        above = np.cumsum(others, axis=0)
        counts = counts[:, self._own]
        at_once = max(_VALUES_AT_ONCE // levels.size, 1)
        parts = [
            _precision_sums(found @ drawn.T, above @ drawn.T)
            for drawn in (counts[i : i + at_once] for i in range(0, len(counts), at_once))
        ]
        return np.concatenate(parts, axis=1)

    def _by_level_and_block(self, raw, levels, chosen):
        """Return the weight of the chosen rows by level of the positives' scores and by block.

        Rows below the last level are left out: every positive is ahead of them.
        """
        place = np.searchsorted(levels, -raw[chosen])
        n_blocks = self._own.size
        cell = place * n_blocks + self._block[chosen]
        table = np.bincount(cell, self._weight[chosen], (levels.size + 1) * n_blocks)
        return table.reshape(-1, n_blocks)[: levels.size]


def _precision_sums(found: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of precisions and weights; a column is a resample, a row a level."""
    found_so_far = np.cumsum(found, axis=0)
    checked = found_so_far + above
    precision = np.divide(found_so_far, checked, out=np.zeros_like(checked), where=checked > 0)
    return np.stack([(found * precision).sum(axis=0), found_so_far[-1]])

"""Average precision under many resamples of the positives at once, with weighted rows.

Positives are few, so nearly all of the uncertainty of an AP is due to them: resampling them alone
shows how much of a difference is chance. The negatives stay as they are, which makes one pass over
the rows serve all resamples.
"""

import numpy as np
from numpy.typing import NDArray

_VALUES_AT_ONCE = 1 << 21  # of resamples times positives: some 50 MB while they are summed


class PositiveResamples:
    """The same resamples of one set of rows, for any number of scores to compare.

    >>> resamples = PositiveResamples(np.array([True, False, True]), None, 100, seed=0)
    >>> round(float(resamples.average_precisions(np.array([3.0, 2.0, 1.0]))[0]), 3)
    0.833
    """

    def __init__(
        self,
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        n_resamples: int,
        seed: int,
    ) -> None:
        self._is_positive = is_positive
        self._weight = np.ones(is_positive.size) if weight is None else weight
        n_positive = int(is_positive.sum())
        counts = np.random.default_rng(seed).poisson(1.0, (n_resamples, n_positive))
        counts = counts[counts.any(axis=1)]
        # a byte each: none is drawn 256 times
        self._counts = np.vstack([np.ones(n_positive), counts]).astype(np.uint8)

    def __len__(self) -> int:
        return len(self._counts)

    def average_precisions(self, raw: NDArray, n_first: int | None = None) -> NDArray[np.float64]:
        """Return the AP of the original rows, then of each resample, or only the first of these.

        Equal scores count as one group.
        """
        positive = raw[self._is_positive]
        falling = np.argsort(-positive, kind="stable")
        levels, first = np.unique(-positive[falling], return_index=True)
        # negatives at or above each level of the positives' scores
        place = np.searchsorted(levels, -raw[~self._is_positive])
        added = np.bincount(place, self._weight[~self._is_positive], levels.size + 1)
        above = np.cumsum(added[: levels.size], dtype=np.float64)
        weight = self._weight[self._is_positive][falling]
        at_once = max(_VALUES_AT_ONCE // max(positive.size, 1), 1)
        counts = self._counts[:n_first]
        blocks = (counts[i : i + at_once] for i in range(0, len(counts), at_once))
        return np.concatenate(
            [_precisions(block[:, falling] * weight, first, above) for block in blocks]
        )


def _precisions(
    weight: NDArray[np.float64], first: NDArray[np.intp], above: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the AP of each row of weights; levels begin at `first`."""
    found = np.add.reduceat(weight, first, axis=1)
    found_so_far = np.cumsum(found, axis=1)
    checked = found_so_far + above
    precision = np.divide(found_so_far, checked, out=np.zeros_like(checked), where=checked > 0)
    return (found * precision).sum(axis=1) / found_so_far[:, -1]

"""A ranking: rows in order of falling suspicion, rows of equal suspicion as one group.

All metrics of this package are functions of the positives and negatives per group. Neighbouring
groups without a positive can be merged and no metric changes, so P positives make at most 2P + 1
groups however many rows there are; that is what makes resampling cheap.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks


@dataclass(frozen=True, eq=False)
class Ranking:
    """Positives and negatives of each group, the most suspicious group first.

    `threshold` is the lowest suspicion in the group. A resampled ranking may have empty groups.
    """

    threshold: NDArray[np.float64]
    n_positive: NDArray
    n_negative: NDArray

    @classmethod
    def of(
        cls, y: ArrayLike, suspicion: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "Ranking":
        """Return the ranking of rows with labels `y` by `suspicion`.

        With `sample_weight`, weights are added up instead of rows; those of 0 are left out.

        >>> ranking = Ranking.of([1, 0, 0, 1], [0.9, 0.2, 0.5, 0.5])
        >>> ranking.n_positive.tolist(), ranking.n_negative.tolist()
        ([1, 1, 0], [0, 1, 1])
        """
        suspicion = checks.finite_vector(suspicion, "suspicion")
        is_positive = checks.positives(y, like=suspicion)
        weight = checks.sample_weight(sample_weight, suspicion.size)
        if weight is not None:
            return cls._weighted(is_positive, suspicion, weight)
        falling = np.argsort(-suspicion)
        score = suspicion[falling]
        starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
        sizes = np.diff(starts, append=score.size)
        n_positive = np.add.reduceat(is_positive[falling], starts, dtype=np.int64)
        return cls(score[starts], n_positive, sizes - n_positive)

    @classmethod
    def _weighted(
        cls,
        is_positive: NDArray[np.bool_],
        suspicion: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> "Ranking":
        counts = weight > 0
        is_positive, weight = is_positive[counts], weight[counts]
        checks.positives(is_positive, "y, without rows of zero weight,")
        threshold, group = np.unique(-suspicion[counts], return_inverse=True)
        n_positive = np.bincount(group, weight * is_positive, threshold.size)
        n_negative = np.bincount(group, weight * ~is_positive, threshold.size)
        return cls(-threshold, n_positive, n_negative)

    @cached_property
    def found(self) -> NDArray:
        """Positives in this group and all before it."""
        return np.cumsum(self.n_positive)

    @cached_property
    def checked(self) -> NDArray:
        """Rows in this group and all before it."""
        return np.cumsum(self.n_positive + self.n_negative)

    @cached_property
    def total_positive(self) -> int:
        return int(self.n_positive.sum())

    @cached_property
    def total_negative(self) -> int:
        return int(self.n_negative.sum())

    @property
    def n_rows(self) -> int:
        return self.total_positive + self.total_negative

    def merged(self, border: float | None = None) -> "Ranking":
        """Return the same ranking with neighbouring groups of negatives made one.

        Groups on the two sides of `border` (`threshold >= border` or not) are not merged, which
        keeps metrics at that threshold unchanged too.
        """
        is_border = (self.n_positive[1:] > 0) | (self.n_positive[:-1] > 0)
        if border is not None:
            is_border |= np.diff(self.threshold >= border)
        starts = np.flatnonzero(np.append(True, is_border))
        ends = np.append(starts[1:], self.threshold.size) - 1
        return Ranking(
            self.threshold[ends],
            np.add.reduceat(self.n_positive, starts),
            np.add.reduceat(self.n_negative, starts),
        )

    def group_of(self, suspicion: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the group that each suspicion falls into; none may be below the last group."""
        return np.searchsorted(-self.threshold, -suspicion)

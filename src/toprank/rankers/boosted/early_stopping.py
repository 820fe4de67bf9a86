"""When to stop adding trees, judged by a noisy validation AP.

With 50 positives, average precision moves by chance from tree to tree, and the best round is
partly luck. So the validation positives are resampled, and every resample votes for the round
with its own best AP. Boosting continues until nine of ten votes are older than the patience; the
round kept is the median vote.
"""

import numpy as np
from numpy.typing import NDArray

from toprank.losses.rows_by_group import RowsByGroup
from toprank.metrics.positive_resamples import PositiveResamples

_N_VOTERS = 50
_SHARE_TO_STOP = 0.9


class RoundVote:
    """The running votes of resampled validation sets for the best round.

    Where the rows have groups, these are ranked, each by its most suspicious row.
    """

    def __init__(
        self,
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        patience: int,
        seed: int,
        groups: NDArray[np.int64] | None = None,
    ) -> None:
        self._patience = patience
        self._by_group = None if groups is None else RowsByGroup.of(groups)
        if self._by_group is not None:
            is_positive = self._by_group.highest(is_positive)
            weight = None if weight is None else self._by_group.highest(weight)
        # the first voter sees the rows as they are; its AP is the one reported
        self._voters = PositiveResamples(is_positive, weight, _N_VOTERS, seed)
        self._best = np.full(len(self._voters), -np.inf)
        self._vote = np.zeros(len(self._voters), dtype=int)
        self.history: list[float] = []

    def see(self, raw: NDArray) -> None:
        """Record every resample's AP: before the first tree, then after each."""
        raw = np.asarray(raw)
        scores = raw if self._by_group is None else self._by_group.highest(raw)
        precision = self._voters.average_precisions(scores)
        improved = precision > self._best
        self._best[improved] = precision[improved]
        self._vote[improved] = len(self.history)
        self.history.append(float(precision[0]))

    @property
    def is_over(self) -> bool:
        """Whether nine of ten resamples have had no better round for as long as the patience."""
        latest = np.quantile(self._vote, _SHARE_TO_STOP)
        return len(self.history) - 1 - latest >= self._patience

    @property
    def best(self) -> int:
        """The index, from 0, of the scores to keep."""
        return int(np.median(self._vote))

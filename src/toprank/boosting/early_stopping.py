"""When to stop adding trees, judged by validation AP that jitters.

With 50 positives, average precision moves by chance from tree to tree, and the best round is
partly luck. So the validation positives are resampled, and every resample votes for the round
with its own best AP. Boosting goes on until nine of ten votes are older than the patience; the
round kept is the median vote.
"""

import numpy as np
from numpy.typing import NDArray

_N_VOTERS = 50
_SHARE_TO_STOP = 0.9


class RoundVote:
    """The running votes of resampled validation sets for the best round."""

    def __init__(
        self,
        is_positive: NDArray[np.bool_],
        weight: NDArray[np.float64] | None,
        patience: int,
        seed: int,
    ) -> None:
        self._is_positive = is_positive
        self._weight = np.ones(is_positive.size) if weight is None else weight
        self._patience = patience
        n_positive = int(is_positive.sum())
        counts = np.random.default_rng(seed).poisson(1.0, (_N_VOTERS, n_positive))
        counts = counts[counts.any(axis=1)]
        # the first voter sees the rows as they are; its AP is the one reported
        self._counts = np.vstack([np.ones(n_positive), counts]) * self._weight[is_positive]
        self._best = np.full(len(self._counts), -np.inf)
        self._vote = np.zeros(len(self._counts), dtype=int)
        self.history: list[float] = []

    def see(self, raw: NDArray) -> None:
        """Let every resample judge the scores before the first tree or after one more."""
        precision = self._average_precisions(np.asarray(raw))
        improved = precision > self._best
        self._best[improved] = precision[improved]
        self._vote[improved] = len(self.history)
        self.history.append(float(precision[0]))

    @property
    def is_over(self) -> bool:
        """Whether nine of ten resamples have gone the patience without a better round."""
        latest = np.quantile(self._vote, _SHARE_TO_STOP)
        return len(self.history) - 1 - latest >= self._patience

    @property
    def best(self) -> int:
        """Which of the scores seen to keep, counted from 0."""
        return int(np.median(self._vote))

    def _average_precisions(self, raw: NDArray) -> NDArray[np.float64]:
        """Return each resample's AP; equal scores count as one group."""
        positive = raw[self._is_positive]
        falling = np.argsort(-positive, kind="stable")
        levels, first = np.unique(-positive[falling], return_index=True)
        # negatives at or above each level of the positives' scores
        place = np.searchsorted(levels, -raw[~self._is_positive])
        added = np.bincount(place, self._weight[~self._is_positive], levels.size + 1)
        above = np.cumsum(added[: levels.size])
        found = np.add.reduceat(self._counts[:, falling], first, axis=1)
        found_so_far = np.cumsum(found, axis=1)
        checked = found_so_far + above
        precision = np.divide(found_so_far, checked, out=np.zeros_like(checked), where=checked > 0)
        return (found * precision).sum(axis=1) / found_so_far[:, -1]

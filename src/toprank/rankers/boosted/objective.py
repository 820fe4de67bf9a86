"""The gradients that an engine needs in each round."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toprank.losses import Gather, Loss

_LEAST_CURVATURE = 10.0


@dataclass
class Objective:
    """Gradient and curvature of a loss on each round's batch.

    Every round draws its own batch, and rows outside it are not in the list: they do not
    enter the loss's totals and their gradient is zero. A listwise loss learns nothing from a
    batch of a single class: its gradient is zero everywhere. With `groups`, whole groups are
    drawn: an entry of the list is in the batch with all its rows, or with none.
    """

    loss: Loss
    is_positive: NDArray[np.bool_]
    weight: NDArray[np.float64] | None
    batch_fraction: float
    seed: int
    gather: Gather = field(default_factory=Gather)
    groups: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n_rows = self.is_positive.size
        self._n_drawn = n_rows if self.groups is None else int(self.groups.max(initial=-1)) + 1
        self._out = np.empty(n_rows, np.float32), np.empty(n_rows, np.float32)

    def batch_weight(self, round_: int) -> NDArray[np.float64] | None:
        """Return the weights of the round's batch: 0 outside; None when every row counts once."""
        if self.batch_fraction == 1:
            return self.weight
        draw = np.random.default_rng([self.seed, round_]).random(self._n_drawn)
        in_batch = (draw < self.batch_fraction).astype(np.float64)
        if self.groups is not None:
            in_batch = in_batch[self.groups]
        return in_batch if self.weight is None else in_batch * self.weight

    def gradient_curvature(
        self, raw: NDArray, round_: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return what the round's tree is fitted to, in float32; the next round overwrites it."""
        weight = self.batch_weight(round_)
        self.loss.gradient_curvature(self.is_positive, raw, weight, self.gather, out=self._out)
        if self.loss.is_listwise:
            factor = self._row_scale(self._out[1], weight)
            self.gather.run(lambda block: self._multiply(block, factor), raw.size)
        return self._out

    def _multiply(self, block: slice, factor: float) -> None:
        for values in self._out:
            values[block] *= np.float32(factor)

    def _row_scale(self, curvature: NDArray, weight: NDArray | None) -> float:
        """Return the factor that makes the curvatures add up to the positives' weight.

        A listwise gradient is about 1/n per row. Unscaled, the engine's own constants (smallest
        gain, smallest child weight, penalty) would drown it and nothing would be learned.
        Log-loss, for which those constants are made, starts with this much curvature when
        positives are rare; and the gradient still fades as the ranking becomes right.
        """
        parts = self.gather.run(lambda block: float(curvature[block].sum()), curvature.size)
        if weight is None:
            own = float(np.count_nonzero(self.is_positive))
        else:
            own = float(weight[self.is_positive].sum())
        total, positives = self.gather.sums([(sum(parts), own)], 2)
        if total <= 0 or positives <= 0:
            return 1.0
        # a handful of positives must still be separable: children weigh at least 1
        return float(max(positives, _LEAST_CURVATURE) / total)

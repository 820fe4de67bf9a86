"""How well a recipe ranks held-out rows, and whether a lead is more than luck."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.data.tables.row_numbers import as_slice
from toprank.metrics.block_resamples import BlockResamples
from toprank.metrics.positive_resamples import PositiveResamples
from toprank.rankers.auto.blend import Columns, Recipe
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.judged_folds import JudgedFolds

_N_RESAMPLES = 400

Scores = NDArray[np.float64]


class RecipeStanding(NamedTuple):
    """The AP of some scores on the judged rows, and in each resample of their positives."""

    average_precision: float
    resampled: NDArray[np.float64]

    def ahead_of(self, other: RecipeStanding) -> float:
        """Return the share of resamples in which this is ahead; a tie counts half."""
        gap = self.resampled - other.resampled
        return float(np.mean((gap > 0) + (gap == 0) / 2))

    def lead(self, other: RecipeStanding) -> tuple[float, float, float]:
        """Return how far this is ahead, and the middle 95 % of that over the resamples."""
        low, high = np.quantile(self.resampled - other.resampled, [0.025, 0.975])
        return self.average_precision - other.average_precision, float(low), float(high)


@dataclass
class Judge:
    """Fits recipes on the folds' training rows and scores the judged rows."""

    rows: TrainingRows
    columns: Columns
    judging: JudgedFolds
    seed: int
    n_threads: int
    is_positive: NDArray[np.bool_] = field(init=False)
    weight: Scores | None = field(init=False)

    def __post_init__(self) -> None:
        judged = self.judging.row
        self.is_positive = self.rows.is_positive[judged]
        self.weight = None if self.rows.weight is None else self.rows.weight[judged]
        # a fold's rows are binned once for all recipes
        self._bins: list[dict[Any, Any]] = [{} for _ in self.judging.folds]
        self._resamples = self._drawn()

    def scores(self, recipe: Recipe) -> tuple[Scores, float]:
        """Return the recipe's score of every judged row, and the seconds it took."""
        return self._joined(recipe.tried)

    def scores_in_stages(
        self, recipe: BoostedTrees, stages: tuple[int, ...]
    ) -> tuple[dict[int, Scores], float]:
        """Return the scores after each of these numbers of trees, grown once."""
        table, seconds = self._joined(partial(recipe.tried_in_stages, stages))
        return dict(zip(stages, table.T, strict=True)), seconds

    def standing(self, scores: Scores) -> RecipeStanding:
        """Return the AP of the judged rows, with resamples that are the same for all scores."""
        precisions = self._resamples.average_precisions(scores)
        return RecipeStanding(float(precisions[0]), precisions[1:])

    def _drawn(self) -> PositiveResamples | BlockResamples:
        origin, blocks = self.judging.origin, self.judging.blocks
        if blocks is None:
            return PositiveResamples(self.is_positive, self.weight, _N_RESAMPLES, self.seed)
        return BlockResamples(
            self.is_positive, self.weight, origin, blocks, _N_RESAMPLES, self.seed
        )

    def _joined(self, tried: Callable[..., NDArray[np.float64]]) -> tuple[NDArray, float]:
        begin = time.perf_counter()
        parts = [
            tried(
                self.rows.take(fold.train)._replace(bins=self._bins[number]),
                self.columns,
                self.rows.features[as_slice(fold.judged)],
                seed=self.seed + number,
                n_threads=self.n_threads,
            )
            for number, fold in enumerate(self.judging.folds)
        ]
        return np.concatenate(parts), time.perf_counter() - begin

"""How well a recipe ranks held-out rows, and whether a lead is more than luck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.data.tables.row_numbers import as_slice
from toprank.metrics.block_resamples import BlockResamples
from toprank.metrics.positive_resamples import PositiveResamples
from toprank.rankers.auto.blend import Columns, Recipe, sampled
from toprank.rankers.auto.boosted import BoostedTrees, GrowingTrees
from toprank.rankers.auto.judged_folds import JudgedFolds

_N_RESAMPLES = 400
_MOST_VALUES = 10_000_000  # of all folds' training rows and one more
_ROWS_ANYWAY = 50_000
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")  # their mean: a tie counts half

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
    """Fits recipes on the folds' training rows and scores the judged rows.

    Where folds have very many rows, recipes learn from a sample that has all positives: what is
    compared is the recipes, and the winner learns from every row in the end.
    """

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
        # a fold's rows are binned once for all recipes, and then no longer copied
        self._binned: list[dict[str, TrainingRows]] = [{} for _ in self.judging.folds]
        self._judged_features = [
            self.rows.features[as_slice(fold.judged)] for fold in self.judging.folds
        ]
        self._resamples = self._drawn()

    def work(self, recipe: Recipe) -> float:
        """Return the estimated work of judging a recipe."""
        n_columns = len(self.columns)
        sizes = (min(fold.train.size, self._most_rows()) for fold in self.judging.folds)
        return sum(recipe.work(size, n_columns, tried=True) for size in sizes)

    def final_work(self, recipe: Recipe) -> float:
        """Return the estimated work of fitting a recipe to all rows."""
        return recipe.work(self.rows.is_positive.size, len(self.columns))

    def scores(self, recipe: Recipe) -> Scores:
        """Return the recipe's score of every judged row."""
        return np.concatenate([recipe.tried(**each) for each in self._folds(recipe)])

    def growth(self, recipe: BoostedTrees) -> JudgedGrowth:
        """Return the recipe's trees on every fold, to be grown stage by stage."""
        return JudgedGrowth([GrowingTrees(recipe, **each) for each in self._folds(recipe)])

    def standing(self, scores: Scores) -> RecipeStanding:
        """Return the AP of the judged rows, with resamples that are the same for all scores."""
        precisions = self._resamples.average_precisions(scores)
        return RecipeStanding(float(precisions[0]), precisions[1:])

    def average_precision(self, scores: Scores) -> float:
        """Return the AP of the judged rows alone."""
        return float(self._resamples.average_precisions(scores, n_first=1)[0])

    def separation(self, scores: Scores) -> float:
        """Return by how many standard errors positives rank above others, within folds.

        It is the rank-sum statistic, 0 on average where scores say nothing. Folds are compared
        separately: the models of two folds may score all rows higher or lower.
        """
        above = variance = 0.0
        for origin in np.unique(self.judging.origin):
            is_here = self.judging.origin == origin
            here, is_positive = scores[is_here], self.is_positive[is_here]
            positive, negative = here[is_positive], np.sort(here[~is_positive])
            below = np.add(*(np.searchsorted(negative, positive, side) for side in _SIDES)) / 2
            above += float((below - negative.size / 2).sum())
            variance += positive.size * negative.size * (here.size + 1) / 12
        return above / variance**0.5 if variance else 0.0

    def is_same_order(self, scores: Scores, others: Scores) -> bool:
        """Return whether two scores put the judged rows in the same order within each fold."""
        folds = [self.judging.origin == origin for origin in np.unique(self.judging.origin)]
        return all(np.array_equal(_places(scores[each]), _places(others[each])) for each in folds)

    def _drawn(self) -> PositiveResamples | BlockResamples:
        origin, blocks = self.judging.origin, self.judging.blocks
        if blocks is None:
            return PositiveResamples(self.is_positive, self.weight, _N_RESAMPLES, self.seed)
        return BlockResamples(
            self.is_positive, self.weight, origin, blocks, _N_RESAMPLES, self.seed
        )

    def _most_rows(self) -> int:
        n_folds = len(self.judging.folds)
        return max(_MOST_VALUES // (n_folds + 1) // max(len(self.columns), 1), _ROWS_ANYWAY)

    def _folds(self, recipe: Recipe) -> Iterator[dict[str, Any]]:
        """Yield what a recipe needs to learn from a fold and to score its judged rows."""
        for number in range(len(self.judging.folds)):
            yield {
                "rows": self._learned(number, recipe),
                "columns": self.columns,
                "features": self._judged_features[number],
                "seed": self.seed + number,
                "n_threads": self.n_threads,
            }

    def _learned(self, number: int, recipe: Recipe) -> TrainingRows:
        """Return the rows that a recipe learns from in a fold."""
        if not isinstance(recipe, BoostedTrees):
            return self._sample(number)
        known = self._binned[number]
        if recipe.binning not in known:
            known[recipe.binning] = recipe.binned(self._sample(number), self.columns)
        return known[recipe.binning]

    def _sample(self, number: int) -> TrainingRows:
        train = self.judging.folds[number].train
        return sampled(self.rows, self._most_rows(), self.seed + number, among=train)


def _places(scores: Scores) -> NDArray[np.intp]:
    """Return the place of each score in rising order; equal ones share theirs."""
    return np.unique(scores, return_inverse=True)[1]


@dataclass
class JudgedGrowth:
    """Trees that grow on every fold."""

    folds: list[GrowingTrees]

    def to(self, n_trees: int) -> Scores:
        """Return the judged rows' scores by the first trees, grown as far as needed."""
        return np.concatenate([fold.to(n_trees) for fold in self.folds])

    def then(self, loss: str, n_trees: int) -> Scores:
        """Return the scores by as many trees of which the last ones learned another loss."""
        return np.concatenate([fold.then(loss, n_trees) for fold in self.folds])

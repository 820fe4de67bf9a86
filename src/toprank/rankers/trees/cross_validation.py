"""Settings of a ranking tree chosen by cross-validated average precision.

Trees that differ only in global depth or in scoring are one tree, cut back and scored again: a
fold grows one tree per way of growing local trees.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.metrics import average_precision
from toprank.rankers.trees.folds import stratified_folds
from toprank.rankers.trees.kernel.binning import bin_columns
from toprank.rankers.trees.kernel.growing import Growth, Sample
from toprank.rankers.trees.kernel.meta_tree import MetaTrees, grow_meta_trees
from toprank.rankers.trees.scoring import Scoring, column_std, ordered, scores


class Settings(NamedTuple):
    """Everything that determines the tree of given rows, and how it scores."""

    growth: Growth
    global_depth: int
    scoring: Scoring


class TreeSettings(NamedTuple):
    """The settings tried, the mean average precision of each over the folds, and the best."""

    tried: list[Settings]
    average_precision: NDArray[np.float64]

    @property
    def best(self) -> Settings:
        """The first of those with the highest mean; simple settings come first."""
        return self.tried[int(np.argmax(self.average_precision))]


def choose(
    rows: TrainingRows,
    n_categories: NDArray[np.int64],
    candidates: Sequence[Settings],
    aim: str,
    max_bins: int,
    seed: int,
    n_jobs: int | None = None,
) -> TreeSettings:
    """Return how well each of the candidates ranks rows it has not seen, in five folds.

    With fewer than five positives there are as many folds as positives, at least two.
    """
    found = Parallel(n_jobs, prefer="threads")(
        delayed(_judged)(
            rows.take(train), rows.take(test), n_categories, candidates, aim, max_bins
        )
        for train, test in stratified_folds(rows.is_positive, seed)
    )
    return TreeSettings(list(candidates), np.mean(found, axis=0))


def grow_one(
    rows: TrainingRows,
    n_categories: NDArray[np.int64],
    growth: Growth,
    global_depth: int,
    aim: str,
    max_bins: int,
) -> MetaTrees:
    """Return one tree grown on all rows."""
    binned = bin_columns(rows.features, n_categories, max_bins)
    n_rows = rows.is_positive.size
    sample = Sample.of(np.arange(n_rows), rows.is_positive, rows.weight)
    return grow_meta_trees(
        binned, sample, np.array([n_rows]), np.ones(1, np.uint64), growth, global_depth, aim
    )


def _judged(
    train: TrainingRows,
    test: TrainingRows,
    n_categories: NDArray[np.int64],
    candidates: Sequence[Settings],
    aim: str,
    max_bins: int,
) -> list[float]:
    """Return every candidate's average precision on the test rows."""
    std = column_std(train.features, train.weight)
    deepest: dict[Growth, int] = {}
    for each in candidates:
        deepest[each.growth] = max(each.global_depth, deepest.get(each.growth, 0))
    trees = {
        growth: grow_one(train, n_categories, growth, depth, aim, max_bins)
        for growth, depth in deepest.items()
    }
    tops = {
        (each.growth, each.global_depth): trees[each.growth].cut_back(each.global_depth)
        for each in candidates
    }
    return [
        average_precision(
            test.is_positive,
            scores(
                ordered(tops[each.growth, each.global_depth], each.scoring),
                test.features,
                std,
                each.scoring,
            ),
            test.weight,
        )
        for each in candidates
    ]

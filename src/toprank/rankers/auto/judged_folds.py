"""Which rows recipes are judged on: an eval_set, later windows of time, or random folds."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank import splits
from toprank.data.inputs import TrainingRows

TRAINING_ROWS = "the training rows"

_MANY_ROWS = 50_000
_MANY_POSITIVES = 1_000
_SOME_POSITIVES = 150
_LEAST_DAYS = 8
_MOST_DAYS = 100
_N_BLOCKS = 20
"""Blocks of neighbouring rows, where the days to judge on are too few to resample."""


class JudgedFold(NamedTuple):
    """Indices of the rows to learn from and of the rows to be judged on."""

    train: NDArray[np.intp]
    judged: NDArray[np.intp]


class JudgedFolds(NamedTuple):
    """The folds, and a name for the rows they judge.

    `blocks` numbers the block (a day, a week) of each judged row, in the order of the folds: its
    rows are resampled together. None means that positives are resampled one by one, and that all
    folds are one list.
    """

    folds: list[JudgedFold]
    judged_on: str
    blocks: NDArray[np.intp] | None = None

    @property
    def row(self) -> NDArray[np.intp]:
        """The judged rows, fold by fold."""
        return np.concatenate([fold.judged for fold in self.folds])

    @property
    def origin(self) -> NDArray[np.intp]:
        """The number of the fold that judged each of these rows."""
        sizes = [fold.judged.size for fold in self.folds]
        return np.repeat(np.arange(len(sizes)), sizes)


def folds_after(n_rows: int, n_judged: int) -> JudgedFolds:
    """Return the one fold that judges the rows of an eval_set, which follow the training rows."""
    fold = JudgedFold(np.arange(n_rows), n_rows + np.arange(n_judged))
    return JudgedFolds([fold], "the eval_set")


def folds_in_time(
    moments: NDArray[np.datetime64], is_positive: NDArray[np.bool_], gap: Any
) -> JudgedFolds:
    """Return folds that each judge a window of the latest rows by what came before it."""
    folds = [JudgedFold(*parts) for parts in splits.rolling_origins(moments, is_positive, gap)]
    blocks, unit = _blocks(np.asarray(moments, "datetime64[us]"), folds)
    windows = "the latest window" if len(folds) == 1 else f"{len(folds)} later windows"
    return JudgedFolds(folds, f"{windows}, resampled by {unit}", blocks)


def random_folds(rows: TrainingRows, seed: int) -> JudgedFolds:
    """Return folds drawn at random: fewer when there are many rows or positives."""
    n_folds = _n_folds(rows.is_positive)
    if n_folds == 0:
        # a single positive cannot be both learned from and judged on
        everything = np.arange(rows.is_positive.size)
        return JudgedFolds([JudgedFold(everything, everything)], TRAINING_ROWS)
    drawn = [JudgedFold(*fold) for fold in splits.folds(rows.is_positive, n_folds, seed)]
    name = "a fifth of the rows, drawn at random" if len(drawn) == 1 else f"{len(drawn)} folds"
    return JudgedFolds(drawn, name)


def _blocks(
    moments: NDArray[np.datetime64], folds: list[JudgedFold]
) -> tuple[NDArray[np.intp], str]:
    """Return the block of each judged row, and what one block is."""
    judged = np.concatenate([moments[fold.judged] for fold in folds])
    day = judged.astype("datetime64[D]").astype(np.intp)
    n_days = np.unique(day).size
    if n_days > _MOST_DAYS:
        return day // 7, "week"
    if n_days >= _LEAST_DAYS:
        return day, "day"
    place = np.empty(judged.size, np.intp)
    place[np.argsort(judged, kind="stable")] = np.arange(judged.size)
    return place * _N_BLOCKS // judged.size, "blocks of rows"


def _n_folds(is_positive: NDArray[np.bool_]) -> int:
    """Return how many folds to judge on: with many positives, one is enough."""
    n_positive = int(np.count_nonzero(is_positive))
    rarer = min(n_positive, is_positive.size - n_positive)
    if rarer < 2:
        return 0
    if rarer >= _MANY_POSITIVES:
        return 1
    is_small = is_positive.size <= _MANY_ROWS and rarer < _SOME_POSITIVES
    return min(5 if is_small else 3, rarer)

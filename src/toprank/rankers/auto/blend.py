"""The parts of a blend: recipes to fit, and the members they become."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.data.tables import Column
from toprank.files import Saved

Columns = tuple[Column, ...]


class Member(Protocol):
    """A fitted model that scores encoded rows by roughly calibrated log-odds."""

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the score of every row."""

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each feature adds to each score; the last column is the common start."""

    def importances(self) -> NDArray[np.float64]:
        """Return each feature's importance; they add up to 1."""

    def parts(self) -> Saved:
        """Return what `from_parts` of the same class restores the member from."""


class Recipe(Protocol):
    """A frozen description of one model to fit."""

    @property
    def name(self) -> str:
        """The kind of model."""

    @property
    def words(self) -> str:
        """A short description that distinguishes it from others of its kind."""

    def work(self, n_rows: int, n_columns: int, *, tried: bool = False) -> float:
        """Return the estimated work of `fit` or `tried`, in values read to build histograms."""

    def fit(self, rows: TrainingRows, columns: Columns, *, seed: int, n_threads: int) -> Member:
        """Return the model fitted to `rows`."""

    def tried(
        self,
        rows: TrainingRows,
        columns: Columns,
        features: NDArray[np.float32],
        *,
        seed: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the scores of other rows by a model fitted to `rows` and then discarded.

        It may be smaller than the one that `fit` returns.
        """


def sampled(
    rows: TrainingRows, most: int, seed: int, among: NDArray[np.intp] | None = None
) -> TrainingRows:
    """Return at most `most` of the rows, weighted so that each class keeps its total weight.

    `among` limits the choice to these row numbers. The rarer class is taken first, up to half of
    the sample.
    """
    numbers = np.arange(rows.is_positive.size) if among is None else among
    if numbers.size <= most:
        return rows if among is None else rows.take(among)
    generator = np.random.default_rng(seed)
    weight = np.ones(rows.is_positive.size) if rows.weight is None else rows.weight
    chosen: list[NDArray[np.intp]] = []
    factors: list[NDArray[np.float64]] = []
    n_left = most
    for places in _rarer_first(rows.is_positive[numbers]):
        members = numbers[places]
        n_taken = min(members.size, most // 2 if not chosen else n_left)
        chosen.append(generator.choice(members, n_taken, replace=False))
        factor = weight[members].sum() / weight[chosen[-1]].sum()
        factors.append(np.full(n_taken, factor))
        n_left -= n_taken
    order = np.argsort(np.concatenate(chosen))
    taken = np.concatenate(chosen)[order]
    return TrainingRows(
        rows.features[taken],
        rows.is_positive[taken],
        weight[taken] * np.concatenate(factors)[order],
    )


def _rarer_first(is_positive: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    return sorted((np.flatnonzero(is_positive), np.flatnonzero(~is_positive)), key=len)

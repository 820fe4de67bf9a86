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
        """Return the scores of other rows by a model fitted to `rows` and then discarded."""


def sampled(rows: TrainingRows, most: int, seed: int) -> TrainingRows:
    """Return at most `most` of the rows, weighted so that each class keeps its total weight.

    The rarer class is taken first, up to half of the sample.
    """
    n_rows = rows.is_positive.size
    if n_rows <= most:
        return rows
    generator = np.random.default_rng(seed)
    weight = np.ones(n_rows) if rows.weight is None else rows.weight
    chosen: list[NDArray[np.intp]] = []
    factors: list[NDArray[np.float64]] = []
    n_left = most
    for members in _rarer_first(rows.is_positive):
        n_taken = min(members.size, most // 2 if not chosen else n_left)
        chosen.append(generator.choice(members, n_taken, replace=False))
        factor = weight[members].sum() / weight[chosen[-1]].sum()
        factors.append(np.full(n_taken, factor))
        n_left -= n_taken
    order = np.argsort(np.concatenate(chosen))
    numbers = np.concatenate(chosen)[order]
    return TrainingRows(
        rows.features[numbers],
        rows.is_positive[numbers],
        weight[numbers] * np.concatenate(factors)[order],
    )


def _rarer_first(is_positive: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    return sorted((np.flatnonzero(is_positive), np.flatnonzero(~is_positive)), key=len)

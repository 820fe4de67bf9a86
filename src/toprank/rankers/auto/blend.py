"""What a blend is made of: recipes to fit, and the fitted members they give."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.data.tables import Column
from toprank.files import Saved

Columns = tuple[Column, ...]


class Member(Protocol):
    """A fitted model that gives encoded rows their log-odds, more or less calibrated."""

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the score of every row."""

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each feature adds to each score, and last what no feature adds."""

    def importances(self) -> NDArray[np.float64]:
        """Return each feature's share in what the member does; they add up to 1."""

    def parts(self) -> Saved:
        """Return what `from_parts` of the same class makes the member of again."""


class Recipe(Protocol):
    """A frozen description of one model to fit."""

    @property
    def name(self) -> str:
        """What kind of model it is."""

    @property
    def words(self) -> str:
        """What it is, in a few words, and what tells it from others of its kind."""

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
        """Return the scores of other rows by a model fitted to `rows` and then forgotten."""


def sampled(rows: TrainingRows, most: int, seed: int) -> TrainingRows:
    """Return at most `most` of the rows, weighed so that each class weighs what all of it does.

    The rarer class is taken first, up to half: it is what there is too little of.
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

"""A kernel model as a member: rows are as suspicious as the rows learned from that are near them.

Where a few hundred rows are all there is, boundaries are often smooth and bent: too bent for a
quadratic model, and trees of so few rows are coarse. The model is a support vector machine with a
Gaussian kernel. Each column is first spread out to a normal distribution by its quantiles, so that
no unit and no outlier decides what is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers.auto.blend import Columns
from toprank.rankers.auto.category_orders import category_orders, ordered, orders_by_column

_MOST_ROWS = 5_000  # beyond, fitting takes long and trees have enough to learn from
_MOST_COLUMNS = 500
_N_QUANTILES = 101
_ROWS_EXPLAINED = 100
_ROWS_AT_ONCE = 256
_LARGEST = 1e50
_LEAST_EFFECT = 1e-12


@dataclass(frozen=True)
class KernelModel:
    """A support vector machine with a Gaussian kernel."""

    @property
    def name(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        return "kernel model"

    def can_fit(self, n_rows: int, n_columns: int) -> bool:
        """Return whether the rows are few enough to be compared with each other."""
        return n_rows <= _MOST_ROWS and 1 <= n_columns <= _MOST_COLUMNS

    def work(self, n_rows: int, n_columns: int, *, tried: bool = False) -> float:
        return 1e7 + 40.0 * n_rows**2 * n_columns

    def fit(
        self, rows: TrainingRows, columns: Columns, *, seed: int, n_threads: int
    ) -> KernelMember:
        from sklearn.svm import SVC  # a fitted member needs none of it

        scales = NormalScales.of(rows, columns)
        places = scales.places(rows.features)
        model = SVC(gamma=1 / len(columns)).fit(places, rows.is_positive, rows.weight)
        support = KernelSum(
            model.support_vectors_.T.copy(),
            model.dual_coef_[0].copy(),
            float(model.intercept_[0]),
        )
        generator = np.random.default_rng(seed)
        sample = generator.permutation(len(places))[:_ROWS_EXPLAINED]
        effects = np.abs(support.effects(places[sample])).mean(axis=0)
        return KernelMember(scales, support, effects / (effects.sum() or 1.0))

    def tried(
        self,
        rows: TrainingRows,
        columns: Columns,
        features: NDArray[np.float32],
        *,
        seed: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        return self.fit(rows, columns, seed=seed, n_threads=n_threads).raw(features)


class NormalScales(NamedTuple):
    """How the values of each column become places: their ranks, as of a normal distribution.

    `orders` holds, for each category column, the number that replaces each category. A row of
    `quantiles` has those of one column. Missing values have the place of the median.
    """

    orders: dict[int, NDArray[np.float32]]
    quantiles: NDArray[np.float64]

    @classmethod
    def of(cls, rows: TrainingRows, columns: Columns) -> Self:
        orders = category_orders(rows, columns)
        values = ordered(rows.features, orders).astype(np.float64)
        values[:, np.isnan(values).all(axis=0)] = 0.0
        shares = np.linspace(0, 1, _N_QUANTILES)
        return cls(orders, np.nanquantile(values, shares, axis=0).T.copy())

    def places(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the place of every value; those of a column have a spread of about 1."""
        values = ordered(features, self.orders)
        places = np.zeros(values.shape)
        shares = np.linspace(0, 1, _N_QUANTILES)
        furthest = 0.5 / _N_QUANTILES
        for number, quantiles in enumerate(self.quantiles):
            column = values[:, number]
            # a value that many rows share has the middle of their ranks
            ranks = np.interp(column, quantiles, shares) - np.interp(
                -column, -quantiles[::-1], shares
            )
            place = ndtri(np.clip((ranks + 1) / 2, furthest, 1 - furthest))
            places[:, number] = np.where(np.isnan(column), 0.0, place)
        return places


class KernelSum(NamedTuple):
    """A weighted sum of Gaussian bumps at the support vectors, which are the columns of `at`."""

    at: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: float

    def score(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum for every row."""
        # fixed order of sums: a row's score must not depend on the other rows of the batch
        return self.intercept + np.einsum("ij,j->i", self._bumps(places), self.weights)

    def effects(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much a row's score would fall if one of its values were the median."""
        bumps = self._bumps(places)
        effects = np.empty(places.shape)
        for number, support in enumerate(self.at):
            farther = support**2 - (places[:, number, None] - support) ** 2
            changed = bumps * (1 - np.exp(-farther / len(self.at)))
            effects[:, number] = np.einsum("ij,j->i", changed, self.weights)
        return effects

    def _bumps(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        distance = np.zeros((len(places), self.at.shape[1]))
        for number, support in enumerate(self.at):
            distance += (places[:, number, None] - support) ** 2
        return np.exp(-distance / len(self.at))


@dataclass(frozen=True)
class KernelMember:
    """The fitted model, and how much each column matters to it."""

    scales: NormalScales
    support: KernelSum
    importance: NDArray[np.float64]

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        raw = np.empty(len(features))
        for block in _blocks(len(features)):
            raw[block] = self.support.score(self.scales.places(features[block]))
        return raw

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what each value adds to the score of a row of medians, which comes last.

        That is what the score would lose if the value alone were the median. What values add only
        together is shared among them by the size of that.
        """
        effects = np.empty((len(features), features.shape[1]))
        for block in _blocks(len(features)):
            effects[block] = self.support.effects(self.scales.places(features[block]))
        start = self.support.score(np.zeros((1, features.shape[1])))[0]
        together = self.raw(features) - start - effects.sum(axis=1)
        sizes = np.abs(effects) + _LEAST_EFFECT
        effects += together[:, None] * sizes / sizes.sum(axis=1, keepdims=True)
        return np.column_stack([effects, np.full(len(features), start)])

    def importances(self) -> NDArray[np.float64]:
        return self.importance

    def parts(self) -> Saved:
        arrays = {
            "orders": np.concatenate([np.empty(0, np.float32), *self.scales.orders.values()]),
            "quantiles": self.scales.quantiles,
            "at": self.support.at,
            "weights": self.support.weights,
            "importance": self.importance,
        }
        return Saved({"intercept": self.support.intercept}, arrays, {})

    @classmethod
    def from_parts(cls, parts: Saved, columns: Columns) -> Self:
        arrays, n_columns = parts.arrays, len(columns)
        n_support = arrays["weights"].size
        for name, shape in (
            ("quantiles", (n_columns, _N_QUANTILES)),
            ("at", (n_columns, n_support)),
            ("weights", (n_support,)),
            ("importance", (n_columns,)),
        ):
            _check(name, arrays[name], shape)
        if (np.diff(arrays["quantiles"], axis=1) < 0).any():
            raise ValueError("quantiles of the kernel model must be in order.")
        intercept = float(parts.state["intercept"])
        if not abs(intercept) < _LARGEST:
            raise ValueError(f"the kernel model's intercept must be finite; got {intercept}.")
        scales = NormalScales(orders_by_column(arrays["orders"], columns), arrays["quantiles"])
        support = KernelSum(arrays["at"], arrays["weights"], intercept)
        return cls(scales, support, arrays["importance"])


def _check(name: str, values: NDArray, shape: tuple[int, ...]) -> None:
    """Raise a ValueError if a loaded array does not fit the others or has absurd values."""
    if values.shape != shape or values.dtype != np.float64:
        raise ValueError(
            f"{name} of the kernel model must be float64 of shape {shape}; got {values.dtype} of "
            f"shape {values.shape}."
        )
    if not (np.abs(values) < _LARGEST).all():
        raise ValueError(f"{name} of the kernel model must be finite.")


def _blocks(n_rows: int) -> list[slice]:
    return [slice(begin, begin + _ROWS_AT_ONCE) for begin in range(0, n_rows, _ROWS_AT_ONCE)]

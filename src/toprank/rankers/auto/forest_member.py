"""An extremely randomised forest as a member: many deep trees with cuts drawn at random.

Its score is the log-odds of the trees' mean share of positives. The trees are scikit-learn's,
converted to XGBoost, so that they are scored, explained and saved like boosted trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers.auto.blend import Columns, sampled
from toprank.rankers.auto.boosted import check_features
from toprank.rankers.auto.category_orders import category_orders, ordered, orders_by_column
from toprank.rankers.boosted import booster_trees, xgboost_engine

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor
    from xgboost import Booster

_MOST_ROWS = 50_000
_MOST_LEAVES = 2_048
_LEAST_RISE = 1e-6


@dataclass(frozen=True)
class RandomisedForest:
    """A forest that learns from at most 50,000 rows.

    It is tried with a third of its trees, which rank nearly as well.
    """

    n_trees: int = 300
    rows_per_leaf: int = 1
    share_of_columns: float | str = "sqrt"

    @property
    def name(self) -> str:
        return "forest"

    @property
    def words(self) -> str:
        columns = "" if self.share_of_columns == "sqrt" else " on more columns"
        return f"randomised forest of {self.n_trees} trees{columns}"

    def work(self, n_rows: int, n_columns: int, *, tried: bool = False) -> float:
        n_rows = min(n_rows, _MOST_ROWS)
        share = self.share_of_columns
        n_drawn = n_columns**0.5 if share == "sqrt" else float(share) * n_columns
        n_trees = self._n_tried if tried else self.n_trees
        return n_trees * (1e6 + 40.0 * n_rows * np.log2(n_rows + 1) * n_drawn)

    def fit(
        self, rows: TrainingRows, columns: Columns, *, seed: int, n_threads: int
    ) -> ForestMember:
        forest, orders = self._grown(self.n_trees, rows, columns, seed, n_threads)
        trees = [
            booster_trees.xgboost_tree(
                tree.tree_, tree.tree_.value[:, 0, 0] / self.n_trees, len(columns)
            )
            for tree in forest.estimators_
        ]
        return ForestMember(booster_trees.booster_of(trees, 0.0, len(columns)), orders)

    def tried(
        self,
        rows: TrainingRows,
        columns: Columns,
        features: NDArray[np.float32],
        *,
        seed: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the scores by scikit-learn's trees: converting them would take longer."""
        forest, orders = self._grown(self._n_tried, rows, columns, seed, n_threads)
        forest.n_jobs = 1  # several threads would add the trees up in varying order
        return _log_odds(forest.predict(ordered(features, orders)), self.n_trees)

    @property
    def _n_tried(self) -> int:
        return max(self.n_trees // 3, 1)

    def _grown(
        self, n_trees: int, rows: TrainingRows, columns: Columns, seed: int, n_threads: int
    ) -> tuple[ExtraTreesRegressor, dict[int, NDArray[np.float32]]]:
        from sklearn.ensemble import ExtraTreesRegressor  # a fitted member needs none of it

        rows = sampled(rows, _MOST_ROWS, seed)
        orders = category_orders(rows, columns)
        # of two classes, squared error has the cuts of the Gini impurity, in less time
        forest = ExtraTreesRegressor(
            n_trees,
            min_samples_leaf=self.rows_per_leaf,
            max_features=self.share_of_columns,
            max_leaf_nodes=_MOST_LEAVES if rows.is_positive.size > 2 * _MOST_LEAVES else None,
            random_state=seed,
            n_jobs=n_threads,
        )
        labels = rows.is_positive.astype(np.float64)
        forest.fit(ordered(rows.features, orders), labels, rows.weight)
        return forest, orders


@dataclass(frozen=True)
class ForestMember:
    """The forest as a booster whose trees add up to the mean share of positives.

    `orders` holds, for each category column, the number that replaces each category.
    """

    booster: Booster
    orders: dict[int, NDArray[np.float32]]

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return _log_odds(self._share(features), self.booster.num_boosted_rounds())

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the contributions along each tree's path, scaled from shares to log-odds."""
        numbers = ordered(features, self.orders)
        shares = xgboost_engine.path_contributions(self.booster, numbers)
        rises, start = shares[:, :-1], shares[:, -1]
        slope = _slope(start, rises.sum(axis=1), self.booster.num_boosted_rounds())
        scaled = rises * slope[:, None]
        return np.column_stack([scaled, self.raw(features) - scaled.sum(axis=1)])

    def importances(self) -> NDArray[np.float64]:
        gain = xgboost_engine.total_gain(self.booster, self.booster.num_features())
        return gain / (gain.sum() or 1.0)

    def parts(self) -> Saved:
        # one array for all: the number of arrays in a file is limited
        joined = np.concatenate([np.empty(0, np.float32), *self.orders.values()])
        return Saved({}, {"orders": joined}, {"trees": bytes(self.booster.save_raw("ubj"))})

    @classmethod
    def from_parts(cls, parts: Saved, columns: Columns) -> Self:
        booster = xgboost_engine.load_booster(parts.boosters["trees"])
        check_features(booster, columns)
        return cls(booster, orders_by_column(parts.arrays["orders"], columns))

    def _share(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return xgboost_engine.predict_raw(self.booster, ordered(features, self.orders))


def _log_odds(share: NDArray[np.float64], n_trees: int) -> NDArray[np.float64]:
    # never surer than a forest in which half of one tree disagrees
    least = 0.5 / n_trees
    return logit(np.clip(share, least, 1 - least))


def _slope(
    start: NDArray[np.float64], rise: NDArray[np.float64], n_trees: int
) -> NDArray[np.float64]:
    """Return how much the log-odds rise for each unit that the share rises from `start`."""
    # a tiny rise is rounding error and does not measure the slope
    rise = np.where(np.abs(rise) > _LEAST_RISE, rise, _LEAST_RISE)
    return (_log_odds(start + rise, n_trees) - _log_odds(start, n_trees)) / rise

"""Boosted trees as a member: grown on one loss, averaged over seeds into one booster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.losses import Gather, make_loss
from toprank.rankers.auto.blend import Columns
from toprank.rankers.boosted import booster_trees, xgboost_engine
from toprank.rankers.boosted.plan import Plan

if TYPE_CHECKING:
    from xgboost import Booster

_LOSS_WORDS = {"log": "log-loss"}
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class BoostedTrees:
    """Trees of one depth on one loss; `random_share` is that of rows and columns per tree."""

    loss: str = "log"
    max_depth: int = 4
    n_trees: int = 300
    learning_rate: float = 0.05
    random_share: float = 1.0
    binning: str = "quantile"
    n_bags: int = 1

    @property
    def name(self) -> str:
        return _LOSS_WORDS.get(self.loss, f"log-loss + {self.loss}") + " trees"

    @property
    def words(self) -> str:
        loss = _LOSS_WORDS.get(self.loss, f"log-loss, then {self.loss}")
        drawn = ", rows and columns drawn" if self.random_share < 1 else ""
        bins = ", balanced bins" if self.binning == "balanced" else ""
        return f"{self.n_trees} trees of depth {self.max_depth} on {loss}{drawn}{bins}"

    def fit(
        self,
        rows: TrainingRows,
        columns: Columns,
        *,
        seed: int,
        n_threads: int,
    ) -> BoostedMember:
        """Return the mean of boosters that differ in the rows and columns they drew.

        There are `n_bags` of them, or as many as fit into a model of 20 MB.
        """
        boosters = [self._grown(rows, columns, seed, n_threads)]
        if self.n_bags > 1:
            n_bags = min(self.n_bags, _MOST_BYTES // len(boosters[0].save_raw("ubj")))
            more = range(seed + 1, seed + n_bags)
            boosters += [self._grown(rows, columns, each, n_threads) for each in more]
        return BoostedMember(_mean_of(boosters), _feature_types(columns))

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

    def tried_in_stages(
        self,
        stages: tuple[int, ...],
        rows: TrainingRows,
        columns: Columns,
        features: NDArray[np.float32],
        *,
        seed: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return the scores by the first trees, one column for each number in `stages`."""
        grown = self.with_trees(max(stages)).fit(rows, columns, seed=seed, n_threads=n_threads)
        return np.column_stack([grown.raw(features, n_trees) for n_trees in stages])

    def with_trees(self, n_trees: int) -> BoostedTrees:
        """Return the recipe with another number of trees."""
        return replace(self, n_trees=n_trees)

    def _grown(self, rows: TrainingRows, columns: Columns, seed: int, n_threads: int) -> Booster:
        plan = Plan(
            make_loss(self.loss),
            n_estimators=self.n_trees,
            warm_start_trees=self.n_trees * 4 // 5,
            batch_fraction=1.0,
            seed=seed,
            gather=Gather(),
        )
        settings = {
            "tree_method": "hist",
            "max_depth": self.max_depth,
            "learning_rate": self.learning_rate,
            "subsample": self.random_share,
            "colsample_bynode": self.random_share,
            "seed": seed,
            "nthread": n_threads,
        }
        return xgboost_engine.train(
            rows,
            plan,
            None,
            settings=settings,
            feature_types=_feature_types(columns),
            max_bins=256,
            binning=self.binning,
        ).booster


@dataclass(frozen=True)
class BoostedMember:
    """A booster; its score is the sum of its trees."""

    booster: Booster
    feature_types: list[str]

    def raw(
        self, features: NDArray[np.float32], n_trees: int | None = None
    ) -> NDArray[np.float64]:
        """Return the score of every row, by all trees or by the first few."""
        first = self.booster if n_trees is None else self.booster[:n_trees]
        return xgboost_engine.predict_raw(first, features)

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return xgboost_engine.contributions(self.booster, features)

    def importances(self) -> NDArray[np.float64]:
        gain = xgboost_engine.total_gain(self.booster, len(self.feature_types))
        return gain / (gain.sum() or 1.0)

    def parts(self) -> Saved:
        return Saved({}, {}, {"trees": bytes(self.booster.save_raw("ubj"))})

    @classmethod
    def from_parts(cls, parts: Saved, columns: Columns) -> Self:
        booster = xgboost_engine.load_booster(parts.boosters["trees"])
        check_features(booster, columns)
        return cls(booster, _feature_types(columns))


def check_features(booster: Any, columns: Columns) -> None:
    """Raise a ValueError if a loaded booster has other columns."""
    if booster.num_features() != len(columns):
        raise ValueError(
            f"the trees' columns must be {len(columns)}; got {booster.num_features()}."
        )


def _feature_types(columns: Columns) -> list[str]:
    return ["c" if column.kind == "category" else "q" for column in columns]


def _mean_of(boosters: list[Booster]) -> Booster:
    """Return one booster whose score is the mean of the boosters' scores."""
    if len(boosters) == 1:
        return boosters[0]
    starts = [booster_trees.start_of(booster) for booster in boosters]
    trees = [
        booster_trees.with_leaf_values(tree, booster_trees.leaf_values(tree) / len(boosters))
        for booster in boosters
        for tree in booster_trees.trees_of(booster)
    ]
    return booster_trees.booster_of(trees, float(np.mean(starts)), boosters[0].num_features())

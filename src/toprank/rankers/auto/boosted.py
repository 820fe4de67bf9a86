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
_MAX_BINS = 256
_LARGE_DEPTH = 8


@dataclass(frozen=True)
class BoostedTrees:
    """Trees of one size on one loss; `n_bags` boosters are averaged.

    With `max_leaves`, trees grow leaf by leaf, otherwise level by level to `max_depth`.
    `least_weight` is XGBoost's `min_child_weight`, the least sum of p (1 - p) in a leaf;
    `random_share` is the share of rows and of columns that each tree draws.
    """

    loss: str = "log"
    max_depth: int = 4
    max_leaves: int = 0
    least_weight: float = 1.0
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
        size = f"{self.max_leaves} leaves" if self.max_leaves else f"depth {self.max_depth}"
        loss = _LOSS_WORDS.get(self.loss, f"log-loss, then {self.loss}")
        small = ", small leaves" if self.least_weight < 1 else ""
        drawn = ", rows and columns drawn" if self.random_share < 1 else ""
        bins = ", balanced bins" if self.binning == "balanced" else ""
        return f"{self.n_trees} trees of {size} on {loss}{small}{drawn}{bins}"

    def work(self, n_rows: int, n_columns: int, *, tried: bool = False) -> float:
        """Return the estimated work: values read to build histograms, and bins searched."""
        # grown leaf by leaf, trees are far from balanced: 255 leaves read rows some 24 times
        levels = 1.5 * self.max_leaves**0.5 if self.max_leaves else self.max_depth
        n_leaves = self.max_leaves or 2**self.max_depth
        n_read = n_rows * levels + 10.0 * min(n_leaves, n_rows) * _MAX_BINS
        return self.n_bags * self.n_trees * n_columns * n_read

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
        boosters = [self.booster(rows, columns, seed, n_threads)]
        if self.n_bags > 1:
            n_bags = min(self.n_bags, _MOST_BYTES // len(boosters[0].save_raw("ubj")))
            more = range(seed + 1, seed + n_bags)
            boosters += [self.booster(rows, columns, each, n_threads) for each in more]
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

    def binned(self, rows: TrainingRows, columns: Columns) -> TrainingRows:
        """Return the rows as trees need them: bins, labels and weights, without features."""
        bins: dict[Any, Any] = {}
        xgboost_engine.binned_matrix(
            rows._replace(bins=bins), _feature_types(columns), _MAX_BINS, self.binning
        )
        return rows._replace(features=np.empty((0, len(columns)), np.float32), bins=bins)

    def with_trees(self, n_trees: int) -> BoostedTrees:
        """Return the recipe with another number of trees."""
        return replace(self, n_trees=n_trees)

    def booster(
        self,
        rows: TrainingRows,
        columns: Columns,
        seed: int,
        n_threads: int,
        start: Booster | None = None,
    ) -> Booster:
        """Return one bag; trees of `start` take the place of the first ones."""
        n_before = 0 if start is None else start.num_boosted_rounds()
        n_warm = n_log_trees(self.n_trees)
        plan = Plan(
            make_loss(self.loss),
            n_estimators=self.n_trees - n_before,
            warm_start_trees=max(n_warm - n_before, 0),
            batch_fraction=1.0,
            seed=seed,
            gather=Gather(),
        )
        is_large = self.max_leaves > 0 or self.max_depth >= _LARGE_DEPTH
        settings = {
            "tree_method": "hist",
            "max_depth": 0 if self.max_leaves else self.max_depth,
            "max_leaves": self.max_leaves,
            "grow_policy": "lossguide" if self.max_leaves else "depthwise",
            "min_child_weight": self.least_weight,
            "learning_rate": self.learning_rate,
            "subsample": self.random_share,
            # large trees draw columns once: histograms of the others are not built
            f"colsample_by{'tree' if is_large else 'node'}": self.random_share,
            "seed": seed + n_before,  # later trees draw anew
            "nthread": n_threads,
        }
        return xgboost_engine.train(
            rows,
            plan,
            None,
            settings=settings,
            feature_types=_feature_types(columns),
            max_bins=_MAX_BINS,
            binning=self.binning,
            booster=start,
        ).booster


def n_log_trees(n_trees: int) -> int:
    """Return how many of the trees learn log-loss before another loss takes over."""
    return n_trees * 4 // 5


@dataclass
class GrowingTrees:
    """Trees that grow stage by stage on some rows, and their scores of other rows.

    What was grown for log-loss is the beginning of the same trees on another loss.
    """

    recipe: BoostedTrees
    rows: TrainingRows
    columns: Columns
    features: NDArray[np.float32]
    seed: int
    n_threads: int
    booster: Booster | None = None

    def to(self, n_trees: int) -> NDArray[np.float64]:
        """Return the scores by the first trees; those that are missing are grown."""
        if self.booster is None or self.booster.num_boosted_rounds() < n_trees:
            self.booster = self._grown(self.recipe.with_trees(n_trees), self.booster)
        return self._scores(self.booster[:n_trees])

    def then(self, loss: str, n_trees: int) -> NDArray[np.float64]:
        """Return the scores by as many trees of which the last ones learned another loss."""
        n_log = n_log_trees(n_trees)
        self.to(max(n_log, 1))
        assert self.booster is not None
        start = self.booster[:n_log] if n_log else None
        return self._scores(self._grown(replace(self.recipe, loss=loss, n_trees=n_trees), start))

    def _grown(self, recipe: BoostedTrees, start: Booster | None) -> Booster:
        return recipe.booster(self.rows, self.columns, self.seed, self.n_threads, start)

    def _scores(self, booster: Booster) -> NDArray[np.float64]:
        return xgboost_engine.predict_raw(booster, self.features)


@dataclass(frozen=True)
class BoostedMember:
    """A booster; its score is the sum of its trees."""

    booster: Booster
    feature_types: list[str]

    def raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return xgboost_engine.predict_raw(self.booster, features)

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

"""What TreeRank and MetaAP share: how one readable tree is grown, scored, explained and saved."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_sigmoid
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.trees import scoring, tree_arrays
from toprank.rankers.trees.cross_validation import Settings, choose, grow_one
from toprank.rankers.trees.importance import importances
from toprank.rankers.trees.kernel.binning import MOST_BINS
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.kernel.meta_tree import MetaTrees
from toprank.rankers.trees.readable import Readable
from toprank.rankers.trees.scoring import SCORINGS, Scoring

ROWS_FOR_CALIBRATION = 50_000
"""Of each class: more rows would not change the two numbers of a sigmoid."""

_EXACT_ROWS = 20_000
_BINS = 255
_MOST_DEPTH = 30


class Group(NamedTuple):
    """Training rows that the cuts of a tree do not distinguish."""

    rank: int
    n_rows: int
    positives: float
    mass: float

    @property
    def precision(self) -> float:
        """The share of positives, by weight."""
        return self.positives / self.mass


class RankingTree(Readable, Ranker):
    """One tree of trees as a ranker; TreeRank and MetaAP define what it optimises."""

    aim: ClassVar[str]
    _criteria: ClassVar[tuple[str, ...]]
    _is_balanced: ClassVar[bool]

    def __init__(
        self,
        *,
        global_depth: int = 2,
        local_depth: int = 4,
        criterion: str = "entropy",
        min_samples_leaf: int = 5,
        depth: str | None = None,
        scoring: str = "rank + soft",
        softness: float = 0.25,
        shrinkage: float = 5.0,
        max_bins: int | None = None,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.global_depth = global_depth
        self.local_depth = local_depth
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.depth = depth
        self.scoring = scoring
        self.softness = softness
        self.shrinkage = shrinkage
        self.max_bins = max_bins
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn to rank the positives of `y` first."""
        self._check_parameters()
        self.__dict__.pop("choice_", None)
        rows = self._training_rows(X, y, sample_weight).in_units_of_rows()
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        self.std_ = scoring.column_std(rows.features, rows.weight)
        self.settings_ = self.named_settings() if self.depth is None else self._chosen(rows)
        self.tree_ = scoring.ordered(self._tree(rows), self.settings_.scoring)
        some = rows.thinned(ROWS_FOR_CALIBRATION)
        raw = self._raw(some.features)
        self.calibration_ = fit_sigmoid(some.is_positive, raw, some.weight)
        self._see(rows)
        return self

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the group that every row falls in, 0 the most suspicious."""
        check_is_fitted(self)
        found = scoring.leaves(self.tree_, inputs.read_features(self, X))
        return self.tree_.unions.rank[self.tree_.nodes.union[found]]

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline.

        The columns of a row add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        return scoring.contributions(self.tree_, features, self.std_, self.settings_.scoring)

    @property
    def groups_(self) -> list[Group]:
        """The groups from the most to the least suspicious, with their training rows."""
        check_is_fitted(self)
        unions = self.tree_.unions
        groups = np.flatnonzero(unions.rank >= 0)
        return [
            Group(
                int(unions.rank[i]),
                int(unions.n_rows[i]),
                float(unions.hits[i]),
                float(unions.mass[i]),
            )
            for i in groups[np.argsort(unions.rank[groups])]
        ]

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of what the tree gains on its training rows."""
        check_is_fitted(self)
        return importances(self.tree_, self.aim, self.n_features_in_)

    def fix_choices(self) -> None:
        """Set the parameters to the settings that cross-validation chose."""
        check_is_fitted(self)
        growth, global_depth, ways = self.settings_
        self.set_params(
            depth=None,
            global_depth=global_depth,
            local_depth=growth.depth,
            criterion=growth.criterion,
            min_samples_leaf=growth.min_leaf,
            softness=ways.softness,
            shrinkage=ways.shrinkage,
        )

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return scoring.scores(self.tree_, features, self.std_, self.settings_.scoring)

    def _tree(self, rows: TrainingRows) -> MetaTrees:
        """Return the tree that the settings grow on the rows."""
        growth, global_depth, _ = self.settings_
        return grow_one(
            rows,
            self.schema_.n_categories,
            growth,
            global_depth,
            self.aim,
            bins_for(self.max_bins, rows.is_positive.size),
        )

    def named_settings(self) -> Settings:
        """Return the settings given by the parameters."""
        growth = Growth(self.criterion, self.local_depth, self.min_samples_leaf, self._is_balanced)
        ways = Scoring(self.scoring, float(self.softness), float(self.shrinkage))
        return Settings(growth, self.global_depth, ways)

    def _chosen(self, rows: TrainingRows) -> Settings:
        """Return the settings that rank held-out rows best."""
        self.choice_ = choose(
            rows,
            self.schema_.n_categories,
            self._candidates(),
            self.aim,
            bins_for(self.max_bins, rows.is_positive.size),
            seed_of(self.random_state),
            self.n_jobs,
        )
        return self.choice_.best

    def _candidates(self) -> list[Settings]:
        """Return the settings that cross-validation chooses among, the simplest first."""
        return [
            Settings(growth, global_depth, Scoring(self.scoring, softness, shrinkage))
            for growth in self._growths()
            for global_depth in (1, 2, 3, 4)
            for softness in (0.25, 0.1, 0.5)
            for shrinkage in (5.0, 1.0)
        ]

    def _growths(self) -> list[Growth]:
        """Return the ways to grow local trees that cross-validation tries."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        checks.whole_number(self.global_depth, "global_depth", 1, _MOST_DEPTH)
        checks.whole_number(self.local_depth, "local_depth", 1, _MOST_DEPTH)
        checks.one_of(self.criterion, "criterion", self._criteria)
        checks.whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        if self.depth not in (None, "cv"):
            raise ValueError(f"depth must be None or 'cv'; got {self.depth!r}.")
        checks.one_of(self.scoring, "scoring", SCORINGS)
        checks.number_above(self.softness, "softness", 0, 1e6)
        checks.number_from(self.shrinkage, "shrinkage", 0, 1e12)
        checks.jobs(self.n_jobs)
        if self.max_bins is not None:
            checks.whole_number(self.max_bins, "max_bins", 2, MOST_BINS)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        growth, global_depth, ways = self.settings_
        state = {
            **self._common_state(),
            "growth": [growth.criterion, growth.depth, growth.min_leaf],
            "global_depth": global_depth,
            "scoring": [ways.way, ways.softness, ways.shrinkage],
        }
        arrays = {"std": self.std_, **tree_arrays.arrays_of(self.tree_), **self._seen_arrays()}
        return Saved(state, arrays, {})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; ValueError if it is not valid."""
        ranker = cls(**parameters)
        ranker._check_parameters()
        ranker._restore_common(saved.state)
        ranker.settings_ = ranker._restored_settings(saved.state)
        ranker.std_ = checks.finite_vector(saved.arrays["std"], "std")
        ranker._check_columns(ranker.std_.size, "std")
        ranker.tree_ = tree_arrays.one_tree_in(saved.arrays, ranker.schema_)
        ranker._restore_seen(saved.arrays)
        return ranker

    def _restored_settings(self, state: dict[str, Any]) -> Settings:
        """Return the settings stored in a file, checked like parameters."""
        criterion, local_depth, min_leaf = state["growth"]
        way, softness, shrinkage = state["scoring"]
        restored = type(self)(
            global_depth=state["global_depth"],
            local_depth=local_depth,
            criterion=criterion,
            min_samples_leaf=min_leaf,
            scoring=way,
            softness=softness,
            shrinkage=shrinkage,
        )
        restored._check_parameters()
        return restored.named_settings()


def bins_for(max_bins: int | None, n_rows: int) -> int:
    """Return how many bins a column may have: one per value when rows are few."""
    if max_bins is not None:
        return max_bins
    return MOST_BINS if n_rows <= _EXACT_ROWS else _BINS

"""The base of rankers whose suspicion is the sum of the trees in one booster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_sigmoid
from toprank.data import checks, inputs
from toprank.data.accepted_rows import with_missing_zeros
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.rankers import jobs
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.plain_booster import plain_booster

if TYPE_CHECKING:
    from xgboost import Booster

_MOST_JUDGED = 200_000  # of either class


class OneBooster(Ranker):
    """A ranker that scores, explains and saves through one booster.

    A learner writes `fit`, which hands the booster to `_keep`; `_check_parameters`; and
    `_to_saved` and `_from_saved`, which add its own state to `_saved` and `_restored`.
    """

    n_estimators: int
    max_depth: int
    learning_rate: float
    binning: str
    max_bins: int
    random_state: Any
    n_jobs: int | None

    zeros_are_missing_ = False
    """Whether the trees grew on sparse rows: they then read zeros, which are not stored, as
    missing values."""

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion.
        """
        inputs.check_fitted(self)
        features = inputs.read_features(self, X)
        return xgboost_engine.contributions(self.booster_, self._as_grown_on(features))

    def to_xgboost(self) -> Booster:
        """Return the trees as a plain XGBoost booster, which predicts the suspicion.

        Its rows are `xgboost.DMatrix(ranker.schema_.encode(X), feature_names=...)`: numbers as
        float32, categories as codes. The score before the first tree is its `base_score`. The
        names of the categories and the calibration are attributes, in JSON: see `attributes()`.
        """
        check_is_fitted(self)
        return plain_booster(
            self.booster_,
            self.schema_,
            self.calibration_,
            zeros_are_missing=self.zeros_are_missing_,
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's share of the trees' total gain."""
        check_is_fitted(self)
        gain = xgboost_engine.total_gain(self.booster_, self.n_features_in_)
        return gain / (gain.sum() or 1.0)

    def _check_parameters(self) -> None:
        """Raise for the first invalid parameter."""
        raise NotImplementedError

    def _check_trees(self, most_learning_rate: float = np.inf) -> None:
        """Raise for the first invalid parameter of trees, bins and threads.

        A learner calls it from `_check_parameters`, in addition to its own checks.
        """
        checks.whole_number(self.n_estimators, "n_estimators", 1)
        checks.whole_number(self.max_depth, "max_depth", 1, 30)
        checks.number_above(self.learning_rate, "learning_rate", 0, most_learning_rate)
        checks.one_of(self.binning, "binning", ("quantile", "balanced"))
        checks.whole_number(self.max_bins, "max_bins", 2, 65_535)
        checks.jobs(self.n_jobs)

    def _settings(self) -> dict[str, Any]:
        """Return the XGBoost settings that all boosters share."""
        return {
            "tree_method": "hist",
            "max_depth": self.max_depth,
            "seed": seed_of(self.random_state),
            "nthread": jobs.n_threads(self.n_jobs),
        }

    def _matrix(self, rows: TrainingRows) -> Any:
        """Return the rows with every value as the number of its bin."""
        return xgboost_engine.binned_matrix(
            rows, self.schema_.feature_types, self.max_bins, self.binning
        )

    def _keep(self, booster: Booster, judged: TrainingRows) -> None:
        """Store the trees and fit the probabilities to the rows they are judged on."""
        self.booster_ = booster
        self.n_trees_ = booster.num_boosted_rounds()
        judged = judged.thinned(_MOST_JUDGED)  # scoring millions takes as long as many trees
        raw = self._raw(judged.features)
        self.calibration_ = fit_sigmoid(judged.is_positive, raw, judged.weight)

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return xgboost_engine.predict_raw(self.booster_, self._as_grown_on(features))

    def _as_grown_on(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return encoded rows as the trees read them."""
        if self.zeros_are_missing_ and not issparse(features):
            return with_missing_zeros(features)
        return features

    def _saved(self, own: dict[str, Any]) -> Saved:
        """Return what a model file keeps; `own` is this ranker's additional state."""
        state = {**self._common_state(), **own}
        if self.zeros_are_missing_:
            state["zeros_are_missing"] = True
        return Saved(state, {}, {"trees": bytes(self.booster_.save_raw("ubj"))})

    @classmethod
    def _restored(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_saved` described; raises ValueError if it does not fit."""
        ranker = cls(**parameters)
        ranker._check_parameters()
        ranker._restore_common(saved.state)
        ranker.zeros_are_missing_ = saved.state.get("zeros_are_missing") is True
        ranker.booster_ = xgboost_engine.load_booster(saved.boosters["trees"])
        ranker.n_trees_ = ranker.booster_.num_boosted_rounds()
        ranker._check_columns(ranker.booster_.num_features(), "trees")
        return ranker

"""What all detectors share: reading rows, and the attributes of scikit-learn and PyOD."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from toprank.data import checks, inputs
from toprank.rankers import reasons
from toprank.rankers.single_rows import SingleRowScoring


class Detector(SingleRowScoring, OutlierMixin, BaseEstimator):
    """A ranker without labels: it gives every row a suspicion.

    A detector implements `fit`, which begins with `_read` and ends with `_judge`, and `_raw`, the
    suspicion of encoded rows. `predict` returns -1 (anomaly) for rows that are more suspicious
    than all but a share `contamination` of the training rows; of equal rows, all or none are.
    """

    contamination: float

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the suspicion of every encoded row."""
        raise NotImplementedError

    def suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return one number per row; higher is more unusual."""
        check_is_fitted(self)
        return self._raw(inputs.read_features(self, X))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return scikit-learn's score: the lower, the more unusual."""
        return -self.suspicion(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scikit-learn's decision: below 0 for anomalies."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for anomalies and 1 for all other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _read(self, X: Any) -> NDArray[np.float32]:
        """Return the encoded training rows; learns the columns and what is usual in them."""
        checks.number_above(self.contamination, "contamination", 0, 0.5)
        features = inputs.read_unlabelled(self, X)
        nobody = np.zeros(len(features), dtype=bool)
        self.usual_ = reasons.usual_values(features, nobody, self.schema_)
        return features

    def _judge(self, suspicion: NDArray[np.float64]) -> Self:
        """Keep the training rows' suspicion as PyOD does, and learn where anomalies begin."""
        self.decision_scores_ = suspicion
        self._set_threshold(float(np.quantile(suspicion, 1 - self.contamination)))
        self.labels_ = (suspicion > self.threshold_).astype(np.int64)
        return self

    def _set_threshold(self, threshold: float) -> None:
        self.threshold_, self.offset_ = threshold, -threshold

    def _common_state(self) -> dict[str, Any]:
        """Return what a model file keeps of any fitted detector."""
        check_is_fitted(self)
        return {
            **inputs.columns_to_json(self),
            "threshold": self.threshold_,
            "usual": [usual.to_json() for usual in self.usual_],
        }

    def _restore_common(self, state: dict[str, Any]) -> None:
        """Restore what `_common_state` gave; ValueError if it is not valid."""
        inputs.restore_columns(self, state)
        self._set_threshold(float(state["threshold"]))
        if not np.isfinite(self.threshold_):
            raise ValueError(f"threshold must be finite; got {self.threshold_}.")
        self.usual_ = [reasons.Usual.from_json(usual) for usual in state["usual"]]
        self._check_columns(len(self.usual_), "usual values")

    def _check_columns(self, n_columns: int, part: str) -> None:
        """Raise a ValueError if a part of a loaded detector has other columns."""
        if n_columns != self.n_features_in_:
            raise ValueError(
                f"{part} and columns must agree; got {n_columns} and {self.n_features_in_}."
            )

"""Detectors of scikit-learn and other libraries as detectors that read tables."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from toprank.data.inputs import TrainingRows
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.pairwise.design import PairwiseDesign


class BorrowedDetector(Detector):
    """Any object with `fit` and `score_samples`, lower for anomalies, on encoded columns.

    Numbers are standardised, missing ones are set to the mean and flagged in a column of their
    own, and categories become a column each: `estimator` sees numbers only. It gives no reasons.

    Parameters
    ----------
    estimator : object
        IsolationForest, OneClassSVM, LocalOutlierFactor(novelty=True) or the like.
    contamination : float
        The share of training rows that `predict` calls anomalies.

    Attributes
    ----------
    estimator_ : the fitted object; design_ how columns are encoded for it
    decision_scores_, labels_, threshold_ : suspicion of the training rows, 1 for those called
        anomalies and 0 for others, and where they begin
    offset_ : scikit-learn's threshold of `score_samples`
    schema_ : the columns it was fitted on, with their kinds and categories

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.ensemble import IsolationForest
    >>> table = pa.table({"amount": [9.0, 8.0, 9.5, None], "country": ["FR", "FR", "FR", "US"]})
    >>> detector = BorrowedDetector(IsolationForest(random_state=0)).fit(table)
    >>> int(detector.suspicion(table).argmax())
    3
    """

    def __init__(self, estimator: Any, *, contamination: float = 0.01) -> None:
        self.estimator = estimator
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the estimator to the rows; `y` is ignored, as scikit-learn expects."""
        _check_estimator(self.estimator)
        features = self._read(X)
        nobody = np.zeros(len(features), dtype=bool)
        self.design_ = PairwiseDesign.of(TrainingRows(features, nobody, None), self.schema_)
        self.estimator_ = clone(self.estimator).fit(self._seen(features))
        return self._judge(self._raw(features))

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return -np.asarray(self.estimator_.score_samples(self._seen(features)), dtype=np.float64)

    def _seen(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        terms = self.design_.terms(features)
        # constant columns have no term, but the estimator needs one
        return terms if terms.shape[1] else np.zeros((len(features), 1))


def as_detector(detector: Any) -> Detector:
    """Return a detector unchanged, and anything else with `fit` and `score_samples` wrapped.

    >>> from sklearn.svm import OneClassSVM
    >>> as_detector(OneClassSVM())
    BorrowedDetector(estimator=OneClassSVM())
    """
    if isinstance(detector, Detector):
        return detector
    _check_estimator(detector)
    return BorrowedDetector(detector)


def _check_estimator(estimator: Any) -> None:
    if not (hasattr(estimator, "fit") and hasattr(estimator, "score_samples")):
        raise TypeError(
            "a detector must have fit and score_samples, like IsolationForest() or "
            f"LocalOutlierFactor(novelty=True); got {estimator!r}."
        )

"""DetectorChoice: the best of several detectors, by a few labels or by volume."""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from toprank.data import inputs
from toprank.rankers.anomaly.atoms import AtomWarning, atoms_of, atoms_sentence
from toprank.rankers.anomaly.borrowed import as_detector
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.anomaly.detector_comparison import (
    default_detectors,
    judge_detectors,
    partial_labels,
)


class LabelsOfOneKind(UserWarning):
    """All labelled rows are of one kind, which cannot judge a ranking."""


class DetectorChoice(Detector):
    """The best of several detectors: by the known labels, or by volume if there are none.

    Detectors learn from one half of the rows and are judged on the other; the best then learns
    from all. See `toprank.rankers.anomaly.detector_comparison.judge_detectors`.

    Parameters
    ----------
    detectors : dict of detectors by name, or None
        What to choose from; also anything else with `fit` and `score_samples`. None are those of
        `toprank.rankers.anomaly.detector_comparison.default_detectors`.
    n_points : int
        Points to measure volumes with.
    contamination : float
        The share of training rows that `predict` calls anomalies.
    random_state : int, RandomState or None
        Random seed of the halves and the points; detectors have their own.

    Attributes
    ----------
    judged_ : the results of each detector, the best first
    chosen_ : the name of the best; detector_ itself, fitted to all rows: save that one
    decision_scores_, labels_, threshold_ : suspicion of the training rows, 1 for those called
        anomalies and 0 for others, and where they begin
    offset_ : scikit-learn's threshold of `score_samples`
    schema_ : the columns it was fitted on, with their kinds and categories

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import AnomalyTreeRank
    >>> from toprank.rankers.anomaly.detector_choice import DetectorChoice
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> trees = {"flat": AnomalyTreeRank(global_depth=1), "deep": AnomalyTreeRank(global_depth=4)}
    >>> DetectorChoice(trees).fit(X).chosen_
    'deep'
    """

    def __init__(
        self,
        detectors: Mapping[str, Any] | None = None,
        *,
        n_points: int = 20_000,
        contamination: float = 0.01,
        random_state: Any = 0,
    ) -> None:
        self.detectors = detectors
        self.n_points = n_points
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Choose and learn; `y` labels some of the rows: 1 positive, 0 negative, others missing.

        With labels of both kinds, average precision on them decides, with
        ties decided by the area under the mass-volume curve; otherwise the area alone decides.
        """
        features = self._read(X)
        labels = partial_labels(y, len(features))
        if not _decide(labels):
            self._warn_of_atoms(features)
        detectors = self._detectors(features)
        self.judged_ = judge_detectors(
            detectors, X, y=labels, n_points=self.n_points, random_state=self.random_state
        )
        self.chosen_ = self.judged_[0].name
        self.detector_ = clone(as_detector(detectors[self.chosen_])).fit(X)
        return self._judge(self._raw(features))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, and last the baseline."""
        check_is_fitted(self)
        if not hasattr(self.detector_, "contributions"):
            raise TypeError(
                f"detector {self.chosen_!r} was chosen, which gives no reasons; leave it out of "
                "detectors to choose among those that do."
            )
        return self.detector_.contributions(inputs.Encoded(inputs.read_features(self, X)))

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self.detector_.suspicion(inputs.Encoded(features))

    def _detectors(self, features: NDArray[np.float32]) -> Mapping[str, Any]:
        if self.detectors is None:
            n_rows, n_columns = features.shape
            return default_detectors(n_columns, n_rows)
        if not isinstance(self.detectors, Mapping):
            raise TypeError(
                f"detectors must be a dict of detectors by name, or None; got {self.detectors!r}."
            )
        return self.detectors

    def _warn_of_atoms(self, features: NDArray[np.float32]) -> None:
        sentence = atoms_sentence(atoms_of(features, self.schema_))
        if sentence:
            warnings.warn(sentence, AtomWarning, stacklevel=3)


def _decide(labels: NDArray[np.float64]) -> bool:
    """Return whether labels can compare detectors; warn if there are some and they cannot."""
    known = labels[~np.isnan(labels)]
    if np.unique(known).size == 1:
        kind = "positive" if known[0] else "negative"
        warnings.warn(
            f"y has {known.size} labelled rows, all {kind}: average precision needs both kinds, "
            "so the area under the mass-volume curve decides.",
            LabelsOfOneKind,
            stacklevel=3,
        )
    return np.unique(known).size == 2

"""What all rankers share: reading rows, turning scores into probabilities, saving."""

import reprlib
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from toprank import metrics
from toprank.calibration import (
    calibration_from_json,
    calibration_to_json,
    fit_calibration,
)
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.rankers import reasons
from toprank.rankers.single_rows import SingleRowScoring


class RankingScore:
    """Mixin whose `score` is average precision.

    Accuracy, scikit-learn's default, is .999 for a model that never alerts on rare events.
    """

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the average precision of the rows as `suspicion` ranks them.

        1 is perfect; a random order has about the share of positives.
        """
        suspicion: NDArray[np.float64] = self.suspicion(X)  # type: ignore[attr-defined]
        classes, positive = self.classes_, self.positive_label_  # type: ignore[attr-defined]
        labels = known_labels(y, suspicion.size, classes, "X, y")
        return metrics.average_precision(labels == positive, suspicion, sample_weight)


class Ranker(RankingScore, SingleRowScoring, ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier of two classes that gives every row a suspicion.

    A learner writes `fit`, which calls `_training_rows` and ends with `calibration_` and
    `usual_`, and `_raw`, the scores of encoded rows. The rest is here.
    """

    positive_label: Any = None

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the raw score of every encoded row."""
        raise NotImplementedError

    def suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return one raw score per row; higher is more suspicious."""
        inputs.check_fitted(self)
        return self._raw(self._read(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds of `classes_[1]`, as in scikit-learn.

        Where the positive label comes first in sorted order ("fraud" before "genuine"), this is
        high for ordinary rows; `suspicion` never is.
        """
        suspicion = self.suspicion(X)
        log_odds = self.calibration_.log_odds(suspicion)
        return log_odds if self._positive_is_last() else -log_odds

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        positive = self.probability(X)
        pair = [1 - positive, positive] if self._positive_is_last() else [positive, 1 - positive]
        return np.column_stack(pair)

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Return each row's probability of being positive.

        Reliable after `calibrate`, or when `fit` had rows to calibrate on that the learner did not
        see; otherwise it is fitted to the training rows and overconfident.
        """
        suspicion = self.suspicion(X)
        return self.calibration_.probability(suspicion)

    def predict(self, X: Any) -> NDArray:
        """Return the more probable class; with rare positives, mostly the negative one."""
        log_odds = self.decision_function(X)
        return self.classes_[(log_odds > 0).astype(int)]

    def calibrate(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        method: str = "smooth",
    ) -> Self:
        """Refit the probabilities on rows the ranker has not seen; ranks do not change.

        `method` is "smooth", safe with few positives, or "sigmoid" (Platt), "beta" or "isotonic".
        """
        check_is_fitted(self)
        rows = self._labelled_rows(X, y, sample_weight)
        self.calibration_ = fit_calibration(
            rows.is_positive, self._raw(rows.features), method, weight=rows.weight
        )
        return self

    def fix_choices(self) -> None:
        """Turn the settings that `fit` chose into parameters; most learners choose none.

        The next `fit` then chooses nothing, and scores on the same scale.
        """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _read(self, X: Any) -> NDArray[np.float32]:
        """Return rows as `_raw` takes them."""
        return inputs.read_features(self, X)

    def _training_rows(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> TrainingRows:
        """Return the rows to learn from; learns the columns and the classes."""
        features, y = inputs.read_training(self, X, y)
        weight = checks.sample_weight(sample_weight, features.shape[0])
        numbers = None if groups is None else inputs.read_groups(groups, features.shape[0])
        if weight is not None and not weight.all():
            # rows with zero weight are ignored: they must not move the bins either
            counts = weight > 0
            features, y, weight = features[counts], y[counts], weight[counts]
            numbers = None if numbers is None else numbers[counts]
        labels = inputs.read_labels(y, self._named_positive(y))
        self.classes_, self.positive_label_ = labels.classes, labels.positive
        return TrainingRows(features, labels.is_positive, weight, groups=numbers)

    def _named_positive(self, y: NDArray) -> Any:
        """Return the class to rank first, or None if it was not named."""
        return self.positive_label

    def _labelled_rows(
        self, X: Any, y: ArrayLike, weight: ArrayLike | None = None, name: str = "X, y"
    ) -> TrainingRows:
        """Return rows the ranker has not seen, with labels as in training."""
        features = self._read(X)
        labels = known_labels(y, features.shape[0], self.classes_, name)
        is_positive = labels == self.positive_label_
        if is_positive.all() or not is_positive.any():
            positive = self.classes_.tolist()[self._positive_is_last()]
            raise ValueError(
                f"{name} must contain both classes; got {np.count_nonzero(is_positive)} rows "
                f"labelled {positive!r} among {is_positive.size}."
            )
        return TrainingRows(features, is_positive, checks.sample_weight(weight, labels.size))

    def _eval_rows(self, eval_set: Any) -> TrainingRows:
        """Return the rows of an `eval_set` whose weight is not zero."""
        features, labels, weight = (*inputs.one_eval_set(eval_set), None)[:3]
        judged = self._labelled_rows(features, labels, weight, name="eval_set")
        if judged.weight is None or judged.weight.all():
            return judged
        judged = judged.take(judged.weight > 0)  # rows with zero weight are ignored
        checks.positives(judged.is_positive, "eval_set, without rows of zero weight,")
        return judged

    def _positive_is_last(self) -> bool:
        return bool(self.classes_[1] == self.positive_label_)

    def _common_state(self) -> dict[str, Any]:
        """Return what a model file keeps of any fitted ranker."""
        check_is_fitted(self)
        return {
            **inputs.columns_to_json(self),
            "classes": self.classes_.tolist(),
            "positive": self.classes_.tolist().index(self.positive_label_),
            "calibration": calibration_to_json(self.calibration_),
            "usual": [usual.to_json() for usual in self.usual_],
        }

    def _restore_common(self, state: dict[str, Any]) -> None:
        """Restore what `_common_state` gave; raises ValueError if it does not fit."""
        inputs.restore_columns(self, state)
        self.classes_ = _two_classes(state["classes"])
        place = checks.whole_number(state["positive"], "positive", 0, 1)
        self.positive_label_ = self.classes_[place]
        self.calibration_ = calibration_from_json(state["calibration"])
        self.usual_ = [reasons.Usual.from_json(usual) for usual in state["usual"]]
        self._check_columns(len(self.usual_), "usual values")

    def _check_columns(self, n_columns: int, part: str) -> None:
        """Raise a ValueError if a part of a loaded ranker has other columns."""
        if n_columns != self.n_features_in_:
            raise ValueError(
                f"{part} must be {self.n_features_in_}, one per column; got {n_columns}."
            )


def known_labels(y: ArrayLike, n_rows: int, classes: NDArray, name: str) -> NDArray:
    """Return the labels of `n_rows` rows, each one of `classes`; `name` is for errors."""
    labels = column_or_1d(y)
    if labels.size != n_rows:
        raise ValueError(
            f"{name} must have one label per row; got {n_rows} rows and {labels.size} labels."
        )
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"labels of {name} must be {classes.tolist()}; got {labels[unknown].tolist()[0]!r} in "
            f"{np.count_nonzero(unknown)} of {labels.size} rows."
        )
    return labels


def seed_of(random_state: Any) -> int:
    """Return a whole number: itself, or one drawn from a RandomState or None."""
    if isinstance(random_state, Integral):
        return checks.whole_number(int(random_state), "random_state", 0, 2**31 - 1)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _two_classes(labels: Any) -> NDArray:
    """Return two saved labels as `fit` learned them: of one type, in sorted order."""
    kinds = [type(label) for label in labels] if isinstance(labels, list) else []
    if kinds not in ([kind] * 2 for kind in (bool, int, float, str)):
        raise ValueError(f"classes must be two labels of one type; got {reprlib.repr(labels)}.")
    classes = np.array(labels)
    if classes.dtype.kind == "O" or not classes[0] < classes[1]:
        raise ValueError(f"classes must be in sorted order; got {reprlib.repr(labels)}.")
    return classes

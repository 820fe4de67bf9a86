"""The base of all online learners: from rows and labels to scores and probabilities.

A learner supplies `_begin`, which makes its `model_`; the model keeps columns and classes, learns
from encoded rows and scores them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from toprank import metrics
from toprank.data import checks, inputs
from toprank.data.accepted_rows import accepted
from toprank.data.tables.columns import as_frame, shortened
from toprank.files.saved_learners import Saved
from toprank.rankers.base import RankingScore, known_labels
from toprank.rankers.online.classes import Label
from toprank.rankers.online.steps import Effects, Scores, Steps
from toprank.rankers.online.stream_columns import CheckedRows, EncodedEvent

_LARGEST_WEIGHT = 1e12
_FLOATS = [np.float64, np.float32]  # used without a copy; other types become float64


class OnlineLearner(RankingScore, ClassifierMixin, BaseEstimator):
    """A ranker that learns from one row at a time.

    All of them accept text and missing values, and use as much memory after a billion rows as
    after a million.
    """

    positive_label: Any
    model_: Any

    _most_classes: ClassVar[int | None] = 2

    def _begin(self, positive_label: Any = None) -> None:
        """Check the parameters and create an empty model; later calls do nothing."""
        raise NotImplementedError

    def _log_odds(self, raw: Any) -> Any:
        """Return the calibrated log-odds of one or several raw scores."""
        raise NotImplementedError

    def learn_one(self, x: Mapping[str, Any], y: Any, weight: float = 1.0) -> None:
        """Learn from one row, a mapping of column names to values, and its label."""
        self.learn_encoded(self.encode_one(x), y, weight)

    def score_one(self, x: Mapping[str, Any]) -> float:
        """Return the raw score of one row: higher is more suspicious, 0 before learning.

        The learner does not change.
        """
        if not self._has_learned():
            return 0.0
        return float(self._suspicion(self._raw_one(x))[0])

    def probability_one(self, x: Mapping[str, Any]) -> float:
        """Return one row's probability of being positive; the learner does not change."""
        if not self._has_learned():
            return 0.5
        return self.probability_at(self.score_one(x))

    def probability_at(self, suspicion: float) -> float:
        """Return the probability that a row with this raw score is positive, as of now."""
        return float(expit(self._log_odds(suspicion)))

    def probabilities_one(self, x: Mapping[str, Any]) -> dict[Label, float]:
        """Return one row's probability of each class seen so far; the learner does not change."""
        if not self._has_learned():
            return {}
        probabilities = self._probabilities(self._raw_one(x))[0]
        return dict(zip(self.classes_.tolist(), probabilities.tolist(), strict=True))

    def effects_one(self, x: Mapping[str, Any]) -> dict[str, float]:
        """Return by how much each column of a row raises its raw score.

        That is the score minus the score without the column: with a number at its mean so far,
        a 0/1 flag at 0, no text. Columns act together, so effects need not add up.
        """
        if not self._has_learned():
            return {}
        return self.effects_encoded(self.model_.columns.encode_one(x))

    def effects_encoded(self, row: EncodedEvent) -> dict[str, float]:
        """Return the effects of the columns of a row that `encode_one` gave."""
        score = self._suspicion(self.model_.raw(row))[0]
        effects = score - self._suspicion(self.model_.raw_without_each_column(row))
        return dict(zip(self.model_.columns.names, effects.tolist(), strict=True))

    def encode_one(self, x: Mapping[str, Any]) -> EncodedEvent:
        """Return a row to be scored now and learned from when its label arrives.

        New columns are added; nothing is learned.
        """
        if not isinstance(x, Mapping):
            raise TypeError(
                f"a row must be a mapping of column names to values; got {type(x).__name__}; "
                "score and learn arrays and tables with suspicion and partial_fit."
            )
        self._begin()
        if self.model_.n_rows == 0 or self.model_.columns.new_among(x):
            self.model_.columns.check_row(x)  # a rejected row must not add columns
            self._add_columns(x)
        return self.model_.columns.encode_one(x)

    def encode_known(self, rows: Sequence[Mapping[str, Any]]) -> EncodedEvent:
        """Return the first of many rows, each as `encode_one` returns it.

        They end before a row that has a new column, or a value that `encode_one` would refuse.
        """
        self._begin()
        return self.model_.columns.encode_known(rows if hasattr(self, "n_features_in_") else [])

    def take_steps(self, steps: Steps, highest: float) -> tuple[Scores, Effects]:
        """Score rows and learn from others in turn; return the scores, and effects of some rows.

        These are the rows whose log-odds are `highest` or more. All columns and classes of the
        steps are known. The result is that of `score_encoded`, `effects_encoded` and
        `learn_encoded`, row by row.
        """
        scores, effects = Scores.of(steps, self.model_.shape.n_outputs), {}
        n_learned = scored = 0
        while scored < steps.n_known.size:
            known = int(steps.n_known[scored])
            self._learn_steps(steps, slice(n_learned, known))
            n_learned = known
            # all rows up to the next label at once
            own = slice(scored, int(np.searchsorted(steps.n_known, known, side="right")))
            scores.raw[own] = self.model_.raw(steps.scored.take(own)) if self.model_.n_rows else 0
            scores.log_odds[own] = self._log_odds(scores.raw[own, 0])
            for row in scored + np.flatnonzero(scores.log_odds[own] >= highest):
                effects[int(row)] = self.effects_encoded(steps.scored.take(slice(row, row + 1)))
            scored = own.stop
        self._learn_steps(steps, slice(n_learned, None))
        return scores, effects

    def _learn_steps(self, steps: Steps, chosen: slice) -> None:
        places = steps.places[chosen]
        if places.size:
            self.model_.learn(steps.learned.take(chosen), places, np.ones(places.size))

    def score_encoded(self, row: EncodedEvent) -> float:
        """Return the raw score of a row that `encode_one` gave."""
        return float(self._suspicion(self.model_.raw(row))[0]) if self._has_learned() else 0.0

    def wait_for_refit(self) -> None:
        """Wait for what other threads still compute if the next label needs it.

        Nothing changes. For a caller that holds a lock while it learns: if it waits before that,
        others can score meanwhile.
        """

    def learn_encoded(self, row: EncodedEvent, y: Any, weight: float = 1.0) -> None:
        """Learn from a row that `encode_one` gave."""
        weight = checks.number_from(weight, "weight", 0, _LARGEST_WEIGHT)
        if weight == 0:
            return  # rows with zero weight are ignored
        place = self.model_.classes.place(y)
        self.model_.learn(row, np.array([place]), np.array([weight]))

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows in their order; the model is the one that `learn_one` would give.

        `classes` may name the labels to expect before the first row; others are added as they
        appear.
        """
        rows, places, row_weights = self._prepared(X, y, classes, sample_weight)
        for block in rows.blocks():
            self.model_.learn(rows.encode(block), places[block], row_weights[block])
        return self

    def score_then_learn(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Learn from rows in their order; return each one's suspicion before it was learned.

        This is progressive validation: every row is a test row once, before it is learned from.
        """
        rows, places, row_weights = self._prepared(X, y, classes, sample_weight)
        self._check_positive()
        n_known = np.arange(len(places))
        scores = self.model_.score_and_learn(rows.encode_all(), places, row_weights, n_known)
        return self._suspicion(scores.raw)

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn from rows in one pass, in their order."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        labels = _checked_labels(self, y)
        check_classification_targets(labels)
        classes = np.unique(labels)
        if classes.size < 2:
            got = f"one class, {classes.tolist()[0]!r}" if classes.size else "no rows"
            raise ValueError(f"y must contain two classes; got {got}.")
        if classes.size == 2 or self._most_classes == 2:
            self._begin(inputs.read_labels(labels, self.positive_label).positive)
        checks.sample_weight(sample_weight, labels.size)
        self._learn_all(X, labels, classes, sample_weight)
        return self

    @property
    def classes_(self) -> NDArray:
        """The labels seen so far, sorted."""
        check_is_fitted(self)
        return self.model_.classes.sorted()

    @property
    def positive_label_(self) -> Any:
        """The label that is ranked first; None if it is unknown among several classes."""
        check_is_fitted(self)
        return self.model_.classes.positive

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the average precision of the rows as `suspicion` ranks them.

        With more than two classes and no `positive_label`, it is the mean over the classes of
        each one's average precision by its probability.
        """
        if self.positive_label_ is not None:
            return super().score(X, y, sample_weight)
        by_class = self.predict_proba(X)
        labels = known_labels(y, len(by_class), self.classes_, "X, y")
        present = [i for i, label in enumerate(self.classes_) if (labels == label).any()]
        return float(
            np.mean(
                [
                    metrics.average_precision(
                        labels == self.classes_[i], by_class[:, i], sample_weight
                    )
                    for i in present
                ]
            )
        )

    def suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return one raw score per row; higher is more suspicious."""
        return self._suspicion(self._raw(X))

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Return each row's probability of being positive."""
        return self._probability(self.suspicion(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log-odds of `classes_[1]`; of every class if there are more than two."""
        raw, classes = self._raw(X), self.model_.classes
        if raw.shape[1] == 1:
            log_odds = self._log_odds(raw[:, 0])
            return log_odds if classes.places.get(self.classes_.tolist()[-1]) == 1 else -log_odds
        by_place = np.column_stack([np.zeros(len(raw)), raw])
        others = [np.delete(by_place, place, axis=1) for place in self._places_in_order()]
        own = by_place[:, self._places_in_order()]
        return own - np.column_stack([logsumexp(other, axis=1) for other in others])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`."""
        return self._probabilities(self._raw(X))

    def predict(self, X: Any) -> NDArray:
        """Return the most probable class; with rare positives, mostly the negative one."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # Learning

    def _learn_all(
        self, X: Any, y: ArrayLike, classes: ArrayLike, sample_weight: ArrayLike | None
    ) -> None:
        """Learn from all rows there are."""
        self.partial_fit(X, y, classes, sample_weight)

    def _prepared(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[CheckedRows, NDArray[np.int64], NDArray[np.float64]]:
        """Return rows, places and weights to learn from; new columns and classes are added."""
        labels = _checked_labels(self, y)
        rows = self._joined(X)
        check_consistent_length(range(rows.n_rows), labels)
        row_weights = _row_weights(sample_weight, labels.size)
        if classes is not None:
            self._places(np.asarray(classes).tolist())
            self.model_.add_outputs(self.model_.classes.n_outputs)
        places = np.zeros(labels.size, dtype=np.int64)
        counts = row_weights > 0  # rows with zero weight do not add classes
        places[counts] = self._places(labels[counts].tolist())
        return rows, places, row_weights

    def _joined(self, X: Any) -> CheckedRows:
        """Return rows that were checked; new columns are added, nothing is learned."""
        X = accepted(X, self)
        self._begin()
        frame = as_frame(X)
        if frame is not None:
            self._add_columns(frame.names)
        elif not hasattr(self, "n_features_in_"):
            X = validate_data(self, X, dtype=_FLOATS, ensure_all_finite="allow-nan")
            self.model_.add_columns([f"x{j}" for j in range(X.shape[1])])
        return self._checked(X)

    def _add_columns(self, names: Iterable[Any]) -> None:
        """Add new columns, known by name from now on."""
        self.model_.add_columns(names)
        self.n_features_in_ = len(self.model_.columns)
        self.feature_names_in_ = np.array(self.model_.columns.names, dtype=object)

    def _places(self, labels: list[Any]) -> NDArray[np.int64]:
        """Return the place of each label; if one is invalid, none of them is added."""
        classes = self.model_.classes.copy()
        places = classes.places_of(labels)
        self.model_.classes = classes
        return places

    # Scoring

    def _has_learned(self) -> bool:
        return hasattr(self, "model_") and self.model_.n_rows > 0

    def _encoded(self, X: Any) -> EncodedEvent:
        """Return rows as the kernel takes them."""
        return self._checked(X).encode_all()

    def _checked(self, X: Any) -> CheckedRows:
        """Return rows that can be encoded; columns of a table are found by name."""
        check_is_fitted(self)
        X = accepted(X, self)
        frame = as_frame(X)
        if frame is not None and hasattr(self, "feature_names_in_"):
            return self.model_.columns.rows_of_frame(frame)
        X = validate_data(self, X, reset=False, dtype=_FLOATS, ensure_all_finite="allow-nan")
        return self.model_.columns.rows_of_array(X)

    def _raw(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = self._checked(X)
        raw = np.zeros((rows.n_rows, self.model_.shape.n_outputs))
        if self._has_learned():
            for block in rows.blocks():
                raw[block] = self.model_.raw(rows.encode(block))
        return raw

    def _raw_one(self, x: Mapping[str, Any]) -> NDArray[np.float64]:
        return self.model_.raw(self.model_.columns.encode_one(x))

    def _suspicion(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the raw score of the positive class: log-odds, or the balance of votes."""
        self._check_positive()
        if raw.shape[1] == 1:
            return raw[:, 0]
        others = np.column_stack([np.zeros(len(raw)), raw[:, 1:]])
        return raw[:, 0] - logsumexp(others, axis=1)

    def _check_positive(self) -> None:
        classes = self.model_.classes
        if classes.positive is None and classes.places:
            raise ValueError(
                "the positive label must be named by `positive_label`, since none of the labels "
                f"{shortened(classes.sorted().tolist())} is positive by its name."
            )

    def _probability(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of the class at place 1 by its raw score."""
        return expit(self._log_odds(raw))

    def _probabilities(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each class, in sorted order."""
        if raw.shape[1] == 1:
            of_first = self._probability(raw[:, 0])
            by_place = np.column_stack([1 - of_first, of_first])
        else:
            by_place = softmax(np.column_stack([np.zeros(len(raw)), raw]), axis=1)
        known = by_place[:, self._places_in_order()]
        return known / known.sum(axis=1, keepdims=True)

    def _places_in_order(self) -> list[int]:
        """Return the places of the classes in the order of `classes_`."""
        return [self.model_.classes.places[label] for label in self.classes_.tolist()]

    # To and from files

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a learner."""
        state = {
            **self.model_.state(),
            "named_columns": hasattr(self, "feature_names_in_"),
        }
        return Saved(state, self.model_.arrays(), {}, self._saved_parameters())

    def _saved_parameters(self) -> dict[str, Any]:
        return self.get_params(deep=False)

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Return the learner that `_saved_parameters` described, before it has learned."""
        return cls(**parameters)


def _checked_labels(learner: OnlineLearner, y: Any) -> NDArray:
    if y is None:
        raise ValueError(
            f"{type(learner).__name__} requires y to be passed, but the target y is None."
        )
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    return labels


def _row_weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row; if all are 0, nothing is learned."""
    if sample_weight is None:
        return np.ones(n_rows)
    given = np.asarray(sample_weight, dtype=np.float64)
    checked = checks.sample_weight(given, n_rows) if given.any() else None
    return np.zeros(n_rows) if checked is None else checked

"""Our online learners in River, and River's classifiers in toprank.

`RiverClassifier` makes an online learner of toprank a classifier for River's pipelines, ensembles
and `evaluate.progressive_val_score`. `FromRiver` does the reverse: it gives a classifier of River
the methods of our online learners. It is not one of our boosters, so streams, progressive
validation and `SideBySide` do not accept it.
"""

import copy
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags

from toprank.data.tables.columns import as_frame, required_frame, shortened
from toprank.rankers.online.classes import Classes, Label
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.rankers.online.online_non_linear import OnlineNonLinearBoost
from toprank.rankers.online.stream_columns import own_name

try:
    from river import base
except ImportError:
    raise ImportError(
        "toprank.river needs River, which is not installed; "
        "install it with: pip install 'toprank[river]'."
    ) from None


class RiverClassifier(base.MiniBatchClassifier):
    """An online learner of toprank as a classifier of River.

    It trains a copy, `learned`, and does not change `learner`. So a clone starts where this one
    started, and a learner that is already trained continues from there. Save the copy with
    `toprank.save(classifier.learned, path)`.

    The learner scales numbers and encodes text by itself, so it needs no scaler or encoder.
    Columns may appear and disappear; an absent one counts as missing, not as 0. If labels are true
    and false, both have a probability as soon as one of them has been seen; other labels have one
    once they have been seen. `score_one` gives the raw score, also at the end of a pipeline.

    Parameters
    ----------
    learner
        An online learner, for example `toprank.OnlineNonLinearBoost()`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from toprank import OnlineNonLinearBoost
    >>> model = preprocessing.StandardScaler() | RiverClassifier(OnlineNonLinearBoost())
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> metric.get() > 0.85
    True
    """

    def __init__(self, learner: OnlineLearner):
        if not isinstance(learner, OnlineLearner):
            raise TypeError(
                "learner must be an online learner of toprank, like OnlineNonLinearBoost(); "
                f"got {shortened(learner)}."
            )
        self.learner = learner
        self.learned = copy.deepcopy(learner)

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row, its label and its weight."""
        self.learned.learn_one(x, y, w)

    def score_one(self, x: dict[Any, Any]) -> float:
        """Return the raw score of one row: higher is more suspicious, 0 if nothing is known."""
        return self.learned.score_one(x)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Label, float]:
        """Return the probability of each class that is known."""
        if not self._knows_both():
            return self.learned.probabilities_one(x)
        return self._both(self.learned.probability_one(x))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a table in their order, as `learn_one` would."""
        self.learned.partial_fit(self._with_all_columns(X), y)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a table of the same library with one column per class, as in `predict_proba_one`.

        Its columns are named by the labels; except in pandas, by their text.
        """
        table = nw.from_native(X, eager_only=True)
        in_pandas = table.implementation.is_pandas_like()
        columns = {
            label if in_pandas else str(label): column
            for label, column in self._probabilities(X).items()
        }
        # narwhals requires names that are text, but does not check those of pandas
        result: Any = nw.from_dict(columns, backend=table.implementation).to_native()  # type: ignore[arg-type]
        return result.set_axis(X.index) if in_pandas else result

    def predict_many(self, X: Any) -> Any:
        """Return the most probable class of each row, as a series of the same library."""
        table = nw.from_native(X, eager_only=True)
        by_label = self._probabilities(X)
        labels = list(by_label)
        best = np.argmax(list(by_label.values()), axis=0) if labels else []
        predicted = [labels[place] for place in best] if labels else [None] * len(table)
        result: Any = nw.new_series("label", predicted, backend=table.implementation).to_native()
        return result.set_axis(X.index) if table.implementation.is_pandas_like() else result

    @property
    def _multiclass(self) -> bool:
        return bool(get_tags(self.learner).classifier_tags.multi_class)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OnlineNonLinearBoost()}

    def _knows_both(self) -> bool:
        """Return whether the classes are true and false, even if only one has been seen."""
        if self._positive() not in (False, True):
            return False
        if not self.learned._has_learned():
            return not self._multiclass
        return all(isinstance(label, bool) for label in self.learned.model_.classes.places)

    def _positive(self) -> Label | None:
        if self.learned._has_learned():
            return self.learned.model_.classes.positive
        return True if self.learner.positive_label is None else self.learner.positive_label

    def _both(self, of_positive: Any) -> dict[Label, Any]:
        """Return the probabilities of false and true, given that of the positive class."""
        of_true = of_positive if self._positive() else 1 - of_positive
        return {False: 1 - of_true, True: of_true}

    def _probabilities(self, X: Any) -> dict[Label, NDArray[np.float64]]:
        """Return the probabilities of each class, one per row."""
        learned, table = self.learned, required_frame(self._with_all_columns(X))
        if not learned._has_learned():
            return self._both(np.full(table.n_rows, 0.5)) if self._knows_both() else {}
        raw = learned.model_.raw(learned.model_.columns.encode_frame(table))
        if self._knows_both():
            return self._both(learned._probability(learned._suspicion(raw)))
        by_class = learned._probabilities(raw).T
        return dict(zip(learned.classes_.tolist(), by_class, strict=True))

    def _with_all_columns(self, X: Any) -> pa.Table:
        """Return the table with all known columns; those it lacks are missing in every row."""
        frame = required_frame(X)
        columns = {own_name(name): frame.column(name) for name in frame.names}
        known = self.learned.model_.columns.names if hasattr(self.learned, "model_") else []
        missing = {name: pa.nulls(frame.n_rows) for name in known if name not in columns}
        return pa.table(columns | missing)


class FromRiver(BaseEstimator):
    """A classifier of River as an online learner of toprank.

    Its raw score is the logarithm of the odds that River's probabilities give to the positive
    label. It trains a copy, `learned_`, and does not change `model`. Tables and arrays are passed
    to River row by row, without missing cells; mappings are passed unchanged.

    Parameters
    ----------
    model
        A classifier of River, or a pipeline that ends in one.
    positive_label
        The suspicious label; not needed for true and false, 1 and 0, 1 and -1.

    Examples
    --------
    >>> from river import linear_model, preprocessing
    >>> learner = FromRiver(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    >>> for amount, is_fraud in [(9.0, False), (900.0, True)] * 50:
    ...     learner.learn_one({"amount": amount}, is_fraud)
    >>> learner.score_one({"amount": 9.0}) < 0 < learner.score_one({"amount": 900.0})
    True
    """

    def __init__(self, model: Any, positive_label: Any = None):
        self.model = model
        self.positive_label = positive_label

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from one row and its label."""
        if not hasattr(self, "learned_"):
            self._begin()
        self._classes.place(y)
        self.learned_.learn_one(x, y)

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return the raw score of one row: higher is more suspicious, 0 if nothing is known."""
        probabilities = self.learned_.predict_proba_one(x) if hasattr(self, "learned_") else {}
        if not probabilities:
            return 0.0
        positive = self._positive()
        # both sides of the odds, since floats close to 1 are coarse
        others = sum(part for label, part in probabilities.items() if label != positive)
        return _logarithm(probabilities.get(positive, 0.0)) - _logarithm(others)

    def probability_one(self, x: Mapping[Any, Any]) -> float:
        """Return one row's probability of being positive."""
        return float(expit(self.score_one(x)))

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from rows in their order, as `learn_one` would."""
        for x, label in _labelled_rows(X, y):
            self.learn_one(x, label)
        return self

    def score_then_learn(self, X: Any, y: ArrayLike) -> NDArray[np.float64]:
        """Learn from rows in their order; return the suspicion of each before it was learned."""
        scores = []
        for x, label in _labelled_rows(X, y):
            scores.append(self.score_one(x))
            self.learn_one(x, label)
        return np.array(scores)

    def suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return one raw score per row; higher is more suspicious."""
        return np.array([self.score_one(x) for x in _rows(X)])

    def probability(self, X: Any) -> NDArray[np.float64]:
        """Return each row's probability of being positive."""
        return self._probability(self.suspicion(X))

    def _begin(self) -> None:
        _check_classifier(self.model)
        self.learned_ = copy.deepcopy(self.model)
        self._classes = Classes(self.positive_label)

    def _positive(self) -> Label:
        """Return the positive label, or say that it must be named."""
        positive = self._classes.positive
        if positive is None:
            raise ValueError(
                "positive_label must name the suspicious label, since the labels do not make it "
                f"clear; got {shortened(self._classes.sorted().tolist())}."
            )
        return positive

    def _probability(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        return expit(raw)


def _check_classifier(model: Any) -> None:
    """Raise unless the model, or the last step of a pipeline, gives probabilities."""
    last = getattr(model, "_last_step", model)
    not_given = base.Classifier.predict_proba_one  # raises NotImplementedError
    if not isinstance(last, base.Classifier) or type(last).predict_proba_one is not_given:
        raise TypeError(
            "model must be a classifier of River that gives probabilities; "
            f"got {type(last).__name__}."
        )


def _labelled_rows(X: Any, y: ArrayLike) -> Iterator[tuple[dict[str, Any], Any]]:
    labels = column_or_1d(y).tolist()
    rows = list(_rows(X))
    check_consistent_length(rows, labels)
    return zip(rows, labels, strict=True)


def _rows(X: Any) -> Iterator[dict[str, Any]]:
    """Return the rows of a table or an array as dicts, without missing cells."""
    frame = as_frame(X)
    if frame is None:
        matrix = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        frame = required_frame(pa.table({f"x{j}": column for j, column in enumerate(matrix.T)}))
    columns = [frame.column(name).to_pylist() for name in frame.names]
    for values in zip(*columns, strict=True):
        cells = zip(frame.names, values, strict=True)
        yield {name: value for name, value in cells if value is not None and value == value}


def _logarithm(probability: float) -> float:
    """Return the logarithm; for 0, that of the smallest float, so that scores are finite."""
    return math.log(max(probability, sys.float_info.min))

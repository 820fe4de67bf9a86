"""ThresholdedRanker: any ranker or classifier with a threshold chosen for an aim."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from toprank import splits
from toprank.data import checks, inputs
from toprank.data.accepted_rows import accepted
from toprank.data.inputs import ReadLabels
from toprank.data.tables.columns import as_frame
from toprank.decisions.thresholds import Threshold, check_options, choose_threshold
from toprank.rankers.base import RankingScore, seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.reasons import Explained

_BEYOND_CHANCE = 1e-3
# their log-odds are finite, and distinct probabilities between them stay distinct
_LEAST_PROBABILITY, _MOST_PROBABILITY = 1e-300, 1 - 2.0**-53


def _ranker_has(name: str) -> Callable[["ThresholdedRanker"], bool]:
    """Return a check whether the inner ranker has the method `name`."""
    return lambda model: hasattr(getattr(model, "ranker_", model._base()), name)


class ThresholdedRanker(RankingScore, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A ranker that alerts by a threshold chosen for F-beta, MCC, a precision or a budget.

    The threshold is chosen on rows that the ranker has not seen: those of `eval_set`, if given,
    or each fold's rows, scored by a ranker fitted on the other folds.

    Parameters
    ----------
    ranker : any ranker, any scikit-learn classifier of two classes, or None
        The model that scores the rows; None means BoostedRanker(). A classifier's suspicion is its
        `decision_function`, or the log-odds of its `predict_proba`.
    aim : "f_beta", "mcc", "precision" or "alerts"
        What the threshold is chosen for, as in `choose_threshold`.
    beta : float
        The weight of recall in "f_beta".
    least_precision : float or None
        The precision that "precision" must reach.
    budget : int or None
        The most alerts that "alerts" may give among the rows the threshold is chosen on: a share
        of them. `predict` keeps the threshold, so other rows get about the same share of alerts,
        not the same number.
    cv : int or "prefit"
        Number of folds, at most the rows of the smaller class. With "prefit" the ranker is
        already fitted: `fit` then needs `eval_set` and ignores X and y.
    random_state : int, RandomState or None
        Random seed of the folds and of the resamples behind the intervals.

    Attributes
    ----------
    ranker_ : the fitted ranker, on all rows
    threshold_ : a Threshold: where alerts begin, with corrected precision and recall
    classes_, positive_label_ : both labels in sorted order; the one to alert: the ranker's
        `positive_label`, or the one whose name says so (1, True, "fraud"), or `classes_[1]`

    Notes
    -----
    Without `eval_set`, the scores of all folds are pooled, and the threshold found there is used
    with a ranker fitted on all rows. That assumes that these rankers score on one scale, which is
    nearly true with many rows; less so with few rows, or with few trees, whose scores are coarse.
    It also assumes that random folds represent future rows. If rows have an order in time, pass
    the latest ones as `eval_set`.

    `clone` forgets what a "prefit" ranker learned, as it does for any parameter; wrap the ranker
    in scikit-learn's FrozenEstimator to keep it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from toprank.decisions import ThresholdedRanker
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = X[:, 0] + X[:, 1] + X[:, 2] > 3.5
    >>> ranker = ThresholdedRanker(LogisticRegression(), "alerts", budget=50).fit(X, y)
    >>> ranker.threshold_.n_alerts
    50
    >>> bool(abs(ranker.predict(X).sum() - 50) < 10)
    True
    """

    def __init__(
        self,
        ranker: Any = None,
        aim: str = "f_beta",
        *,
        beta: float = 1.0,
        least_precision: float | None = None,
        budget: int | None = None,
        cv: int | str = 5,
        random_state: Any = 0,
    ) -> None:
        self.ranker = ranker
        self.aim = aim
        self.beta = beta
        self.least_precision = least_precision
        self.budget = budget
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, eval_set: Any = None) -> Self:
        """Fit the ranker and choose the threshold, on the rows of `eval_set` if there are any.

        `eval_set` is `(X, y)` or a list of one such pair.
        """
        self._check_parameters(eval_set)
        positive = getattr(self._base(), "positive_label", None)
        if self.cv == "prefit":
            self.ranker_ = self._base()
            check_is_fitted(self.ranker_)
            positive = getattr(self.ranker_, "positive_label_", positive)
        else:
            X, target = _indexable(X), column_or_1d(y, warn=True)
            self.ranker_ = clone(self._base()).fit(X, target)
            labels = inputs.read_labels(target, positive)
            positive = labels.positive
        fold = None
        if eval_set is None:
            suspicion, fold = self._out_of_fold(X, target, labels)
        else:
            rows, targets = inputs.one_eval_set(eval_set, weights=False)
            labels, suspicion = self._judged_by(rows, targets, positive)
        self.classes_, self.positive_label_ = labels.classes, labels.positive
        self.threshold_ = self._chosen(labels.is_positive, suspicion)
        if fold is not None:
            _warn_of_scales(suspicion >= self.threshold_.threshold, fold)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.ranker_, name):
                setattr(self, name, getattr(self.ranker_, name))
        return self

    def predict(self, X: Any) -> NDArray:
        """Return the positive label for rows to alert and the other one for the rest."""
        is_alert = self.suspicion(X) >= self.threshold_.threshold
        return self.classes_[(is_alert == self._positive_is_last()).astype(int)]

    def suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return one raw score per row; higher is more suspicious."""
        check_is_fitted(self)
        return _scores(self.ranker_, X, self.positive_label_)

    @available_if(_ranker_has("score_one"))
    def score_one(self, row: Mapping[str, Any]) -> float:
        """Return the ranker's suspicion of one row, a mapping of column names to values."""
        check_is_fitted(self)
        return self.ranker_.score_one(row)

    @available_if(_ranker_has("explain_one"))
    def explain_one(self, row: Mapping[str, Any], n_reasons: int = 5) -> Explained:
        """Return the ranker's suspicion of one row, its probability and what moved it most."""
        check_is_fitted(self)
        return self.ranker_.explain_one(row, n_reasons)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return how far a row's suspicion is above the threshold, in favour of `classes_[1]`."""
        above = self.suspicion(X) - self.threshold_.threshold
        return above if self._positive_is_last() else -above

    @available_if(_ranker_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the ranker's probability of each class, which the threshold does not change."""
        check_is_fitted(self)
        return self.ranker_.predict_proba(X)

    @available_if(_ranker_has("predict_proba"))
    def probability(self, X: Any) -> NDArray[np.float64]:
        """Return the ranker's probability of each row being positive."""
        return self.predict_proba(X)[:, int(self._positive_is_last())]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self._base()).input_tags
        return tags

    def _base(self) -> Any:
        return BoostedRanker() if self.ranker is None else self.ranker

    def _judged_by(
        self, X: Any, y: ArrayLike, positive: Any
    ) -> tuple[ReadLabels, NDArray[np.float64]]:
        """Return labels and suspicions of rows that the fitted ranker has not seen."""
        labels = column_or_1d(y)
        known = np.asarray(getattr(self.ranker_, "classes_", np.unique(labels)))
        if not np.isin(labels, known).all() or known.size != 2:
            raise ValueError(
                f"labels of eval_set must be the ranker's two classes, {known.tolist()}; got "
                f"{np.unique(labels).tolist()}."
            )
        read = inputs.read_labels(labels, positive)
        suspicion = _scores(self.ranker_, X, read.positive)
        if suspicion.size != labels.size:
            raise ValueError(
                f"eval_set must have one label per row; got {suspicion.size} rows and "
                f"{labels.size} labels."
            )
        return read, suspicion

    def _out_of_fold(
        self, X: Any, y: NDArray, labels: ReadLabels
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return each row's suspicion by a ranker fitted without its fold, and that fold."""
        is_positive = labels.is_positive
        rarer = int(min(is_positive.sum(), (~is_positive).sum()))
        if rarer < 2:
            raise ValueError(
                "y must contain at least two rows of each class to choose a threshold by folds; "
                "got 1 of one class. Pass an eval_set."
            )
        n_folds = min(checks.whole_number(self.cv, "cv", 2), rarer)
        suspicion, fold = np.empty(is_positive.size), np.empty(is_positive.size, dtype=np.int64)
        folds = splits.folds(is_positive, n_folds, seed_of(self.random_state))
        for number, (rows, held_out) in enumerate(folds):
            ranker = clone(self._base())
            if hasattr(ranker, "positive_label"):
                # classes of equal size must not swap roles from fold to fold
                ranker.set_params(positive_label=labels.positive)
            ranker.fit(_some(X, rows), y[rows])
            suspicion[held_out] = _scores(ranker, _some(X, held_out), labels.positive)
            fold[held_out] = number
        return suspicion, fold

    def _chosen(self, is_positive: NDArray[np.bool_], suspicion: NDArray) -> Threshold:
        return choose_threshold(
            is_positive,
            suspicion,
            self.aim,
            beta=self.beta,
            least_precision=self.least_precision,
            budget=self.budget,
            random_state=seed_of(self.random_state),
        )

    def _positive_is_last(self) -> bool:
        return bool(self.classes_[1] == self.positive_label_)

    def _check_parameters(self, eval_set: Any) -> None:
        base = self._base()
        scores = ("suspicion", "decision_function", "predict_proba")
        if not hasattr(base, "fit") or not any(hasattr(base, name) for name in scores):
            raise TypeError(
                "ranker must have fit and one of suspicion, decision_function and predict_proba, "
                f"as BoostedRanker() and LogisticRegression() do; got {base!r}."
            )
        check_options(self.aim, self.beta, self.least_precision, self.budget)
        if self.cv != "prefit":
            checks.whole_number(self.cv, "cv", 2)
        elif eval_set is None:
            raise ValueError(
                "eval_set must be given with cv='prefit': rows that the ranker has not seen, and "
                "their labels."
            )


def _warn_of_scales(is_alert: NDArray[np.bool_], fold: NDArray[np.int64]) -> None:
    """Warn if the folds' shares of alerts differ by more than chance."""
    n_alerts, n_rows = np.bincount(fold, is_alert), np.bincount(fold)
    expected = n_rows * is_alert.mean()
    chance = expected * (1 - is_alert.mean())
    # if no row or every row is an alert, there is nothing to compare
    distance = float(((n_alerts - expected) ** 2 / np.maximum(chance, 1e-12)).sum())
    if chance.sum() and chi2.sf(distance, n_rows.size - 1) < _BEYOND_CHANCE:
        warnings.warn(
            "the rankers of the folds do not score on one scale: at the chosen threshold they "
            f"alert {n_alerts.min():.0f} to {n_alerts.max():.0f} rows of a fold, so that the "
            "threshold may not suit the ranker fitted on all rows. Pass an eval_set.",
            stacklevel=3,
        )


def _scores(model: Any, X: Any, positive: Any) -> NDArray[np.float64]:
    """Return one number per row, higher for rows more likely to be positive."""
    if hasattr(model, "suspicion"):
        return model.suspicion(X)
    is_last = bool(model.classes_[1] == positive)
    if hasattr(model, "decision_function"):
        raw = np.asarray(model.decision_function(X), dtype=np.float64)
        return raw if is_last else -raw
    probability = np.asarray(model.predict_proba(X), dtype=np.float64)[:, int(is_last)]
    return logit(np.clip(probability, _LEAST_PROBABILITY, _MOST_PROBABILITY))


def _indexable(X: Any) -> Any:
    """Return rows that can be indexed: a table as it is, anything else as an array."""
    X = accepted(X, sparse=True)  # what the ranker inside does not take, it refuses by itself
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if as_frame(X) is not None:
        return X
    (rows,) = indexable(X)
    return np.asarray(rows) if isinstance(rows, list) else rows


def _some(X: Any, rows: NDArray[np.int64]) -> Any:
    if as_frame(X) is not None:
        return nw.from_native(X, eager_only=True)[rows].to_native()
    return X[rows]

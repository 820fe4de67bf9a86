"""BalanceCascade: rankers that each see the positives and the remaining hard negatives."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank import splits
from toprank.calibration import fit_sigmoid
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.decisions import ensemble_members
from toprank.decisions.samplers import check_ratio, rarer_class
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker

_FOLDS = 3
_LEAST_NEGATIVES = 2
_LARGEST_THRESHOLD = 1e100
_MOST_CALIBRATED = 200_000


class Stage(NamedTuple):
    """One stage of a cascade: its threshold, and what it did to positives and negatives."""

    threshold: float
    n_negative: int
    false_negative_rate: float
    false_positive_rate: float


class BalanceCascade(Ranker):
    """A cascade of rankers, each fitted to all positives and as many negatives.

    The negatives of a stage are drawn from those that no earlier stage was sure of: those below
    a stage's threshold are settled and dropped. Suspicion is the mean over the stages of
    log-odds minus threshold. The paper (Liu et al., 2009) predicts positive above 0, for far
    more rows than are positive; `predict` uses the probability among all rows. It is fitted to
    the training rows: call `calibrate` with others before you sum probabilities.

    Parameters
    ----------
    ranker : a ranker, a classifier of scikit-learn, or None
        The model of each stage; None means BoostedRanker("log", n_estimators=50).
    n_estimators : int
        Maximum number of stages; the cascade ends early when hardly any negatives are left.
    false_negative_rate : float or None
        Share of the positives that a stage may put below its threshold. It is measured on
        positives held out from the ranker, in three folds. None means the paper's schedule: each
        stage settles the same share of the negatives, such that as many negatives as positives
        are left for the last one.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed of the draws; the ranker has its own.

    Attributes
    ----------
    rankers_ : the fitted stages
    stages_ : for each the threshold, the number of negatives to draw from, and the rates of
        false negatives and false positives at the threshold
    calibration_ : the sigmoid from suspicion to probability
    schema_, classes_, positive_label_, usual_ : as for `BoostedRanker`

    Notes
    -----
    By the schedule, thresholds are quantiles of the remaining negatives, hardly any of which the
    stage has seen. The false negative rate in `stages_` is then measured on the positives it
    learned from and too low; with `false_negative_rate`, it is measured on held-out positives.

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import BalanceCascade
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] + X[:, 1] > 3
    >>> cascade = BalanceCascade(n_estimators=4).fit(X, y)
    >>> n_negative = [stage.n_negative for stage in cascade.stages_]
    >>> n_negative[0], bool(n_negative[-1] < 2 * y.sum())
    (2958, True)
    >>> y[np.argsort(-cascade.suspicion(X))[:3]].tolist()
    [True, True, True]
    """

    def __init__(
        self,
        ranker: Any = None,
        *,
        n_estimators: int = 10,
        false_negative_rate: float | None = None,
        positive_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.ranker = ranker
        self.n_estimators = n_estimators
        self.false_negative_rate = false_negative_rate
        self.positive_label = positive_label
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn to rank the positives of `y` first."""
        self._check_parameters()
        rows = self._training_rows(X, y, None)
        check_ratio(rows.is_positive, 1.0)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        self._cascade(rows, np.random.default_rng(seed_of(self.random_state)))
        some = rows.thinned(_MOST_CALIBRATED)
        self.calibration_ = fit_sigmoid(some.is_positive, self._raw(some.features), some.weight)
        return self

    def _named_positive(self, y: NDArray) -> Any:
        return rarer_class(y) if self.positive_label is None else self.positive_label

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        contributions = np.mean(
            [ensemble_members.contributions(each, features) for each in self.rankers_], axis=0
        )
        contributions[:, -1] -= self._mean_threshold()
        return contributions

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's importance, the mean over the stages."""
        check_is_fitted(self)
        return np.mean([ensemble_members.importances(each) for each in self.rankers_], axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = ensemble_members.takes_gaps(self._base())
        return tags

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        each = [ensemble_members.log_odds(ranker, features) for ranker in self.rankers_]
        return np.mean(each, axis=0) - self._mean_threshold()

    def _mean_threshold(self) -> float:
        return float(np.mean([stage.threshold for stage in self.stages_]))

    def _cascade(self, rows: TrainingRows, generator: np.random.Generator) -> None:
        """Fit the stages in turn, on ever fewer negatives."""
        positives = np.flatnonzero(rows.is_positive)
        left = np.flatnonzero(~rows.is_positive)
        settled = _settled_by_schedule(positives.size, left.size, self.n_estimators)
        self.rankers_, self.stages_ = [], []
        for _ in range(self.n_estimators):
            drawn = generator.choice(left, min(positives.size, left.size), replace=False)
            ranker = self._fitted(rows, np.concatenate([positives, drawn]))
            own = ensemble_members.log_odds(ranker, rows.features[positives])
            negatives = ensemble_members.log_odds(ranker, rows.features[left])
            if self.false_negative_rate is None:
                threshold = float(np.quantile(negatives, settled))
            else:
                own = self._held_out_log_odds(rows, positives, drawn, generator)
                threshold = float(np.quantile(own, self.false_negative_rate, method="lower"))
            self.rankers_.append(ranker)
            self.stages_.append(
                Stage(
                    threshold,
                    int(left.size),
                    float(np.mean(own < threshold)),
                    float(np.mean(negatives >= threshold)),
                )
            )
            left = left[negatives >= threshold]
            if left.size < _LEAST_NEGATIVES:
                return

    def _fitted(self, rows: TrainingRows, chosen: NDArray[np.intp]) -> Any:
        # in the order of the table, so that the order of drawing has no effect
        some = rows.take(np.sort(chosen))
        columns = inputs.columns_of(self)
        return ensemble_members.fitted(self._base(), some.features, some.is_positive, columns)

    def _held_out_log_odds(
        self,
        rows: TrainingRows,
        positives: NDArray[np.intp],
        drawn: NDArray[np.intp],
        generator: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Return log-odds of the positives, each by a ranker that did not learn from it."""
        n_folds = min(_FOLDS, positives.size, drawn.size)
        if n_folds < 2:
            raise ValueError(
                "false_negative_rate needs at least 2 positives and 2 negatives, to hold some "
                f"out; got {positives.size} and {drawn.size}. Leave it at None."
            )
        chosen = np.concatenate([positives, drawn])
        is_positive = rows.is_positive[chosen]
        out = np.empty(chosen.size)
        for learned, held_out in splits.folds(
            is_positive, n_folds, int(generator.integers(2**31))
        ):
            ranker = self._fitted(rows, chosen[learned])
            out[held_out] = ensemble_members.log_odds(ranker, rows.features[chosen[held_out]])
        return out[is_positive]

    def _base(self) -> Any:
        return BoostedRanker("log", n_estimators=50) if self.ranker is None else self.ranker

    def _check_parameters(self) -> None:
        ensemble_members.check_model(self._base())
        checks.whole_number(self.n_estimators, "n_estimators", 1)
        if self.false_negative_rate is not None:
            checks.number_from(self.false_negative_rate, "false_negative_rate", 0, 0.5)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted cascade."""
        return ensemble_members.to_saved(
            self, self.rankers_, {"stages": [list(s) for s in self.stages_]}
        )

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the cascade that `_to_saved` described; raises ValueError if it does not fit."""
        cascade, rankers = ensemble_members.from_saved(cls, parameters, saved)
        cascade.rankers_ = rankers
        stages = np.array(saved.state["stages"], dtype=np.float64)
        if stages.shape != (len(rankers), 4) or not (np.abs(stages) < _LARGEST_THRESHOLD).all():
            raise ValueError("stages must each have a threshold, a count and two rates.")
        if (stages[:, 1] < 1).any() or (stages[:, 2:] < 0).any() or (stages[:, 2:] > 1).any():
            raise ValueError("counts of stages must be above 0 and rates between 0 and 1.")
        cascade.stages_ = [Stage(t, int(n), fnr, fpr) for t, n, fnr, fpr in stages.tolist()]
        return cascade


def _settled_by_schedule(n_positive: int, n_negative: int, n_stages: int) -> float:
    """Return the share of negatives each stage settles, so that the last draws from n_positive.

    >>> round(_settled_by_schedule(10, 10_000, 4), 3)
    0.9
    """
    if n_stages == 1:
        return 1 - n_positive / n_negative
    return 1 - (n_positive / n_negative) ** (1 / (n_stages - 1))

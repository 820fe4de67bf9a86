"""A ranker that learns from sampled rows, with probabilities for all rows."""

import reprlib
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import SigmoidCalibration
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.decisions import ensemble_members
from toprank.decisions.prior import log_odds_shift
from toprank.decisions.samplers import (
    Sampling,
    check_ratio,
    check_sampler,
    import_imblearn,
    rarer_class,
    resampled,
)
from toprank.files import Saved
from toprank.rankers import reasons
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.boosted.boosted_ranker import BoostedRanker


class SampledRanker(Ranker):
    """Samples the training rows with imbalanced-learn, then lets a ranker learn from them.

    Parameters
    ----------
    ranker : a ranker, a classifier of scikit-learn, or None
        The model to fit; None means BoostedRanker("log").
    sampler : "under", "over", "tomek", "smote", "easy-ensemble", or a sampler
        "under" leaves out negatives at random, "over" repeats positives, "tomek" leaves out
        negatives that are mutual nearest neighbours with a positive, "smote" creates new
        positives between neighbours (by majority in columns of categories). "easy-ensemble"
        fits `n_subsets` rankers, each on all positives and its own draw of negatives, and
        averages them. Any object with imbalanced-learn's `fit_resample` works.
    ratio : float
        Positives per negative after sampling, at most 1: imbalanced-learn's `sampling_strategy`.
        Not used by "tomek".
    n_subsets : int
        Number of rankers of "easy-ensemble".
    k_neighbors : int
        Number of neighbours that "smote" draws from; fewer than the positives.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed of the sampling; the ranker has its own.

    Attributes
    ----------
    rankers_ : the fitted rankers: one, or `n_subsets` of "easy-ensemble"
    n_sampled_ : rows and positives that each of them learned from
    calibration_ : from suspicion to probability at the share of positives among all rows
    schema_, classes_, positive_label_, usual_ : as for `BoostedRanker`

    Notes
    -----
    Sampling shifts the probabilities, which are corrected to the share of positives before
    sampling (`undersampling_corrected`). They are then as good as the ranker's own among the
    sampled rows, and most rankers are overconfident on rows they learned from: call `calibrate`
    with others before you sum probabilities. Suspicion stays on the scale of the sampled rows: at
    0, half of rows sampled in the same way would be positive. `toprank compare --imbalance`
    measures whether sampling helps at all.

    Examples
    --------
    >>> import numpy as np
    >>> from toprank.decisions import SampledRanker
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X[:, 0] + X[:, 1] > 3
    >>> ranker = SampledRanker(sampler="under", ratio=0.5).fit(X, y)
    >>> ranker.n_sampled_ == [(3 * y.sum(), y.sum())]
    True
    >>> y[np.argsort(-ranker.suspicion(X))[:3]].tolist()
    [True, True, True]
    """

    def __init__(
        self,
        ranker: Any = None,
        sampler: Any = "under",
        *,
        ratio: float = 1.0,
        n_subsets: int = 10,
        k_neighbors: int = 5,
        positive_label: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.ranker = ranker
        self.sampler = sampler
        self.ratio = ratio
        self.n_subsets = n_subsets
        self.k_neighbors = k_neighbors
        self.positive_label = positive_label
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from sampled rows to rank the positives of `y` first."""
        self._check_parameters()
        rows = self._training_rows(X, y, None)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        how = Sampling(self.sampler, self.ratio, self.k_neighbors, seed_of(self.random_state))
        if isinstance(self.sampler, str) and self.sampler == "easy-ensemble":
            shift = self._fit_ensemble(rows, how)
        else:
            shift = self._fit_one(rows, how)
        self.calibration_ = SigmoidCalibration(1.0, shift)
        return self

    def _named_positive(self, y: NDArray) -> Any:
        return rarer_class(y) if self.positive_label is None else self.positive_label

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion.
        """
        check_is_fitted(self)
        features = inputs.read_features(self, X)
        return np.mean(
            [ensemble_members.contributions(each, features) for each in self.rankers_], axis=0
        )

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's importance, the mean over the rankers."""
        check_is_fitted(self)
        return np.mean([ensemble_members.importances(each) for each in self.rankers_], axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = ensemble_members.takes_gaps(self._base())
        return tags

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.mean(
            [ensemble_members.log_odds(each, features) for each in self.rankers_], axis=0
        )

    def _fit_one(self, rows: TrainingRows, how: Sampling) -> float:
        """Learn from one sample; return the shift of log-odds to all rows."""
        sample, is_positive = resampled(rows.features, rows.is_positive, self.schema_, how)
        columns = inputs.columns_of(self)
        self.rankers_ = [ensemble_members.fitted(self._base(), sample, is_positive, columns)]
        self.n_sampled_ = [(int(is_positive.size), int(is_positive.sum()))]
        return log_odds_shift(rows.is_positive, is_positive)

    def _fit_ensemble(self, rows: TrainingRows, how: Sampling) -> float:
        """Learn from many samples; return the shift of log-odds to all rows."""
        check_ratio(rows.is_positive, how.ratio)
        import_imblearn()
        from imblearn.ensemble import EasyEnsembleClassifier

        ensemble = EasyEnsembleClassifier(
            self.n_subsets,
            _Subset(self._base(), inputs.columns_of(self)),
            sampling_strategy=how.ratio,
            random_state=how.seed,
        )
        ensemble.fit(rows.features, rows.is_positive.astype(int))
        subsets = [each.named_steps["classifier"] for each in ensemble.estimators_]
        self.rankers_ = [each.model_ for each in subsets]
        self.n_sampled_ = [
            (int(each.is_positive_.size), int(each.is_positive_.sum())) for each in subsets
        ]
        return log_odds_shift(rows.is_positive, subsets[0].is_positive_)

    def _base(self) -> Any:
        return BoostedRanker("log") if self.ranker is None else self.ranker

    def _check_parameters(self) -> None:
        ensemble_members.check_model(self._base())
        check_sampler(self.sampler)
        checks.number_above(self.ratio, "ratio", 0, 1)
        checks.whole_number(self.n_subsets, "n_subsets", 1)
        checks.whole_number(self.k_neighbors, "k_neighbors", 1)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        if not isinstance(self.sampler, str):
            raise TypeError(
                "sampler must be a name such as 'under' for the ranker to be saved; got "
                f"{self.sampler!r}. Save the inner ranker instead: rankers_[0]."
            )
        return ensemble_members.to_saved(self, self.rankers_, {"n_sampled": self.n_sampled_})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker, rankers = ensemble_members.from_saved(cls, parameters, saved)
        ranker.rankers_ = rankers
        counts = np.array(saved.state["n_sampled"], dtype=np.int64)
        fits = counts.shape == (len(rankers), 2)
        if not fits or (counts[:, 1] < 1).any() or (np.diff(-counts) < 1).any():
            raise ValueError(
                "n_sampled must have the rows of each ranker and the positives among them; got "
                f"{reprlib.repr(saved.state['n_sampled'])}."
            )
        ranker.n_sampled_ = [(n_rows, n_positive) for n_rows, n_positive in counts.tolist()]
        return ranker


class _Subset(ClassifierMixin, BaseEstimator):
    """Adapter of a model to imbalanced-learn's ensemble, which passes rows of numbers."""

    def __init__(self, model: Any, columns: inputs.LearnedColumns) -> None:
        self.model = model
        self.columns = columns

    def fit(self, X: NDArray, y: NDArray) -> Self:
        self.classes_ = np.unique(y)
        self.is_positive_ = y.astype(bool)
        features = np.ascontiguousarray(X, dtype=np.float32)
        self.model_ = ensemble_members.fitted(
            self.model, features, self.is_positive_, self.columns
        )
        return self

    def predict(self, X: NDArray) -> NDArray:
        """Return the more probable class; scikit-learn requires the method."""
        return (ensemble_members.log_odds(self.model_, X) > 0).astype(int)

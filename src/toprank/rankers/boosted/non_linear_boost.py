"""Non-linear boosting (NLB): latent combinations of shared trees."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.losses import Log
from toprank.rankers import reasons
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.latent_trees import Combination, LatentTrees
from toprank.rankers.boosted.latents import TrainingLatents
from toprank.rankers.boosted.one_booster import OneBooster
from toprank.rankers.boosted.plan import GROWING
from toprank.rankers.progress import Progress


class NonLinearBoost(OneBooster):
    """Boosted trees on log-loss whose weights depend on how suspicious a row already is.

    The suspicion is `sum_p a_p relu(u_p)` with `u_p = sum_t b_pt h_t`, up to constants: P latents
    combine the same trees h_t, each with its own weights. A tree is fitted to the residuals of all
    before it; then the latents take one damped Newton step on its weights b and on theirs, a. It
    starts as linear boosting, `BoostedRanker("log")`, and departs from it with those steps.

    Parameters
    ----------
    n_estimators : int
        Total number of trees.
    n_latents : int
        Latents P. They come in pairs at different thresholds; an unpaired one
        stays almost linear.
    max_depth, learning_rate : int, float
        Depth of one tree, and how much of it is added; the latents' steps shrink with it.
    binning : "quantile" or "balanced"
        How histogram bins are placed: by rows, or with half of the mass given to positives.
    max_bins : int
        Bins per feature.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        XGBoost's random seed; nothing is drawn, so the model is the same for any seed.
    n_jobs : int or None
        Number of threads; None means one, -1 all cores.

    Attributes
    ----------
    booster_ : xgboost.Booster, the trees h_t with their own leaf values
    combination_ : intercept, biases, `mixing` (b) and `weights` (a after each tree)
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import NonLinearBoost
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = NonLinearBoost(n_estimators=40).fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    >>> ranker.latents(X).shape
    (500, 10)
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        n_latents: int = 10,
        max_depth: int = 3,
        learning_rate: float = 0.1,
        binning: str = "quantile",
        max_bins: int = 256,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_latents = n_latents
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.binning = binning
        self.max_bins = max_bins
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank the positives of `y` first.

        `progress(what, done, total)` is called after each tree.
        """
        self._check_parameters()
        rows = self._training_rows(X, y, sample_weight)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        booster, self.combination_ = self._boost(rows, progress)
        self._trees = LatentTrees(booster, self.combination_, self.schema_.feature_types)
        self._keep(booster, judged=rows)
        return self

    def staged_suspicion(self, X: Any) -> NDArray[np.float64]:
        """Return each row's suspicion after each tree, one column per tree; the last is final.

        A fit with many trees contains every fit with fewer: use it to choose `n_estimators`.
        """
        check_is_fitted(self)
        return self._trees.staged(inputs.read_features(self, X))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion. Each latent is a sum of trees with exact
        shares; they are scaled by the latent's weight, and by the part of the latent's way from
        its mean to its value at this row on which it is open.
        """
        check_is_fitted(self)
        return self._trees.contributions(inputs.read_features(self, X))

    def to_xgboost(self) -> Any:
        """Raise: the latents combine the trees, which no plain booster does."""
        raise TypeError(
            "NonLinearBoost combines its trees in latents, which a plain booster cannot; "
            "fit BoostedRanker, or score with booster_ for the trees alone."
        )

    def latents(self, X: Any) -> NDArray[np.float64]:
        """Return the latents' outputs before weighting: relu(u_p), one column per latent."""
        check_is_fitted(self)
        return self._trees.outputs(inputs.read_features(self, X))

    def latent_correlation(self, X: Any) -> NDArray[np.float64]:
        """Return the correlation of every two latents' outputs over the rows of `X`.

        NaN where a latent has the same output at every row, for example one that is closed.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.atleast_2d(np.corrcoef(self.latents(X), rowvar=False))

    @property
    def latent_weights_(self) -> NDArray[np.float64]:
        """Return a: the weight of each latent's output in the suspicion."""
        check_is_fitted(self)
        return self.combination_.weights[-1]

    def _check_parameters(self) -> None:
        self._check_trees()
        checks.whole_number(self.n_latents, "n_latents", 1)

    def _boost(self, rows: TrainingRows, progress: Progress | None) -> tuple[Any, Combination]:
        """Return the trees and the combination learned with them."""
        latents = TrainingLatents(rows, self.n_latents, self.learning_rate)
        grower = _Grower(self._matrix(rows), self._settings(), rows)
        mixing, weights = [], []
        for tree in range(self.n_estimators):
            mixing.append(latents.learn(grower.grow(latents.raw)))
            weights.append(latents.weights)
            if progress is not None:
                progress(GROWING, tree + 1, self.n_estimators)
        start = latents.start
        return grower.booster, Combination(
            start.intercept, start.biases, np.array(mixing).T.copy(), np.array(weights)
        )

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "base_score": 0.0,
            "learning_rate": self.learning_rate,
            "max_bin": self.max_bins,
            "disable_default_eval_metric": True,
        }

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._trees.raw(features)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        kept = self.combination_
        saved = self._saved({"intercept": kept.intercept})
        arrays = {"biases": kept.biases, "mixing": kept.mixing, "weights": kept.weights}
        return saved._replace(arrays=arrays)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker = cls._restored(parameters, saved)
        arrays = (saved.arrays[name] for name in ("biases", "mixing", "weights"))
        ranker.combination_ = Combination(float(saved.state["intercept"]), *arrays)
        ranker.combination_.check(ranker.n_latents, ranker.n_trees_)
        ranker._trees = LatentTrees(
            ranker.booster_, ranker.combination_, ranker.schema_.feature_types
        )
        return ranker


class _Grower:
    """Grows trees on the residuals of scores that are not the plain sum of earlier trees."""

    def __init__(self, matrix: Any, settings: dict[str, Any], rows: TrainingRows) -> None:
        self.booster = xgboost_engine.import_xgboost().Booster(settings, [matrix])
        self._matrix = matrix
        self._rows = rows
        self._n_trees = 0
        self._sum = np.zeros(rows.is_positive.size, np.float32)
        self._out = np.empty_like(self._sum), np.empty_like(self._sum)

    def grow(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at every row of one more tree, fitted to the log-loss at `raw`."""
        is_positive, weight = self._rows.is_positive, self._rows.weight
        gradient, curvature = Log().gradient_curvature(is_positive, raw, weight, out=self._out)
        self.booster.boost(self._matrix, iteration=self._n_trees, grad=gradient, hess=curvature)
        self._n_trees += 1
        # XGBoost caches the running sum of the training rows; predicting one tree costs far more
        before, self._sum = self._sum, self.booster.predict(self._matrix, output_margin=True)
        return self._sum.astype(np.float64) - before

"""Boosted trees that learn a ranking loss."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from toprank import splits
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.losses import LOSSES_OF_GROUPS, make_loss
from toprank.rankers import jobs, reasons
from toprank.rankers.base import seed_of
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.one_booster import OneBooster
from toprank.rankers.boosted.plan import Plan, Training
from toprank.rankers.progress import Progress

_OWN_SETTINGS = {
    "objective", "base_score", "booster", "num_class", "max_bin", "tree_method",
    "scale_pos_weight",
}  # fmt: skip


class BoostedRanker(OneBooster):
    """Boosted trees on a ranking loss, for positives that are rare.

    Parameters
    ----------
    loss : "log", "ap-exp", "ap-sigmoid", "ap-lambda", "ap-card", "auc-exp" or "auc-hinge"
        What the trees minimise: ordinary log-loss; a surrogate of average precision, which pushes
        positives to the very top of the list; the same for a list of groups of rows ("ap-card"),
        such as the cards of a day; or a surrogate of the area under the ROC curve.
    engine : "xgboost" or "paper"
        "paper" is the SGBAP algorithm exactly as published: exact cuts and a line search, slow.
    n_estimators : int
        Total number of trees.
    warm_start_trees : int or None
        How many of the trees learn log-loss before `loss` takes over; None means four in five.
    max_depth, learning_rate : int, float
        Depth of one tree, and how much of it is added.
    subsample : float
        Share of the rows that grow one tree (XGBoost's own; the loss still sees every row).
    batch_fraction : float
        Share of the rows that make up one tree's list; the others are ignored in that round.
        With "ap-card", whole groups are drawn.
    binning : "quantile" or "balanced"
        How histogram bins are placed: by rows, or with half of the mass given to positives.
    max_bins : int
        Bins per feature.
    loss_options : dict or None
        Options of the loss, such as {"form": "paper"} for ap-exp.
    engine_options : dict or None
        Further XGBoost parameters, such as {"min_child_weight": 5}.
    early_stopping_rounds : int or None
        Stop when validation AP has not risen, beyond noise, for this many trees.
    validation_fraction : float
        Share of the rows held out for early stopping when `fit` gets no `eval_set`.
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed; None uses another one each time.
    n_jobs : int or None
        Number of threads; None means one, -1 all cores.

    Attributes
    ----------
    booster_ : xgboost.Booster
    schema_ : the columns it was fitted on, with their kinds and categories
    classes_, positive_label_ : both labels in sorted order; the one ranked first
    calibration_ : the sigmoid from raw scores to probabilities
    history_ : validation AP after each tree (empty without early stopping)

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] > 2.5
    >>> ranker = BoostedRanker(n_estimators=40).fit(X, y)
    >>> top = np.argsort(-ranker.suspicion(X))[:5]
    >>> y[top].tolist()
    [True, True, True, True, True]
    """

    def __init__(
        self,
        loss: str = "log",
        *,
        engine: str = "xgboost",
        n_estimators: int = 300,
        warm_start_trees: int | None = None,
        max_depth: int = 4,
        learning_rate: float = 0.05,
        subsample: float = 1.0,
        batch_fraction: float = 1.0,
        binning: str = "quantile",
        max_bins: int = 256,
        loss_options: dict[str, Any] | None = None,
        engine_options: dict[str, Any] | None = None,
        early_stopping_rounds: int | None = None,
        validation_fraction: float = 0.15,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.engine = engine
        self.n_estimators = n_estimators
        self.warm_start_trees = warm_start_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.batch_fraction = batch_fraction
        self.binning = binning
        self.max_bins = max_bins
        self.loss_options = loss_options
        self.engine_options = engine_options
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def published(cls, **others: Any) -> Self:
        """Return the algorithm of the SGBAP paper, with the small steps and batches that it needs.

        With `learning_rate=1` it takes whole steps, as printed; one pure leaf then soon has nearly
        all of the exponential sum, and the other positives are no longer learned.

        >>> BoostedRanker.published(max_depth=2).engine
        'paper'
        """
        settings = {
            "loss": "ap-exp",
            "engine": "paper",
            "n_estimators": 100,
            "warm_start_trees": 0,
            "max_depth": 4,
            "learning_rate": 0.01,
            "batch_fraction": 0.2,
        }
        return cls(**{**settings, **others})

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        eval_set: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank the positives of `y` first.

        Rows that are equal in `groups`, such as one card's payments of a day, are one entry of
        the list that "ap-card" ranks, positive if a row of it is; a row whose group is missing is
        an entry of its own. Early stopping holds out whole groups and judges their order.

        `eval_set` holds the rows that early stopping judges by: `(X, y)`, `(X, y, weights)`, or a
        list of one of these. `progress(what, done, total)` is called after each tree. Rows on a
        Dask cluster: `toprank.cluster.fit`.
        """
        self._check_parameters()
        if groups is None and self.ranks_groups:
            raise ValueError(
                f"groups must be given to fit with loss={self.loss!r}, one value per row, such as "
                "the number of the card and day; got None."
            )
        rows = self._training_rows(X, y, sample_weight, groups)
        self.zeros_are_missing_ = issparse(rows.features)
        rows, validation = self._validation_rows(rows, eval_set)
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)
        training = self._train(rows, validation, progress)
        self.history_ = training.history
        self._keep(training.booster, judged=rows if validation is None else validation)
        return self

    @property
    def ranks_groups(self) -> bool:
        """Whether the loss ranks groups of rows, which `fit` must then be given."""
        return self.loss in LOSSES_OF_GROUPS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    def _takes_sparse(self) -> bool:
        return self.engine == "xgboost"

    def _read(self, X: Any) -> NDArray[np.float32]:
        """Return rows as `_raw` takes them: sparse ones stay sparse if the trees grew on such."""
        if issparse(X) and self.zeros_are_missing_:
            return inputs.read_sparse(self, X)
        return self._as_grown_on(super()._read(X))

    def _check_parameters(self) -> None:
        checks.one_of(self.engine, "engine", ("xgboost", "paper"))
        self._check_trees()
        if self.warm_start_trees is not None:
            checks.whole_number(self.warm_start_trees, "warm_start_trees", 0, self.n_estimators)
        checks.number_above(self.subsample, "subsample", 0, 1)
        checks.number_above(self.batch_fraction, "batch_fraction", 0, 1)
        if self.early_stopping_rounds is not None:
            checks.whole_number(self.early_stopping_rounds, "early_stopping_rounds", 1)
        checks.number_above(self.validation_fraction, "validation_fraction", 0, 0.9)
        if isinstance(self.random_state, Integral):
            checks.whole_number(self.random_state, "random_state", 0, 2**31 - 1)
        if self.engine == "paper" and self.ranks_groups:
            raise ValueError(f"loss must be one of rows with engine='paper'; got {self.loss!r}.")
        if self.engine == "paper":
            self._check_unused({"subsample": 1.0, "binning": "quantile", "engine_options": None})
        for name in _OWN_SETTINGS & set(self.engine_options or {}):
            raise ValueError(
                f"engine_options must not contain {name!r}, which the ranker sets; got "
                f"{(self.engine_options or {})[name]!r}."
            )

    def _check_unused(self, defaults: dict[str, Any]) -> None:
        """Raise for a setting that the paper's engine would silently ignore."""
        for name, default in defaults.items():
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name} must be {default!r} with engine='paper', which ignores it; "
                    f"got {getattr(self, name)!r}."
                )

    def _validation_rows(
        self, rows: TrainingRows, eval_set: Any
    ) -> tuple[TrainingRows, TrainingRows | None]:
        """Return the rows to learn from and those that early stopping judges by."""
        if eval_set is not None:
            return rows, self._eval_rows(eval_set)
        if self.early_stopping_rounds is None:
            return rows, None
        n_positive = np.count_nonzero(rows.is_positive)
        if n_positive < 2:
            raise ValueError(
                "early_stopping_rounds needs at least 2 positives, one to learn from and one to "
                f"validate on; got {n_positive}. Pass an eval_set or early_stopping_rounds=None."
            )
        kept, held_out = splits.held_out(
            rows.is_positive, self.validation_fraction, seed_of(self.random_state), rows.groups
        )
        return rows.take(kept), rows.take(held_out)

    def _train(
        self, rows: TrainingRows, validation: TrainingRows | None, progress: Progress | None
    ) -> Training:
        if self.engine == "paper":
            from toprank.rankers.boosted import paper_engine  # loads scikit-learn's trees

            return paper_engine.train(
                rows,
                self._plan(progress),
                validation,
                max_depth=self.max_depth,
                learning_rate=self.learning_rate,
            )
        return xgboost_engine.train(
            rows,
            self._plan(progress),
            validation,
            settings=self._settings(),
            feature_types=self.schema_.feature_types,
            max_bins=self.max_bins,
            binning=self.binning,
        )

    def _plan(self, progress: Progress | None) -> Plan:
        warm = self.warm_start_trees
        return Plan(
            make_loss(self.loss, self.loss_options),
            n_estimators=self.n_estimators,
            warm_start_trees=self.n_estimators * 4 // 5 if warm is None else warm,
            batch_fraction=self.batch_fraction,
            seed=seed_of(self.random_state),
            gather=xgboost_engine.gather_of(jobs.n_threads(self.n_jobs)),
            patience=self.early_stopping_rounds,
            progress=progress,
        )

    def _settings(self) -> dict[str, Any]:
        return {
            **super()._settings(),
            "learning_rate": self.learning_rate,
            "subsample": self.subsample,
            **(self.engine_options or {}),
        }

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        return self._saved({"history": self.history_})

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker = cls._restored(parameters, saved)
        ranker.history_ = [float(value) for value in saved.state["history"]]
        make_loss(ranker.loss, ranker.loss_options)
        return ranker

"""AutoRanker: tries recipes on held-out rows, blends, bags and calibrates."""

import time as clock
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from toprank.calibration import fit_calibration
from toprank.data import checks, inputs
from toprank.data.inputs import TrainingRows
from toprank.files import Saved
from toprank.files.state import part_of, parts_together
from toprank.losses import LOSSES
from toprank.metrics import Interval
from toprank.rankers import jobs, reasons
from toprank.rankers.auto.blend import Member, Recipe
from toprank.rankers.auto.boosted import BoostedMember, BoostedTrees
from toprank.rankers.auto.forest_member import ForestMember
from toprank.rankers.auto.judge import Judge
from toprank.rankers.auto.judged_folds import (
    TRAINING_ROWS,
    JudgedFolds,
    folds_after,
    folds_in_time,
    random_folds,
)
from toprank.rankers.auto.kernel_member import KernelMember
from toprank.rankers.auto.search import LOSSES_TRIED, kind_of, plain_only, search
from toprank.rankers.auto.search_log import SearchLog, account_of
from toprank.rankers.auto.smooth_member import SmoothMember
from toprank.rankers.auto.trial import blend
from toprank.rankers.auto.work import EFFORTS, Budget
from toprank.rankers.base import Ranker, seed_of
from toprank.rankers.progress import Progress

_KINDS: dict[str, type[BoostedMember | ForestMember | SmoothMember | KernelMember]] = {
    "boosted": BoostedMember,
    "forest": ForestMember,
    "smooth": SmoothMember,
    "kernel": KernelMember,
}
_LARGEST_SCALE = 1e50


class JudgedRows(NamedTuple):
    """The rows that the winner was judged on, each scored by a model that had not seen it.

    `row` is the row's number in `X` (or in the `eval_set`), `origin` that of the fold or window.
    """

    row: NDArray[np.intp]
    origin: NDArray[np.intp]
    suspicion: NDArray[np.float64]


class AutoRanker(Ranker):
    """Chooses among boosted trees, a randomised forest, a smooth model and their blend.

    Plain log-loss trees are the baseline and are kept unless something else has the higher
    average precision on held-out rows, by more than luck. `account_` lists what was tried.

    Parameters
    ----------
    budget : int or None
        How many rows of a list will be checked: what `expected_positives` counts by default.
    effort : "quick", "normal" or "thorough"
        How much work to spend on the search. Work is counted, not timed: the same rows, seed and
        effort give the same model on any machine.
    time_limit : float or None
        Seconds for the search and the final fit: nothing is started that would end later.
        Plain log-loss is fitted in any case.
    n_estimators : int
        Trees of the plain recipe and of the forest; other recipes have up to twice as many.
    n_bags : int
        Seeds over which boosted trees that draw rows and columns are averaged; fewer if the
        model would exceed 20 MB or the final fit would take long.
    losses : list of str or None
        Losses to try in addition to log-loss, by their names in `toprank.losses`; None means
        ap-exp and ap-lambda. Others are never trained: `losses=[]` leaves log-loss
        alone (see the notice of a patent on the AP losses in the documentation).
    positive_label : label or None
        The class to rank first; None takes the one whose name says so (1, True, "fraud"), or
        else `classes_[1]`.
    random_state : int, RandomState or None
        Random seed; None uses another one each time.
    n_jobs : int or None
        Number of threads; None means one, -1 all cores.

    Attributes
    ----------
    account_ : what was tried, with its results, and why the winner won; print it
    plain_scores_ : suspicion of the judged rows by plain log-loss trained without them;
        available after `fit` only: a model file does not keep it
    judged_ : for each judged row, its number, the number of its fold or window, and the winner's
        suspicion out of sample; available after `fit` only
    recipes_ : what `refit` fits again; available after `fit` only
    members_ : the fitted members of the blend
    calibration_ : from suspicion to probability, fitted to scores of rows that the
        scoring model has not seen (with a single positive, to the training rows)
    schema_, classes_, positive_label_, usual_ : as for `BoostedRanker`

    Examples
    --------
    >>> import numpy as np
    >>> from toprank import AutoRanker
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 1] > 2
    >>> ranker = AutoRanker(time_limit=5).fit(X, y)
    >>> y[np.argsort(-ranker.suspicion(X))[:3]].tolist()
    [True, True, True]
    """

    def __init__(
        self,
        budget: int | None = None,
        *,
        effort: str = "normal",
        time_limit: float | None = None,
        n_estimators: int = 300,
        n_bags: int = 5,
        losses: Sequence[str] | None = None,
        positive_label: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.effort = effort
        self.time_limit = time_limit
        self.n_estimators = n_estimators
        self.n_bags = n_bags
        self.losses = losses
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        time: ArrayLike | None = None,
        gap: Any = None,
        eval_set: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn to rank the positives of `y` first.

        Recipes are judged on `eval_set`, which is `(X, y)`, `(X, y, weights)` or a list of one of
        these; or, when `time` gives each row's moment, on windows of the latest half of the rows,
        each by what came before it and before the `gap`, a span such as "7d" whose labels would
        not be known yet; or out of fold. The winner is then fitted to all of these rows.
        `sample_weight` is a row's value at risk: it weighs in every loss and in the judgement.
        `progress(what, done, total)` is called at every step.
        """
        self._check_parameters()
        deadline = None if self.time_limit is None else clock.monotonic() + self.time_limit
        seed, n_threads = seed_of(self.random_state), jobs.n_threads(self.n_jobs)
        rows = self._training_rows(X, y, sample_weight)
        rows, judging = self._judged_folds(rows, time, gap, eval_set, seed, sample_weight)
        rows = _of_mean_weight_1(rows)
        size = rows.is_positive.size, len(self.schema_.columns)
        budget = Budget.of(self.effort, deadline, self.n_estimators, *size)
        judge = Judge(rows, self.schema_.columns, judging, seed, n_threads)
        if judging.judged_on == TRAINING_ROWS:
            outcome = plain_only(
                judge, self.n_estimators, "a single positive is too few to compare recipes"
            )
        else:
            losses = self._losses_to_try()
            outcome = search(judge, self.n_estimators, budget, progress, losses)
        self.plain_scores_ = outcome.plain.scores[0]
        suspicion = outcome.winner.blended
        # unweighted: probabilities must add up to a count of rows
        self.calibration_ = fit_calibration(judge.is_positive, suspicion)
        numbers = self._numbers_given(judging, sample_weight, eval_set)
        self.judged_ = JudgedRows(numbers, judging.origin, suspicion)
        self.recipes_ = [
            self._bagged(recipe, judge.final_work(recipe), budget)
            for recipe in outcome.winner.recipes
        ]
        del judge  # frees the bins of its rows: the winner learns from more
        self.account_ = account_of(outcome, judging.judged_on)
        self.scales_ = outcome.winner.scales
        self._fit_members(rows._replace(bins={}), seed, n_threads, progress)
        return self

    def refit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the recipe that `fit` chose to these rows, which may include newer ones.

        Nothing is chosen again: `account_`, `calibration_` and `judged_` stay as they are.
        Columns and classes must be those of `fit`.
        """
        check_is_fitted(self, "recipes_")
        reader = clone(self)
        rows = _of_mean_weight_1(reader._training_rows(X, y, sample_weight))
        self._check_same(reader)
        self.schema_ = reader.schema_  # the same columns, perhaps with new categories
        seed, n_threads = seed_of(self.random_state), jobs.n_threads(self.n_jobs)
        self._fit_members(rows._replace(bins={}), seed, n_threads, progress)
        return self

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each feature adds to each row's suspicion, with the common start last.

        A row's contributions add up to its suspicion. They are exact for boosted trees and
        smooth models; a forest's follow the path of the row through its trees.
        """
        inputs.check_fitted(self)
        features = inputs.read_features(self, X)
        total = np.zeros((len(features), features.shape[1] + 1))
        for member, (centre, spread) in zip(self.members_, self.scales_, strict=True):
            shares = member.contributions(features)
            shares[:, -1] -= centre
            shares /= spread
            shares /= len(self.members_)
            total += shares
        return total

    def expected_positives(self, X: Any, budget: int | None = None) -> Interval:
        """Return how many positives to expect in the `budget` most suspicious rows of `X`, with
        a 90 % interval.
        """
        budget = self.budget if budget is None else budget
        suspicion = np.sort(self.suspicion(X))[::-1]
        if budget is not None:
            suspicion = suspicion[: checks.whole_number(budget, "budget", 1)]
        return self.calibration_.expected_positives(suspicion)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return each feature's importance, the mean over the members."""
        check_is_fitted(self)
        return np.mean([member.importances() for member in self.members_], axis=0)

    def _check_parameters(self) -> None:
        if self.budget is not None:
            checks.whole_number(self.budget, "budget", 1)
        checks.one_of(self.effort, "effort", EFFORTS)
        if self.time_limit is not None:
            checks.number_above(self.time_limit, "time_limit", 0)
        checks.whole_number(self.n_estimators, "n_estimators", 1)
        checks.whole_number(self.n_bags, "n_bags", 1, 100)
        checks.jobs(self.n_jobs)
        self._losses_to_try()

    def _losses_to_try(self) -> tuple[str, ...]:
        """Return the losses to try in addition to log-loss, which is always tried."""
        if self.losses is None:
            return LOSSES_TRIED
        if isinstance(self.losses, str) or not isinstance(self.losses, Sequence):
            raise TypeError(f"losses must be a list of names or None; got {self.losses!r}.")
        for name in self.losses:
            checks.one_of(name, "losses", tuple(LOSSES))
        return tuple(dict.fromkeys(name for name in self.losses if name != "log"))

    def _check_same(self, other: Self) -> None:
        """Raise a ValueError if another ranker has read other columns or classes."""
        if other.schema_.names != self.schema_.names:
            raise ValueError(
                f"the columns must be those of fit, {list(self.schema_.names)}; got "
                f"{list(other.schema_.names)}."
            )
        mine, others = (
            [*ranker.classes_.tolist(), ranker.positive_label_] for ranker in (self, other)
        )
        if mine != others:
            raise ValueError(
                f"the classes must be those of fit, {mine[:2]} with {mine[2]!r} positive; got "
                f"{others[:2]} with {others[2]!r} positive."
            )

    def _judged_folds(
        self,
        rows: TrainingRows,
        time: ArrayLike | None,
        gap: Any,
        eval_set: Any,
        seed: int,
        sample_weight: ArrayLike | None,
    ) -> tuple[TrainingRows, JudgedFolds]:
        """Return all rows, and the folds they are judged in."""
        if time is None and gap is not None:
            raise ValueError(f"gap must be None without time; got {gap!r}.")
        if eval_set is not None:
            if time is not None:
                raise ValueError(
                    "time must be None if there is an eval_set: recipes are judged on that."
                )
            judged = self._eval_rows(eval_set)
            folds = folds_after(rows.is_positive.size, judged.is_positive.size)
            return rows.followed_by(judged), folds
        if time is not None:
            moments = _moments_of_rows(time, sample_weight)
            return rows, folds_in_time(moments, rows.is_positive, gap)
        return rows, random_folds(rows, seed)

    def _numbers_given(
        self, judging: JudgedFolds, sample_weight: ArrayLike | None, eval_set: Any
    ) -> NDArray[np.intp]:
        """Return the judged rows by their numbers in what `fit` was given."""
        if eval_set is None:
            return _numbers_of_rows(sample_weight, judging.row.max() + 1)[judging.row]
        weight = (*inputs.one_eval_set(eval_set), None)[2]
        return _numbers_of_rows(weight, judging.row.size)

    def _fit_members(
        self, rows: TrainingRows, seed: int, n_threads: int, progress: Progress | None
    ) -> None:
        """Fit the chosen recipes to all of these rows."""
        self.members_: list[Member] = []
        for number, recipe in enumerate(self.recipes_):
            if progress is not None:
                progress("fitting the winner", number, len(self.recipes_))
            self.members_.append(
                recipe.fit(rows, self.schema_.columns, seed=seed, n_threads=n_threads)
            )
        if progress is not None:
            progress("fitting the winner", len(self.recipes_), len(self.recipes_))
        self.usual_ = reasons.usual_values(rows.features, rows.is_positive, self.schema_)

    def _bagged(self, recipe: Recipe, work: float, budget: Budget) -> Recipe:
        if isinstance(recipe, BoostedTrees) and recipe.random_share < 1:
            return replace(recipe, n_bags=budget.n_bags(kind_of(recipe), work, self.n_bags))
        return recipe

    def _raw(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return blend([member.raw(features) for member in self.members_], self.scales_)

    def _to_saved(self) -> Saved:
        """Return what a model file keeps of a fitted ranker."""
        parts = dict(enumerate(member.parts() for member in self.members_))
        state = {
            **self._common_state(),
            "account": self.account_.to_json(),
            "members": [
                {"kind": _kind_of(self.members_[number]), "state": own.state}
                for number, own in parts.items()
            ],
            "scales": [list(scale) for scale in self.scales_],
        }
        arrays = parts_together({number: own.arrays for number, own in parts.items()})
        boosters = parts_together({number: own.boosters for number, own in parts.items()})
        return Saved(state, arrays, boosters)

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], saved: Saved) -> Self:
        """Return the ranker that `_to_saved` described; raises ValueError if it does not fit."""
        ranker = cls(**parameters)
        ranker._check_parameters()
        ranker._restore_common(saved.state)
        ranker.account_ = SearchLog.from_json(saved.state["account"])
        ranker.members_ = [
            ranker._restored(number, facts, saved)
            for number, facts in enumerate(saved.state["members"])
        ]
        scales = np.array(saved.state["scales"], dtype=np.float64)
        if scales.shape != (len(ranker.members_), 2) or not ranker.members_:
            raise ValueError("centres and spreads must have one value per member of the blend.")
        sizes = np.abs(scales)
        if not ((sizes < _LARGEST_SCALE).all() and (scales[:, 1] > 1 / _LARGEST_SCALE).all()):
            raise ValueError("centres must be finite and spreads above 0.")
        ranker.scales_ = [(centre, spread) for centre, spread in scales.tolist()]
        return ranker

    def _restored(self, number: int, facts: dict[str, Any], saved: Saved) -> Member:
        kind = _KINDS[checks.one_of(facts["kind"], "kind of a member", tuple(_KINDS))]
        parts = Saved(
            facts["state"], part_of(saved.arrays, number), part_of(saved.boosters, number)
        )
        return kind.from_parts(parts, self.schema_.columns)


def _kind_of(member: Member) -> str:
    return next(name for name, kind in _KINDS.items() if isinstance(member, kind))


def _numbers_of_rows(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.intp]:
    """Return the numbers, as given to `fit`, of the rows that have weight; others are ignored."""
    weight = np.asarray(sample_weight)
    if sample_weight is None or weight.ndim == 0:
        return np.arange(n_rows)
    return np.flatnonzero(weight > 0)


def _moments_of_rows(time: ArrayLike, sample_weight: ArrayLike | None) -> NDArray:
    """Return the times of the rows that have weight."""
    moments, weight = np.asarray(time), np.asarray(sample_weight)
    if sample_weight is not None and weight.ndim and moments.shape != weight.shape:
        raise ValueError(f"time must have {weight.size} values, one per row; got {moments.size}.")
    return moments[_numbers_of_rows(sample_weight, moments.size)]


def _of_mean_weight_1(rows: TrainingRows) -> TrainingRows:
    """Return the rows with relative weights: penalties are tuned to a mean weight of 1."""
    return rows if rows.weight is None else rows._replace(weight=rows.weight / rows.weight.mean())

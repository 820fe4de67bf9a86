"""From a labelled table to a ranker with honest figures.

The rows are split into train, validation and test, by time where there is one. Recipes are judged
on validation, or with times on several windows of train and validation; the winner then learns
from both. So does a requested tree, its settings chosen by cross-validation on train. The test
rows are used once, for the figures. In the end the same recipe learns from all rows, the test's
included: that is the ranker to use, and its probabilities come from rows that were scored before
they were learned from.
"""

import copy
import time as clock
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from toprank import registry, splits
from toprank.data import checks
from toprank.data.inputs import Encoded
from toprank.data.tables.row_numbers import as_slice
from toprank.notebook_views import ShownInNotebooks
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.search_log import SearchLog
from toprank.rankers.base import Ranker
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.rankers.progress import Progress, renamed, silent
from toprank.workflow.backtest import ScoredWindow, backtested, newest_calibration
from toprank.workflow.evaluation import Evaluation, evaluate
from toprank.workflow.promise import Promise
from toprank.workflow.task import MoreRows, ScoredTest, Task
from toprank.workflow.usual_rows import UsualRows

PLAIN = "plain log-loss trees"

_SEARCH_SHARE = 0.5  # of the time: the rest is for learning from all rows, then for plain log-loss


@dataclass(frozen=True)
class Candidate:
    """One trained ranker with its figures on the test rows."""

    name: str
    ranker: Ranker
    test: Evaluation


@dataclass(frozen=True)
class Trained(ShownInNotebooks):
    """The outcome of training: the ranker to use, and what was measured on the test rows.

    The candidates are the chosen recipe and, unless it is that one or time was short, plain
    log-loss, as they were before the test rows were learned from. `promise` is what later lists
    are expected to hold; None without times. `usual` is what the rows learned from are like.
    """

    task: Task
    ranker: Ranker
    candidates: list[Candidate]
    promise: Promise | None = None
    usual: UsualRows | None = None

    @property
    def chosen(self) -> Candidate:
        return self.candidates[0]

    @property
    def is_refitted(self) -> bool:
        """Whether the ranker also learned from the rows that the figures are from."""
        return self.ranker is not self.chosen.ranker

    @property
    def account(self) -> SearchLog | None:
        """What AutoRanker tried, and why it kept what it did; None of another learner."""
        return getattr(self.ranker, "account_", None)


def train(
    task: Task,
    budget: int,
    *,
    learner: str = "auto",
    n_estimators: int = 300,
    effort: str = "normal",
    time_limit: float | None = None,
    losses: Sequence[str] | None = None,
    loss: str | None = None,
    refit: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Return a fitted ranker, and its figures and those of plain log-loss on the test rows.

    `learner` is a name that `toprank.registry` offers to `fit`. "auto" is what AutoRanker chose
    with this `effort` and within `time_limit`, trying no losses but log-loss and `losses` (None
    is its default). "metaap" and "treerank" are one tree each, for when every alert must be
    justified by a rule; "rank-forest" is many of them. `n_estimators` counts the trees of all
    but these three. `loss` takes the place of the search: boosted trees that learn this loss; for
    "ap-card", the task must have cards and times. The ranker has learned from all rows; without
    `refit`, from train and validation only, as the one that was measured.
    """
    checks.whole_number(budget, "budget", 1)
    choices = registry.fit_choices()
    choice = choices[checks.one_of(learner, "learner", tuple(choices))]
    deadline = None if time_limit is None else clock.monotonic() + time_limit
    options = {"positive_label": task.positive, "random_state": random_state, "n_jobs": n_jobs}
    if loss is not None:
        if learner != "auto" or losses is not None:
            raise ValueError("`loss` must be left out with another `learner` and with `losses`.")
        boosted = BoostedRanker(loss, n_estimators=n_estimators, **options)
        name = PLAIN if loss == "log" else BoostedTrees(loss).name
        chosen = _fit_as_a_winner(boosted, task, name, f"growing {name}", progress)
    elif choice.row.judges_itself:
        searched = choice.make(
            budget=budget,
            effort=effort,
            time_limit=None if time_limit is None else _SEARCH_SHARE * time_limit,
            n_estimators=n_estimators,
            losses=losses,
            **options,
        )
        chosen = _searched(searched, task, progress)
    else:
        name = choice.row.title or choice.row.name
        chosen = _fit_as_a_winner(choice.make(**options), task, name, f"growing {name}", progress)
    began = clock.monotonic()
    trained = _ready(task, chosen, budget, refit, progress)
    seconds = clock.monotonic() - began  # about as long as plain log-loss takes, or longer
    if chosen.name != PLAIN and (deadline is None or clock.monotonic() + seconds <= deadline):
        plain = BoostedRanker("log", n_estimators=n_estimators, **options)
        doing = "plain log-loss, to compare with"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about the table was said before
            fitted = _fit_as_a_winner(plain, task, PLAIN, doing, progress, chosen.plain)
        trained.candidates.append(_candidate(fitted, task.test_rows(fitted.ranker), budget))
    return trained


def with_more_rows(
    trained: Trained,
    more: MoreRows,
    weight: NDArray[np.float64],
    weight_before: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
) -> Ranker:
    """Return a ranker of the chosen recipe that also learned from rows no figure can be from.

    These are rows whose labels are not final, with the number of rows that each represents; all
    others represent one, or what `weight_before` says. Probabilities are what they were.
    """
    task = trained.task
    own = np.ones(task.is_positive.size) if weight_before is None else weight_before
    weights = np.concatenate([own, weight])
    ranker = _refitted(trained.ranker, task.with_more(more), progress, weights)
    ranker.calibration_ = trained.ranker.calibration_
    return ranker


class _Measurable(NamedTuple):
    """A ranker that learned from train and validation, and what its recipe scored before that.

    `plain` is what plain log-loss scored in the same windows, where that is known.
    """

    name: str
    ranker: Ranker
    windows: list[ScoredWindow]
    plain: list[ScoredWindow] | None = None


def _searched(ranker: Any, task: Task, progress: Progress | None) -> _Measurable:
    """Return an AutoRanker that chose on validation; with times, on windows of both parts."""
    if task.time is None:
        schema, rows = task.schema("train"), task.split.validation
        judged = task.encoded(schema, "validation")
        ranker.fit(*task.encoded(schema, "train"), eval_set=judged, progress=progress)
    else:
        schema, rows = task.schema("train", "validation"), task.rows_in("train", "validation")
        known = task.encoded(schema, "train", "validation")
        ranker.fit(*known, time=task.time[rows], gap=task.gap, progress=progress)
    windows, of_plain = [], []
    for origin in np.unique(ranker.judged_.origin):
        is_here = ranker.judged_.origin == origin
        here = rows[ranker.judged_.row[is_here]]
        until = None if task.time is None else task.time[here].min() - task.gap
        windows.append(task.window(here, ranker.judged_.suspicion[is_here], until))
        of_plain.append(task.window(here, ranker.plain_scores_[is_here], until))
    ranker.calibration_ = newest_calibration(windows)
    name = PLAIN if ranker.account_.is_plain else ranker.account_.chosen.name
    return _Measurable(name, ranker, windows, of_plain)


def _ready(
    task: Task,
    chosen: _Measurable,
    budget: int,
    refit: bool,
    progress: Progress | None,
) -> Trained:
    """Return the training with the ranker to use, and what its lists may be promised."""
    rows = task.test_rows(chosen.ranker)
    candidate = _candidate(chosen, rows, budget)
    until = None if task.split.periods is None else task.split.periods["validation"][1]
    windows = task.with_test(chosen.windows, rows, until)
    calibration, ranker = newest_calibration(windows), chosen.ranker
    if refit:
        ranker = _refitted(chosen.ranker, task, progress)
        ranker.calibration_, until = calibration, task.newest
    promise = None
    if until is not None:
        promise = backtested(windows, calibration, until, budget)
    return Trained(task, ranker, [candidate], promise, _usual_rows(task, ranker, refit))


def _usual_rows(task: Task, ranker: Ranker, refit: bool) -> UsualRows:
    """Return what the rows are like that the ranker learned from."""
    coded = task.coded.encoded(ranker.schema_)
    learned = task.typical_rows(*(() if refit else ("train", "validation")))
    latest = task.typical_rows("test")
    return UsualRows.of(
        ranker.schema_.names,
        coded[as_slice(learned)],
        coded[as_slice(latest)],
        ranker.suspicion(Encoded(coded[as_slice(latest)])),
        None if task.time is None else splits.days(task.time)[latest],
    )


def _refitted(
    ranker: Any,
    task: Task,
    progress: Progress | None,
    weights: NDArray[np.float64] | None = None,
) -> Ranker:
    """Return a ranker of the same recipe that learned from all rows."""
    doing = "learning from all rows"
    rows = task.encoded(task.schema())
    row = registry.row_of(ranker)
    weighed: dict[str, Any] = {} if weights is None else {"sample_weight": weights}
    weighed |= _groups(ranker, task)
    if row.judges_itself:
        return copy.copy(ranker).refit(*rows, **weighed, progress=renamed(progress, doing))
    if row.takes_progress:
        return clone(ranker).fit(*rows, **weighed, progress=renamed(progress, doing))
    report = partial(progress or silent, doing)
    report(0, 1)
    fitted = clone(ranker).fit(*rows, **weighed)
    report(1, 1)
    return fitted


def _fit_as_a_winner(
    ranker: Ranker,
    task: Task,
    name: str,
    doing: str,
    progress: Progress | None,
    windows: list[ScoredWindow] | None = None,
) -> _Measurable:
    """Let the ranker learn from train and validation.

    Its probabilities come from validation rows as scored by the ranker that learned from train:
    from `windows`, where such scores are known already.

    Settings that a tree chooses are chosen on train, too: the scale of its scores follows them,
    and with it what the probabilities are learned for.
    """
    takes_progress = registry.row_of(ranker).takes_progress
    report = partial(progress or silent, doing)
    if not takes_progress:
        report(0, 2)
    if windows is None:
        windows = [_scored_apart(ranker, task)]
    both = task.schema("train", "validation")
    rows, validation = task.encoded(both, "train", "validation"), task.encoded(both, "validation")
    if takes_progress:
        # to be judged on few rows saves time: the calibration below takes the place of its own
        groups = _groups(ranker, task, "train", "validation")
        ranker.fit(*rows, eval_set=validation, progress=renamed(progress, doing), **groups)
    else:
        ranker.fix_choices()
        report(1, 2)
        ranker.fit(*rows)
        report(2, 2)
    ranker.calibration_ = newest_calibration(windows)
    return _Measurable(name, ranker, windows)


def _scored_apart(ranker: Ranker, task: Task) -> ScoredWindow:
    """Return the validation rows as scored by the ranker fitted to train alone."""
    train = task.schema("train")
    ranker.fit(*task.encoded(train, "train"), **_groups(ranker, task, "train"))
    suspicion = ranker.suspicion(task.encoded(train, "validation")[0])
    until = None if task.split.periods is None else task.split.periods["train"][1]
    return task.window(task.split.validation, suspicion, until)


def _groups(ranker: Any, task: Task, *parts: str) -> dict[str, Any]:
    """Return the groups of the rows, for a ranker of groups: each card's rows of a day."""
    ranks_groups = getattr(ranker, "ranks_groups", False)
    return {"groups": task.card_days(*parts)} if ranks_groups else {}


def _candidate(fitted: _Measurable, rows: ScoredTest, budget: int) -> Candidate:
    probability = fitted.ranker.calibration_.probability(rows.suspicion)
    figures = evaluate(rows.is_positive, rows.suspicion, probability, budget, rows.day, rows.cards)
    return Candidate(fitted.name, fitted.ranker, figures)

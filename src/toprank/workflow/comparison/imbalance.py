"""Every remedy for imbalance side by side on one task: is any of them worth it?

Each method at each ratio learns from train. Validation chooses the threshold of the highest F1
and, by average precision, the ratio of each method. The test rows are used once, for the figures
and for paired differences with the rows left as they are, whose intervals are wide enough for all
of them at once (Bonferroni).
"""

import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toprank import metrics
from toprank.decisions.samplers import natural_ratio
from toprank.decisions.thresholds import choose_threshold
from toprank.metrics import Interval
from toprank.notebook_views import ShownInNotebooks
from toprank.rankers.base import Ranker
from toprank.rankers.progress import Progress, silent
from toprank.workflow.comparison import methods
from toprank.workflow.comparison.differences import (
    PairedDifference,
    error_sentence,
    f1_interval,
    f1_lead,
    level_for,
    ranking_lead,
)
from toprank.workflow.comparison.learner_comparison import compile_kernels, make_learner
from toprank.workflow.comparison.methods import BASELINE, METHODS, RemedyTrial
from toprank.workflow.evaluation import Evaluation, evaluate
from toprank.workflow.task import Task

MEASURES = ("AP", "F1", "AUC")
"""What methods are compared in; F1 is that at each one's own threshold."""

BY_DEFAULT = "none at probability .5"

_SHOWN = "under"  # the method whose F1 by threshold is drawn next to the baseline's
_LARGEST_CURVE = 200_000


@dataclass(frozen=True)
class TriedRemedy:
    """One method at one ratio, with its figures.

    `test.probability` is the ranker's own, not corrected to the true share of positives.
    `train` holds labels and own probabilities of training rows at that ratio, or is None.
    """

    trial: RemedyTrial
    validation_precision: float
    threshold: float
    test: Evaluation
    seconds_to_fit: float
    train: tuple[NDArray[np.bool_], NDArray[np.float64]] | None = None

    @cached_property
    def called(self) -> NDArray[np.bool_]:
        """Which test rows reach the threshold that validation chose."""
        return self.test.suspicion >= self.threshold

    @cached_property
    def called_by_default(self) -> NDArray[np.bool_]:
        """Which test rows have a probability of .5 or more, as the ranker alone sees it."""
        return self.test.probability >= 0.5

    @cached_property
    def f1(self) -> Interval:
        """F1 at the threshold that validation chose."""
        return f1_interval(self.test.is_positive, self.called)

    @cached_property
    def f1_by_default(self) -> Interval:
        """F1 at the ranker's own probability of .5."""
        return f1_interval(self.test.is_positive, self.called_by_default)


@dataclass(frozen=True)
class ComparedMethods(ShownInNotebooks):
    """What was tried, in the order of trials; what failed; differences with the baseline.

    `threshold_gain` is how far the baseline's F1 at its threshold is ahead of that at probability
    .5. `level` is that of the interval of one difference; all of them together hold at 95 %.
    """

    task: Task
    base: str
    natural_ratio: float
    ratios: list[float]
    tried: list[TriedRemedy]
    failed: dict[RemedyTrial, str]
    differences: list[PairedDifference]
    threshold_gain: PairedDifference
    level: float

    @property
    def baseline(self) -> TriedRemedy:
        return self.tried[0]

    @cached_property
    def chosen(self) -> dict[str, TriedRemedy]:
        """Each method at the ratio with the highest average precision on validation."""
        return _chosen(self.tried)


def compare_methods(
    task: Task,
    names: Iterable[str] = METHODS,
    ratios: Iterable[float] | None = None,
    *,
    base: str = "log",
    n_estimators: int = 300,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ComparedMethods:
    """Return the methods' figures on the task's test rows, and which differences are significant.

    `names` are of `METHODS`; the baseline is always among them. `ratios` are positives per
    negative; None is three of them between the training rows' own and 1. `base` names the learner
    that methods are put around. What fails is noted and the others are still tried, unless the
    baseline fails.

    >>> from toprank.workflow.task import prepare
    >>> from toprank.simulator import simulate
    >>> payments = simulate(n_cards=100, n_terminals=200, n_days=40)
    >>> task = prepare(payments, "is_fraud", time="paid_at", drop=["card", "terminal"])
    >>> compared = compare_methods(task, ["weights"], [0.1, 1], n_estimators=20)
    >>> [str(each.trial) for each in compared.tried]
    ['none', 'weights (ratio .1)', 'weights (ratio 1)']
    """
    methods.check_base(base)
    is_positive = task.is_positive[task.split.train]
    ratios = methods.check_ratios(ratios, is_positive)
    trials = methods.trials_of(methods.check_methods(names), ratios)
    ranker = make_learner(
        base, n_estimators=n_estimators, random_state=random_state, n_jobs=n_jobs
    )
    tried, failed = _all_tried(trials, ranker, task, random_state, progress or silent)
    against = [each for name, each in _chosen(tried).items() if name != BASELINE]
    level = level_for(len(MEASURES) * len(against) + 1)
    return ComparedMethods(
        task,
        base,
        natural_ratio(is_positive),
        ratios,
        tried,
        failed,
        differences_of(against, tried[0], level, progress),
        threshold_gain_of(tried[0], level),
        level,
    )


def differences_of(
    tried: list[TriedRemedy], baseline: TriedRemedy, level: float, progress: Progress | None = None
) -> list[PairedDifference]:
    """Return how far each is ahead of the baseline, in every measure."""
    report = progress or silent
    differences = []
    for number, each in enumerate(tried):
        report("comparing", number, len(tried))
        is_positive, suspicion = each.test.is_positive, each.test.suspicion
        others = baseline.test.suspicion
        leads = (
            ranking_lead("average_precision", is_positive, suspicion, others, level),
            f1_lead(is_positive, each.called, baseline.called, level),
            ranking_lead("roc_auc", is_positive, suspicion, others, level),
        )
        differences += [
            PairedDifference(each.trial.method, BASELINE, *lead, metric=measure)
            for measure, lead in zip(MEASURES, leads, strict=True)
        ]
    report("comparing", len(tried), len(tried))
    return differences


def threshold_gain_of(baseline: TriedRemedy, level: float) -> PairedDifference:
    """Return how far the baseline's F1 at its threshold is ahead of that at probability .5."""
    lead = f1_lead(baseline.test.is_positive, baseline.called, baseline.called_by_default, level)
    return PairedDifference(BASELINE, BY_DEFAULT, *lead, metric="F1")


def _chosen(tried: list[TriedRemedy]) -> dict[str, TriedRemedy]:
    best: dict[str, TriedRemedy] = {}
    for each in tried:
        name = each.trial.method
        # of equals the lowest ratio, which comes first: it changes the least
        if name not in best or each.validation_precision > best[name].validation_precision:
            best[name] = each
    return best


def _all_tried(
    trials: list[RemedyTrial], base: Ranker, task: Task, random_state: int, report: Progress
) -> tuple[list[TriedRemedy], dict[RemedyTrial, str]]:
    compile_kernels(base)
    shown = _shown_trials(trials)
    tried, failed = [], {}
    for number, trial in enumerate(trials):
        report("methods at their ratios", number, len(trials))
        try:
            tried.append(_tried(trial, base, task, random_state, keep_train=trial in shown))
        except Exception as error:  # the work of other methods must not be lost with one
            if trial.method == BASELINE:
                raise
            failed[trial] = error_sentence(error)
    report("methods at their ratios", len(trials), len(trials))
    return tried, failed


def _shown_trials(trials: list[RemedyTrial]) -> list[RemedyTrial]:
    """Return the trials drawn by threshold: the baseline, and that of the largest ratio."""
    with_ratio = [each for each in trials if each.ratio is not None]
    shown = [each for each in with_ratio if each.method == _SHOWN] or with_ratio
    return [RemedyTrial(BASELINE), *shown[-1:]]


def _tried(
    trial: RemedyTrial, base: Ranker, task: Task, random_state: int, keep_train: bool
) -> TriedRemedy:
    train, validation, test = (task.rows(part) for part in ("train", "validation", "test"))
    begin = clock.perf_counter()
    ranker = methods.fitted(trial, base, *train, task.positive, random_state)
    seconds = clock.perf_counter() - begin
    is_positive, apart = validation[1] == task.positive, ranker.suspicion(validation[0])
    suspicion = ranker.suspicion(test[0])
    probability = methods.own_probability(ranker, suspicion)
    return TriedRemedy(
        trial,
        metrics.average_precision(is_positive, apart),
        choose_threshold(is_positive, apart, "f_beta", beta=1.0).threshold,
        evaluate(test[1] == task.positive, suspicion, probability, 1),
        seconds,
        _train_curve(ranker, trial, task, random_state) if keep_train else None,
    )


def _train_curve(
    ranker: Ranker, trial: RemedyTrial, task: Task, random_state: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return labels and own probabilities of training rows, as many negatives as the ratio has."""
    X, y = task.rows("train")
    is_positive = y == task.positive
    generator = np.random.default_rng(random_state)
    positives, negatives = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    ratio = trial.ratio or natural_ratio(is_positive)
    positives = generator.permutation(positives)[: max(round(_LARGEST_CURVE * ratio), 1)]
    negatives = generator.permutation(negatives)[: max(round(positives.size / ratio), 1)]
    some = np.concatenate([positives, negatives])
    return is_positive[some], methods.own_probability(ranker, ranker.suspicion(X.take(some)))

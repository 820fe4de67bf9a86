"""Every learner side by side on one task: figures with intervals, seconds, and differences.

Each learner learns from train and validation and is judged once, on the test rows. Differences
in AP are paired: both learners see the same resampled rows. Among several pairs some differ by
chance alone, and the best is known only afterwards; so the intervals of differences are wide
enough for all pairs of learners at once (Bonferroni). Unlike with Holm's steps, the interval a
reader sees is then the verdict: a difference is significant when it leaves out 0.
"""

import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from sklearn.base import clone

from toprank import registry
from toprank.data import checks
from toprank.notebook_views import ShownInNotebooks
from toprank.rankers.base import Ranker
from toprank.rankers.progress import Progress, renamed, silent
from toprank.workflow.comparison.differences import (
    PairedDifference,
    error_sentence,
    level_for,
    ranking_lead,
)
from toprank.workflow.evaluation import Evaluation, evaluate
from toprank.workflow.task import Task

BASELINE = "log"
"""Plain log-loss boosting: what every other learner is measured against."""

_MOST_CURVES = 4  # more cannot be distinguished in one picture


@dataclass(frozen=True)
class JudgedLearner:
    """One learner with its figures on the test rows."""

    name: str
    ranker: Ranker
    test: Evaluation
    seconds_to_fit: float
    seconds_to_score: float


@dataclass(frozen=True)
class Compared(ShownInNotebooks):
    """The learners, the best first; why others failed; differences in AP.

    Each learner is compared with the baseline, and the best with each. `level` is that of the
    interval of one difference; all of them together hold at 95 %.
    """

    task: Task
    judged: list[JudgedLearner]
    failed: dict[str, str]
    differences: list[PairedDifference]
    level: float

    @property
    def best(self) -> JudgedLearner:
        """The learner with the highest AP."""
        return self.judged[0]


def comparable_learners() -> list[str]:
    """Return the names of all learners that can be compared, as the registry has them.

    >>> comparable_learners()[:3]
    ['auto', 'log', 'ap-exp']
    """
    return list(registry.compare_choices())


def check_learners(names: Iterable[str]) -> list[str]:
    """Return the names of learners without repeats, the baseline among them.

    >>> check_learners(["auto", "ap-exp"])
    ['auto', 'ap-exp', 'log']
    """
    chosen, known = list(dict.fromkeys([*names, BASELINE])), comparable_learners()
    for name in chosen:
        if name not in known:
            hint = checks.nearest_name(name, known) or "."
            raise ValueError(f"learners must be among {', '.join(known)}; got {name!r}{hint}")
    return chosen


def make_learner(
    name: str,
    *,
    n_estimators: int,
    positive_label: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Ranker:
    """Return the learner of that name, ready to fit; one tree has no number of trees.

    >>> make_learner("log", n_estimators=20)
    BoostedRanker(n_estimators=20)
    """
    choice = registry.compare_choices()[name]
    options: dict[str, Any] = {"positive_label": positive_label, "random_state": random_state}
    if choice.row.trees == "many":
        options["n_estimators"] = n_estimators
    return choice.make(n_jobs=n_jobs, **options)


def compare_learners(
    task: Task,
    budget: int,
    learners: Iterable[str] | None = None,
    *,
    n_estimators: int = 300,
    time_limit: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Compared:
    """Return the learners' figures on the task's test rows, and which differences are significant.

    `learners` are some of `comparable_learners()`, None all; the baseline is always among them.
    `time_limit` is for AutoRanker's search. A learner that fails is noted and the others
    are still compared; when all of them fail, the first one's error is raised.

    >>> from toprank.workflow.task import prepare
    >>> from toprank.simulator import simulate
    >>> payments = simulate(n_cards=100, n_terminals=200, n_days=40)
    >>> task = prepare(payments, "is_fraud", time="paid_at", drop=["card", "terminal"])
    >>> compared = compare_learners(task, 10, ["ap-exp"], n_estimators=20)
    >>> sorted(each.name for each in compared.judged)
    ['ap-exp', 'log']
    """
    checks.whole_number(budget, "budget", 1)
    judged: list[JudgedLearner] = []
    errors: dict[str, Exception] = {}
    for name in check_learners(comparable_learners() if learners is None else learners):
        ranker = make_learner(
            name,
            n_estimators=n_estimators,
            positive_label=task.positive,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        if registry.row_of(ranker).judges_itself:
            ranker.set_params(budget=budget, time_limit=time_limit)
        try:
            judged.append(_judged(name, ranker, task, budget, progress))
        except Exception as error:  # hours of other learners' work must not be lost with one
            errors[name] = error
    if not judged:
        raise next(iter(errors.values()))
    judged.sort(key=lambda each: -each.test.average_precision.value)
    level = level_for(comb(len(judged), 2))
    failed = {name: error_sentence(error) for name, error in errors.items()}
    return Compared(task, judged, failed, differences_of(judged, level, progress), level)


def differences_of(
    judged: list[JudgedLearner], level: float, progress: Progress | None = None
) -> list[PairedDifference]:
    """Return how far each learner is from the baseline in AP, and the first from each other."""
    differences = []
    pairs = _pairs([each.name for each in judged])
    tests = {each.name: each.test for each in judged}
    for number, (name, against) in enumerate(pairs):
        if progress is not None:
            progress("comparing", number, len(pairs))
        test, other = tests[name], tests[against]
        lead = ranking_lead(
            "average_precision", test.is_positive, test.suspicion, other.suspicion, level
        )
        differences.append(PairedDifference(name, against, *lead))
    if progress is not None:
        progress("comparing", len(pairs), len(pairs))
    return differences


def compile_kernels(ranker: Ranker) -> None:
    """Let a copy learn from a few rows: what is compiled on first use would count as its time."""
    shortest = registry.row_of(ranker).shortest
    copy = clone(ranker).set_params(positive_label=None, **shortest)
    copy.fit(np.arange(20.0)[:, None], np.arange(20) >= 15)


def _judged(
    name: str, ranker: Ranker, task: Task, budget: int, progress: Progress | None
) -> JudgedLearner:
    compile_kernels(ranker)
    begin = clock.perf_counter()
    _fit(name, ranker, task, progress)
    fitted = clock.perf_counter()
    suspicion = ranker.suspicion(task.rows("test")[0])
    scored = clock.perf_counter()
    test = evaluate(
        task.is_positive[task.split.test],
        suspicion,
        ranker.calibration_.probability(suspicion),
        budget,
        task.days("test"),
    )
    return JudgedLearner(name, ranker, test, fitted - begin, scored - fitted)


def _fit(name: str, ranker: Ranker, task: Task, progress: Progress | None) -> None:
    report, row = progress or silent, registry.row_of(ranker)
    if row.judges_itself:  # on validation; it then learns from both
        ranker.fit(
            *task.rows("train"),
            eval_set=task.rows("validation"),
            progress=lambda what, done, total: report(f"{name}: {what}", done, total),
        )
    elif row.takes_progress:
        ranker.fit(*task.rows("train", "validation"), progress=renamed(progress, name))
    else:
        report(name, 0, 1)
        ranker.fit(*task.rows("train", "validation"))
        report(name, 1, 1)


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    """Return each learner with the baseline, then the first with each of the others."""
    best, *others = names
    with_baseline = (
        [(name, BASELINE) for name in names if name != BASELINE] if BASELINE in names else []
    )
    return with_baseline + [(best, name) for name in others if BASELINE not in (best, name)]

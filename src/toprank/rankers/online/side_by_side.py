"""Several learners on one stream, led by the best: settings chosen in one pass."""

from collections import deque
from collections.abc import Mapping
from itertools import product
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from toprank.data import checks
from toprank.metrics.score_histogram import ScoreHistogram
from toprank.rankers.online.booster import OnlineBooster
from toprank.rankers.online.validation import (
    errors_of,
    log_losses,
    positives_of,
    scored_and_learned,
)
from toprank.rankers.online.windows import Window

METRICS = ("error", "log-loss", "average-precision")


class SideBySide:
    """Learners that all learn from the same rows, each judged on every row beforehand.

    This is progressive validation of settings in one pass, in constant memory: after every row
    the learner with the best figure so far leads, and its scores are returned.

    Parameters
    ----------
    learners
        Online boosters by name, for two classes. In a tie, the first leads.
    metric
        "error" (rows on the wrong side of a raw score of 0), "log-loss" or "average-precision".
    window
        Number of recent rows to judge by; None means all. Average precision is
        then that of scores sorted into bins, each at most 1/128 as wide as its scores are far
        from 0; so it is in windows of more than 10,000 rows.

    Examples
    --------
    >>> from toprank import OnlineNonLinearBoost
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> race = SideBySide(grid(OnlineNonLinearBoost, learning_rate=[1e-4, 0.1]))
    >>> race.partial_fit(X, X[:, 0] > 1).leader
    'learning_rate=0.1'
    """

    def __init__(
        self,
        learners: Mapping[str, OnlineBooster],
        metric: str = "error",
        window: int | None = None,
    ) -> None:
        self.learners = _checked_learners(learners)
        self.metric = checks.one_of(metric, "metric", METRICS)
        self.window = None if window is None else checks.whole_number(window, "window", 1)
        tally = _Ranked if metric == "average-precision" else _Losses
        self._tallies = {name: tally(self.window) for name in self.learners}
        self.n_rows = 0

    def partial_fit(self, X: Any, y: ArrayLike) -> Self:
        """Judge, then learn, row by row; the same as `learn_one` for each."""
        labels = column_or_1d(y)
        for name, learner in self.learners.items():
            is_positive = positives_of(learner, labels)
            if self.metric == "log-loss":
                suspicion, probability = scored_and_learned(learner, X, labels)
            else:
                suspicion, probability = learner.score_then_learn(X, labels), np.empty(0)
            self._judge(name, suspicion, probability, is_positive)
        self.n_rows += labels.size
        return self

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Judge all learners on one row, then let them learn from it."""
        labels = np.array([y])
        for name, learner in self.learners.items():
            is_positive = positives_of(learner, labels)
            row = learner.encode_one(x)
            suspicion = np.array([learner.score_encoded(row)])
            self._judge(name, suspicion, learner._probability(suspicion), is_positive)
            learner.learn_encoded(row, y)
        self.n_rows += 1

    def score_one(self, x: Mapping[str, Any]) -> float:
        """Return the leader's raw score of one row; the learners do not change."""
        return self.best.score_one(x)

    @property
    def leader(self) -> str:
        """The name of the learner with the best figure; the first one if nothing is known."""
        figures = {name: self._rank(name) for name in self.learners}
        return min(figures, key=figures.__getitem__)

    @property
    def best(self) -> OnlineBooster:
        """The learner that leads."""
        return self.learners[self.leader]

    def results(self) -> pa.Table:
        """Return each learner's name and figure, the leader first; null if it is undefined."""
        names = sorted(self.learners, key=self._rank)
        figures = pa.array([self._tallies[name].figure() for name in names], pa.float64())
        return pa.table({"learner": pa.array(names, pa.string()), self.metric: figures})

    def _judge(
        self,
        name: str,
        suspicion: NDArray[np.float64],
        probability: NDArray[np.float64],
        is_positive: NDArray[np.bool_],
    ) -> None:
        tally = self._tallies[name]
        if isinstance(tally, _Ranked):
            tally.add(suspicion, is_positive)
        elif self.metric == "error":
            tally.add(errors_of(suspicion, is_positive))
        else:
            tally.add(log_losses(probability, is_positive))

    def _rank(self, name: str) -> float:
        figure = self._tallies[name].figure()
        if figure is None:
            return np.inf
        return -figure if self.metric == "average-precision" else figure


def grid(learner_class: type[OnlineBooster], **lists: list[Any]) -> dict[str, OnlineBooster]:
    """Return a learner for every combination of the values listed for its parameters, by name.

    >>> from toprank import OnlineNonLinearBoost
    >>> list(grid(OnlineNonLinearBoost, n_learners=[5, 10], width=[2]))
    ['n_learners=5, width=2', 'n_learners=10, width=2']
    """
    for name, values in lists.items():
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"{name} must be a list of values to try; got {values!r}.")
    learners = {}
    for combination in product(*lists.values()):
        chosen = dict(zip(lists, combination, strict=True))
        name = ", ".join(f"{parameter}={value}" for parameter, value in chosen.items())
        learners[name or learner_class.__name__] = learner_class(**chosen)
    return learners


class _Losses:
    """The mean loss of all rows or of the last ones."""

    def __init__(self, window: int | None) -> None:
        self._n_rows, self._total = 0, 0.0
        self._last: deque[float] | None = None if window is None else deque(maxlen=window)

    def add(self, losses: NDArray) -> None:
        if self._last is not None:
            self._last.extend(losses.tolist())
            return
        for loss in losses.tolist():  # one by one: the sum then does not depend on the batches
            self._total += loss
        self._n_rows += losses.size

    def figure(self) -> float | None:
        if self._last is not None:
            return float(np.mean(self._last)) if self._last else None
        return self._total / self._n_rows if self._n_rows else None


class _Ranked:
    """The average precision of all rows or of the last ones."""

    def __init__(self, window: int | None) -> None:
        self._all = ScoreHistogram()
        self._last = None if window is None else Window(window, budget=1)

    def add(self, suspicion: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> None:
        if self._last is None:
            self._all.add(suspicion, is_positive)
        else:
            self._last.add_batch(suspicion, is_positive, np.zeros(is_positive.size, dtype=bool))

    def figure(self) -> float | None:
        if self._last is None:
            return self._all.average_precision().value if self._all.n_positives else None
        bounded = self._last.summary().average_precision
        return None if bounded is None else bounded.value


def _checked_learners(learners: Any) -> dict[str, OnlineBooster]:
    if not isinstance(learners, Mapping) or not learners:
        raise ValueError(f"learners must be a dict of names and learners; got {learners!r}.")
    for name, learner in learners.items():
        if not isinstance(learner, OnlineBooster):
            raise TypeError(
                f"learner {name!r} must be an online booster; got {type(learner).__name__}."
            )
    if len({id(learner) for learner in learners.values()}) < len(learners):
        raise ValueError(
            "learners must be different objects; one occurs under several names; clone it."
        )
    return dict(learners)

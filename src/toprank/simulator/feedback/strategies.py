"""Strategies for learning from labels as they become known, one class each.

There are two kinds of labels. Delayed ones are many and mostly old: claims, and silence on
payments so old that their holders had time to claim. Feedback is recent and selected: the verdicts
on the most suspicious cards. In a model of both, the few verdicts may be lost among many delayed
labels; the "feedback" strategy keeps them separate to see whether they are. Both leave out the
recent payments that nobody has said anything of; the "weighted" strategy learns from all payments,
and makes up for the frauds among the recent ones that are not known yet.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from toprank.data import checks
from toprank.rankers.online import OnlineNonLinearBoost
from toprank.simulator.feedback.training_labels import Labelled, TrainingLabels

LEAST_OF_EACH = 10  # frauds and genuine payments among the verdicts, to fit a model to them


class Strategy(Protocol):
    """A ranker of payments that learns at the end of each day."""

    def learn(self, labels: TrainingLabels) -> None:
        """Learn from the labels known at the end of a day; first, at the end of the warm-up."""

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the suspicion of payments."""


class Static:
    """A model trained once, before the first day."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner
        self._model: Any = None

    def learn(self, labels: TrainingLabels) -> None:
        if self._model is None:
            self._model = _trained(self._learner, labels.pooled)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


class Nightly:
    """A model retrained each night, on delayed labels and feedback together."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner

    def learn(self, labels: TrainingLabels) -> None:
        if labels.pooled.n_rarer_class:  # otherwise the last model is kept
            self._model = _trained(self._learner, labels.pooled)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


class FeedbackApart:
    """Two models retrained each night, on delayed labels and on feedback, and averaged.

    The average is that of probabilities. Whether a card is checked depends on what its payments
    look like and not on what they are, so the share of frauds among similar payments is the same
    with and without a check: both models estimate the same probability, one from many old
    payments, the other from few recent ones. An average of ranks would lose how certain each model
    is: a model that has never seen a pattern ranks its payments among the ordinary ones, and would
    keep them there however certain the other is.
    """

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner

    def learn(self, labels: TrainingLabels) -> None:
        if labels.delayed.n_rarer_class:  # otherwise the last model is kept
            self._delayed = _trained(self._learner, labels.delayed)
        self._models = [self._delayed]
        if labels.feedback.n_rarer_class >= LEAST_OF_EACH:
            self._models.append(_trained(self._learner, labels.feedback))

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.mean([model.probability(features) for model in self._models], axis=0)


class Weighted:
    """A model retrained each night on all payments, with known frauds weighted.

    See `toprank.payments.ledger.fraud_weights`.
    """

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner

    def learn(self, labels: TrainingLabels) -> None:
        rows, weight = labels.weighted
        if rows.n_rarer_class:  # otherwise the last model is kept
            learner = clone(self._learner)
            self._model = learner.fit(rows.features, rows.is_positive, sample_weight=weight)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


class Online:
    """An online learner that learns from each label once, when it becomes known."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._model = OnlineNonLinearBoost(random_state=random_state)

    def learn(self, labels: TrainingLabels) -> None:
        if labels.new.is_positive.size:
            self._model.partial_fit(labels.new.features, labels.new.is_positive)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


STRATEGIES: dict[str, Callable[[Any, int], Strategy]] = {
    "static": Static,
    "nightly": Nightly,
    "feedback": FeedbackApart,
    "weighted": Weighted,
    "online": Online,
}


def checked_strategies(strategies: Iterable[str]) -> list[str]:
    """Return the names of strategies, each known and named once.

    >>> checked_strategies(["static", "onlin"])
    Traceback (most recent call last):
    ValueError: strategies must be among 'static', 'nightly', 'feedback', 'weighted', 'online'; got 'onlin'; did you mean 'online'?
    """  # noqa: E501
    names = list(strategies)
    for name in names:
        if name not in STRATEGIES:
            known = ", ".join(map(repr, STRATEGIES))
            hint = checks.nearest_name(str(name), list(STRATEGIES)) or "."
            raise ValueError(f"strategies must be among {known}; got {name!r}{hint}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"strategies must name at least one strategy, each once; got {names!r}.")
    return names


def _trained(learner: Any, rows: Labelled) -> Any:
    return clone(learner).fit(rows.features, rows.is_positive)

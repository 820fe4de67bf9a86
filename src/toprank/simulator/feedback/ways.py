"""Ways of learning from what becomes known, one class each.

Labels come in two sorts. Delayed ones are many and mostly old: claims, and the silence on payments
so long ago that holders have had their time. Feedback is fresh and chosen: the verdicts on the
cards that looked worst. In a model of both, few verdicts may drown among many delayed labels; the
"feedback" way keeps them apart to see whether they do.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from toprank.data import checks
from toprank.rankers.online import OnlineNonLinearBoost
from toprank.simulator.feedback.night import Labelled, NightlyModels

LEAST_OF_EACH = 10  # verdicts of either kind without which no model is made of them


class Way(Protocol):
    """A ranker of payments that learns in the night."""

    def learn(self, night: NightlyModels) -> None:
        """Learn from what is known; the first night is that before the first day."""

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the suspicion of payments."""


class Static:
    """A model trained once, before the first day."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner
        self._model: Any = None

    def learn(self, night: NightlyModels) -> None:
        if self._model is None:
            self._model = _trained(self._learner, night.pooled)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


class Nightly:
    """A model trained anew each night, on delayed labels and feedback together."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner

    def learn(self, night: NightlyModels) -> None:
        if night.pooled.n_rarer:  # else the model of the night before must do
            self._model = _trained(self._learner, night.pooled)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


class FeedbackApart:
    """Two models trained anew each night, on delayed labels and on feedback, and averaged.

    Averaged are probabilities. Which cards are checked depends on what their payments look like
    and not on what they are, so the share of frauds among payments that look alike is the same
    with and without a check: both models tell the same probability, one from many old payments,
    the other from few fresh ones. Ranks would lose how sure each model is: one that has never
    seen a pattern ranks its payments among the ordinary ones, and would hold them there however
    sure the other is.
    """

    def __init__(self, learner: Any, random_state: int) -> None:
        self._learner = learner

    def learn(self, night: NightlyModels) -> None:
        if night.delayed.n_rarer:  # else the model of the night before must do
            self._delayed = _trained(self._learner, night.delayed)
        self._models = [self._delayed]
        if night.feedback.n_rarer >= LEAST_OF_EACH:
            self._models.append(_trained(self._learner, night.feedback))

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.mean([model.probability(features) for model in self._models], axis=0)


class Online:
    """An online learner that takes each label once, as it becomes known."""

    def __init__(self, learner: Any, random_state: int) -> None:
        self._model = OnlineNonLinearBoost(random_state=random_state)

    def learn(self, night: NightlyModels) -> None:
        if night.new.is_positive.size:
            self._model.partial_fit(night.new.features, night.new.is_positive)

    def suspicion(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._model.suspicion(features)


WAYS: dict[str, Callable[[Any, int], Way]] = {
    "static": Static,
    "nightly": Nightly,
    "feedback": FeedbackApart,
    "online": Online,
}


def checked_ways(ways: Iterable[str]) -> list[str]:
    """Return the names of ways, each known and named once.

    >>> checked_ways(["static", "onlin"])
    Traceback (most recent call last):
    ValueError: ways must be among 'static', 'nightly', 'feedback', 'online'; got 'onlin'; did you mean 'online'?
    """  # noqa: E501
    names = list(ways)
    for name in names:
        if name not in WAYS:
            known = ", ".join(map(repr, WAYS))
            hint = checks.nearest_name(str(name), list(WAYS)) or "."
            raise ValueError(f"ways must be among {known}; got {name!r}{hint}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"ways must name at least one way, each once; got {names!r}.")
    return names


def _trained(learner: Any, rows: Labelled) -> Any:
    return clone(learner).fit(rows.features, rows.is_positive)

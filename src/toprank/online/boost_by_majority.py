"""Online boost-by-majority."""

from typing import Any

from toprank import checks
from toprank.online import kernel
from toprank.online.booster import OnlineBooster


class OnlineBBM(OnlineBooster):
    """Online boost-by-majority: every weak learner has one vote.

    A learner learns most from the rows on which the votes of those after it are likely to leave
    the outcome to its own, if each is right with probability (1 + edge) / 2. After Beygelzimer,
    Kale and Luo, "Optimal and adaptive algorithms for online boosting" (ICML 2015), algorithm 1,
    with weights rather than sampling. The suspicion is the balance of votes; the mean output
    parts rows of the same balance.

    `edge` is how much better than chance a weak learner is taken to be. The other parameters are
    those of `OnlineNonLinearBoost`.

    >>> learner = OnlineBBM().fit([[9.0], [12.0], [980.0], [15.0]] * 50, [0, 0, 1, 0] * 50)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    def __init__(
        self,
        n_learners: int = 20,
        *,
        edge: float = 0.1,
        width: int = 2,
        learning_rate: float = 0.1,
        class_weight: str | dict[Any, float] | None = None,
        averaged: bool = False,
        n_buckets: int = 4096,
        positive_label: Any = None,
        random_state: Any = 0,
    ):
        self.n_learners = n_learners
        self.edge = edge
        self.width = width
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.averaged = averaged
        self.n_buckets = n_buckets
        self.positive_label = positive_label
        self.random_state = random_state

    def _rule(self) -> dict[str, Any]:
        return {"rule": kernel.MAJORITY, "edge": checks.number_above(self.edge, "edge", 0, 0.999)}

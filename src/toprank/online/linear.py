"""Online linear boosting: what non-linear boosting is without its latents."""

from typing import Any

from toprank import checks
from toprank.online import kernel
from toprank.online.booster import OnlineBooster
from toprank.online.non_linear import LOSSES, UPDATES


class OnlineLinearBoost(OnlineBooster):
    """Networks of a few units, added up: F(x) = c + sum_t b_t h_t(x), all learned row by row.

    The rival that shows what the latents of `OnlineNonLinearBoost` are worth; its parameters are
    those, but for the latents. With `n_learners=1` and `update="full"` it is a plain network with
    one hidden layer of `width` units.

    >>> learner = OnlineLinearBoost().fit([[9.0], [12.0], [980.0]] * 60, [0, 0, 1] * 60)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    _most_classes = None

    def __init__(
        self,
        n_learners: int = 10,
        *,
        width: int = 2,
        update: str = "residual",
        learning_rate: float = 0.1,
        loss: str = "log",
        class_weight: str | dict[Any, float] | None = None,
        averaged: bool = False,
        n_buckets: int = 4096,
        positive_label: Any = None,
        random_state: Any = 0,
    ):
        self.n_learners = n_learners
        self.width = width
        self.update = update
        self.learning_rate = learning_rate
        self.loss = loss
        self.class_weight = class_weight
        self.averaged = averaged
        self.n_buckets = n_buckets
        self.positive_label = positive_label
        self.random_state = random_state

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": kernel.LINEAR,
            "update": UPDATES[checks.one_of(self.update, "update", tuple(UPDATES))],
            "loss": LOSSES[checks.one_of(self.loss, "loss", tuple(LOSSES))],
        }

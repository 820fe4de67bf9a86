"""Online linear boosting: non-linear boosting without its latents."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from toprank.data import checks
from toprank.rankers.online import online_kernel
from toprank.rankers.online.booster import OnlineBooster
from toprank.rankers.online.online_non_linear import LOSSES, UPDATES


@dataclass(eq=False, repr=False)
class OnlineLinearBoost(OnlineBooster):
    """The sum of small networks: F(x) = c + sum_t b_t h_t(x), all learned row by row.

    The baseline that shows what the latents of `OnlineNonLinearBoost` add; it has the same
    parameters without the latents. With `n_learners=1` and `update="full"` it is a plain network
    with one hidden layer of `width` units.

    >>> learner = OnlineLinearBoost().fit([[9.0], [12.0], [980.0]] * 60, [0, 0, 1] * 60)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    n_learners: int = 10
    _: KW_ONLY
    update: str = "residual"
    loss: str = "log"

    _most_classes: ClassVar[int | None] = None

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": online_kernel.LINEAR,
            "update": UPDATES[checks.one_of(self.update, "update", tuple(UPDATES))],
            "loss": LOSSES[checks.one_of(self.loss, "loss", tuple(LOSSES))],
        }

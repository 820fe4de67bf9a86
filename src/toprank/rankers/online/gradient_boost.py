"""Gradient boosting for streams: each weak learner fits the residuals of those before it."""

from dataclasses import dataclass
from typing import Any

from toprank.data import checks
from toprank.rankers.online import online_kernel
from toprank.rankers.online.booster import OnlineBooster


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineGradientBoost(OnlineBooster):
    """OGB: F_t = (1 - step s_t) F_(t-1) + step h_t, with learned shrinkages s_t.

    Each weak learner is moved towards the residuals of those before it by the square loss. After
    Beygelzimer, Hazan, Kale and Luo, "Online gradient boosting" (NIPS 2015), algorithm 1, with
    the log-loss.

    `step` is how far each weak learner moves the score. The other parameters are those of
    `OnlineNonLinearBoost`.

    >>> learner = OnlineGradientBoost().fit([[9.0], [12.0], [980.0]] * 60, [0, 0, 1] * 60)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    step: float = 1.0

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": online_kernel.GRADIENT,
            "step": checks.number_above(self.step, "step", 0, 1),
        }


@dataclass(eq=False, repr=False, kw_only=True)
class StreamBoost(OnlineBooster):
    """StreamBoost: F_t = F_(t-1) + step h_t, each h_t moved towards the residuals of F_(t-1).

    After Hu, Sun, Venkatraman, Hebert and Bagnell, "Gradient boosting on stochastic data streams"
    (AISTATS 2017), the algorithm for smooth losses, with the log-loss.

    `step` is how far each weak learner moves the score. The other parameters are those of
    `OnlineNonLinearBoost`.

    >>> learner = StreamBoost().fit([[9.0], [12.0], [980.0]] * 60, [0, 0, 1] * 60)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    step: float = 1.0

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": online_kernel.STREAM,
            "step": checks.number_above(self.step, "step", 0, 100),
        }

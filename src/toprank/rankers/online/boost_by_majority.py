"""Online boost-by-majority."""

from dataclasses import dataclass
from typing import Any

from toprank.data import checks
from toprank.rankers.online import online_kernel
from toprank.rankers.online.booster import OnlineBooster


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineBBM(OnlineBooster):
    """Online boost-by-majority: every weak learner has one vote.

    A learner learns most from the rows on which the votes after it are likely to leave the
    outcome to its own, if each is right with probability (1 + edge) / 2. After Beygelzimer,
    Kale and Luo, "Optimal and adaptive algorithms for online boosting" (ICML 2015), algorithm 1,
    with weights rather than sampling. The suspicion is the balance of votes; rows of equal
    balance are ordered by the mean output.

    `edge` is how much better than chance a weak learner is taken to be. The other parameters are
    those of `OnlineNonLinearBoost`.

    >>> learner = OnlineBBM().fit([[9.0], [12.0], [980.0], [15.0]] * 50, [0, 0, 1, 0] * 50)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    edge: float = 0.1

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": online_kernel.MAJORITY,
            "edge": checks.number_above(self.edge, "edge", 0, 0.999),
        }

"""AdaBoost for streams: votes weighted by how useful each turns out to be."""

from typing import Any

from toprank.rankers.online import online_kernel
from toprank.rankers.online.booster import OnlineBooster


class AdaBoostOL(OnlineBooster):
    """AdaBoost.OL: weighted votes learned by sampling, over an adaptive number of learners.

    A weak learner learns from a row with the probability that the votes before it give to the
    wrong class; the weights of the votes follow the gradient of the log-loss. The first t votes
    are an expert for every t, trusted by its mistakes so far; the suspicion is the mean of the
    experts' sums. After Beygelzimer, Kale and Luo, "Optimal and adaptive algorithms for online
    boosting" (ICML 2015), algorithm 2, which draws one expert instead of taking the mean.

    The parameters are those of `OnlineNonLinearBoost`.

    >>> learner = AdaBoostOL().fit([[9.0], [12.0], [980.0], [15.0]] * 50, [0, 0, 1, 0] * 50)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    def _rule(self) -> dict[str, Any]:
        return {"rule": online_kernel.ADAPTIVE}


class AdaBoostOLW(OnlineBooster):
    """AdaBoost.OL.W: weighted votes of all weak learners, learned from weighted rows.

    As `AdaBoostOL`, but a weak learner learns from every row, weighted where that one samples,
    and all votes count. After Beygelzimer, Kale and Luo, "Optimal and adaptive algorithms for
    online boosting" (ICML 2015), the importance-weighted form of algorithm 2.

    The parameters are those of `OnlineNonLinearBoost`.

    >>> learner = AdaBoostOLW().fit([[9.0], [12.0], [980.0], [15.0]] * 50, [0, 0, 1, 0] * 50)
    >>> learner.predict([[10.0], [990.0]])
    array([0, 1])
    """

    def _rule(self) -> dict[str, Any]:
        return {"rule": online_kernel.IMPORTANCE}

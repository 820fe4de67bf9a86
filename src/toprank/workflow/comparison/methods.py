"""The remedies for imbalance that `toprank compare --imbalance` tries, each around one ranker.

A ratio is how many positives there are for each negative once the method has done its work: by
sampling, by weights or by costs.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone

from toprank import registry, wording
from toprank.data import checks
from toprank.decisions.balance_cascade import BalanceCascade
from toprank.decisions.cost_boost import CostBoost
from toprank.decisions.sampled_ranker import SampledRanker
from toprank.decisions.samplers import SAMPLERS, natural_ratio
from toprank.rankers.base import Ranker

BASELINE = "none"
"""The rows as they are: what every method is measured against."""

METHODS = (
    BASELINE,
    "weights",
    "under",
    "over",
    "tomek",
    "smote",
    "easy-ensemble",
    "balance-cascade",
    "cost-boost",
)

_WITHOUT_RATIO = (BASELINE, "tomek", "balance-cascade")
_N_RATIOS = 3


class RemedyTrial(NamedTuple):
    """One method at one ratio; None for a method that has none to choose."""

    method: str
    ratio: float | None = None

    def __str__(self) -> str:
        return (
            self.method
            if self.ratio is None
            else f"{self.method} (ratio {wording.ratio(self.ratio)})"
        )


def check_methods(names: Iterable[str]) -> list[str]:
    """Return the names of methods without repeats, the baseline first.

    >>> check_methods(["smote", "under"])
    ['none', 'smote', 'under']
    """
    chosen = list(dict.fromkeys([BASELINE, *names]))
    for name in chosen:
        if name not in METHODS:
            hint = checks.nearest_name(name, list(METHODS)) or "."
            raise ValueError(f"methods must be among {', '.join(METHODS)}; got {name!r}{hint}")
    return chosen


def check_base(name: str) -> str:
    """Return the name of a learner that methods can be put around."""
    known = base_names()
    if name not in known:
        hint = checks.nearest_name(name, known) or "."
        raise ValueError(f"base must be one of {', '.join(known)}; got {name!r}{hint}")
    return name


def base_names() -> list[str]:
    """Return the learners that methods can be put around: all that make no choice of their own.

    Only CostBoost grows trees of its own.
    """
    choices = registry.compare_choices()
    return [name for name, choice in choices.items() if not choice.row.judges_itself]


def check_ratios(ratios: Iterable[float] | None, is_positive: NDArray[np.bool_]) -> list[float]:
    """Return the ratios to try, rising; None gives three between the rows' own ratio and 1.

    >>> check_ratios(None, np.arange(1001) < 1)
    [0.01, 0.1, 1.0]
    """
    own = natural_ratio(is_positive)
    if own >= 1:
        raise ValueError(
            f"positives must be rarer than negatives in the training rows; there are {own:.3g} of "
            "them per negative. Name the rarer label as the positive one."
        )
    if ratios is None:
        return np.geomspace(own, 1, _N_RATIOS + 1)[1:].tolist()
    chosen = sorted({checks.number_above(ratio, "ratios", 0, 1) for ratio in ratios})
    if not chosen:
        raise ValueError("ratios must have at least one number; got none.")
    if chosen[0] <= own:
        raise ValueError(
            f"ratios must be above {own:.3g}, the positives per negative that the training rows "
            f"have already, and at most 1; got {chosen[0]:g}."
        )
    return chosen


def trials_of(methods: Iterable[str], ratios: list[float]) -> list[RemedyTrial]:
    """Return every method at every ratio, or once where it has none.

    >>> [str(trial) for trial in trials_of(["none", "smote"], [0.1, 1.0])]
    ['none', 'smote (ratio .1)', 'smote (ratio 1)']
    """
    return [
        RemedyTrial(method, ratio)
        for method in methods
        for ratio in ([None] if method in _WITHOUT_RATIO else ratios)
    ]


def fitted(
    trial: RemedyTrial, base: Ranker, X: Any, y: ArrayLike, positive: Any, random_state: int = 0
) -> Ranker:
    """Return a ranker that learned from these rows by one method; `base` stays as it is.

    >>> from toprank import BoostedRanker
    >>> X, base = np.arange(200.0)[:, None], BoostedRanker(n_estimators=2)
    >>> fitted(RemedyTrial("under", 0.5), base, X, X[:, 0] > 180, True).n_sampled_
    [(57, 19)]
    """
    is_positive = np.asarray(y) == positive
    options: dict[str, Any] = {"positive_label": positive, "random_state": random_state}
    if trial.method in SAMPLERS:
        ratio = 1.0 if trial.ratio is None else trial.ratio
        return SampledRanker(clone(base), trial.method, ratio=ratio, **options).fit(X, y)
    if trial.method == "balance-cascade":
        return BalanceCascade(clone(base), **options).fit(X, y)
    if trial.method == "cost-boost":
        return _cost_boost(base, _weight(trial, is_positive), options).fit(X, y)
    ranker = clone(base).set_params(positive_label=positive)
    if trial.ratio is None:
        return ranker.fit(X, y)
    return ranker.fit(X, y, np.where(is_positive, _weight(trial, is_positive), 1.0))


def own_probability(ranker: Ranker, suspicion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities as the ranker alone would have them, at the ratio it learned from.

    A SampledRanker's suspicion is the log-odds among sampled rows, and boosting by costs calls
    positive what is above 0. All others have no probabilities but those of all rows.
    """
    if isinstance(ranker, SampledRanker | CostBoost):
        return expit(suspicion)
    return ranker.calibration_.probability(suspicion)


def _cost_boost(base: Ranker, weight: float, options: dict[str, Any]) -> CostBoost:
    """Return AdaC2 with as many trees as `base`, whose positives weigh so much after them all."""
    boost = CostBoost(n_jobs=base.n_jobs, **options)
    boost.set_params(n_estimators=getattr(base, "n_estimators", boost.n_estimators))
    # it multiplies by the cost in every round: the whole weight each time would bury all else
    return boost.set_params(positive_cost=weight ** (1 / boost.n_estimators))


def _weight(trial: RemedyTrial, is_positive: NDArray[np.bool_]) -> float:
    """Return the weight of a positive at which the weights have the ratio of the trial."""
    assert trial.ratio is not None
    return trial.ratio / natural_ratio(is_positive)

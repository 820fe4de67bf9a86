"""The learners a model file may hold, and what each gives to be kept."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from toprank.model_file.faults import shown

# Where each is found; imported when needed, since a learner itself imports Saved from here.
_LEARNERS = {
    "AdaBoostOL": "toprank.online.ada_boost",
    "AdaBoostOLW": "toprank.online.ada_boost",
    "AnomalyForest": "toprank.anomaly.forest",
    "AnomalyRanker": "toprank.anomaly.ranker",
    "AnomalyTreeRank": "toprank.anomaly.tree_rank",
    "AutoRanker": "toprank.auto.ranker",
    "BalanceCascade": "toprank.imbalance.balance_cascade",
    "BoostedRanker": "toprank.boosting.ranker",
    "CostBoost": "toprank.imbalance.cost_boost",
    "EventStream": "toprank.online.event_stream",
    "GeometricTree": "toprank.trees.geometric_tree",
    "History": "toprank.transactions.features.history",
    "MetaAP": "toprank.trees.meta_ap",
    "NonLinearBoost": "toprank.boosting.non_linear",
    "OnlineBBM": "toprank.online.boost_by_majority",
    "OnlineGradientBoost": "toprank.online.gradient_boost",
    "OnlineLinearBoost": "toprank.online.linear",
    "OnlineNonLinearBoost": "toprank.online.non_linear",
    "RankBoost": "toprank.boosting.rank_boost",
    "RankForest": "toprank.trees.forest",
    "RankRLS": "toprank.pairwise.rank_rls",
    "RankSVM": "toprank.pairwise.rank_svm",
    "SampledRanker": "toprank.imbalance.sampling",
    "StreamBoost": "toprank.online.gradient_boost",
    "TreeRank": "toprank.trees.tree_rank",
}


class Saved(NamedTuple):
    """What a fitted learner gives to be kept, beside its parameters."""

    state: dict[str, Any]
    """JSON: numbers, strings, booleans, None, lists and dicts of them."""
    arrays: dict[str, np.ndarray]
    boosters: dict[str, bytes]
    """XGBoost models in UBJSON: `booster.save_raw("ubj")`."""
    parameters: dict[str, Any] | None = None
    """The parameters, where they are not JSON as they are; None for those of `get_params`."""


def learner_names() -> list[str]:
    """Return the names of all learners that can be saved.

    >>> "BoostedRanker" in learner_names()
    True
    """
    return sorted(_LEARNERS)


def learner_class(name: str) -> Any:
    """Return the class of the learner called `name`.

    >>> learner_class("BoostedRanker").__module__
    'toprank.boosting.ranker'
    """
    if name not in _LEARNERS:
        known = ", ".join(learner_names())
        raise ValueError(f"its learner {shown(name)} is unknown; this toprank knows {known}.")
    return getattr(import_module(_LEARNERS[name]), name)

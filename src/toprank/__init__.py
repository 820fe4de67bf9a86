"""toprank: the shortest list of alerts with the most rare events in it.

Names load when first used, so `toprank --help` does not wait for the learners.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toprank import datasets, losses, metrics, plots, splits
    from toprank.anomaly.ranker import AnomalyRanker
    from toprank.anomaly.tree_rank import AnomalyTreeRank
    from toprank.auto.ranker import AutoRanker
    from toprank.boosting.non_linear import NonLinearBoost
    from toprank.boosting.rank_boost import RankBoost
    from toprank.boosting.ranker import BoostedRanker
    from toprank.imbalance.balance_cascade import BalanceCascade
    from toprank.imbalance.cost_boost import CostBoost
    from toprank.model_file import load, save
    from toprank.online.ada_boost import AdaBoostOL, AdaBoostOLW
    from toprank.online.boost_by_majority import OnlineBBM
    from toprank.online.gradient_boost import OnlineGradientBoost, StreamBoost
    from toprank.online.linear import OnlineLinearBoost
    from toprank.online.non_linear import OnlineNonLinearBoost
    from toprank.pairwise.rank_rls import RankRLS
    from toprank.pairwise.rank_svm import RankSVM
    from toprank.trees.forest import RankForest
    from toprank.trees.geometric_tree import GeometricTree
    from toprank.trees.meta_ap import MetaAP
    from toprank.trees.tree_rank import TreeRank

__version__ = "0.1.0"

_HOME_OF = {
    "AdaBoostOL": "toprank.online.ada_boost",
    "AdaBoostOLW": "toprank.online.ada_boost",
    "AnomalyRanker": "toprank.anomaly.ranker",
    "AnomalyTreeRank": "toprank.anomaly.tree_rank",
    "AutoRanker": "toprank.auto.ranker",
    "BalanceCascade": "toprank.imbalance.balance_cascade",
    "BoostedRanker": "toprank.boosting.ranker",
    "CostBoost": "toprank.imbalance.cost_boost",
    "GeometricTree": "toprank.trees.geometric_tree",
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
    "StreamBoost": "toprank.online.gradient_boost",
    "TreeRank": "toprank.trees.tree_rank",
    "load": "toprank.model_file",
    "save": "toprank.model_file",
}
_MODULES = ("datasets", "losses", "metrics", "plots", "splits")

__all__ = [
    "AdaBoostOL",
    "AdaBoostOLW",
    "AnomalyRanker",
    "AnomalyTreeRank",
    "AutoRanker",
    "BalanceCascade",
    "BoostedRanker",
    "CostBoost",
    "GeometricTree",
    "MetaAP",
    "NonLinearBoost",
    "OnlineBBM",
    "OnlineGradientBoost",
    "OnlineLinearBoost",
    "OnlineNonLinearBoost",
    "RankBoost",
    "RankForest",
    "RankRLS",
    "RankSVM",
    "StreamBoost",
    "TreeRank",
    "datasets",
    "load",
    "losses",
    "metrics",
    "plots",
    "save",
    "splits",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"toprank.{name}")
    raise AttributeError(f"module 'toprank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

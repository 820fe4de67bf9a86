"""toprank: the shortest list of alerts with the most rare events in it.

Names load when first used, so `toprank --help` does not wait for the learners.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toprank import registry

if TYPE_CHECKING:  # for type checkers, which cannot read the registry; a test holds both equal
    from toprank import datasets as datasets
    from toprank import losses as losses
    from toprank import metrics as metrics
    from toprank import plots as plots
    from toprank import splits as splits
    from toprank.alert_list import AlertList as AlertList
    from toprank.alert_list import top_alerts as top_alerts
    from toprank.anomaly.forest import AnomalyForest as AnomalyForest
    from toprank.anomaly.ranker import AnomalyRanker as AnomalyRanker
    from toprank.anomaly.tree_rank import AnomalyTreeRank as AnomalyTreeRank
    from toprank.auto.ranker import AutoRanker as AutoRanker
    from toprank.boosting.non_linear import NonLinearBoost as NonLinearBoost
    from toprank.boosting.rank_boost import RankBoost as RankBoost
    from toprank.boosting.ranker import BoostedRanker as BoostedRanker
    from toprank.imbalance.balance_cascade import BalanceCascade as BalanceCascade
    from toprank.imbalance.cost_boost import CostBoost as CostBoost
    from toprank.imbalance.sampling import SampledRanker as SampledRanker
    from toprank.imbalance.thresholded import ThresholdedRanker as ThresholdedRanker
    from toprank.model_file import load as load
    from toprank.model_file import save as save
    from toprank.online.ada_boost import AdaBoostOL as AdaBoostOL
    from toprank.online.ada_boost import AdaBoostOLW as AdaBoostOLW
    from toprank.online.boost_by_majority import OnlineBBM as OnlineBBM
    from toprank.online.event_stream import EventStream as EventStream
    from toprank.online.gradient_boost import OnlineGradientBoost as OnlineGradientBoost
    from toprank.online.gradient_boost import StreamBoost as StreamBoost
    from toprank.online.linear import OnlineLinearBoost as OnlineLinearBoost
    from toprank.online.non_linear import OnlineNonLinearBoost as OnlineNonLinearBoost
    from toprank.pairwise.rank_rls import RankRLS as RankRLS
    from toprank.pairwise.rank_svm import RankSVM as RankSVM
    from toprank.reasons import explain as explain
    from toprank.transactions.features.history import History as History
    from toprank.transactions.ledger import Ledger as Ledger
    from toprank.transactions.ledger import MemoryLedger as MemoryLedger
    from toprank.transactions.ledger import SqliteLedger as SqliteLedger
    from toprank.transactions.payment_model import PaymentModel as PaymentModel
    from toprank.transactions.payment_stream import PaymentStream as PaymentStream
    from toprank.trees.forest import RankForest as RankForest
    from toprank.trees.geometric_tree import GeometricTree as GeometricTree
    from toprank.trees.meta_ap import MetaAP as MetaAP
    from toprank.trees.tree_rank import TreeRank as TreeRank

__version__ = "0.1.0"

# public names besides the learners, which are those of the registry
_OTHERS = (
    "toprank.alert_list:AlertList",
    "toprank.alert_list:top_alerts",
    "toprank.model_file:load",
    "toprank.model_file:save",
    "toprank.online.event_stream:EventStream",
    "toprank.reasons:explain",
    "toprank.transactions.features.history:History",
    "toprank.transactions.ledger:Ledger",
    "toprank.transactions.ledger:MemoryLedger",
    "toprank.transactions.ledger:SqliteLedger",
    "toprank.transactions.payment_model:PaymentModel",
    "toprank.transactions.payment_stream:PaymentStream",
)
_HOME_OF = {
    home.partition(":")[2]: home for home in (*_OTHERS, *(row.home for row in registry.LEARNERS))
}
_MODULES = ("datasets", "losses", "metrics", "plots", "splits")

__all__ = sorted([*_HOME_OF, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return registry.named(_HOME_OF[name])
    if name in _MODULES:
        return import_module(f"toprank.{name}")
    raise AttributeError(f"module 'toprank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""toprank: the shortest list of alerts with the most rare events in it.

Names are imported when first used, so `import toprank` and `toprank --help` are quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toprank import registry, startup

if TYPE_CHECKING:  # for type checkers, which cannot read the registry; a test holds both equal
    from toprank import losses as losses
    from toprank import metrics as metrics
    from toprank import plots as plots
    from toprank import splits as splits
    from toprank.data.sources.public_read import read as read
    from toprank.decisions.balance_cascade import BalanceCascade as BalanceCascade
    from toprank.decisions.cost_boost import CostBoost as CostBoost
    from toprank.decisions.sampled_ranker import SampledRanker as SampledRanker
    from toprank.decisions.thresholded import ThresholdedRanker as ThresholdedRanker
    from toprank.files import load as load
    from toprank.files import save as save
    from toprank.integrations.onnx_export import to_onnx as to_onnx
    from toprank.integrations.shap_values import shap_values as shap_values
    from toprank.payments.features.history import History as History
    from toprank.payments.ledger import Ledger as Ledger
    from toprank.payments.ledger import MemoryLedger as MemoryLedger
    from toprank.payments.ledger import SqliteLedger as SqliteLedger
    from toprank.payments.payment_model import PaymentModel as PaymentModel
    from toprank.payments.payment_stream import PaymentStream as PaymentStream
    from toprank.present.progress_bars import progress_bar as progress_bar
    from toprank.rankers.anomaly.anomaly_forest import AnomalyForest as AnomalyForest
    from toprank.rankers.anomaly.anomaly_ranker import AnomalyRanker as AnomalyRanker
    from toprank.rankers.anomaly.anomaly_tree_rank import AnomalyTreeRank as AnomalyTreeRank
    from toprank.rankers.auto.auto_ranker import AutoRanker as AutoRanker
    from toprank.rankers.boosted.boosted_ranker import BoostedRanker as BoostedRanker
    from toprank.rankers.boosted.non_linear_boost import NonLinearBoost as NonLinearBoost
    from toprank.rankers.boosted.rank_boost import RankBoost as RankBoost
    from toprank.rankers.online.ada_boost import AdaBoostOL as AdaBoostOL
    from toprank.rankers.online.ada_boost import AdaBoostOLW as AdaBoostOLW
    from toprank.rankers.online.boost_by_majority import OnlineBBM as OnlineBBM
    from toprank.rankers.online.event_stream import EventStream as EventStream
    from toprank.rankers.online.gradient_boost import OnlineGradientBoost as OnlineGradientBoost
    from toprank.rankers.online.gradient_boost import StreamBoost as StreamBoost
    from toprank.rankers.online.linear import OnlineLinearBoost as OnlineLinearBoost
    from toprank.rankers.online.online_non_linear import (
        OnlineNonLinearBoost as OnlineNonLinearBoost,
    )
    from toprank.rankers.pairwise.rank_rls import RankRLS as RankRLS
    from toprank.rankers.pairwise.rank_svm import RankSVM as RankSVM
    from toprank.rankers.reasons import explain as explain
    from toprank.rankers.stream.stream_ranker import StreamRanker as StreamRanker
    from toprank.rankers.trees.geometric_tree import GeometricTree as GeometricTree
    from toprank.rankers.trees.meta_ap import MetaAP as MetaAP
    from toprank.rankers.trees.rank_forest import RankForest as RankForest
    from toprank.rankers.trees.tree_rank import TreeRank as TreeRank
    from toprank.workflow.alert_list import AlertList as AlertList
    from toprank.workflow.alert_list import top_alerts as top_alerts

__version__ = "0.1.0"

startup.prepare()  # first of all: numerical libraries read these settings when they load

# public names in addition to the learners, which are in the registry
_OTHERS = (
    "toprank.workflow.alert_list:AlertList",
    "toprank.workflow.alert_list:top_alerts",
    "toprank.data.sources.public_read:read",
    "toprank.files:load",
    "toprank.files:save",
    "toprank.integrations.onnx_export:to_onnx",
    "toprank.integrations.shap_values:shap_values",
    "toprank.rankers.online.event_stream:EventStream",
    "toprank.rankers.reasons:explain",
    "toprank.payments.features.history:History",
    "toprank.payments.ledger:Ledger",
    "toprank.payments.ledger:MemoryLedger",
    "toprank.payments.ledger:SqliteLedger",
    "toprank.payments.payment_model:PaymentModel",
    "toprank.payments.payment_stream:PaymentStream",
    "toprank.present.progress_bars:progress_bar",
)
HOMES = {
    home.partition(":")[2]: home for home in (*_OTHERS, *(row.home for row in registry.LEARNERS))
}
_MODULES = ("losses", "metrics", "plots", "splits")

__all__ = sorted([*HOMES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return registry.named(HOMES[name])
    if name in _MODULES:
        return import_module(f"toprank.{name}")
    raise AttributeError(f"module 'toprank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""The main learners in a few settings that are over soon: how each fits, and how its rival does.

All take features, positives and a number of threads, which those without threads leave aside.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from toprank import (
    AnomalyTreeRank,
    AutoRanker,
    BoostedRanker,
    MetaAP,
    NonLinearBoost,
    OnlineNonLinearBoost,
    RankForest,
    RankSVM,
    TreeRank,
)
from toprank.rankers.boosted.xgboost_engine import import_xgboost
from toprank_bench.speed.online_speed import learn_by_vowpal, write_for_vowpal
from toprank_bench.speed.speed_rows import SEED
from toprank_bench.speed.timing import Work

Features = NDArray[np.float32]
Positives = NDArray[np.bool_]
Preparing = Callable[[Features, Positives, int], Work]
"""Returns what fits, with all that is not the fit's done before."""


class Fit(NamedTuple):
    """A learner of ours in words, how it fits, the package it needs, and its memory.

    `most_memory` is what a fit may hold, in sizes of its input, that included.
    """

    what: str
    prepare: Preparing
    needs: str = ""
    most_memory: float = 3.0


class MainLearner(NamedTuple):
    """A learner of ours in words, its rival in words, and how both fit."""

    what: str
    prepare: Preparing
    against: str
    prepare_rival: Preparing
    needs: str = ""


def _boosted(features: Features, is_positive: Positives, n_threads: int) -> Work:
    ranker = BoostedRanker(
        "ap-exp", n_estimators=_TREES, warm_start_trees=0, random_state=SEED, n_jobs=n_threads
    )
    return lambda: ranker.fit(features, is_positive)


def _xgboost(features: Features, is_positive: Positives, n_threads: int) -> Work:
    same = {"max_depth": 4, "learning_rate": 0.05, "max_bin": 256, "tree_method": "hist"}
    rival = import_xgboost().XGBClassifier(n_estimators=_TREES, n_jobs=n_threads, **same)
    return lambda: rival.fit(features, is_positive)


def _meta_ap(features: Features, is_positive: Positives, _: int) -> Work:
    return lambda: MetaAP(global_depth=4, local_depth=4).fit(features, is_positive)


def _decision_tree(features: Features, is_positive: Positives, _: int) -> Work:
    rival = DecisionTreeClassifier(max_depth=16, random_state=SEED)
    return lambda: rival.fit(features, is_positive)


def _rank_forest(features: Features, is_positive: Positives, n_threads: int) -> Work:
    tree = TreeRank(global_depth=_DEPTH, local_depth=1, min_samples_leaf=1)
    forest = RankForest(tree, n_estimators=_FOREST, n_jobs=n_threads)
    return lambda: forest.fit(features, is_positive)


def _random_forest(features: Features, is_positive: Positives, n_threads: int) -> Work:
    rival = RandomForestClassifier(_FOREST, max_depth=_DEPTH, random_state=SEED, n_jobs=n_threads)
    return lambda: rival.fit(features, is_positive)


def _onlb(features: Features, is_positive: Positives, _: int) -> Work:
    return lambda: OnlineNonLinearBoost(_WEAK).partial_fit(features, is_positive)


def _vowpal(features: Features, is_positive: Positives, _: int) -> Work:
    folder = TemporaryDirectory()  # goes with the work that reads from it
    path = Path(folder.name, "rows.vw")
    write_for_vowpal(path, features, is_positive)

    def learn(kept: Any = folder) -> None:
        learn_by_vowpal(path, _WEAK)

    return learn


def _anomaly_tree(features: Features, _: Positives, __: int) -> Work:
    return lambda: AnomalyTreeRank().fit(features)


def _isolation_forest(features: Features, _: Positives, __: int) -> Work:
    rival = IsolationForest(max_samples=1.0, n_estimators=_FOREST, random_state=SEED)
    return lambda: rival.fit(features)


def _non_linear_boost(features: Features, is_positive: Positives, n_threads: int) -> Work:
    ranker = NonLinearBoost(n_estimators=_TREES, random_state=SEED, n_jobs=n_threads)
    return lambda: ranker.fit(features, is_positive)


def _rank_svm(features: Features, is_positive: Positives, _: int) -> Work:
    return lambda: RankSVM().fit(features, is_positive)


def _auto(features: Features, is_positive: Positives, n_threads: int) -> Work:
    ranker = AutoRanker(
        n_estimators=_TREES, time_limit=_SECONDS, random_state=SEED, n_jobs=n_threads
    )
    return lambda: ranker.fit(features, is_positive)


_TREES, _FOREST, _DEPTH, _WEAK, _SECONDS = 20, 10, 8, 10, 60

MAIN_LEARNERS: Mapping[str, MainLearner] = {
    "boosted": MainLearner(
        f"BoostedRanker(ap-exp), {_TREES} trees",
        _boosted,
        "XGBoost binary:logistic",
        _xgboost,
        needs="xgboost",
    ),
    "metaap": MainLearner(
        "MetaAP, 4 x 4 deep", _meta_ap, "DecisionTreeClassifier, 16 deep", _decision_tree
    ),
    "rank-forest": MainLearner(
        f"RankForest, {_FOREST} trees", _rank_forest, "RandomForestClassifier", _random_forest
    ),
    "onlb": MainLearner(
        f"ONLB, {_WEAK} weak learners",
        _onlb,
        "Vowpal Wabbit BBM, from text",
        _vowpal,
        needs="vowpalwabbit",
    ),
    "anomaly-tree": MainLearner(
        "AnomalyTreeRank",
        _anomaly_tree,
        f"IsolationForest, {_FOREST} trees of all rows",
        _isolation_forest,
    ),
}

FITS: Mapping[str, Fit] = {
    **{
        name: Fit(learner.what, learner.prepare, "xgboost" if name == "boosted" else "")
        for name, learner in MAIN_LEARNERS.items()
    },
    "non-linear-boost": Fit(f"NonLinearBoost, {_TREES} trees", _non_linear_boost, "xgboost"),
    "rank-svm": Fit("RankSVM", _rank_svm),
    "auto": Fit(f"AutoRanker, {_TREES} trees, {_SECONDS} s to choose", _auto, "xgboost", 2.5),
}
"""Those whose memory is read: the main learners, and the others that hold most."""

"""Detectors that fit and score rows without labels, against scikit-learn's IsolationForest."""

from typing import Any

from sklearn.ensemble import IsolationForest

from toprank import AnomalyForest, AnomalyTreeRank
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED, rare_positives
from toprank_bench.speed.timing import times_as_long

_SHAPE = {"rows": 100_000, "columns": 10, "trees": 100, "rounds": 7}
_QUICK = {"rows": 20_000, "rounds": 3}


def _one_tree(setting: Setting) -> Measured:
    return _fit_and_score(AnomalyTreeRank(), setting)


def _forest(setting: Setting) -> Measured:
    n_trees = setting.shape["trees"]
    return _fit_and_score(AnomalyForest(n_estimators=n_trees), setting)


def _fit_and_score(ours: Any, setting: Setting) -> Measured:
    shape = setting.shape
    features = rare_positives(shape["rows"], shape["columns"]).features
    rival = IsolationForest(n_estimators=shape["trees"], random_state=SEED)
    return times_as_long(
        lambda: ours.fit(features).score_samples(features),
        lambda: rival.fit(features).score_samples(features),
        shape["rounds"],
    )


RACES = (
    Race(
        name="anomaly-tree",
        what="AnomalyTreeRank, fit and score",
        against="IsolationForest",
        unit="times as long",
        measure=_one_tree,
        shape=_SHAPE,
        quick=_QUICK,
        minutes=(0.15, 0.05),
        at_most=1.0,
    ),
    Race(
        name="anomaly-forest",
        what="AnomalyForest, fit and score",
        against="IsolationForest, as many trees",
        unit="times as long",
        measure=_forest,
        shape=_SHAPE,
        quick=_QUICK,
        minutes=(0.25, 0.05),
    ),
)

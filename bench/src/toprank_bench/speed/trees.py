"""Ranking trees and forests against scikit-learn's; binning is within the time of ours."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from toprank import MetaAP, RankForest, TreeRank
from toprank.rankers.trees.kernel.binning import MOST_BINS, bin_columns
from toprank.rankers.trees.kernel.growing import Growth, Sample, grow
from toprank_bench.speed.race import Measured, Race, Setting
from toprank_bench.speed.speed_rows import SEED, LabelledRows, rows_like
from toprank_bench.speed.timing import times_as_long

_SATIMAGE = {"rows": 6_435, "columns": 36}


def _local_tree(setting: Setting) -> Measured:
    rows, depth = _rows("metaap_satimage", setting), setting.shape["depth"]
    rival = DecisionTreeClassifier(max_depth=depth, random_state=SEED)
    return times_as_long(
        lambda: _grow_exactly(rows, depth),
        lambda: rival.fit(*rows[:2]),
        setting.shape["rounds"],
        data=rows.source,
    )


def _grow_exactly(rows: LabelledRows, depth: int) -> Any:
    """Return one local tree for which every cut was tried."""
    n_rows, n_columns = rows.features.shape
    binned = bin_columns(rows.features, np.zeros(n_columns, dtype=int), MOST_BINS)
    sample = Sample.of(np.arange(n_rows), rows.is_positive, None)
    begins, ends, seeds = np.zeros(1, int), np.array([n_rows]), np.ones(1, np.uint64)
    return grow(binned, sample, begins, ends, seeds, Growth("gini", depth))


def _meta_ap(setting: Setting) -> Measured:
    rows, depth = _rows("ulb_creditcard", setting), setting.shape["depth"]
    ours = MetaAP(global_depth=depth, local_depth=depth, max_bins=255)
    rival = DecisionTreeClassifier(max_depth=depth**2, random_state=SEED)
    return _fits_in_turns(ours, rival, rows, setting)


def _published_meta_ap(setting: Setting) -> Measured:
    rows, depth = _rows("metaap_satimage", setting), setting.shape["depth"]
    ours = MetaAP.published(depth, max_bins=255)
    rival = DecisionTreeClassifier(max_depth=depth, random_state=SEED)
    return _fits_in_turns(ours, rival, rows, setting)


def _rank_forest(setting: Setting) -> Measured:
    rows, shape = _rows("metaap_satimage", setting), setting.shape
    tree = TreeRank(global_depth=shape["depth"], local_depth=1, min_samples_leaf=1)
    ours = RankForest(tree, n_estimators=shape["trees"], n_jobs=setting.n_threads)
    rival = RandomForestClassifier(
        shape["trees"], max_depth=shape["depth"], random_state=SEED, n_jobs=setting.n_threads
    )
    return _fits_in_turns(ours, rival, rows, setting)


def _fits_in_turns(ours: Any, rival: Any, rows: LabelledRows, setting: Setting) -> Measured:
    return times_as_long(
        lambda: ours.fit(*rows[:2]),
        lambda: rival.fit(*rows[:2]),
        setting.shape["rounds"],
        data=rows.source,
    )


def _rows(name: str, setting: Setting) -> LabelledRows:
    return rows_like(name, setting.shape["rows"], setting.shape["columns"], setting.folder)


RACES = (
    Race(
        name="local-tree",
        what="one local tree, every cut tried",
        against="DecisionTreeClassifier",
        unit="times as long",
        measure=_local_tree,
        shape={**_SATIMAGE, "depth": 8, "rounds": 15},
        quick={"rounds": 7},
        minutes=(0.1, 0.05),
        at_most=1.0,
    ),
    Race(
        name="metaap",
        what="MetaAP, 4 x 4 deep",
        against="DecisionTreeClassifier, 16 deep",
        unit="times as long",
        measure=_meta_ap,
        shape={"rows": 284_807, "columns": 29, "depth": 4, "rounds": 3},
        quick={"rows": 40_000},
        minutes=(1.5, 0.1),
        at_most=2.0,
    ),
    Race(
        name="metaap-few-rows",
        what="MetaAP as published, 8 x 8 deep",
        against="DecisionTreeClassifier, 8 deep",
        unit="times as long",
        measure=_published_meta_ap,
        # of satimage, as many as the published code was timed on
        shape={**_SATIMAGE, "rows": 4_504, "depth": 8, "rounds": 15},
        quick={"rounds": 7},
        minutes=(0.1, 0.05),
        at_most=0.7,
    ),
    Race(
        name="rank-forest",
        what="RankForest",
        against="RandomForestClassifier, as deep",
        unit="times as long",
        measure=_rank_forest,
        shape={**_SATIMAGE, "depth": 8, "trees": 100, "rounds": 7},
        quick={"rounds": 3},
        minutes=(0.15, 0.05),
        at_most=3.0,
        is_threaded=True,
    ),
)

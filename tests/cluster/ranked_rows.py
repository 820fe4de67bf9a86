"""Rows in one place and in partitions, and what a training on either gives."""

from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
from pytest import approx

from toprank.cluster import cluster_fit
from toprank.losses import Gather, make_loss
from toprank.rankers.boosted import xgboost_engine
from toprank.rankers.boosted.plan import Plan

N_TREES = 20
LOCALLY = {"n_estimators": N_TREES, "n_jobs": 1}
SETTINGS = {"tree_method": "hist", "max_depth": 4, "learning_rate": 0.05, "seed": 0}


def table(n_rows=2000, seed=0, decimals=1):
    """Return features with fewer values than bins, so that every sketch of them is exact."""
    generator = np.random.default_rng(seed)
    X = pd.DataFrame(generator.normal(size=(n_rows, 3)), columns=["a", "b", "c"]).round(decimals)
    X.loc[generator.random(n_rows) < 0.1, "a"] = np.nan
    X["country"] = generator.choice(["DE", "FR", "IT"], n_rows)
    score = X.a.fillna(0) + X.b * X.c + (X.country == "FR") + generator.normal(size=n_rows) / 4
    return X, pd.Series(np.where(score > np.quantile(score, 0.95), "fraud", "usual"), name="y")


def in_parts(*columns, borders=None):
    """Return pandas columns as Dask ones, split at the borders or else into three."""
    if borders is None:
        borders = [len(columns[0]) * third // 3 for third in (1, 2)]
    return tuple(
        dd.concat([dd.from_pandas(part, npartitions=1) for part in _cut(column, borders)])
        for column in columns
    )


def trained(client, X, y, weight=None, *, binning="quantile", max_bins=256, **changes):
    return cluster_fit.train(
        client, X, y, weight, plan=plan(**changes), settings=SETTINGS, max_bins=max_bins,
        binning=binning,
    )  # fmt: skip


def plan(loss="ap-exp", n_trees=N_TREES, **changes):
    parts = {"batch_fraction": 1.0, "seed": 0, "gather": Gather(), **changes}
    return Plan(make_loss(loss), n_trees, n_trees * 4 // 5, **parts)


def suspicion(training, X):
    return xgboost_engine.predict_raw(training.booster, training.schema.encode(X))


def check_same(training, local, X):
    """Compare everything that a ranker keeps of a training."""
    assert suspicion(training, X) == approx(local.suspicion(X), abs=1e-5)
    assert training.schema == local.schema_
    assert training.classes.tolist() == local.classes_.tolist()
    assert training.positive == local.positive_label_
    assert training.usual == local.usual_
    assert training.calibration == approx(local.calibration_, rel=1e-4)


def _cut(column, borders):
    edges = [0, *borders, len(column)]
    return [column.iloc[i:j] for i, j in pairwise(edges)]

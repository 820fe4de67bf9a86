"""Training on a Dask cluster gives what training on one machine gives.

Most tests use one worker in this process. Two worker processes take seconds to start, so the tests
that need them are slow ones.
"""

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from cluster.ranked_rows import LOCALLY, check_same, in_parts, suspicion, table, trained
from toprank import BoostedRanker, MetaAP, cluster, metrics
from toprank.data.tables import TableError


def test_one_worker_grows_the_trees_of_one_machine(one_worker):
    X, y = table(800)
    training = trained(one_worker, *in_parts(X, y))
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log", "ap-exp", "ap-sigmoid", "auc-hinge"])
def test_two_workers_grow_the_trees_of_one_machine(two_workers, placements, loss):
    X, y = table()
    training = trained(two_workers, *in_parts(X, y), loss=loss)
    assert len(placements[0]) == 2
    check_same(training, BoostedRanker(loss, **LOCALLY).fit(X, y), X)


@pytest.mark.slow
def test_balanced_bins_weigh_by_the_classes_of_all_workers(two_workers):
    X, y = table(decimals=9)
    order = np.argsort(y == "fraud", kind="stable")  # the first worker has no positive
    training = trained(
        two_workers, *in_parts(X.iloc[order], y.iloc[order]), binning="balanced", max_bins=8
    )
    alike = [
        np.corrcoef(suspicion(training, X), ranker.fit(X, y).suspicion(X))[0, 1]
        for binning in ("balanced", "quantile")
        for ranker in [BoostedRanker("ap-exp", binning=binning, max_bins=8, **LOCALLY)]
    ]
    assert alike[0] > 0.98
    assert alike[0] > alike[1]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["ap-exp", "ap-sigmoid"])
def test_where_the_sketch_differs_average_precision_hardly_does(two_workers, loss):
    (X, y), (new, outcome) = table(12_000, decimals=9), table(12_000, seed=1, decimals=9)
    training = trained(two_workers, *in_parts(X, y), loss=loss)
    local = BoostedRanker(loss, **LOCALLY).fit(X, y)
    here, there = local.suspicion(new), suspicion(training, new)
    precision = [metrics.average_precision(outcome == "fraud", each) for each in (here, there)]
    assert precision[0] > 0.4
    assert precision[1] == approx(precision[0], abs=0.01)
    assert np.corrcoef(here, there)[0, 1] > 0.99


@pytest.mark.slow
def test_an_empty_partition_and_one_without_positives_change_nothing(two_workers, placements):
    X, y = table()
    # positives come last: the first partitions have none
    order = np.argsort(y == "fraud", kind="stable")
    X, y = X.iloc[order], y.iloc[order]
    training = trained(two_workers, *in_parts(X, y, borders=(0, 500, 500, 1000)))
    assert len(placements[0]) == 2
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y), X)


def test_weights_count_and_rows_of_zero_weight_do_not(one_worker):
    X, y = table()
    weight = pd.Series(np.random.default_rng(1).integers(0, 4, len(y)).astype(float))
    weight.iloc[:666] = 0  # the first partition is left without rows
    training = trained(one_worker, *in_parts(X, y, weight))
    check_same(training, BoostedRanker("ap-exp", **LOCALLY).fit(X, y, weight), X)


@pytest.mark.slow
def test_batches_are_drawn_on_each_worker(two_workers):
    X, y = table()
    parts = in_parts(X, y)
    whole, batches = (trained(two_workers, *parts, batch_fraction=share) for share in (1.0, 0.5))
    assert 0.8 < np.corrcoef(suspicion(whole, X), suspicion(batches, X))[0, 1] < 0.9999


def test_what_cannot_be_trained_on_is_refused(one_worker):
    X, y = table(400)
    parts = in_parts(X, y, borders=(200,))
    cases = [
        (
            (*parts,),
            {"patience": 5},
            ValueError,
            "early_stopping_rounds must be None on a cluster",
        ),
        ((X, y), {}, TypeError, "X must be a Dask DataFrame when a client is given; got DataFr"),
        ((parts[0], in_parts(y, borders=())[0]), {}, ValueError, "y must have the 2 partitions"),
        ((parts[0], in_parts(y, borders=(150,))[0]), {}, ValueError, "got one with 200 rows and"),
        (in_parts(X, y.where(y.index > 5)), {}, ValueError, "a partition with 6 of 133 missing"),
        (in_parts(X, y * 0), {}, ValueError, "y must hold two classes; got one class, ''"),
        ((*parts, in_parts(X.b, borders=(200,))[0]), {}, ValueError, "must not be negative"),
        ((*parts, in_parts(X.b * 0, borders=(200,))[0]), {}, ValueError, "at least one row with"),
        (in_parts(X.assign(b=np.inf), y), {}, TableError, "column 'b' must hold finite numbers"),
    ]
    for columns, changes, kind, words in cases:
        with pytest.raises(kind, match=words):
            trained(one_worker, *columns, **changes)


def test_a_ranker_fitted_with_a_client_is_like_any_other(one_worker):
    X, y = table()
    features, labels = in_parts(X, y)
    ranker = cluster.fit(BoostedRanker("ap-exp", **LOCALLY), features, labels, client=one_worker)
    alone = BoostedRanker("ap-exp", **LOCALLY).fit(X, y)
    assert ranker.positive_label_ == "fraud"
    assert ranker.suspicion(X) == approx(alone.suspicion(X), abs=1e-4)
    assert ranker.predict_proba(X).shape == (len(X), 2)
    assert ranker.contributions(X[:5]).sum(axis=1) == approx(ranker.suspicion(X[:5]), abs=1e-4)


def test_what_a_cluster_cannot_do_is_refused(one_worker):
    X, y = table()
    with pytest.raises(ValueError, match="early_stopping_rounds must be None on a cluster"):
        cluster.fit(BoostedRanker(early_stopping_rounds=5), *in_parts(X, y), client=one_worker)
    with pytest.raises(ValueError, match="engine must be 'xgboost' on a cluster; got 'paper'"):
        cluster.fit(BoostedRanker(engine="paper"), X, y, client=one_worker)
    with pytest.raises(ValueError, match="max_depth must be"):
        cluster.fit(BoostedRanker(max_depth=0), X, y, client=one_worker)
    with pytest.raises(TypeError, match="must be a BoostedRanker on a cluster; got MetaAP"):
        cluster.fit(MetaAP(), X, y, client=one_worker)

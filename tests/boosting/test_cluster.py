"""Training on a Dask cluster of two processes against training on one machine."""

import os
import signal
import threading
import time
import warnings
from collections import Counter
from functools import reduce
from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from toprank import BoostedRanker, metrics
from toprank.boosting import cluster, partitions, xgboost_engine
from toprank.boosting.plan import Plan
from toprank.losses import Gather, make_loss
from toprank.tables import Schema, TableError, TableWarning

N_TREES = 20
LOCALLY = {"n_estimators": N_TREES, "n_jobs": 1}
SETTINGS = {"tree_method": "hist", "max_depth": 4, "learning_rate": 0.05, "seed": 0}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as machines,
        Client(machines) as client,
    ):
        # the first import takes seconds; a test of its own should not
        client.run(xgboost_engine.import_xgboost)
        yield client


def table(n_rows=2000, seed=0, decimals=1):
    """Return features with fewer values than bins, so that any sketch of them is exact."""
    generator = np.random.default_rng(seed)
    X = pd.DataFrame(generator.normal(size=(n_rows, 3)), columns=["a", "b", "c"]).round(decimals)
    X.loc[generator.random(n_rows) < 0.1, "a"] = np.nan
    X["country"] = generator.choice(["DE", "FR", "IT"], n_rows)
    score = X.a.fillna(0) + X.b * X.c + (X.country == "FR") + generator.normal(size=n_rows) / 4
    return X, pd.Series(np.where(score > np.quantile(score, 0.95), "fraud", "usual"), name="y")


def plan(loss="ap-exp", n_trees=N_TREES, **changes):
    parts = {"batch_fraction": 1.0, "seed": 0, "gather": Gather(), **changes}
    return Plan(make_loss(loss), n_trees, n_trees * 4 // 5, **parts)


def trained(client, X, y, weight=None, *, binning="quantile", max_bins=256, **changes):
    return cluster.train(
        client, X, y, weight, plan=plan(**changes), settings=SETTINGS, max_bins=max_bins,
        binning=binning,
    )  # fmt: skip


def in_parts(*columns, borders=None):
    """Return pandas columns as Dask ones, cut at the borders or else into three."""
    if borders is None:
        borders = [len(columns[0]) * third // 3 for third in (1, 2)]
    return tuple(
        dd.concat([dd.from_pandas(part, npartitions=1) for part in _cut(column, borders)])
        for column in columns
    )


def _cut(column, borders):
    edges = [0, *borders, len(column)]
    return [column.iloc[i:j] for i, j in pairwise(edges)]


def suspicion(training, X):
    return xgboost_engine.predict_raw(training.booster, training.schema.encode(X))


def check_same(training, local, X):
    """Compare all that a ranker keeps of a training."""
    assert suspicion(training, X) == approx(local.suspicion(X), abs=1e-5)
    assert training.schema == local.schema_
    assert training.classes.tolist() == local.classes_.tolist()
    assert training.positive == local.positive_label_
    assert training.usual == local.usual_
    assert training.calibration == approx(local.calibration_, rel=1e-4)


@pytest.mark.parametrize("loss", ["log", "ap-exp", "ap-sigmoid"])
def test_two_workers_grow_the_trees_of_one_machine(client, loss):
    X, y = table()
    training = trained(client, *in_parts(X, y), loss=loss)
    assert training.n_workers == 2
    check_same(training, BoostedRanker(loss, **LOCALLY).fit(X, y), X)


def test_balanced_bins_weigh_by_the_classes_of_all_workers(client):
    X, y = table(decimals=9)
    order = np.argsort(y == "fraud", kind="stable")  # the first worker holds no positive
    training = trained(
        client, *in_parts(X.iloc[order], y.iloc[order]), binning="balanced", max_bins=8
    )
    alike = [
        np.corrcoef(suspicion(training, X), ranker.fit(X, y).suspicion(X))[0, 1]
        for binning in ("balanced", "quantile")
        for ranker in [BoostedRanker(binning=binning, max_bins=8, **LOCALLY)]
    ]
    assert alike[0] > 0.98
    assert alike[0] > alike[1]


@pytest.mark.parametrize("loss", ["ap-exp", "ap-sigmoid"])
def test_where_the_sketch_differs_average_precision_hardly_does(client, loss):
    (X, y), (new, outcome) = table(12_000, decimals=9), table(12_000, seed=1, decimals=9)
    training = trained(client, *in_parts(X, y), loss=loss)
    local = BoostedRanker(loss, **LOCALLY).fit(X, y)
    here, there = local.suspicion(new), suspicion(training, new)
    precision = [metrics.average_precision(outcome == "fraud", each) for each in (here, there)]
    assert precision[0] > 0.4
    assert precision[1] == approx(precision[0], abs=0.01)
    assert np.corrcoef(here, there)[0, 1] > 0.99


def test_an_empty_partition_and_one_without_positives_change_nothing(client):
    X, y = table()
    order = np.argsort(
        y == "fraud", kind="stable"
    )  # positives come last: the first parts hold none
    X, y = X.iloc[order], y.iloc[order]
    training = trained(client, *in_parts(X, y, borders=(0, 500, 500, 1000)))
    assert training.n_workers == 2
    check_same(training, BoostedRanker(**LOCALLY).fit(X, y), X)


def test_a_worker_without_rows_takes_no_part(client):
    X, y = table()
    training = trained(client, *in_parts(X, y, borders=()))
    assert training.n_workers == 1
    check_same(training, BoostedRanker(**LOCALLY).fit(X, y), X)


def test_weights_count_and_rows_of_no_weight_do_not(client):
    X, y = table()
    weight = pd.Series(np.random.default_rng(1).integers(0, 4, len(y)).astype(float))
    weight.iloc[:666] = 0  # the first partition is left without rows
    training = trained(client, *in_parts(X, y, weight))
    check_same(training, BoostedRanker(**LOCALLY).fit(X, y, weight), X)


def test_batches_are_drawn_on_each_worker(client):
    X, y = table()
    parts = in_parts(X, y)
    whole, batches = (trained(client, *parts, batch_fraction=share) for share in (1.0, 0.5))
    assert 0.8 < np.corrcoef(suspicion(whole, X), suspicion(batches, X))[0, 1] < 0.9999


def test_samples_of_large_data_are_every_nth_row_as_on_one_machine(client, monkeypatch):
    X, y = table()
    monkeypatch.setattr(cluster, "_ROWS_FOR_USUAL", 300)
    monkeypatch.setattr("toprank.reasons._ROWS_FOR_USUAL", 300)
    monkeypatch.setattr(cluster, "_ROWS_FOR_CALIBRATION", 500)
    training = trained(client, *in_parts(X, y))
    local = BoostedRanker(**LOCALLY).fit(X, y)
    assert training.usual == local.usual_
    expected = local.probability(X).sum()
    assert training.calibration.probability(suspicion(training, X)).sum() == approx(
        expected, rel=0.1
    )


def test_progress_hears_of_trees_and_of_the_last(client):
    X, y = table(400)
    told = []
    trained(client, *in_parts(X, y), progress=lambda *each: told.append(each))
    assert told[-1] == (N_TREES, N_TREES)
    assert told == sorted(set(told))


def test_a_killed_worker_is_named_and_the_next_training_works(client):
    X, y = table(400)
    lost, process = oldest_worker(client)

    def kill(n_grown, _):
        if n_grown == 3:
            os.kill(process, signal.SIGKILL)

    with pytest.raises(cluster.LostWorkerError, match=f"worker {lost} was lost while the trees"):
        trained(client, *in_parts(X, y), n_trees=3000, progress=kill)
    client.wait_for_workers(2, timeout=60)
    assert trained(client, *in_parts(X, y)).n_workers == 2


@pytest.mark.parametrize("step", ["_look_at_all", "_grow"])
def test_a_worker_lost_before_or_after_the_trees_grow_is_made_up_for(client, monkeypatch, step):
    X, y = table()
    _, process = oldest_worker(client)
    do = getattr(cluster, step)

    def do_and_kill(*arguments):
        done = do(*arguments)
        os.kill(process, signal.SIGKILL)
        return done

    monkeypatch.setattr(cluster, step, do_and_kill)
    check_same(trained(client, *in_parts(X, y)), BoostedRanker(**LOCALLY).fit(X, y), X)
    client.wait_for_workers(2, timeout=60)


def oldest_worker(client):
    """Return address and process; one killed while it starts would not be started again."""
    processes = client.run(os.getpid)
    return min(processes.items(), key=lambda item: item[1])


def test_an_interrupted_training_leaves_nothing_behind(client, monkeypatch):
    X, y = table(400)
    is_growing = threading.Event()

    def interrupt(*_):
        assert is_growing.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "_wait_for", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trained(client, *in_parts(X, y), n_trees=3000, progress=lambda *_: is_growing.set())
    end = time.monotonic() + 30
    while n_tasks(client) and time.monotonic() < end:
        time.sleep(0.1)
    assert n_tasks(client) == 0
    assert not client.who_has()


def n_tasks(client):
    """Return how many tasks and results the workers hold."""

    def of_one(dask_worker):
        return len(dask_worker.state.tasks)

    return sum(client.run(of_one).values())


def test_what_cannot_be_trained_on_is_refused(client):
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
        ((*parts, in_parts(X.b * 0, borders=(200,))[0]), {}, ValueError, "at least one row of so"),
        (in_parts(X.assign(b=np.inf), y), {}, TableError, "column 'b' must hold finite numbers"),
    ]
    for columns, changes, kind, words in cases:
        with pytest.raises(kind, match=words):
            trained(client, *columns, **changes)


def test_parquet_files_become_features_labels_and_weights(client, tmp_path):
    X, y = table(400)
    whole = pa.Table.from_pandas(X.assign(y=y.where(y.index != 7), value=1.5, id=y.index))
    for start in range(0, 400, 50):
        pq.write_table(whole.slice(start, 50), tmp_path / f"{start:03}.parquet")
    features, labels, weight = cluster.read_parquet(tmp_path, "y", weight="value", drop=["id"])
    assert list(features.columns) == list(X.columns)
    assert len(labels) == 400 - 1
    training = trained(client, features, labels, weight)
    assert training.schema == Schema.of(X)
    assert suspicion(training, X) == approx(
        BoostedRanker(**LOCALLY).fit(X.drop(7), y.drop(7), np.full(399, 1.5)).suspicion(X),
        abs=1e-5,
    )
    with pytest.raises(TableError, match=r"column 'vale' is not in .*; did you mean 'value'"):
        cluster.read_parquet(tmp_path, "y", weight="vale")
    with pytest.raises(FileNotFoundError, match="there is no Parquet file at"):
        cluster.read_parquet(tmp_path / "*.pq", "y")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 100)), min_size=1, max_size=12))
def test_no_worker_gets_more_than_its_fair_share_and_one_partition(parts):
    held_by, n_rows = (list(column) for column in zip(*parts, strict=True))
    chosen = cluster._shared_out(held_by, n_rows, workers=["a", "b", "c"])
    rows_of = Counter()
    for worker, rows in zip(chosen, n_rows, strict=True):
        rows_of[worker] += rows
    assert max(rows_of.values()) <= sum(n_rows) / 3 + max(n_rows)
    if max(Counter(held_by).values()) == 1:
        assert chosen == held_by


COLUMNS = {
    "number": st.none() | st.floats(-1e6, 1e6, width=32),
    "whole": st.none() | st.integers(-(2**40), 2**40),
    "boolean": st.none() | st.booleans(),
    "category": st.none() | st.sampled_from(["DE", "FR", "7", "7.0", ""]),
}
TYPES = {"number": pa.float64(), "whole": pa.int64(), "boolean": pa.bool_(), "category": "string"}


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(*COLUMNS.values()), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_the_schema_of_the_parts_is_that_of_the_whole(rows, borders):
    columns = zip(*rows, strict=True)
    whole = pa.table(
        {name: pa.array(each, TYPES[name]) for name, each in zip(COLUMNS, columns, strict=True)}
    )
    edges = [0, *sorted(min(border, len(rows)) for border in borders), len(rows)]
    parts = [whole.slice(i, j - i) for i, j in pairwise(edges)]
    assert learned(parts) == outcome_of(whole)


@pytest.mark.parametrize(
    "values",
    [
        [f"card {i % 1500}" for i in range(4000)],
        [f"card {i}" for i in range(2000)],
        [7 * i for i in range(2000)],
        [i % 1500 for i in range(4000)],
        [2**53 + 8 * i for i in range(2000)],
        ["31.12.2024", "01.01.2025"] * 4,
        [None] * 8,
    ],
    ids=lambda values: str(values[1]),
)
def test_the_parts_warn_and_refuse_as_the_whole_does(values):
    whole = pa.table({"x": values})
    third = len(values) // 3
    assert learned([whole.slice(0, third), whole.slice(third)]) == outcome_of(whole)


def test_distinct_numbers_are_estimated_when_they_are_many():
    values = pa.table({"x": np.random.default_rng(0).integers(0, 50_000, 200_000)})
    facts = reduce(
        partitions.joined,
        (partitions.facts_of_columns(values.slice(i, 50_000)) for i in range(0, 200_000, 50_000)),
    )
    assert facts["x"].n_distinct() == approx(len(set(values["x"].to_pylist())), rel=0.05)


def test_text_in_one_part_and_numbers_in_another_are_refused():
    parts = [pa.table({"x": ["a"]}), pa.table({"x": [1.5]})]
    with pytest.raises(TableError, match="column 'x' must hold one kind of values"):
        learned(parts)


def learned(parts):
    """Return schema and warnings of the parts, or the error."""
    facts = reduce(partitions.joined, map(partitions.facts_of_columns, parts))
    try:
        return partitions.learned(facts)
    except TableError as error:
        if "one kind" in str(error):
            raise
        return str(error)


def outcome_of(whole):
    """Return schema and warnings of a table, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        try:
            return Schema.of(whole), [str(warning.message) for warning in caught]
        except TableError as error:
            return str(error)


def test_a_ranker_fitted_with_a_client_is_like_any_other(client):
    X, y = table()
    features, labels = in_parts(X, y)
    ranker = BoostedRanker("ap-exp", **LOCALLY).fit(features, labels, client=client)
    alone = BoostedRanker("ap-exp", **LOCALLY).fit(X, y)
    assert ranker.positive_label_ == "fraud"
    assert ranker.suspicion(X) == approx(alone.suspicion(X), abs=1e-4)
    assert ranker.predict_proba(X).shape == (len(X), 2)
    assert ranker.contributions(X[:5]).sum(axis=1) == approx(ranker.suspicion(X[:5]), abs=1e-4)


def test_what_a_cluster_cannot_do_is_refused(client):
    X, y = table()
    with pytest.raises(ValueError, match="eval_set must be left out on a cluster"):
        BoostedRanker().fit(X, y, client=client, eval_set=(X, y))
    with pytest.raises(ValueError, match="engine must be 'xgboost' on a cluster; got 'paper'"):
        BoostedRanker(engine="paper").fit(X, y, client=client)


def test_what_pandas_wrote_as_an_index_is_a_column_like_others(tmp_path):
    frame = pd.DataFrame({"amount": [9.5, 3.0], "is_fraud": [True, False]}, index=[7, 8])
    frame.rename_axis("payment_id").to_parquet(tmp_path / "payments.parquet")
    features, _, _ = cluster.read_parquet(tmp_path, "is_fraud")
    assert sorted(features.columns) == ["amount", "payment_id"]
    features, _, _ = cluster.read_parquet(tmp_path, "is_fraud", drop=["payment_id"])
    assert list(features.columns) == ["amount"]

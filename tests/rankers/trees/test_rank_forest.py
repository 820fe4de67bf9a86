"""RankForest: draws, columns tried, rows left out, and the same forest however it is grown."""

import joblib
import numpy as np
import pytest
from distributed import Client
from pytest import approx
from scipy.special import expit, logit
from sklearn.base import clone

from contracts import check_file_keeps
from dask_clusters import in_this_process
from rankers.trees.kernel.test_meta_tree import assert_same
from rankers.trees.made_payments import numbers, payments
from rankers.trees.peak_memory import peak_over_rows, rows_of_forty_columns
from toprank import GeometricTree, MetaAP, RankForest, TreeRank
from toprank.metrics import average_precision
from toprank.rankers.trees import scoring
from toprank.rankers.trees.kernel.meta_tree import one_of

SMALL = TreeRank(global_depth=2, local_depth=2)


def by_tree(forest, X):
    """Each tree's own suspicion, one row per tree."""
    features = forest.schema_.encode(X)
    values = scoring.shrunk_shares(forest.trees_.nodes, forest._base_tree().shrinkage)
    return np.array(
        [
            values[scoring.leaves(forest.trees_, features, number)]
            for number in range(forest.trees_.n_trees)
        ]
    )


def rows_drawn(forest, X):
    """How often each tree drew each row, one row per tree, from the seeds."""
    seeds = np.random.SeedSequence(forest.random_state).spawn(forest.n_estimators)
    drawn = []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        generator.integers(2**64, dtype=np.uint64)
        drawn.append(np.bincount(generator.integers(len(X), size=len(X)), minlength=len(X)))
    return np.array(drawn)


def mean_share(forest):
    """The mean share of the leaves behind each out-of-bag suspicion."""
    return (expit(forest.oob_suspicion_) - 0.1 * drawn_share(forest)) / 0.9


def drawn_share(forest):
    """The share of positives among all rows that the trees drew."""
    first = forest.trees_.unions.parent < 0
    return forest.trees_.unions.hits[first].sum() / forest.trees_.unions.mass[first].sum()


def test_suspicion_is_the_log_odds_of_the_mean_over_the_trees():
    frame, is_fraud = payments()
    forest = RankForest(n_estimators=20).fit(frame, is_fraud)
    assert forest.trees_.n_trees == 20
    mean = by_tree(forest, frame).mean(axis=0)
    expected = logit(0.9 * mean + 0.1 * drawn_share(forest))
    assert forest.suspicion(frame) == approx(expected)


def test_the_forest_is_the_same_whatever_n_jobs_is():
    frame, is_fraud = payments()
    one, two, most = (
        RankForest(SMALL, n_estimators=35, n_jobs=n_jobs).fit(frame, is_fraud)
        for n_jobs in (None, 2, -1)
    )
    for other in (two, most):
        assert_same(one.trees_, other.trees_)
        assert np.array_equal(one.oob_suspicion_, other.oob_suspicion_, equal_nan=True)
        assert one.calibration_ == other.calibration_


def test_more_trees_leave_the_first_as_they_are():
    frame, is_fraud = payments()
    few, many = (RankForest(SMALL, n_estimators=n).fit(frame, is_fraud) for n in (5, 20))
    assert np.array_equal(by_tree(many, frame)[:5], by_tree(few, frame))


def test_it_grows_on_a_dask_backend():
    frame, is_fraud = payments()
    forest = RankForest(SMALL, n_estimators=20)
    here = clone(forest).fit(frame, is_fraud)
    with in_this_process(n_workers=2) as machines, Client(machines) as client:
        with joblib.parallel_config(backend="dask"):
            there = clone(forest).fit(frame, is_fraud)
        done = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert sum(done.values()) >= 2  # 16 trees and the rest
    assert_same(there.trees_, here.trees_)
    assert np.array_equal(there.oob_suspicion_, here.oob_suspicion_, equal_nan=True)


def test_a_tree_learns_from_the_rows_it_drew():
    X, y = numbers()
    forest = RankForest(SMALL, n_estimators=6, max_features=None).fit(X, y)
    for number, times in enumerate(rows_drawn(forest, X)):
        # a row drawn k times is a row of weight k
        # and the forest keeps the groups from left to right
        alone = clone(SMALL).set_params(positive_label=True, scoring="rank")
        alone.fit(X, y, sample_weight=times)
        tree = one_of(forest.trees_, number)
        assert tree.unions.mass[0] == len(X)
        features = X.astype(np.float32)
        rank = tree.unions.rank[tree.nodes.union[scoring.leaves(tree, features)]]
        assert np.array_equal(rank, alone.apply(X))


def test_out_of_bag_suspicion_is_by_the_trees_that_did_not_draw_the_row():
    frame, is_fraud = payments(150)
    forest = RankForest(n_estimators=6).fit(frame, is_fraud)
    is_left_out = rows_drawn(forest, frame) == 0
    found = by_tree(forest, frame)
    expected = [
        found[left_out, row].mean() if left_out.any() else np.nan
        for row, left_out in enumerate(is_left_out.T)
    ]
    assert np.isnan(expected).any()
    expected = logit(0.9 * np.array(expected) + 0.1 * drawn_share(forest))
    assert forest.oob_suspicion_ == approx(expected, nan_ok=True)


def test_a_row_has_no_say_in_its_own_out_of_bag_suspicion():
    X, y = numbers(60)
    before = RankForest(SMALL, n_estimators=10, positive_label=True).fit(X, y)
    for row in range(5):
        changed = y.copy()
        changed[row] = not y[row]
        after = clone(before).fit(X, changed)
        assert mean_share(after)[row] == approx(mean_share(before)[row])
        assert not np.array_equal(after.suspicion(X), before.suspicion(X))


def test_out_of_bag_suspicion_is_about_as_good_as_on_new_rows():
    X, y = numbers(400)
    new, labels = numbers(2000, seed=1)
    forest = RankForest(n_estimators=30).fit(X, y)
    assert not np.isnan(forest.oob_suspicion_).any()
    out_of_bag = average_precision(y, forest.oob_suspicion_)
    assert out_of_bag == approx(average_precision(labels, forest.suspicion(new)), abs=0.1)
    assert out_of_bag < average_precision(y, forest.suspicion(X)) - 0.1
    assert forest.probability(new).mean() == approx(labels.mean(), abs=0.05)


def test_without_bootstrap_every_tree_learns_from_all_rows():
    X, y = numbers()
    forest = RankForest(SMALL, n_estimators=3, bootstrap=False, max_features=None).fit(X, y)
    assert not hasattr(forest, "oob_suspicion_")
    alone = clone(SMALL).fit(X, y).tree_
    for number in range(3):
        assert_same(one_of(forest.trees_, number), alone, but=("union place",))
    drawn = clone(forest).set_params(max_features=1).fit(X, y)
    assert np.ptp(by_tree(drawn, X), axis=0).max() > 0


@pytest.mark.parametrize(
    ("max_features", "n_tried"),
    [
        ("sqrt", 3),
        (None, 9),
        (4, 4),
        (0.5, 4),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [(1, 1), (99, 9), (1.0, 9), (0.01, 1)]
        ),
    ],
)
def test_so_many_columns_are_tried_for_each_cut(max_features, n_tried):
    X, y = numbers(100, n_columns=9)
    one = RankForest(SMALL, n_estimators=5, max_features=max_features).fit(X, y)
    other = RankForest(SMALL, n_estimators=5, max_features=n_tried).fit(X, y)
    assert_same(one.trees_, other.trees_)
    all_tried = RankForest(SMALL, n_estimators=5, max_features=9).fit(X, y)
    is_first = one.trees_.nodes.column[one.trees_.roots]
    assert (n_tried == 9) == np.array_equal(by_tree(one, X), by_tree(all_tried, X))
    if n_tried == 1:
        assert np.unique(is_first).size > 2


def test_seeds_draw_different_forests():
    X, y = numbers()
    one, again, other = (
        RankForest(SMALL, n_estimators=3, random_state=seed).fit(X, y).suspicion(X)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_its_tree_is_left_alone_and_says_what_trees_are_like():
    X, y = numbers()
    tree = MetaAP(global_depth=1, local_depth=1)
    forest = RankForest(tree, n_estimators=4).fit(X, y)
    assert forest.tree is tree
    assert str(tree) == str(MetaAP(global_depth=1, local_depth=1))
    assert not hasattr(tree, "tree_")
    assert (forest.trees_.n_groups <= 2).all()
    assert (np.bincount(forest.trees_.unions.tree[forest.trees_.nodes.union]) == 3).all()


@pytest.mark.parametrize("tree", [None, SMALL, MetaAP(criterion="ap")], ids=str)
def test_a_file_keeps_what_its_trees_are_like(tree, tmp_path):
    X, y = numbers()
    forest = RankForest(tree, n_estimators=3).fit(X, y)
    again = check_file_keeps(forest, X, tmp_path / "forest.toprank")
    assert str(again.tree) == str(tree)
    assert_same(again.trees_, forest.trees_)
    assert np.array_equal(again.feature_importances_, forest.feature_importances_)


def test_one_positive_is_enough():
    X = np.arange(30.0)[:, None]
    forest = RankForest(n_estimators=20).fit(X, X[:, 0] == 29)
    assert np.argmax(forest.suspicion(X)) == 29
    assert np.isfinite(forest.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"n_estimators": 0}, ValueError, r"n_estimators must be at least 1; got 0"),
        ({"max_features": "log2"}, ValueError, r"max_features must be 'sqrt', .*; got 'log2'"),
        ({"max_features": True}, ValueError, r"max_features must be 'sqrt', .*; got True"),
        ({"max_features": 0}, ValueError, r"max_features must be at least 1; got 0"),
        ({"max_features": 1.5}, ValueError, r"max_features must be .* at most 1; got 1.5"),
        ({"bootstrap": 1}, TypeError, r"bootstrap must .*got 1"),
        (
            {"tree": "MetaAP"},
            TypeError,
            r"tree must .*got 'MetaAP'",
        ),
        ({"tree": MetaAP}, TypeError, r"tree must be a TreeRank, a MetaAP or None"),
        ({"tree": GeometricTree()}, TypeError, r"tree must be a TreeRank, a MetaAP or None"),
        (
            {"tree": MetaAP(depth="cv")},
            ValueError,
            r"tree must have depth=None.*got MetaAP\(depth='cv'\)",
        ),
        (
            {"tree": TreeRank(pruning="cv")},
            ValueError,
            r"pruning=None.*got TreeRank\(pruning='cv'\)",
        ),
        ({"tree": MetaAP(criterion="x")}, ValueError, r"criterion must be one of .*; got 'x'"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(wrong, error, sentence):
    with pytest.raises(error, match=sentence):
        RankForest(**{"n_estimators": 3, **wrong}).fit(*numbers(20))


@pytest.mark.parametrize(
    ("n_rows", "n_trees", "has_weights", "most"),
    [
        (30_000, 1, True, 2.2),
        pytest.param(150_000, 16, False, 2, marks=pytest.mark.slow),
        pytest.param(150_000, 16, True, 2, marks=pytest.mark.slow),
    ],
)
def test_a_fit_takes_at_most_twice_the_memory_of_its_rows(n_rows, n_trees, has_weights, most):
    X = rows_of_forty_columns(n_rows)
    weight = np.linspace(1, 2, len(X))

    def fit(n):
        forest = RankForest(SMALL, n_estimators=n_trees)
        forest.fit(X[:n], X[:n, 0] > 2, weight[:n] if has_weights else None)

    assert peak_over_rows(X, fit) < most


def test_rows_left_out_are_judged_in_every_block_of_rows():
    X, y = numbers(10_000)
    forest = RankForest(SMALL, n_estimators=3).fit(X, y)
    is_left_out = rows_drawn(forest, X) == 0
    total = (by_tree(forest, X) * is_left_out).sum(axis=0)
    has_trees = is_left_out.any(axis=0)
    assert np.array_equal(np.isnan(forest.oob_suspicion_), ~has_trees)
    mean = total[has_trees] / is_left_out.sum(axis=0)[has_trees]
    assert mean_share(forest)[has_trees] == approx(mean)

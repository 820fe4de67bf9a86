"""Flat trees: XGBoost's scores to the last bit, and shares by the definition of Shapley."""

import gc
import pickle
from threading import Thread

import numpy as np
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.ensemble import ExtraTreesRegressor

import reference
from examples import examples
from toprank.rankers.boosted import booster_trees, flat_trees, xgboost_engine

pytestmark = pytest.mark.kernel

N_COLUMNS = 4
TYPES = ["q", "q", "c", "q"]


def rows(n_rows, seed=0):
    """Return rows with ties, gaps and a column of codes from 0 to 5."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n_rows, N_COLUMNS)).round(1).astype(np.float32)
    features[:, 2] = generator.integers(6, size=n_rows)
    features[generator.random(features.shape) < 0.15] = np.nan
    return features


def grown(seed=0, n_trees=5, **settings):
    """Return a booster grown on rows like those."""
    features = rows(200, seed)
    target = np.nan_to_num(features[:, 0] * features[:, 1]) + (features[:, 2] == 3)
    matrix = xgboost.DMatrix(features, target, feature_types=TYPES, enable_categorical=True)
    named = {"max_depth": 3, "nthread": 1, "seed": seed, "base_score": 0.3, **settings}
    return xgboost.train(named, matrix, n_trees)


def forest(seed=0):
    """Return scikit-learn's deep trees as a booster."""
    features = rows(200, seed)
    trees = ExtraTreesRegressor(5, random_state=seed).fit(features, np.nan_to_num(features[:, 0]))
    parts = [
        booster_trees.xgboost_tree(tree.tree_, tree.tree_.value[:, 0, 0], N_COLUMNS)
        for tree in trees.estimators_
    ]
    return booster_trees.booster_of(parts, 0.25, N_COLUMNS)


def classifier():
    """Return a booster whose start is written as a probability."""
    features = rows(200)
    matrix = xgboost.DMatrix(
        features, features[:, 0] > 0.5, feature_types=TYPES, enable_categorical=True
    )
    named = {"objective": "binary:logistic", "base_score": 0.2, "nthread": 1, "max_depth": 3}
    return xgboost.train(named, matrix, 5)


BOOSTERS = {
    "shallow": grown,
    "one-hot categories": lambda: grown(max_cat_to_onehot=10),
    "deep": lambda: grown(max_depth=12, min_child_weight=0, learning_rate=1),
    "leaf by leaf": lambda: grown(grow_policy="lossguide", max_depth=0, max_leaves=9),
    "pruned": lambda: grown(gamma=1.5),
    "nothing to cut": lambda: grown(gamma=1e9),
    "several trees per round": lambda: grown(num_parallel_tree=3, subsample=0.5),
    "a probability to start from": classifier,
    "forest": forest,
}


@pytest.fixture(scope="module", params=BOOSTERS)
def booster(request):
    return BOOSTERS[request.param]()


def test_scores_are_those_of_xgboost_to_the_last_bit(booster):
    features = rows(100, seed=9)
    flat = flat_trees.of(booster)

    assert flat.is_exact
    expected = booster.inplace_predict(features, predict_type="margin", validate_features=False)
    assert np.array_equal(flat.raw(features), expected)
    assert np.array_equal(xgboost_engine.predict_raw(booster, features), expected)
    each = [xgboost_engine.predict_raw(booster, features[i : i + 1]) for i in range(20)]
    assert np.array_equal(np.concatenate(each), expected[:20])


def test_shares_are_those_of_xgboost_up_to_its_rounding(booster):
    features = rows(100, seed=9)
    flat = flat_trees.of(booster)
    has_categories = (flat.nodes.set_start >= 0).any()
    matrix = xgboost.DMatrix(
        features, feature_types=TYPES if has_categories else None, enable_categorical=True
    )
    for ours, is_path in ((flat.shares, False), (flat.path_shares, True)):
        expected = booster.predict(
            matrix, pred_contribs=True, approx_contribs=is_path, validate_features=False
        )
        assert ours(features) == approx(expected, abs=1e-5)


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.booleans())
def test_shares_are_those_of_every_order_of_features(seed, depth, is_one_hot):
    booster = grown(
        seed % 5, n_trees=2, max_depth=depth, learning_rate=1,
        max_cat_to_onehot=10 if is_one_hot else 1,
    )  # fmt: skip
    row = rows(1, seed)
    trees, start = booster_trees.trees_of(booster), booster_trees.start_of(booster)
    for ours, twin in (
        (flat_trees.of(booster).shares, reference.xgboost_shares),
        (flat_trees.of(booster).path_shares, reference.xgboost_path_shares),
    ):
        expected = twin(trees, row[0])
        expected[-1] += start
        assert ours(row)[0] == approx(expected, abs=1e-6)


def test_shares_add_up_to_the_score_from_one_start(booster):
    features = rows(50, seed=3)
    flat = flat_trees.of(booster)
    for shares in (flat.shares(features), flat.path_shares(features)):
        assert shares.sum(axis=1) == approx(flat.raw(features), abs=1e-5)
        assert (shares[:, -1] == shares[0, -1]).all()


def test_a_row_has_the_same_shares_alone_and_among_others(booster):
    features = rows(10, seed=4)
    flat = flat_trees.of(booster)
    for ours in (flat.shares, flat.path_shares):
        together = ours(features)
        alone = [ours(features[i : i + 1])[0] for i in range(10)]
        assert np.array_equal(together, alone)
        assert np.array_equal(ours(np.asfortranarray(features)), together)


def test_a_category_beyond_those_of_a_cut_goes_where_xgboost_sends_it():
    generator = np.random.default_rng(0)
    codes = generator.integers(40, size=(400, 1)).astype(np.float32)
    risk = generator.random(40)
    matrix = xgboost.DMatrix(
        codes, risk[codes[:, 0].astype(int)], feature_types=["c"], enable_categorical=True
    )
    booster = xgboost.train({"nthread": 1, "max_cat_to_onehot": 1}, matrix, 5)
    every = np.append(np.arange(80), np.nan).astype(np.float32)[:, None]
    flat = flat_trees.of(booster)

    assert flat.nodes.set_size.max() > 8
    expected = booster.inplace_predict(every, predict_type="margin", validate_features=False)
    assert np.array_equal(flat.raw(every), expected)


def test_a_side_without_rows_has_no_share():
    tree = booster_trees.trees_of(grown(n_trees=1))[0]
    tree["sum_hessian"] = [0.0] * len(tree["sum_hessian"])
    booster = booster_trees.booster_of([tree], 0.0, N_COLUMNS)
    row = rows(1, seed=2)
    assert flat_trees.of(booster).shares(row)[0] == approx(
        reference.xgboost_shares([tree], row[0])
    )


def test_where_xgboost_starts_elsewhere_it_scores_single_rows_itself():
    poisson = xgboost.train(
        {"objective": "count:poisson", "base_score": 2.0, "nthread": 1},
        xgboost.DMatrix(rows(100), np.arange(100) % 3),
        3,
    )
    assert not flat_trees.of(poisson).is_exact  # its start is the logarithm of what is written
    features = rows(5, seed=1)
    expected = xgboost_engine.predict_raw(poisson, features)
    assert xgboost_engine.predict_raw(poisson, features[:1]) == expected[:1]


def test_trees_are_flattened_once_and_freed_with_their_booster():
    booster = grown()
    flat = flat_trees.of(booster)
    assert flat_trees.of(booster) is flat
    assert flat_trees.of(booster[:2]) is not flat
    copy = pickle.loads(pickle.dumps(booster))
    assert not any("flat" in name for name in vars(copy))
    n_known = len(flat_trees._known)
    del booster
    gc.collect()
    assert len(flat_trees._known) < n_known


def test_a_booster_that_grew_is_flattened_anew():
    booster, features = grown(n_trees=2), rows(3)
    before = xgboost_engine.predict_raw(booster, features[:1])
    booster.update(
        xgboost.DMatrix(rows(50), np.arange(50), feature_types=TYPES, enable_categorical=True), 2
    )
    after = xgboost_engine.predict_raw(booster, features[:1])
    assert after != before
    assert after == xgboost_engine.predict_raw(booster, features)[:1]


def test_many_threads_at_once_get_the_same_trees():
    booster, features, found = grown(n_trees=20), rows(30), []

    def look():
        found.append((flat_trees.of(booster), flat_trees.of(booster).shares(features)))

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(flat) for flat, _ in found}) == 1
    assert all(np.array_equal(shares, found[0][1]) for _, shares in found)

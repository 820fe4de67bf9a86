"""The randomised forest: converted exactly, with ordered categories and true shares."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import logit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import ExtraTreeClassifier

from rankers.auto.encoded import COLUMNS, number_columns, numbers, payments
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Column
from toprank.files import Saved
from toprank.rankers.auto import forest_member as forest_module
from toprank.rankers.auto.forest_member import ForestMember, RandomisedForest
from toprank.rankers.boosted import booster_trees, xgboost_engine


def fitted(rows, columns=COLUMNS, n_trees=30, **options):
    return RandomisedForest(n_trees, **options).fit(rows, columns, seed=0, n_threads=1)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("limit", [{}, {"max_leaf_nodes": 9}, {"max_depth": 1}], ids=str)
def test_a_converted_tree_scores_as_scikit_learn_does(missing, limit):
    generator = np.random.default_rng(0)
    features = generator.normal(size=(300, 5)).astype(np.float32)
    features[:, 1] = features[:, 1].round(1)
    is_positive = features[:, 0] + features[:, 1] > 1
    features[generator.random(features.shape) < missing] = np.nan
    tree = ExtraTreeClassifier(random_state=0, **limit).fit(features, is_positive)
    # rows on the cuts themselves, and missing values where training had none
    rows = np.concatenate([features, np.repeat(tree.tree_.threshold, 5).reshape(-1, 5)])
    rows = rows.astype(np.float32)
    if missing:
        rows = np.concatenate([rows, np.full((1, 5), np.nan, np.float32)])
    converted = booster_trees.xgboost_tree(tree.tree_, tree.tree_.value[:, 0, 1], 5)
    booster = booster_trees.booster_of([converted], 0.0, 5)

    scores = xgboost_engine.predict_raw(booster, rows)
    assert scores == approx(tree.predict_proba(rows)[:, 1], abs=1e-6)


def test_values_missing_for_the_first_time_go_where_scikit_learn_sends_them():
    rows, columns = numbers(200, n_positive=60), number_columns(3)
    holes = rows.features.copy()
    holes[::2, 0] = holes[::3, 1] = np.nan
    twin = ExtraTreesClassifier(30, random_state=0).fit(rows.features, rows.is_positive)
    member = fitted(rows, columns)

    share = xgboost_engine.predict_raw(member.booster, holes)
    assert share == approx(twin.predict_proba(holes)[:, 1], abs=1e-5)


def test_the_score_is_the_log_odds_of_the_mean_share_and_never_surer_than_half_a_tree():
    rows, columns = numbers(200, n_positive=60), number_columns(3)
    twin = ExtraTreesClassifier(30, random_state=0).fit(rows.features, rows.is_positive)
    elsewhere = numbers(200, seed=1).features
    share = twin.predict_proba(elsewhere)[:, 1]

    expected = logit(np.clip(share, 0.5 / 30, 1 - 0.5 / 30))
    assert fitted(rows, columns).raw(elsewhere) == approx(expected, abs=1e-4)
    # deep trees memorise their own rows
    assert set(fitted(rows, columns).raw(rows.features).round(4)) == {
        round(float(logit(0.5 / 30)), 4),
        round(float(logit(1 - 0.5 / 30)), 4),
    }


def test_a_category_becomes_its_smoothed_share_of_positives():
    features = np.array([[0], [0], [0], [1], [1], [np.nan]], np.float32)
    is_positive = np.array([True, True, False, False, False, True])
    columns = (Column("country", "category", ("DE", "FR", "US")),)
    whole = 3 / 6
    order = fitted(TrainingRows(features, is_positive, None), columns).orders[0]
    assert order == approx([(2 + 2 * whole) / 5, (0 + 2 * whole) / 4, whole], abs=1e-6)

    weight = np.array([3.0, 1, 1, 1, 2, 2])
    whole = 6 / 10
    weighed = fitted(TrainingRows(features, is_positive, weight), columns).orders[0]
    assert weighed == approx([(4 + 2 * whole) / 7, (0 + 2 * whole) / 5, whole], abs=1e-6)


def test_a_category_that_decides_is_found():
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 40, 800).astype(np.float32)
    is_positive = np.isin(codes, (3, 17, 31))  # no order of codes puts these together
    columns = (Column("shop", "category", tuple(map(str, range(40)))),)
    member = fitted(TrainingRows(codes[:, None], is_positive, None), columns)
    raw = member.raw(codes[:, None])
    assert raw[is_positive].min() > raw[~is_positive].max()


def test_reasons_keep_their_size_and_sign_where_a_row_is_as_suspicious_as_most():
    # 5 % positives and 100 trees: a row on which 5 trees say yes ends where it started, though
    # its features pull both ways
    generator = np.random.default_rng(0)
    features = generator.normal(size=(1000, 4)).astype(np.float32)
    risk = features[:, 0] + features[:, 1] + 0.7 * generator.normal(size=1000)
    is_positive = risk >= np.sort(risk)[-50]
    member = fitted(TrainingRows(features, is_positive, None), number_columns(4), n_trees=100)
    elsewhere = generator.normal(size=(2000, 4)).astype(np.float32)
    shares = xgboost_engine.path_contributions(member.booster, elsewhere)
    rise = shares[:, :-1].sum(axis=1)
    contributions = member.contributions(elsewhere)

    assert (np.abs(rise) < 1e-6).any()
    # the slope of the log-odds between 1 in 20 and nearby shares; at most that at half a tree
    slope = contributions[:, :-1] / np.where(shares[:, :-1] == 0, np.nan, shares[:, :-1])
    assert np.nanmin(slope) > 0
    assert np.nanmax(slope) < 100
    at_start = np.abs(rise) < 1e-6
    assert slope[at_start][np.isfinite(slope[at_start])] == approx(1 / (0.05 * 0.95), rel=1e-3)
    assert contributions.sum(axis=1) == approx(member.raw(elsewhere), abs=1e-9)


def test_many_rows_are_sampled_and_their_trees_kept_small(monkeypatch):
    monkeypatch.setattr(forest_module, "_MOST_ROWS", 120)
    monkeypatch.setattr(forest_module, "_MOST_LEAVES", 10)
    member = fitted(numbers(2000, n_positive=40), number_columns(3), n_trees=5)
    for tree in booster_trees.trees_of(member.booster):
        is_leaf = np.array(tree["left_children"]) < 0
        assert is_leaf.sum() == 10
        # all positives, and the other 80 rows represent 1,960
        assert tree["sum_hessian"][0] == approx(2000, rel=1e-5)


def test_threads_do_not_change_a_score():
    rows, elsewhere = numbers(300, n_positive=100), numbers(300, seed=1).features
    recipe = RandomisedForest(30, rows_per_leaf=7)  # shares with rounding errors
    one, *others = (
        recipe.tried(rows, number_columns(3), elsewhere, seed=0, n_threads=n_threads)
        for n_threads in (1, 2, 4)
    )
    for other in others:
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "orders",
    [
        np.zeros(4, np.float32),
        np.zeros((5, 1), np.float32),
        np.zeros(5, np.float64),
        np.array([0, 0, 0, 0, np.nan], np.float32),
        np.array([0, 0, 0, 0, np.inf], np.float32),
    ],
    ids=str,
)
def test_orders_that_do_not_fit_the_categories_are_rejected(orders):
    parts = fitted(payments()).parts()
    with pytest.raises(ValueError, match="orders must be"):
        ForestMember.from_parts(Saved({}, {"orders": orders}, parts.boosters), COLUMNS)


def test_several_category_columns_keep_their_own_orders():
    first, second = payments(), payments(seed=1)
    rows = TrainingRows(np.hstack([first.features, second.features]), first.is_positive, None)
    more = tuple(Column(f"{column.name}2", column.kind, column.categories) for column in COLUMNS)
    member = fitted(rows, COLUMNS + more)
    restored = ForestMember.from_parts(member.parts(), COLUMNS + more)

    assert list(restored.orders) == [2, 6]
    for number, order in member.orders.items():
        assert np.array_equal(restored.orders[number], order)

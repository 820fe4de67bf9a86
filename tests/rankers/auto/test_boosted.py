"""Boosted trees as a member: bags, stages and words."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import COLUMNS, number_columns, payments
from toprank.files import Saved
from toprank.losses import make_loss
from toprank.rankers.auto import boosted
from toprank.rankers.auto.boosted import BoostedMember, BoostedTrees, GrowingTrees, check_features
from toprank.rankers.boosted import booster_trees, xgboost_engine

PLAIN = BoostedTrees(n_trees=10)
DRAWN = BoostedTrees(n_trees=10, random_share=0.6)


def fitted(recipe, rows, seed=0):
    return recipe.fit(rows, COLUMNS, seed=seed, n_threads=1)


@pytest.mark.parametrize("recipe", [DRAWN, BoostedTrees("ap-exp", n_trees=10, random_share=0.6)])
def test_the_mean_of_bags_is_the_mean_of_the_boosters(recipe):
    rows, features = payments(), payments(seed=1).features
    bags = [fitted(recipe, rows, seed=7 + bag) for bag in range(4)]
    mean = fitted(replace(recipe, n_bags=4), rows, seed=7)

    assert not np.allclose(bags[0].raw(features), bags[1].raw(features), atol=0.01)
    expected = np.mean([bag.raw(features) for bag in bags], axis=0)
    assert mean.raw(features) == approx(expected, abs=1e-5)
    shares = np.mean([bag.contributions(features) for bag in bags], axis=0)
    assert mean.contributions(features) == approx(shares, abs=1e-5)
    assert mean.booster.num_boosted_rounds() == 40


def test_bags_cut_by_categories():
    trees = booster_trees.trees_of(fitted(BoostedTrees(n_trees=10, n_bags=2), payments()).booster)
    assert any(1 in tree["split_type"] for tree in trees)


def test_bags_without_a_draw_are_all_the_same():
    rows = payments()
    one, five = (fitted(BoostedTrees(n_trees=6, n_bags=bags), rows) for bags in (1, 5))
    assert five.raw(rows.features) == approx(one.raw(rows.features), abs=1e-5)


@pytest.mark.parametrize(("room", "n_bags"), [(0.5, 1), (2.5, 2), (100, 4)])
def test_there_are_as_many_bags_as_a_model_has_room_for(room, n_bags, monkeypatch):
    rows = payments()
    one_bag = len(fitted(DRAWN, rows).booster.save_raw("ubj"))
    monkeypatch.setattr(boosted, "_MOST_BYTES", int(room * one_bag))
    member = fitted(replace(DRAWN, n_bags=4), rows)

    assert member.booster.num_boosted_rounds() == 10 * n_bags


def test_the_start_is_the_log_odds_of_the_positives():
    rows = payments()
    member = fitted(BoostedTrees(n_trees=1, learning_rate=1e-9), rows)
    start = make_loss("log").start(rows.is_positive, None)
    assert member.raw(rows.features) == approx(np.full(240, start), abs=1e-5)


def test_each_stage_is_the_score_of_the_first_trees():
    rows, features = payments(), payments(seed=1).features
    growth = GrowingTrees(PLAIN, rows, COLUMNS, features, seed=0, n_threads=1)

    for n_trees in (2, 5, 9, 2):
        alone = PLAIN.with_trees(n_trees).tried(rows, COLUMNS, features, seed=0, n_threads=1)
        assert growth.to(n_trees) == approx(alone, abs=1e-6)
    assert growth.booster.num_boosted_rounds() == 9


def test_later_stages_draw_other_rows_and_columns():
    rows, features = payments(), payments(seed=1).features
    growth = GrowingTrees(DRAWN, rows, COLUMNS, features, seed=0, n_threads=1)
    growth.to(3)
    growth.to(6)
    first, *_, fourth, _, _ = (growth.booster[n : n + 1].get_dump() for n in range(6))
    assert first != fourth
    again = GrowingTrees(DRAWN, rows, COLUMNS, features, seed=0, n_threads=1)
    again.to(3)
    assert np.array_equal(again.to(6), growth.to(6))


def test_another_loss_continues_from_the_log_loss_trees():
    rows, features = payments(), payments(seed=1).features
    growth = GrowingTrees(PLAIN, rows, COLUMNS, features, seed=0, n_threads=1)
    for n_trees in (1, 10):
        other = replace(PLAIN, loss="ap-lambda", n_trees=n_trees)
        alone = other.tried(rows, COLUMNS, features, seed=0, n_threads=1)
        assert growth.then("ap-lambda", n_trees) == approx(alone, abs=1e-6)


def test_trees_of_many_leaves_grow_leaf_by_leaf():
    booster = fitted(BoostedTrees(n_trees=2, max_leaves=9, least_weight=0.01), payments()).booster
    for tree in booster_trees.trees_of(booster):
        assert np.sum(np.array(tree["left_children"]) < 0) <= 9
    assert max(dump.count("leaf") for dump in booster.get_dump()) == 9


def test_small_leaves_are_allowed_only_where_the_recipe_says_so():
    rows = payments(n=1000)
    rows = rows._replace(is_positive=rows.is_positive & (np.arange(1000) % 10 == 0))
    usual, small = (
        fitted(BoostedTrees(n_trees=1, max_depth=8, least_weight=weight), rows)
        for weight in (1.0, 0.05)
    )
    n_leaves = [member.booster.get_dump()[0].count("leaf") for member in (usual, small)]
    assert n_leaves[1] > 2 * n_leaves[0]


def test_more_rows_trees_columns_and_bags_are_more_work():
    base = BoostedTrees(n_trees=10)
    work = base.work(10**6, 10)
    assert base.work(2 * 10**6, 10) == approx(2 * work, rel=0.1)
    assert base.work(10**6, 20) == 2 * work
    assert replace(base, n_bags=3).work(10**6, 10) == 3 * work
    assert replace(base, max_leaves=255).work(10**6, 10) > 3 * work


def test_the_last_fifth_of_the_trees_learns_the_other_loss():
    rows = payments()
    log, ap = (fitted(BoostedTrees(loss, n_trees=10), rows) for loss in ("log", "ap-exp"))
    first = [xgboost_engine.predict_raw(each.booster[:8], rows.features) for each in (log, ap)]
    assert np.array_equal(*first)
    assert not np.allclose(log.raw(rows.features), ap.raw(rows.features), atol=1e-3)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (BoostedTrees(), "300 trees of depth 4 on log-loss"),
        (DRAWN, "10 trees of depth 4 on log-loss, rows and columns drawn"),
        (
            BoostedTrees("ap-exp", max_depth=6, binning="balanced"),
            "300 trees of depth 6 on log-loss, then ap-exp, balanced bins",
        ),
        (
            BoostedTrees(max_leaves=63, least_weight=0.2),
            "300 trees of 63 leaves on log-loss, small leaves",
        ),
    ],
)
def test_the_words_distinguish_recipes(recipe, words):
    assert recipe.words == words


def test_trees_of_other_columns_are_rejected():
    member = fitted(DRAWN, payments())
    check_features(member.booster, COLUMNS)
    with pytest.raises(ValueError, match="columns must be 3; got 4"):
        BoostedMember.from_parts(Saved(*member.parts()), number_columns(3))

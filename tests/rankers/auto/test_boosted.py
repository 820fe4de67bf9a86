"""Boosted trees as a member: bags, stages and words."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import COLUMNS, number_columns, payments
from toprank.files import Saved
from toprank.losses import make_loss
from toprank.rankers.auto import boosted
from toprank.rankers.auto.boosted import BoostedMember, BoostedTrees, check_features
from toprank.rankers.boosted import booster_trees

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
    staged = DRAWN.tried_in_stages((2, 5, 9), rows, COLUMNS, features, seed=0, n_threads=1)

    assert staged.shape == (240, 3)
    for column, n_trees in zip(staged.T, (2, 5, 9), strict=True):
        alone = DRAWN.with_trees(n_trees).tried(rows, COLUMNS, features, seed=0, n_threads=1)
        assert column == approx(alone, abs=1e-6)


def test_the_last_fifth_of_the_trees_learns_the_other_loss():
    rows = payments()
    log, ap = (fitted(BoostedTrees(loss, n_trees=10), rows) for loss in ("log", "ap-exp"))
    assert np.array_equal(log.raw(rows.features, 8), ap.raw(rows.features, 8))
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
    ],
)
def test_the_words_distinguish_recipes(recipe, words):
    assert recipe.words == words


def test_trees_of_other_columns_are_rejected():
    member = fitted(DRAWN, payments())
    check_features(member.booster, COLUMNS)
    with pytest.raises(ValueError, match="columns must be 3; got 4"):
        BoostedMember.from_parts(Saved(*member.parts()), number_columns(3))

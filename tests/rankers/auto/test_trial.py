"""Blends: standardised scores, and weights that trust few positives little."""

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import number_columns, numbers
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.judge import Judge
from toprank.rankers.auto.judged_folds import JudgedFold, JudgedFolds
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.rankers.auto.trial import Trial, blend, blended_trial, centre_spread, scales_of


def test_a_blend_is_the_mean_of_standardised_scores():
    first, second = np.array([1.0, 3.0]), np.array([10.0, 50.0])
    scales = scales_of((first, second), (0.5, 0.5))
    assert blend((first, second), scales) == approx([-1, 1])
    elsewhere = np.array([2.0]), np.array([70.0])
    assert blend(elsewhere, scales) == approx([(0 + 2) / 2])


def test_a_row_is_blended_alike_alone_and_in_a_batch():
    generator = np.random.default_rng(0)
    scores, scales = list(generator.normal(size=(9, 300))), [(0.1, 0.7)] * 9
    together = blend(scores, scales)
    alone = [blend([each[[row]] for each in scores], scales)[0] for row in range(300)]
    assert together.tolist() == alone


def test_weights_are_those_of_the_standardised_scores():
    first, second = np.array([1.0, 3.0]), np.array([10.0, 50.0])
    scales = scales_of((first, second), (0.8, 0.2))
    assert blend((np.array([4.0]), np.array([70.0])), scales) == approx([0.8 * 2 + 0.2 * 2])
    assert blend((np.array([4.0]), np.array([30.0])), scales) == approx([0.8 * 2])


def test_one_recipe_keeps_its_own_scores():
    scores = np.array([1.0, 5.0])
    assert np.array_equal(blend((scores,), scales_of((scores,), (1.0,))), scores)


@pytest.mark.parametrize("noise", [0.0, 1e-7, 0.05])
def test_scores_that_hardly_differ_have_no_scale_of_their_own(noise):
    scores = 0.1 + noise * np.random.default_rng(0).normal(size=100)
    centre, spread = centre_spread(scores)
    assert centre == approx(0.1, abs=0.02)
    assert spread == 1.0
    assert centre_spread(np.array([1.0, 2.0])) == (1.5, 0.5)


def blended(n_positive, qualities):
    """Return the blend of a forest and a line that rank positives so many deviations higher."""
    rows = numbers(20 * n_positive, n_positive=n_positive)
    everything = np.arange(rows.is_positive.size)
    judging = JudgedFolds([JudgedFold(everything, everything)], "all")
    judge = Judge(rows, number_columns(3), judging, 0, 1)
    generator = np.random.default_rng(0)
    trials = []
    for recipe, quality in zip((RandomisedForest(), SmoothModel()), qualities, strict=True):
        scores = quality * rows.is_positive + generator.normal(size=everything.size)
        trials.append(Trial((recipe,), (scores,), judge.standing(scores), 1.0))
    return blended_trial(judge, trials)


def test_with_few_positives_weights_stay_near_equal():
    assert blended(5, (4.0, 0.0)).weights == approx((0.5, 0.5), abs=0.05)


def test_with_many_positives_the_better_one_weighs_more():
    forest, line = blended(400, (3.0, 2.0)).weights
    assert forest > line + 0.05
    assert forest + line == approx(1)


def test_a_member_that_only_spoils_the_blend_is_dropped():
    only = blended(2000, (3.0, 0.0))
    assert only.recipes == (RandomisedForest(),)
    assert only.weights == (1.0,)

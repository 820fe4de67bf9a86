"""The search: what it tries, when it keeps plain log-loss, and what it does without time."""

import zlib
from typing import ClassVar

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import COUNTRY, number_columns, numbers
from toprank import splits
from toprank.data.inputs import TrainingRows
from toprank.rankers.auto import search as search_module
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.judge import Judge
from toprank.rankers.auto.judged_folds import JudgedFold, JudgedFolds
from toprank.rankers.auto.search import LOSSES_TRIED, blend, centre_spread, scales_of, search
from toprank.rankers.auto.smooth_member import SmoothModel

PLAIN = BoostedTrees(n_trees=60)


class Scripted(Judge):
    """A judge who does not fit anything: `qualities` says how well a recipe ranks.

    Each recipe's scores are that many standard deviations higher for positives, plus noise of
    its own.
    """

    qualities: ClassVar[dict] = {}

    def scores(self, recipe):
        quality = self.qualities.get(kind_of(recipe), self.qualities.get("else", 0.0))
        noise = np.random.default_rng(zlib.crc32(recipe.words.encode()))
        return quality * self.is_positive + noise.normal(size=self.is_positive.size), 1.0

    def scores_in_stages(self, recipe, stages):
        return {n_trees: self.scores(recipe.with_trees(n_trees))[0] for n_trees in stages}, 1.0


def kind_of(recipe):
    if isinstance(recipe, BoostedTrees):
        shape = "plain" if recipe.random_share == 1 and recipe.loss == "log" else recipe.max_depth
        return shape if recipe.loss == "log" else recipe.loss
    return "forest" if isinstance(recipe, RandomisedForest) else f"smooth {recipe.degree}"


def scripted(qualities, n=2000, n_positive=100, columns=None):
    columns = number_columns(3) if columns is None else columns
    rows = numbers(n, n_columns=len(columns), n_positive=n_positive)
    judging = JudgedFolds([JudgedFold(np.arange(n), np.arange(n))], "all")
    judge = Scripted(rows, columns, judging, 0, 1)
    judge.qualities = qualities
    return judge


def kinds_of(trial):
    return [kind_of(recipe) for recipe in trial.recipes]


def found(rows, columns, n_trees, **options):
    folds = [JudgedFold(*part) for part in splits.folds(rows.is_positive, 3)]
    judge = Judge(rows, columns, JudgedFolds(folds, "folds"), 0, 1)
    return search(judge, n_trees, **options)


# What wins


def test_plain_log_loss_comes_first_and_stays_when_nothing_leads_it():
    outcome = search(scripted({"plain": 2.0, "else": 0.5}), 60)

    assert outcome.plain.recipes == (PLAIN,)
    assert outcome.winner is outcome.plain


def test_a_tie_goes_to_plain_log_loss():
    class AllTheSame(Scripted):
        def scores(self, recipe):
            return self.rows.features[:, 0].astype(float), 1.0

    judge = scripted({})
    same = AllTheSame(judge.rows, judge.columns, judge.judging, 0, 1)
    outcome = search(same, 60)

    assert outcome.winner is outcome.plain
    assert outcome.reason == "nothing else is clearly better"
    assert len(outcome.trials) > 5


def test_the_blend_of_every_kind_wins_when_all_are_as_good():
    outcome = search(scripted({"else": 1.5}), 60)

    kinds = kinds_of(outcome.winner)
    assert len(kinds) == 3
    assert kinds[1] == "forest"
    assert outcome.reason == "the blend of every kind is the most stable choice"
    assert outcome.winner.standing.ahead_of(outcome.plain.standing) >= search_module.AHEAD


def test_one_kind_wins_alone_when_the_others_only_spoil_it():
    outcome = search(scripted({"forest": 4.0, "else": 0.0}), 60)

    assert kinds_of(outcome.winner) == ["forest"]
    assert outcome.reason == "it leads the blend of every kind beyond doubt"


def test_plain_log_loss_may_lead_the_blend_too():
    outcome = search(scripted({"plain": 4.0, "else": 0.0}), 60)

    assert outcome.winner is outcome.plain
    assert outcome.reason == "it leads the blend of every kind beyond doubt"


def test_drawn_trees_enter_the_blend_only_beyond_doubt():
    for quality, expected in ((3.0, 6), (0.5, "plain")):
        qualities = {"plain": 1.0, 6: quality, "forest": 1.0, "smooth 1": 1.0, "else": 0.0}
        outcome = search(scripted(qualities), 60)
        widest = max(outcome.trials, key=lambda trial: len(trial.recipes))
        assert kinds_of(widest)[0] == expected


def test_the_better_smooth_model_enters_the_blend():
    for better, other in (("smooth 1", "smooth 2"), ("smooth 2", "smooth 1")):
        outcome = search(scripted({better: 3.0, other: 0.0, "else": 1.0}), 60)
        widest = max(outcome.trials, key=lambda trial: len(trial.recipes))
        assert kinds_of(widest)[2] == better


def test_another_loss_is_taken_when_it_leads_the_best_trees_beyond_doubt():
    outcome = search(scripted({"plain": 1.0, "ap-lambda": 3.0, "else": 0.0}), 60)

    widest = max(outcome.trials, key=lambda trial: len(trial.recipes))
    assert kinds_of(widest)[0] == "ap-lambda"


# What is tried


def words_tried(judge, n_trees=60):
    return [trial.words for trial in search(judge, n_trees).trials if len(trial.recipes) == 1]


def test_losses_need_enough_positives_and_bins_enough_rows():
    words = words_tried(scripted({}, n=500, n_positive=20))
    assert len(words) == 7  # plain, three depths, forest, two smooth ones
    assert not any("ap-" in each or "balanced" in each for each in words)

    words = words_tried(scripted({}, n=10_000, n_positive=60))
    assert sum("ap-" in each for each in words) == 2
    assert sum("balanced" in each for each in words) == 1


@pytest.mark.parametrize("losses", [(), ("ap-lambda",), ("auc-exp", "ap-sigmoid")])
def test_no_loss_is_trained_but_log_loss_and_those_that_may_be_tried(losses):
    judge = scripted({"else": 1.0})
    trained = []
    judge.scores = lambda recipe: trained.append(recipe) or Scripted.scores(judge, recipe)
    outcome = search(judge, 60, losses=losses)

    boosted = [recipe for recipe in trained if isinstance(recipe, BoostedTrees)]
    assert {recipe.loss for recipe in boosted} == {"log", *losses}
    assert not outcome.left_out  # other losses do not count as skipped


def test_by_default_two_surrogates_of_average_precision_are_tried():
    words = " ".join(words_tried(scripted({})))
    assert LOSSES_TRIED == ("ap-exp", "ap-lambda")
    assert all(loss in words for loss in LOSSES_TRIED)


def test_deep_trees_need_many_positives():
    few, many = (words_tried(scripted({}, n_positive=n)) for n in (199, 200))
    assert not any("depth 8" in each for each in few)
    assert any("depth 8" in each for each in many)


def test_stages_are_shares_of_the_given_number_of_trees():
    asked = []

    class Asked(Scripted):
        def scores_in_stages(self, recipe, stages):
            asked.append(stages)
            return super().scores_in_stages(recipe, stages)

    for n_trees, n_positive in ((300, 50), (300, 200), (1, 50)):
        judge = scripted({}, n_positive=n_positive)
        search(Asked(judge.rows, judge.columns, judge.judging, 0, 1), n_trees)
    assert set(asked) == {(50, 100, 200, 300), (100, 200, 300, 600), (1,)}


def test_without_a_number_nothing_is_squared():
    assert "quadratic model" not in words_tried(scripted({}, columns=(COUNTRY,)))
    assert "quadratic model" in words_tried(scripted({}, columns=number_columns(1)))


def test_no_two_trials_have_the_same_words():
    for n_trees in (1, 2, 60):
        words = [trial.words for trial in search(scripted({"else": 1.0}), n_trees).trials]
        assert len(set(words)) == len(words)


# Time and progress


def test_past_the_deadline_only_plain_log_loss_runs_and_the_rest_is_named():
    outcome = search(scripted({"else": 1.0}), 60, deadline=0.0)

    assert [trial.recipes for trial in outcome.trials] == [(PLAIN,)]
    assert outcome.winner is outcome.plain
    assert outcome.reason == "there was no time to try other kinds"
    assert {
        "60 trees of depth 4 on log-loss, rows and columns drawn",
        "60 trees of depth 2 on log-loss, rows and columns drawn",
        "randomised forest of 60 trees",
        "linear model",
    } <= set(outcome.left_out)


def test_nothing_is_started_that_would_end_past_the_deadline(monkeypatch):
    now = [100.0]

    class Slow(Scripted):
        def scores(self, recipe):
            now[0] += 1.0
            return super().scores(recipe)

        def scores_in_stages(self, recipe, stages):
            now[0] += 1.0 - len(stages)  # growing once is one second for all stages
            return super().scores_in_stages(recipe, stages)

    monkeypatch.setattr(search_module.time, "monotonic", lambda: now[0])
    judge = scripted({}, n_positive=20)
    slow = Slow(judge.rows, judge.columns, judge.judging, 0, 1)
    outcome = search(slow, 60, deadline=104.5)

    # four seconds are used; a fifth recipe would end half a second late
    assert now[0] == 104.0
    assert len([trial for trial in outcome.trials if len(trial.recipes) == 1]) == 4
    assert outcome.left_out


def test_progress_is_reported_before_every_recipe_and_never_exceeds_the_total():
    reported = []
    outcome = search(
        scripted({}, n=10_000, n_positive=200),
        60,
        progress=lambda *step: reported.append(step),
    )

    assert {what for what, _, _ in reported} == {"trying recipes"}
    done = [done for _, done, _ in reported]
    assert done[0] == 0
    assert done == sorted(done)
    assert all(done <= total for _, done, total in reported)
    assert len(reported) == sum(len(trial.recipes) == 1 for trial in outcome.trials)


# On data


def test_columns_that_say_nothing_leave_plain_log_loss():
    rows = numbers(300, n_positive=30)
    rows = rows._replace(features=np.ones_like(rows.features))
    fold = JudgedFold(*splits.held_out(rows.is_positive, 0.5))
    outcome = search(Judge(rows, number_columns(3), JudgedFolds([fold], "half"), 0, 1), 12)

    assert len(outcome.trials) > 5
    assert outcome.winner is outcome.plain


def test_a_forest_is_chosen_when_positives_form_islands():
    # Twelve small islands in three dimensions, five positives on each: a leaf of boosted trees
    # needs more of them than an island has, and no line or curve passes through all. A forest's
    # leaves contain single rows.
    generator = np.random.default_rng(0)
    islands = generator.uniform(-1, 1, (12, 3))
    positives = np.repeat(islands, 5, axis=0) + 0.03 * generator.normal(size=(60, 3))
    features = np.concatenate([positives, generator.uniform(-1, 1, (800, 3))])
    rows = TrainingRows(features.astype(np.float32), np.arange(860) < 60, None)
    outcome = found(rows, number_columns(3), 30)

    assert any(isinstance(recipe, RandomisedForest) for recipe in outcome.winner.recipes)
    assert outcome.winner.standing.average_precision > (
        outcome.plain.standing.average_precision + 0.1
    )


def test_a_smooth_model_is_chosen_when_many_columns_matter_a_little():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(500, 20)).astype(np.float32)
    risk = features.sum(axis=1) + generator.normal(size=500)
    rows = TrainingRows(features, risk > np.quantile(risk, 0.95), None)
    outcome = found(rows, number_columns(20), 15)

    assert any(isinstance(recipe, SmoothModel) for recipe in outcome.winner.recipes)
    assert outcome.winner.standing.average_precision > (
        outcome.plain.standing.average_precision + 0.2
    )


# Blending


def test_a_blend_is_the_mean_of_standardised_scores():
    first, second = np.array([1.0, 3.0]), np.array([10.0, 50.0])
    scales = scales_of((first, second))
    assert blend((first, second), scales) == approx([-1, 1])
    elsewhere = np.array([2.0]), np.array([70.0])
    assert blend(elsewhere, scales) == approx([(0 + 2) / 2])


def test_one_recipe_keeps_its_own_scores():
    scores = np.array([1.0, 5.0])
    assert np.array_equal(blend((scores,), scales_of((scores,))), scores)


@pytest.mark.parametrize("value", [0.1, -1e-3, 1 / 3, 0.0, 1e6])
@pytest.mark.parametrize("n", [1, 7, 1001])
def test_equal_scores_have_no_scale_of_their_own(value, n):
    # their standard deviation is seldom 0: the mean of equal numbers has a rounding error
    centre, spread = centre_spread(np.full(n, value))
    assert centre == approx(value)
    assert spread == 1.0


def test_small_differences_are_a_scale():
    _, spread = centre_spread(np.array([5.0, 5.0 + 1e-9]))
    assert spread == approx(5e-10, rel=1e-5)

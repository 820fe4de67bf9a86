"""The search: what it tries, when it keeps plain log-loss, and what it does without time."""

import zlib
from typing import ClassVar

import numpy as np
import pytest
from pytest import approx

from rankers.auto.encoded import COUNTRY, number_columns, numbers
from toprank import splits
from toprank.data.inputs import TrainingRows
from toprank.rankers.auto import candidates
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.judge import Judge
from toprank.rankers.auto.judged_folds import JudgedFold, JudgedFolds, random_folds
from toprank.rankers.auto.kernel_member import KernelModel
from toprank.rankers.auto.search import AHEAD, BEYOND_DOUBT, LOSSES_TRIED, search
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.rankers.auto.work import Budget

PLAIN = BoostedTrees(n_trees=60)


class Scripted(Judge):
    """A judge who does not fit anything: `qualities` says how well a recipe ranks.

    Each recipe's scores are that many standard deviations higher for positives, plus noise of
    its own.
    """

    qualities: ClassVar[dict] = {}

    def scores(self, recipe):
        self.wait(recipe)
        return self.script(recipe)

    def wait(self, recipe):
        """Take the time that fitting would take: none."""

    def script(self, recipe):
        quality = self.qualities.get(kind_of(recipe), self.qualities.get("else", 0.0))
        noise = np.random.default_rng(zlib.crc32(recipe.words.encode()))
        return quality * self.is_positive + noise.normal(size=self.is_positive.size)

    def growth(self, recipe):
        return ScriptedGrowth(self, recipe)


class ScriptedGrowth:
    """Trees that rank as well at every stage."""

    def __init__(self, judge, recipe):
        self.judge, self.recipe, self.n_grown = judge, recipe, 0

    def to(self, n_trees):
        self.judge.wait(self.recipe.with_trees(n_trees - self.n_grown))
        self.n_grown = n_trees
        return self.judge.script(self.recipe.with_trees(n_trees))

    def then(self, loss, n_trees):
        self.judge.wait(self.recipe.with_trees(n_trees // 5))
        return self.judge.script(BoostedTrees(loss, n_trees=n_trees, random_share=0.7))


def kind_of(recipe):
    if isinstance(recipe, BoostedTrees):
        if recipe.loss != "log" or recipe.random_share == 1:
            return "plain" if recipe.loss == "log" else recipe.loss
        return recipe.max_leaves or recipe.max_depth
    if isinstance(recipe, RandomisedForest):
        return "forest" if recipe.share_of_columns == "sqrt" else "wide forest"
    return "kernel" if isinstance(recipe, KernelModel) else f"smooth {recipe.degree}"


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
    assert outcome.reason == "nothing else is clearly better"


@pytest.mark.parametrize(("n_positive", "is_plain"), [(15, True), (14, False)])
def test_with_too_few_positives_to_measure_a_lead_plain_log_loss_must_lead_itself(
    n_positive, is_plain
):
    class Noise(Scripted):
        def script(self, recipe):
            return self.rows.features[:, int(recipe == PLAIN)].astype(float)

    judge = scripted({}, n_positive=n_positive)
    outcome = search(Noise(judge.rows, judge.columns, judge.judging, 0, 1), 60)
    assert (outcome.winner is outcome.plain) == is_plain


def test_plain_log_loss_is_kept_with_few_positives_if_it_leads_beyond_doubt():
    outcome = search(scripted({"plain": 4.0, "else": -1.0}, n_positive=8), 60)
    assert outcome.winner is outcome.plain


def test_a_tie_goes_to_plain_log_loss():
    class AllTheSame(Scripted):
        def script(self, recipe):
            return self.rows.features[:, 0].astype(float)

    judge = scripted({})
    same = AllTheSame(judge.rows, judge.columns, judge.judging, 0, 1)
    outcome = search(same, 60)

    assert outcome.winner is outcome.plain
    assert outcome.reason == "nothing else is clearly better"
    assert len(outcome.trials) > 5


@pytest.mark.parametrize("n_positive", [8, 100])
def test_a_tie_goes_to_the_blend_where_columns_certainly_say_something(n_positive):
    outcome = search(scripted({"else": 20.0, "plain": 20.0}, n_positive=n_positive), 60)

    assert outcome.plain.average_precision == 1.0
    assert outcome.winner.average_precision == 1.0
    assert outcome.winner is not outcome.plain


def test_a_winner_that_orders_all_rows_as_plain_log_loss_does_leaves_it_in_place():
    class Ordered(Scripted):
        def script(self, recipe):
            quality = 2.0 if recipe == PLAIN else 3.0  # another scale, the same order
            return quality * (self.is_positive + self.rows.features[:, 0].astype(float))

    judge = scripted({})
    outcome = search(Ordered(judge.rows, judge.columns, judge.judging, 0, 1), 60)
    assert judge.separation(outcome.plain.blended) > 3
    assert outcome.winner is outcome.plain


def test_plain_log_loss_that_leads_beyond_doubt_is_kept_although_columns_say_something():
    judge = scripted({"else": 0.4, "plain": 3.0})
    outcome = search(judge, 60)
    (blended,) = (trial for trial in outcome.trials if len(trial.recipes) > 1)

    assert judge.separation(blended.blended) > 3
    assert outcome.plain.ahead_of(blended) >= BEYOND_DOUBT
    assert outcome.winner is outcome.plain


def test_a_blend_of_several_kinds_wins_when_all_are_as_good():
    outcome = search(scripted({"else": 1.5}), 60)

    kinds = kinds_of(outcome.winner)
    assert len(kinds) >= 4
    assert {"forest", "wide forest"} & set(kinds)
    assert {"smooth 1", "smooth 2"} & set(kinds)
    assert {2, 4, 6} & set(kinds)
    assert outcome.reason == "a blend is the most stable choice"
    assert outcome.winner.ahead_of(outcome.plain) >= AHEAD


def test_one_recipe_wins_alone_when_the_others_only_spoil_it():
    for n_positive, reason in (
        (4, "it leads the blend beyond doubt"),
        (100, "a blend with others gains nothing"),
    ):
        outcome = search(scripted({"forest": 3.0, "else": -2.0}, n_positive=n_positive), 60)
        assert kinds_of(outcome.winner) == ["forest"]
        assert outcome.reason == reason


@pytest.mark.parametrize(("n_positive", "size"), [(100, 4), (400, 6), (2000, 63)])
def test_the_size_tried_first_is_kept_unless_another_leads_it(n_positive, size):
    outcome = search(scripted({"else": 0.0, size: 3.0}, n=6000, n_positive=n_positive), 60)
    drawn = [
        kind_of(trial.recipes[0])
        for trial in outcome.trials
        if isinstance(trial.recipes[0], BoostedTrees)
    ]
    assert drawn[1] == size
    assert size in kinds_of(outcome.winner)


def test_another_size_is_taken_when_it_leads_beyond_doubt():
    for quality, expected in ((3.0, 2), (1.0, 4)):
        qualities = {4: 1.0, 2: quality, "else": 0.0}
        outcome = search(scripted(qualities), 60)
        assert expected in kinds_of(outcome.winner)


def test_with_many_positives_a_blend_must_lead_beyond_doubt():
    good = {"else": 0.0, 255: 3.0}
    single = search(scripted(good, n=9000, n_positive=2000), 60)
    assert kinds_of(single.winner) == [255]
    blended = search(scripted({**good, "forest": 3.0}, n=9000, n_positive=2000), 60)
    assert {255, "forest"} <= set(kinds_of(blended.winner))
    assert blended.reason == "the blend leads each of its members beyond doubt"


def test_the_better_smooth_model_enters_the_blend():
    for better, other in (("smooth 1", "smooth 2"), ("smooth 2", "smooth 1")):
        outcome = search(scripted({better: 2.0, other: 0.0, "else": 1.5, "plain": 0.0}), 60)
        assert better in kinds_of(outcome.winner)


def test_another_loss_is_taken_when_it_leads_the_best_trees_beyond_doubt():
    outcome = search(scripted({"plain": 1.0, "ap-lambda": 3.0, "else": 0.0}), 60)
    assert "ap-lambda" in kinds_of(outcome.winner)


def test_more_trees_are_taken_only_if_they_lead_beyond_doubt():
    class Improving(Scripted):
        def script(self, recipe):
            noise = np.random.default_rng(0).normal(size=self.is_positive.size)
            rate = self.qualities["else"] if isinstance(recipe, BoostedTrees) else 0.0
            return rate * getattr(recipe, "n_trees", 0) * self.is_positive + noise

    for rate, n_trees in ((0.05, 60), (0.0, 20)):
        judge = scripted({})
        improving = Improving(judge.rows, judge.columns, judge.judging, 0, 1)
        improving.qualities = {"else": rate}
        drawn = [
            trial.recipes[0].n_trees
            for trial in search(improving, 60).trials
            if kinds_of(trial) == [4]
        ]
        assert drawn == [n_trees]


# What is tried


def words_tried(judge, n_trees=60):
    return [trial.words for trial in search(judge, n_trees).trials if len(trial.recipes) == 1]


def test_losses_need_enough_positives_and_bins_enough_rows():
    words = words_tried(scripted({}, n=500, n_positive=20))
    assert len(words) == 8  # plain, three sizes, one forest of few columns, three smooth models
    assert not any("ap-" in each or "balanced" in each for each in words)

    words = words_tried(scripted({}, n=10_000, n_positive=60))
    assert sum("ap-" in each for each in words) == 2
    assert sum("balanced" in each for each in words) == 1


@pytest.mark.parametrize("losses", [(), ("ap-lambda",), ("auc-exp", "ap-sigmoid")])
def test_no_loss_is_trained_but_log_loss_and_those_that_may_be_tried(losses):
    judge = scripted({"else": 1.0})
    trained = []
    judge.script = lambda recipe: trained.append(recipe) or Scripted.script(judge, recipe)
    outcome = search(judge, 60, losses=losses)

    boosted = [recipe for recipe in trained if isinstance(recipe, BoostedTrees)]
    assert {recipe.loss for recipe in boosted} == {"log", *losses}
    assert not outcome.left_out  # other losses do not count as skipped


def test_by_default_two_surrogates_of_average_precision_are_tried():
    words = " ".join(words_tried(scripted({})))
    assert LOSSES_TRIED == ("ap-exp", "ap-lambda")
    assert all(loss in words for loss in LOSSES_TRIED)


def test_with_thousands_of_positives_large_trees_come_first_and_smooth_models_last():
    words = words_tried(scripted({}, n=6000, n_positive=2000))
    assert "63 leaves" in words[1]
    assert words[-2:] == ["linear model", "quadratic model"]  # too many rows for a kernel

    words = words_tried(scripted({}, n=6000, n_positive=1999))
    assert "depth 6" in words[1]
    assert words[-2:] == ["linear model", "quadratic model"]  # too many rows for a kernel
    assert not any("255 leaves" in each for each in words)

    words = words_tried(scripted({}, n=6000, n_positive=299))
    assert words[1].startswith("randomised forest")


def test_a_size_that_begins_far_behind_another_one_grows_no_further():
    asked = []

    class Counting(Scripted):
        def script(self, recipe):
            if kind_of(recipe) in (2, 4, 6):
                asked.append((kind_of(recipe), recipe.n_trees))
            return super().script(recipe)

    judge = scripted({4: 2.0, "else": 0.0})
    counting = Counting(judge.rows, judge.columns, judge.judging, 0, 1)
    counting.qualities = judge.qualities
    search(counting, 300, losses=())
    assert [n_trees for kind, n_trees in asked if kind == 4] == [100, 300]
    assert [n_trees for kind, n_trees in asked if kind != 4] == [100, 100]


def test_leaves_may_be_smaller_the_rarer_positives_are():
    weights = [
        candidates.least_weight(scripted({}, n=n, n_positive=100)) for n in (200, 10_000, 100_000)
    ]
    assert weights == approx([1.0, 20 * 0.01 * 0.99, 20 * 0.001 * 0.999])


def test_trees_stop_growing_when_a_stage_gains_nothing():
    asked = []

    class Worse(Scripted):
        def script(self, recipe):
            if kind_of(recipe) == 4:
                asked.append(recipe.n_trees)
            noise = np.random.default_rng(0).normal(size=self.is_positive.size)
            return noise - 0.01 * getattr(recipe, "n_trees", 0) * self.is_positive

    judge = scripted({}, n=500)
    search(Worse(judge.rows, judge.columns, judge.judging, 0, 1), 300, losses=())
    assert asked == [100, 300]


@pytest.mark.parametrize(
    ("n_trees", "n_positive", "stages"),
    [
        (300, 50, [100, 300]),
        (300, 200, [100, 200, 300, 450, 600]),
        (1, 50, [1]),
    ],
)
def test_stages_are_shares_of_the_given_number_of_trees(n_trees, n_positive, stages):
    assert candidates.tree_stages(scripted({}, n_positive=n_positive), n_trees) == stages


@pytest.mark.parametrize(("n_columns", "n_forests"), [(1, 1), (5, 1), (6, 2), (30, 2)])
def test_a_second_forest_is_tried_where_it_would_choose_among_more_columns(n_columns, n_forests):
    words = words_tried(scripted({}, n=500, columns=number_columns(n_columns)))
    assert sum("forest" in each for each in words) == n_forests


def test_without_a_number_nothing_is_squared():
    assert "quadratic model" not in words_tried(scripted({}, columns=(COUNTRY,)))
    assert "quadratic model" in words_tried(scripted({}, columns=number_columns(1)))


def test_no_two_trials_have_the_same_words():
    for n_trees in (1, 2, 60):
        words = [trial.words for trial in search(scripted({"else": 1.0}), n_trees).trials]
        assert len(set(words)) == len(words)


# Time, effort and progress


class Clock:
    """A clock that moves only when recipes are fitted."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def timed(deadline, n_positive=20):
    """Return the outcome of a search where a unit of work takes a nanosecond, and the clock."""
    clock = Clock()

    class Slow(Scripted):
        def wait(self, recipe):
            clock.now += 1e-9 * self.work(recipe)

    judge = scripted({}, n_positive=n_positive)
    slow = Slow(judge.rows, judge.columns, judge.judging, 0, 1)
    budget = Budget(deadline=deadline, clock=clock)
    return search(slow, 60, budget), clock, slow


def test_past_the_deadline_only_plain_log_loss_runs_and_the_rest_is_named():
    outcome, *_ = timed(deadline=0.0)

    assert [trial.recipes for trial in outcome.trials] == [(PLAIN,)]
    assert outcome.winner is outcome.plain
    assert outcome.reason == "nothing else was tried"
    assert {
        "20 trees of depth 4 on log-loss, rows and columns drawn",
        "20 trees of depth 2 on log-loss, rows and columns drawn",
        "randomised forest of 30 trees",
        "linear model",
    } <= set(outcome.left_out)
    assert not outcome.beyond_effort


def test_nothing_is_started_that_would_not_leave_time_for_the_final_fit():
    everything, clock, _ = timed(deadline=None)
    assert not everything.left_out
    needed = clock.now - 100
    for share in (0.2, 0.5, 0.8):
        outcome, clock, judge = timed(deadline=100 + share * needed)
        final = 1e-9 * sum(map(judge.final_work, outcome.winner.recipes))
        assert outcome.left_out
        assert clock.now + final <= 100 + share * needed


def test_work_beyond_the_effort_is_skipped_and_named():
    judge = scripted({"else": 1.0})
    allowed = judge.work(PLAIN) + judge.work(candidates.forests(judge, 60)[0])
    outcome = search(judge, 60, Budget(allowed))

    assert [trial.words for trial in outcome.trials[:2]] == [
        PLAIN.words,
        "randomised forest of 30 trees",
    ]
    assert "linear model" in outcome.beyond_effort
    assert not outcome.left_out


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
    assert len(reported) >= sum(len(trial.recipes) == 1 for trial in outcome.trials)


# On data


def test_columns_that_say_nothing_leave_plain_log_loss():
    rows = numbers(300, n_positive=30)
    rows = rows._replace(features=np.ones_like(rows.features))
    fold = JudgedFold(*splits.held_out(rows.is_positive, 0.5))
    outcome = search(Judge(rows, number_columns(3), JudgedFolds([fold], "half"), 0, 1), 12)

    assert len(outcome.trials) > 5
    assert outcome.winner is outcome.plain


@pytest.mark.parametrize(
    ("n_seeds", "least"), [(8, 1), pytest.param(60, 22, marks=pytest.mark.slow)]
)
def test_among_columns_that_say_nothing_log_loss_is_kept_about_half_of_the_time(n_seeds, least):
    n_kept = 0
    for seed in range(n_seeds):
        rows = numbers(200, n_columns=4, n_positive=20, seed=seed)
        judge = Judge(rows, number_columns(4), random_folds(rows, seed), seed, 1)
        outcome = search(judge, 12, losses=())
        n_kept += outcome.winner is outcome.plain
    # at even odds, fewer than 1 of 8 or 22 of 60 would happen once in fifty
    assert least <= n_kept <= n_seeds - least


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

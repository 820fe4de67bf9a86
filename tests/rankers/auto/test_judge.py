"""The judge: every row is judged once, by a model that never saw it."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from pytest import approx

import reference
from rankers.auto.encoded import number_columns
from toprank import splits
from toprank.data.inputs import TrainingRows
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.judge import Judge, RecipeStanding
from toprank.rankers.auto.judged_folds import JudgedFold, JudgedFolds


@dataclass
class Recorder:
    """A recipe that records the rows it is given; a row's first feature is its number."""

    words: str = "recorder"
    calls: list = field(default_factory=list)

    def tried(self, rows, columns, features, *, seed, n_threads):
        self.calls.append((rows, columns, features, seed, n_threads))
        return features[:, 0].astype(np.float64)


def numbered(n, n_positive, weighted=False):
    generator = np.random.default_rng(0)
    is_positive = generator.permutation(np.arange(n) < n_positive)
    weight = generator.exponential(size=n) if weighted else None
    return TrainingRows(np.arange(n, dtype=np.float32)[:, None], is_positive, weight)


def judge_of(rows, folds, seed=0):
    return Judge(rows, number_columns(1), JudgedFolds(folds, "some"), seed, n_threads=3)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_row_is_judged_once_and_never_by_a_model_that_saw_it(weighted):
    rows = numbered(53, 11, weighted)
    folds = [JudgedFold(*part) for part in splits.folds(rows.is_positive, 5)]
    judge, recorder = judge_of(rows, folds, seed=20), Recorder()
    scores = judge.scores(recorder)
    judged = scores.astype(int)

    assert np.array_equal(np.sort(judged), np.arange(53))
    assert np.array_equal(judge.is_positive, rows.is_positive[judged])
    assert len(recorder.calls) == 5
    for number, (train, columns, features, seed, n_threads) in enumerate(recorder.calls):
        learned, held_out = train.features[:, 0].astype(int), features[:, 0].astype(int)
        assert not set(learned) & set(held_out)
        assert learned.size + held_out.size == 53
        assert np.array_equal(train.is_positive, rows.is_positive[learned])
        assert (columns, seed, n_threads) == (number_columns(1), 20 + number, 3)
        if weighted:
            assert np.array_equal(train.weight, rows.weight[learned])
            assert np.array_equal(judge.weight, rows.weight[judged])
        else:
            assert train.weight is None
            assert judge.weight is None


def test_a_standing_is_the_average_precision_of_the_judged_rows():
    rows = numbered(30, 6)
    fold = JudgedFold(np.arange(15), np.arange(15, 30))
    scores = judge_of(rows, [fold]).scores(Recorder())
    standing = judge_of(rows, [fold]).standing(scores)

    expected = reference.average_precision(rows.is_positive[15:], np.arange(15.0, 30))
    assert standing.average_precision == approx(expected)
    assert 100 < standing.resampled.size <= 400
    assert 0 < standing.resampled.min() < expected < standing.resampled.max() <= 1


def test_separation_is_the_rank_sum_statistic_of_each_fold_added_up():
    rows = numbered(40, 9)
    folds = [JudgedFold(*part) for part in splits.folds(rows.is_positive, 2)]
    judge = judge_of(rows, folds)
    scores = np.round(np.random.default_rng(1).normal(size=40), 1)  # with ties

    above = variance = 0.0
    for origin in (0, 1):
        here = judge.judging.origin == origin
        positive, negative = scores[here & judge.is_positive], scores[here & ~judge.is_positive]
        n_pairs = positive.size * negative.size
        above += (reference.roc_auc(judge.is_positive[here], scores[here]) - 0.5) * n_pairs
        variance += n_pairs * (here.sum() + 1) / 12
    assert judge.separation(scores) == approx(above / np.sqrt(variance))


def test_separation_is_of_about_one_where_scores_say_nothing_and_does_not_mix_folds():
    rows = numbered(400, 60)
    judge = judge_of(rows, [JudgedFold(*part) for part in splits.folds(rows.is_positive, 4)])
    noise = np.random.default_rng(2).normal(size=(300, 400))
    measured = [judge.separation(each) for each in noise]

    assert np.std(measured) == approx(1.0, abs=0.15)
    assert np.mean(measured) == approx(0.0, abs=0.2)
    # the models of folds may differ in how they score all rows
    moved = [judge.separation(each + 100 * judge.judging.origin) for each in noise]
    assert moved == approx(measured)


def test_every_score_gets_the_same_resamples():
    rows = numbered(40, 9)
    judge = judge_of(rows, [JudgedFold(np.arange(40), np.arange(40))])
    scores = np.random.default_rng(1).normal(size=40)
    one, twin = judge.standing(scores), judge.standing(3 * scores - 7)

    assert np.array_equal(one.resampled, twin.resampled)
    assert one.ahead_of(twin) == 0.5
    assert one.lead(twin) == (0, 0, 0)


def test_ahead_of_counts_resamples_and_half_of_ties():
    mine = RecipeStanding(0.5, np.array([0.1, 0.5, 0.5, 0.9, 0.3]))
    yours = RecipeStanding(0.4, np.array([0.2, 0.5, 0.1, 0.1, 0.3]))

    assert mine.ahead_of(yours) == approx((0 + 0.5 + 1 + 1 + 0.5) / 5)
    assert yours.ahead_of(mine) == approx(1 - mine.ahead_of(yours))


def test_a_lead_is_of_the_rows_as_they_are_with_the_middle_of_the_resamples():
    gap = np.linspace(-1, 1, 401)
    mine, yours = RecipeStanding(0.7, 2 + gap), RecipeStanding(0.4, np.full(401, 2.0))

    assert mine.lead(yours) == approx((0.3, -0.95, 0.95))


def test_stages_are_judged_by_trees_grown_once():
    rows = numbered(120, 30)
    judge = judge_of(rows, [JudgedFold(*part) for part in splits.folds(rows.is_positive, 3)])
    recipe = BoostedTrees(n_trees=9)
    growth = judge.growth(recipe)

    for n_trees in (3, 9, 3):
        assert growth.to(n_trees) == approx(judge.scores(recipe.with_trees(n_trees)), abs=1e-6)
    other = judge.scores(BoostedTrees("ap-exp", n_trees=9))
    assert growth.then("ap-exp", 9) == approx(other, abs=1e-6)


def test_a_folds_rows_are_binned_once_and_their_features_not_kept():
    rows = numbered(60, 20)
    judge = judge_of(rows, [JudgedFold(*part) for part in splits.folds(rows.is_positive, 3)])
    first, again = (judge.growth(BoostedTrees(n_trees=n_trees)) for n_trees in (2, 3))
    other = judge.growth(BoostedTrees(binning="balanced"))

    for one, two, three in zip(first.folds, again.folds, other.folds, strict=True):
        assert one.rows.bins is two.rows.bins
        assert one.rows.bins is not three.rows.bins
        assert one.rows.features.size == 0


def test_very_many_rows_are_learned_from_in_a_sample_that_has_all_positives(monkeypatch):
    monkeypatch.setattr("toprank.rankers.auto.judge._MOST_VALUES", 60)
    monkeypatch.setattr("toprank.rankers.auto.judge._ROWS_ANYWAY", 20)
    rows, recorder = numbered(200, 8), Recorder()
    judge = judge_of(rows, [JudgedFold(np.arange(100), np.arange(100, 200))])
    assert judge.scores(recorder).size == 100

    ((learned, _, judged, _, _),) = recorder.calls
    assert len(learned.features) == 30
    assert len(judged) == 100
    assert learned.is_positive.sum() == rows.is_positive[:100].sum()
    assert learned.weight.sum() == approx(100)
    assert judge.work(BoostedTrees()) == BoostedTrees().work(30, 1)
    assert judge.final_work(BoostedTrees()) == BoostedTrees().work(200, 1)

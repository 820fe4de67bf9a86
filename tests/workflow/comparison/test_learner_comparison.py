"""Learners side by side: the figures are those of the metrics, and luck is not called real."""

import json
import re
from dataclasses import replace
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from toprank import MetaAP, losses, metrics, registry
from toprank.present.comparison import learner_summary
from toprank.rankers.base import Ranker
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.registry import LearnerRow
from toprank.simulator import simulate
from toprank.workflow import comparison
from toprank.workflow.comparison import (
    BASELINE,
    Compared,
    PairedDifference,
    comparable_learners,
    compare_learners,
)
from toprank.workflow.comparison.differences import N_RESAMPLES
from toprank.workflow.evaluation import evaluate
from toprank.workflow.task import prepare

FAST = {"n_estimators": 10, "n_jobs": 1}


class Broken(Ranker):
    """A learner that cannot learn."""

    def __init__(self, n_estimators=1, positive_label=None, random_state=0, n_jobs=None):
        self.n_estimators = n_estimators
        self.positive_label = positive_label
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, *, progress=None):
        raise ValueError("this learner must have rows; got none.\nat line 7")


def break_learners(monkeypatch, *names):
    """Put the learner that cannot learn in the place of others."""
    rows = [
        LearnerRow(f"{__name__}:Broken", name, in_compare=True, trees="many", takes_progress=True)
        for name in names
    ]
    monkeypatch.setattr(registry, "LEARNERS", (*registry.LEARNERS, *rows))


@pytest.fixture(scope="module")
def task():
    payments = simulate(n_cards=150, n_terminals=300, n_days=60)
    is_kept = payments["is_fraud"].to_numpy() | (np.arange(len(payments)) % 4 == 0)  # for speed
    return prepare(
        payments.filter(pa.array(is_kept)), "is_fraud", time="paid_at", drop=["card", "terminal"]
    )


@pytest.fixture(scope="module")
def compared(task):
    return compare_learners(task, 10, time_limit=1e-9, **FAST)


def judged_with(scores, is_positive):
    """Learners of these scores, the best first; differences ask for nothing else."""
    tests = {
        name: evaluate(is_positive, score, np.zeros(score.size), 10)
        for name, score in scores.items()
    }
    falling = sorted(tests, key=lambda name: -tests[name].average_precision.value)
    return [comparison.JudgedLearner(name, None, tests[name], 1.0, 0.1) for name in falling]


def scores_of_alike(generator, names, n_positive=40, n_negative=1000):
    """Scores that are equally good, each with noise of its own."""
    is_positive = np.arange(n_positive + n_negative) < n_positive
    base = generator.normal(size=is_positive.size) + 2.5 * is_positive
    scores = {name: base + 0.5 * generator.normal(size=base.size) for name in names}
    return scores, is_positive


# What is judged


def test_every_learner_has_its_row_and_the_best_comes_first(compared):
    assert {each.name for each in compared.judged} == set(comparable_learners())
    trees = {"metaap", "treerank", "rank-forest"}
    assert {*losses.LOSSES, "auto", "rank-boost", "non-linear", *trees} == set(
        comparable_learners()
    )
    assert compared.failed == {}
    precisions = [each.test.average_precision.value for each in compared.judged]
    assert precisions == sorted(precisions, reverse=True)
    assert compared.best is compared.judged[0]


def test_a_learner_learns_from_train_and_validation_and_is_judged_on_test(task, compared):
    expected = BoostedRanker("ap-exp", positive_label=True, **FAST)
    expected.fit(*task.rows("train", "validation"))
    (judged,) = [each for each in compared.judged if each.name == "ap-exp"]

    assert judged.test.suspicion == approx(expected.suspicion(task.rows("test")[0]))
    assert np.array_equal(judged.test.is_positive, task.is_positive[task.split.test])
    assert np.array_equal(judged.test.day, task.days("test"))
    assert judged.test.budget == 10
    assert judged.seconds_to_fit > 0
    assert judged.seconds_to_score > 0


def test_labels_of_the_test_rows_change_nothing_that_is_learned(task):
    is_positive = task.is_positive.copy()
    is_positive[task.split.test] = np.roll(is_positive[task.split.test], 7)
    other = replace(task, is_positive=is_positive)
    one, two = (
        {each.name: each.test.suspicion for each in compare_some(each_task).judged}
        for each_task in (task, other)
    )

    assert one.keys() == {"auto", "rank-boost", BASELINE}
    for name, suspicion in one.items():
        assert np.array_equal(suspicion, two[name]), name


def compare_some(task):
    return compare_learners(task, 10, ["auto", "rank-boost"], time_limit=1e-9, **FAST)


def test_auto_judges_on_validation_and_obeys_the_time_limit(compared):
    (auto,) = [each.ranker for each in compared.judged if each.name == "auto"]

    assert auto.account_.judged_on == "the eval_set"
    assert auto.account_.left_out
    assert auto.budget == 10


def test_trees_choose_their_settings_and_a_forest_has_as_many_as_asked(compared):
    rankers = {each.name: each.ranker for each in compared.judged}

    for name in ("metaap", "treerank"):
        assert rankers[name].depth == "cv"
    assert rankers["rank-forest"].n_estimators == FAST["n_estimators"]


def test_a_tree_of_a_comparison_is_that_of_a_fit_by_hand(compared, task):
    (metaap,) = [each.ranker for each in compared.judged if each.name == "metaap"]
    expected = MetaAP(depth="cv", positive_label=True).fit(*task.rows("train", "validation"))
    assert metaap.to_text() == expected.to_text()


@pytest.mark.parametrize("n_jobs", [None, 1, -1])
def test_every_learner_gets_n_jobs_as_it_is(task, n_jobs):
    compared = compare_learners(task, 10, ["rank-forest"], n_estimators=2, n_jobs=n_jobs)

    assert {each.name: each.ranker.n_jobs for each in compared.judged} == {
        "rank-forest": n_jobs,
        BASELINE: n_jobs,
    }


def test_the_baseline_is_always_among_the_learners_and_none_comes_twice(task):
    compared = compare_learners(task, 10, ["ap-exp", "ap-exp"], **FAST)

    assert sorted(each.name for each in compared.judged) == ["ap-exp", BASELINE]


def test_a_learner_that_is_not_there_is_refused_with_the_nearest_one(task):
    with pytest.raises(ValueError, match=r"got 'ap-epx'; did you mean 'ap-exp'\?"):
        compare_learners(task, 10, ["ap-epx"])


def test_a_budget_of_nothing_is_refused(task):
    with pytest.raises(ValueError, match="budget must be at least 1; got 0"):
        compare_learners(task, 0, [BASELINE])


@pytest.mark.parametrize("n_estimators", [1, 6])
def test_progress_of_each_learner_ends_at_its_total(task, n_estimators):
    seen = {}
    names = ["rank-boost", BASELINE, "auto", "rank-forest"]
    compare_learners(
        task,
        10,
        names,
        n_estimators=n_estimators,
        time_limit=1e-9,
        n_jobs=1,
        progress=lambda what, done, total: seen.__setitem__(what, (done, total)),
    )

    assert seen[BASELINE] == (n_estimators, n_estimators)
    assert seen["auto: fitting the winner"] == (1, 1)
    assert seen["rank-forest"] == (1, 1)
    assert seen["comparing"] in [(3, 3), (5, 5)]  # fewer where the baseline is the best


# Learners that fail


def test_a_learner_that_fails_is_noted_and_the_others_are_still_compared(task, monkeypatch):
    break_learners(monkeypatch, "rank-boost")
    compared = compare_learners(task, 10, ["rank-boost", "ap-exp"], **FAST)

    assert compared.failed == {"rank-boost": "this learner must have rows; got none."}
    assert sorted(each.name for each in compared.judged) == ["ap-exp", BASELINE]
    row = next(
        line
        for line in learner_summary.text_of(compared, "frauds").splitlines()
        if line.startswith("rank-boost")
    )
    assert row == "rank-boost  failed: this learner must have rows; got none."
    assert learner_summary.facts_of(compared, "is_fraud", None)["failed"] == compared.failed


def test_when_the_baseline_fails_the_best_is_still_compared(task, monkeypatch):
    break_learners(monkeypatch, BASELINE)
    compared = compare_learners(task, 10, ["rank-boost", "ap-exp"], **FAST)

    (difference,) = compared.differences
    assert (difference.learner, difference.against) == tuple(each.name for each in compared.judged)


def test_when_all_fail_the_first_error_is_raised(task, monkeypatch):
    break_learners(monkeypatch, "ap-exp", BASELINE)
    with pytest.raises(ValueError, match="this learner must have rows"):
        compare_learners(task, 10, ["ap-exp"], **FAST)


# Which differences are real


def test_each_learner_meets_the_baseline_and_the_best_meets_each():
    generator = np.random.default_rng(0)
    names = ["auto", BASELINE, "ap-exp", "rank-boost"]
    judged = judged_with(*scores_of_alike(generator, names))
    best = judged[0].name
    pairs = {frozenset((each.learner, each.against)) for each in differences(judged)}

    expected = {frozenset((name, BASELINE)) for name in names if name != BASELINE}
    expected |= {frozenset((name, best)) for name in names if name != best}
    assert pairs == expected
    assert len(differences(judged)) == len(pairs)


def test_a_difference_is_that_of_the_average_precisions():
    judged = judged_with(*scores_of_alike(np.random.default_rng(1), ["auto", BASELINE]))
    precision = {each.name: each.test.average_precision.value for each in judged}
    (difference,) = differences(judged)

    assert difference.value == approx(precision["auto"] - precision[BASELINE])
    assert difference.low < difference.value < difference.high


def test_for_one_pair_the_interval_is_that_of_the_paired_comparison():
    judged = judged_with(*scores_of_alike(np.random.default_rng(2), ["auto", BASELINE]))
    tests = {each.name: each.test for each in judged}
    (difference,) = comparison.differences_of(judged, 0.95)
    expected = metrics.compare(
        "average_precision",
        tests[BASELINE].is_positive,
        tests["auto"].suspicion,
        tests[BASELINE].suspicion,
        n_resamples=N_RESAMPLES,
    )

    assert (difference.low, difference.high) == approx((expected.low, expected.high))


def test_more_pairs_make_every_interval_wider_by_what_a_normal_asks():
    judged = judged_with(*scores_of_alike(np.random.default_rng(3), ["auto", BASELINE]))
    (one,) = comparison.differences_of(judged, 0.95)
    (of_36,) = comparison.differences_of(judged, 1 - 0.05 / 36)

    # the quantiles of a normal: 3.197 for 0.05 / 36 / 2, 1.960 for 0.05 / 2
    assert (of_36.high - of_36.low) / (one.high - one.low) == approx(3.197 / 1.960, abs=2e-3)


def test_the_level_counts_all_pairs_of_those_that_were_judged(compared, task):
    assert compared.level == approx(1 - 0.05 / comb(12, 2))
    assert compare_learners(task, 10, [BASELINE], **FAST).level == approx(0.95)


@pytest.mark.slow
def test_the_best_of_equals_is_seldom_called_better(monkeypatch):
    """Without the stricter level, about one draw in three would be a false alarm."""
    monkeypatch.setattr("toprank.workflow.comparison.differences.N_RESAMPLES", 100)
    generator = np.random.default_rng(4)
    names = ["auto", BASELINE, "ap-exp", "ap-lambda", "rank-boost"]
    n_false = sum(
        any(
            each.is_significant
            for each in differences(judged_with(*scores_of_alike(generator, names)))
        )
        for _ in range(40)
    )

    assert n_false <= 6


def test_what_is_much_better_is_called_better():
    scores, is_positive = scores_of_alike(np.random.default_rng(5), [BASELINE, "ap-exp"])
    scores["auto"] = scores[BASELINE] + 2 * is_positive
    leads = {(each.learner, each.against) for each in differences(judged_with(scores, is_positive))
            if each.is_significant}  # fmt: skip

    assert leads == {("auto", BASELINE), ("auto", "ap-exp")}


def test_the_same_ranking_is_never_apart():
    scores, is_positive = scores_of_alike(np.random.default_rng(6), [BASELINE])
    (difference,) = differences(
        judged_with(scores | {"auto": 3 * scores[BASELINE] + 1}, is_positive)
    )

    assert (difference.value, difference.low, difference.high) == (0, 0, 0)
    assert not difference.is_significant


def differences(judged):
    return comparison.differences_of(judged, 1 - 0.05 / comb(len(judged), 2))


# Words, facts and the picture


def verdicts(found, names, n_positive=136):
    """The sentences for these differences, each (learner, against, value, low, high)."""
    is_positive = np.arange(1000) < n_positive
    test = evaluate(is_positive, 1.0 * is_positive, np.zeros(1000), 10)
    judged = [comparison.JudgedLearner(name, None, test, 1.0, 0.1) for name in names]
    level = 1 - 0.05 / comb(len(names), 2)
    compared = Compared(None, judged, {}, [PairedDifference(*each) for each in found], level)
    return learner_summary.verdicts(compared, "frauds")


def test_sentences_say_which_differences_are_significant():
    found = [
        ("auto", BASELINE, 0.0211, 0.0082, 0.0339),
        ("ap-exp", BASELINE, 0.001, -0.01, 0.02),
        ("auc-exp", BASELINE, -0.002, -0.01, 0.02),
        ("rank-boost", BASELINE, -0.12, -0.2, -0.00004),
        ("auto", "ap-exp", 0.02, -0.001, 0.03),
        ("auto", "auc-exp", 0.023, 0.001, 0.03),
        ("auto", "rank-boost", 0.14, 0.1, 0.21),
    ]

    assert verdicts(found, ["auto", "ap-exp", BASELINE, "auc-exp", "rank-boost"]) == [
        "auto leads log by .021 (.008 to .034): significant.",
        "rank-boost trails log by .12000 (.00004 to .20000): significant.",
        "ap-exp and auc-exp are not significantly different from log on these 136 frauds.",
        "auto, the best, leads auc-exp by .023 (.001 to .030) and "
        "rank-boost by .140 (.100 to .210): significant.",
        "auto, the best, is not significantly better than ap-exp.",
        "Differences are in AP, their intervals at 99.5 %: 95 % for all 10 pairs at once.",
    ]


def test_two_learners_need_no_stricter_level_and_one_no_sentence():
    found = [("ap-exp", BASELINE, 0.001, -0.01, 0.02)]

    assert verdicts(found, [BASELINE, "ap-exp"]) == [
        "ap-exp is not significantly different from log on these 136 frauds.",
        "Differences are in AP, their intervals at 95 %: 95 % for the one pair.",
    ]
    assert verdicts([], [BASELINE, "ap-exp"]) == []


def test_the_text_has_a_row_per_learner_with_intervals_on_lines_that_fit(compared):
    lines = learner_summary.text_of(compared, "frauds").splitlines()

    assert re.fullmatch(r"[\d,]+ rows, 11 features, [\d.]+ % frauds", lines[0])
    assert lines[1].startswith("train to ")
    head = [word for word in re.split(r"  +", lines[2]) if word]
    assert head == ["AP", "frauds in 10 a day", "before a false alarm", "AUC", "seconds"]
    share, percents = r"[.\d]+ \([.\d]+-[.\d]+\)", r"[.>\d]+ % \([.\d]+-[.\d]+\)"
    for line, each in zip(lines[3:], compared.judged, strict=False):
        row = rf"{each.name} +{share} +{share} +{percents} +{share} +[.,\d]+"
        assert re.fullmatch(row, line), line
    assert max(map(len, lines[3:])) <= 99


def test_few_positives_and_few_days_are_cautioned_about(compared):
    is_positive = np.arange(100) < 4
    test = evaluate(is_positive, np.arange(100.0), np.zeros(100), 5, np.arange(100) % 3)
    few = Compared(
        compared.task, [comparison.JudgedLearner(BASELINE, None, test, 1.0, 0.1)], {}, [], 0.95
    )
    text = learner_summary.text_of(few, "frauds")

    assert "Rough figures: the test has only 4 frauds" in text
    assert "Rough range: the test covers 3 days" in text


def test_facts_are_the_figures_in_plain_values(compared):
    facts = json.loads(json.dumps(learner_summary.facts_of(compared, "is_fraud", "paid_at")))

    assert list(facts["learners"]) == [each.name for each in compared.judged]
    assert (facts["baseline"], facts["best"], facts["budget"]) == (
        BASELINE,
        compared.best.name,
        10,
    )
    for each in compared.judged:
        figures = facts["learners"][each.name]
        assert figures["average_precision"]["value"] == each.test.average_precision.value
        assert figures["precision_at_k"]["value"] == approx(each.test.found.value / 10)
        assert figures["positives_at_top"]["low"] <= figures["positives_at_top"]["value"]
        assert figures["seconds_to_fit"] == each.seconds_to_fit
    assert len(facts["differences"]) == len(compared.differences)
    assert {each["is_significant"] for each in facts["differences"]} <= {True, False}


def test_the_picture_shows_every_learner_and_the_curves_of_the_best_with_the_baseline(compared):
    left, right = learner_summary.picture_of(compared).axes
    names = [each.name for each in compared.judged]

    assert [label.get_text() for label in left.get_yticklabels()] == names
    labels = [text.get_text().split(",")[0] for text in right.get_legend().get_texts()]
    assert labels[:3] == names[:3]
    assert len(labels) == 4
    assert BASELINE in labels


def test_a_picture_of_one_learner_can_be_drawn(task):
    left, right = learner_summary.picture_of(compare_learners(task, 10, [BASELINE], **FAST)).axes

    assert len(left.get_yticks()) == 1
    assert len(right.get_legend().get_texts()) == 1

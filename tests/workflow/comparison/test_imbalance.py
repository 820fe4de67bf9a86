"""Remedies side by side: chosen on validation, judged once, and luck is not called real."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from toprank import metrics, wording
from toprank.present.comparison import remedy_summary
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.simulator import simulate
from toprank.workflow.comparison import imbalance, methods
from toprank.workflow.comparison.differences import PairedDifference, level_for
from toprank.workflow.comparison.imbalance import (
    MEASURES,
    ComparedMethods,
    TriedRemedy,
    compare_methods,
)
from toprank.workflow.comparison.methods import METHODS, RemedyTrial
from toprank.workflow.evaluation import evaluate
from toprank.workflow.task import prepare

FAST = {"n_estimators": 8, "n_jobs": 1}


@pytest.fixture(scope="module")
def task():
    payments = simulate(n_cards=150, n_terminals=300, n_days=60)
    return prepare(payments, "is_fraud", time="paid_at", drop=["card", "terminal"])


@pytest.fixture(scope="module")
def seen():
    return {}


@pytest.fixture(scope="module")
def compared(task, seen):
    return compare_methods(
        task, progress=lambda what, done, total: seen.__setitem__(what, (done, total)), **FAST
    )


def tried_with(trial, suspicion, is_positive, threshold=0.0, validation_precision=0.5):
    """A trial with these scores on test; the same by default as at the threshold 1."""
    probability = np.where(suspicion >= 1, 0.9, 0.1)
    test = evaluate(is_positive, suspicion, probability, 1)
    return TriedRemedy(trial, validation_precision, threshold, test, 1.0)


def compared_with(found, chosen=("smote", "under"), gain=(0.1, 0.05, 0.2), failed=()):
    """A comparison in which these differences were found, each (method, metric, three numbers)."""
    is_positive = np.arange(1000) < 136
    baseline = tried_with(RemedyTrial("none"), 2.0 * is_positive, is_positive, threshold=1.0)
    tried = [baseline, *(replace(baseline, trial=RemedyTrial(name, 0.1)) for name in chosen)]
    differences = [
        PairedDifference(name, "none", *numbers, metric=metric) for name, metric, *numbers in found
    ]
    return ComparedMethods(
        None, "log", 0.01, [0.1], tried, dict(failed), differences,
        PairedDifference("none", imbalance.BY_DEFAULT, *gain, metric="F1"),
        level_for(len(differences) + 1),
    )  # fmt: skip


# What is judged


def test_every_method_is_tried_at_every_ratio_and_the_baseline_comes_first(compared):
    assert compared.failed == {}
    assert compared.baseline.trial == RemedyTrial("none")
    assert [each.trial for each in compared.tried] == methods.trials_of(METHODS, compared.ratios)
    assert len(compared.ratios) == 3
    assert compared.natural_ratio < compared.ratios[0] < compared.ratios[2] == approx(1)


def test_the_baseline_learns_from_train_and_its_threshold_is_the_best_on_validation(
    task, compared
):
    ranker = BoostedRanker("log", positive_label=True, **FAST).fit(*task.rows("train"))
    X, y = task.rows("validation")
    apart = ranker.suspicion(X)
    baseline = compared.baseline

    assert baseline.test.suspicion == approx(ranker.suspicion(task.rows("test")[0]))
    assert baseline.validation_precision == approx(metrics.average_precision(y, apart))
    f1 = metrics.best_f_beta(y, apart).value
    assert metrics.f_beta(y, apart, baseline.threshold) == approx(f1)
    assert baseline.called.tolist() == (baseline.test.suspicion >= baseline.threshold).tolist()


def test_the_ratio_of_a_method_is_the_one_with_the_highest_precision_on_validation(compared):
    for name, chosen in compared.chosen.items():
        alike = [each for each in compared.tried if each.trial.method == name]
        assert chosen.validation_precision == max(each.validation_precision for each in alike)


def test_of_equal_ratios_the_lowest_is_chosen():
    is_positive = np.arange(10) < 2
    alike = [tried_with(RemedyTrial("under", r), np.arange(10.0), is_positive) for r in (0.3, 1.0)]

    assert imbalance._chosen(alike)["under"].trial.ratio == 0.3


def test_labels_of_the_test_rows_change_nothing_that_is_learned_or_chosen(task):
    is_positive = task.is_positive.copy()
    is_positive[task.split.test] = np.roll(is_positive[task.split.test], 7)
    one, two = (
        compare_methods(each, ["weights", "under"], [0.3], **FAST)
        for each in (task, replace(task, is_positive=is_positive))
    )

    for here, there in zip(one.tried, two.tried, strict=True):
        assert np.array_equal(here.test.suspicion, there.test.suspicion)
        assert here.threshold == there.threshold
        assert here.validation_precision == there.validation_precision


def test_the_same_seed_gives_the_same_comparison(task):
    one, two = (compare_methods(task, ["under"], [1], **FAST) for _ in range(2))
    other = compare_methods(task, ["under"], [1], random_state=1, **FAST)

    assert np.array_equal(one.tried[1].test.suspicion, two.tried[1].test.suspicion)
    assert not np.array_equal(one.tried[1].test.suspicion, other.tried[1].test.suspicion)


def test_sampling_to_even_classes_moves_the_default_threshold_not_the_chosen_one(compared):
    """What the thesis shows: at .5, even classes call far too many rows positive."""
    (even,) = [
        each for each in compared.tried if each.trial == RemedyTrial("under", compared.ratios[2])
    ]

    assert even.called_by_default.sum() > 5 * even.called.sum()
    assert even.f1.value > even.f1_by_default.value


def test_progress_ends_at_its_totals(compared, seen):
    assert seen["methods at their ratios"] == (21, 21)
    assert seen["comparing"] == (8, 8)


def test_only_those_that_are_drawn_keep_their_training_rows(task, compared):
    kept = [each for each in compared.tried if each.train is not None]
    assert [each.trial for each in kept] == [
        RemedyTrial("none"),
        RemedyTrial("under", compared.ratios[2]),
    ]
    is_positive, probability = kept[1].train

    assert is_positive.mean() == approx(0.5)
    assert is_positive.size == probability.size
    assert kept[0].train[0].mean() == approx(task.is_positive[task.split.train].mean(), rel=0.01)


# Methods that fail


def test_a_method_that_fails_is_reported_in_its_row_and_the_others_are_still_tried(task):
    # a positive or two are too few for neighbours
    rows = np.flatnonzero(task.is_positive[task.split.train])
    few = task.is_positive.copy()
    few[task.split.train[rows[3:]]] = False
    compared = compare_methods(
        replace(task, is_positive=few), ["smote", "weights"], [0.5, 1], **FAST
    )
    lines = remedy_summary._table(compared).splitlines()

    assert [each.trial.method for each in compared.tried] == ["none", "weights", "weights"]
    (row,) = [line for line in lines if line.startswith("smote")]
    assert re.match(r"smote +failed: k_neighbors must be below the number of positives", row)
    reasons = remedy_summary.facts_of(compared, "is_fraud", None)["failed"]
    assert [(each["method"], each["ratio"]) for each in reasons] == [("smote", 0.5), ("smote", 1)]


def test_without_imbalanced_learn_the_samplers_say_how_to_get_it(task, monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn", None)
    compared = compare_methods(task, ["under", "weights", "smote", "tomek"], [1], **FAST)

    assert set(compared.chosen) == {"none", "weights"}
    assert {each.method for each in compared.failed} == {"under", "smote", "tomek"}
    for sentence in compared.failed.values():
        assert "pip install 'toprank[imbalance]'" in sentence


def test_ratios_that_failed_for_different_reasons_have_a_row_each():
    failed = {
        RemedyTrial("over", 0.1): "no.",
        RemedyTrial("over", 1.0): "never.",
        RemedyTrial("tomek"): "no.",
    }
    table = remedy_summary._table(compared_with([], failed=failed))

    assert re.search(r"^over +\.1 +failed: no\.$", table, re.MULTILINE)
    assert re.search(r"^over +1 +failed: never\.$", table, re.MULTILINE)
    assert re.search(r"^tomek +failed: no\.$", table, re.MULTILINE)


def test_when_the_baseline_fails_its_error_is_raised(task, monkeypatch):
    def broken(*_):
        raise ValueError("this learner must have luck; got none.")

    monkeypatch.setattr(methods, "fitted", broken)
    with pytest.raises(ValueError, match="must have luck"):
        compare_methods(task, ["under"], [1], **FAST)


# Which differences are real


def test_each_method_meets_the_baseline_in_every_measure_at_its_chosen_ratio(compared):
    names = [(each.learner, each.metric) for each in compared.differences]
    assert names == [(name, metric) for name in METHODS[1:] for metric in MEASURES]
    baseline, smote = compared.baseline, compared.chosen["smote"]
    ap, f1, auc = [each for each in compared.differences if each.learner == "smote"]

    assert ap.value == approx(
        smote.test.average_precision.value - baseline.test.average_precision.value
    )
    assert f1.value == approx(smote.f1.value - baseline.f1.value)
    assert auc.value == approx(smote.test.roc_auc.value - baseline.test.roc_auc.value)


def test_the_level_counts_all_measures_of_all_methods_and_the_threshold(compared):
    assert compared.level == approx(1 - 0.05 / 25)
    assert compared.threshold_gain.value == approx(
        compared.baseline.f1.value - compared.baseline.f1_by_default.value
    )


@pytest.mark.slow
def test_a_remedy_without_effect_is_seldom_called_significant(monkeypatch):
    monkeypatch.setattr("toprank.workflow.comparison.differences.N_RESAMPLES", 100)
    generator = np.random.default_rng(0)
    is_positive = np.arange(1000) < 50
    level, n_false = level_for(10), 0
    for _ in range(30):
        base = generator.normal(size=1000) + 2.5 * is_positive
        baseline, *others = (
            tried_with(
                RemedyTrial(name), base + 0.5 * generator.normal(size=1000), is_positive, 1.5
            )
            for name in ("none", "tomek", "balance-cascade", "over")
        )
        found = imbalance.differences_of(others, baseline, level)
        n_false += any(each.is_significant for each in found)

    assert n_false <= 4


def test_what_is_much_better_is_significant_in_all_measures():
    generator = np.random.default_rng(1)
    is_positive = np.arange(2000) < 100
    scores = generator.normal(size=2000) + 1.5 * is_positive
    baseline = tried_with(RemedyTrial("none"), scores, is_positive, 1.5)
    better = tried_with(RemedyTrial("tomek"), scores + 2 * is_positive, is_positive, 1.5)

    found = imbalance.differences_of([better], baseline, level_for(4))
    assert [each.is_significant and each.value > 0 for each in found] == [True] * 3


# Words


def test_sentences_say_what_is_significant_and_where_measures_disagree():
    found = [
        ("smote", "AP", 0.0211, 0.0082, 0.0339),
        ("smote", "F1", 0.01, -0.01, 0.03),
        ("smote", "AUC", 0.01, -0.01, 0.03),
        ("under", "AP", -0.05, -0.07, -0.03),
        ("under", "F1", -0.04, -0.06, -0.02),
        ("under", "AUC", 0.01, 0.004, 0.016),
        *[("over", metric, 0.01, -0.01, 0.03) for metric in MEASURES],
    ]

    assert remedy_summary.verdicts(compared_with(found, ("smote", "under", "over")), "frauds") == [
        "smote (ratio .1) leads none in AP by .021 (.008 to .034): significant. "
        "In F1 or AUC it is not significantly different.",
        "under (ratio .1) leads none in AUC by .010 (.004 to .016) but trails it in AP by .050 "
        "(.030 to .070) and in F1 by .040 (.020 to .060): significant, and the measures disagree.",
        "over (ratio .1) is not significantly different from none in AP, F1 or AUC on these 136 "
        "frauds.",
        "Choosing the threshold takes the F1 of none from 1.00 (1.00-1.00) at probability .5 to "
        "1.00 (1.00-1.00), a gain of .100 (.050 to .200): significant.",
        "Intervals of differences are at 99.5 %: 95 % for all 10 at once.",
        "What to do: take smote (ratio .1). No other has a significant gain in AP.",
    ]


NO = (0.01, -0.01, 0.03)
UP = (0.02, 0.01, 0.03)
DOWN = (-0.02, -0.03, -0.01)


@pytest.mark.parametrize(
    ("smote", "under", "advice"),
    [
        ((NO, NO, NO), (NO, NO, NO), "leave the rows as they are and choose the threshold. No "
         "method has a significant gain in AP."),
        ((DOWN, NO, NO), (NO, NO, UP), "leave the rows as they are and choose the threshold. No "
         "method has a significant gain in AP (AUC rises with under (ratio .1))."),
        ((NO, UP, NO), (NO, UP, UP), "leave the rows as they are and choose the threshold. No "
         "method has a significant gain in AP (F1 rises with smote (ratio .1) and under (ratio "
         ".1); "
         "AUC rises with under (ratio .1))."),
        ((UP, NO, NO), (UP, NO, NO), "take one of smote (ratio .1) and under (ratio .1). Which of "
         "them is best was not tested."),
    ],
)  # fmt: skip
def test_the_advice_claims_no_more_than_the_intervals(smote, under, advice):
    found = [
        (name, metric, *numbers)
        for name, leads in (("smote", smote), ("under", under))
        for metric, numbers in zip(MEASURES, leads, strict=True)
    ]

    assert remedy_summary.verdicts(compared_with(found), "frauds")[-1] == f"What to do: {advice}"


def test_a_threshold_that_gains_nothing_sure_is_not_praised():
    (line,) = [
        line
        for line in remedy_summary.verdicts(compared_with([], (), gain=NO), "frauds")
        if line.startswith("Choosing")
    ]

    assert line.endswith("to 1.00 (1.00-1.00), which is no significant difference.")


def test_without_another_method_there_is_no_advice():
    lines = remedy_summary.verdicts(compared_with([], ()), "frauds")

    assert lines[-1] == ("Intervals of differences are at 95 %: 95 % for the one difference.")


def test_the_text_has_a_row_per_trial_with_intervals_on_lines_that_fit(compared):
    lines = remedy_summary.text_of(compared, "frauds").splitlines()

    assert re.fullmatch(r"[\d,]+ rows, 11 features, [\d.]+ % frauds", lines[0])
    head = [word for word in re.split(r"  +", lines[2]) if word]
    assert head == ["ratio", "AP", "F1", "F1 at .5", "AUC", "seconds"]
    share = r"[.\d]+ \([.\d]+-[.\d]+\)"
    for line, each in zip(lines[3:], compared.tried, strict=False):
        chosen = compared.chosen[each.trial.method] is each and each.trial.ratio is not None
        ratio = "" if each.trial.ratio is None else re.escape(wording.ratio(each.trial.ratio))
        star = re.escape("*" if chosen else "")
        row = rf"{each.trial.method} +{ratio}{star}( +{share}){{4}} +[.,\d]+"
        assert re.fullmatch(row, line), line
    assert lines[3 + 21] == "* the ratio with the highest AP on validation"
    assert max(map(len, lines)) <= 99


def test_facts_are_the_figures_in_plain_values(compared):
    facts = json.loads(json.dumps(remedy_summary.facts_of(compared, "is_fraud", "paid_at")))

    assert (facts["baseline"], facts["base"], facts["ratios"]) == ("none", "log", compared.ratios)
    assert len(facts["tried"]) == 21
    for given, each in zip(facts["tried"], compared.tried, strict=True):
        assert (given["method"], given["ratio"]) == each.trial
        assert given["f1"]["value"] == each.f1.value
        assert given["f1_by_default"]["low"] == each.f1_by_default.low
    assert sum(each["is_chosen"] for each in facts["tried"]) == 9
    assert len(facts["differences"]) == 24
    assert facts["threshold_gain"]["metric"] == "F1"


# The picture


def test_the_picture_shows_thresholds_with_and_without_sampling_and_all_measures(compared):
    figure = remedy_summary.picture_of(compared)
    titles = [ax.get_title(loc="left") for ax in figure.axes]

    assert titles == [
        "F1 by threshold: none",
        "F1 by threshold: under (ratio 1)",
        "F1 by ratio, at probability .5",
        "AP by ratio",
        "F1 by ratio, at the threshold of validation",
        "AUC by ratio",
    ]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(METHODS)


def test_a_picture_of_the_baseline_alone_can_be_drawn(task):
    figure = remedy_summary.picture_of(compare_methods(task, [], [1], **FAST))

    figure.draw_without_rendering()
    assert not figure.axes[1].axison

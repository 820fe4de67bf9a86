"""The remedies: each brings about the ratio that was chosen, around the ranker it was given."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import expit

from toprank.decisions.samplers import natural_ratio
from toprank.rankers.boosted.boosted_ranker import BoostedRanker
from toprank.workflow.comparison import comparable_learners, learner_comparison, methods
from toprank.workflow.comparison.methods import METHODS, RemedyTrial, base_names

BASE = BoostedRanker("log", n_estimators=5, n_jobs=1)


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1500, 3))
    y = np.where(X[:, 0] + X[:, 1] + generator.normal(size=1500) > 3.2, "fraud", "genuine")
    return X, y


def fitted(trial, rows, base=BASE):
    return methods.fitted(trial, base, *rows, "fraud")


def test_none_is_the_base_on_the_rows_as_they_are(rows):
    expected = BoostedRanker("log", n_estimators=5, positive_label="fraud").fit(*rows)

    assert fitted(RemedyTrial("none"), rows).suspicion(rows[0]) == approx(
        expected.suspicion(rows[0])
    )


def test_weights_bring_the_weighted_ratio_about(rows):
    X, y = rows
    weight = np.where(y == "fraud", 0.5 * np.sum(y != "fraud") / np.sum(y == "fraud"), 1.0)
    assert weight[y == "fraud"].sum() / weight[y != "fraud"].sum() == approx(0.5)
    expected = BoostedRanker("log", n_estimators=5, positive_label="fraud").fit(X, y, weight)

    assert fitted(RemedyTrial("weights", 0.5), rows).suspicion(X) == approx(expected.suspicion(X))


@pytest.mark.parametrize("method", ["under", "over", "smote", "easy-ensemble"])
def test_sampling_brings_the_ratio_about(method, rows):
    for n_rows, n_positive in fitted(RemedyTrial(method, 0.5), rows).n_sampled_:
        assert n_positive / (n_rows - n_positive) == approx(0.5, abs=0.02)


def test_tomek_only_leaves_out_negatives(rows):
    ((n_rows, n_positive),) = fitted(RemedyTrial("tomek"), rows).n_sampled_

    assert n_positive == np.sum(rows[1] == "fraud")
    assert 1400 < n_rows < 1500


def test_costs_multiply_up_to_the_ratio_over_all_rounds(rows):
    boost = fitted(RemedyTrial("cost-boost", 0.5), rows)

    assert boost.n_estimators == 5
    assert boost.positive_cost**5 == approx(0.5 / natural_ratio(rows[1] == "fraud"))


@pytest.mark.parametrize("method", METHODS)
def test_the_base_stays_unfitted_and_the_classes_keep_their_names(method, rows):
    (trial,) = methods.trials_of([method], [0.5])
    base = BoostedRanker("log", n_estimators=2, n_jobs=1)
    ranker = fitted(trial, rows, base)

    assert not hasattr(base, "booster_")
    assert base.positive_label is None
    assert ranker.positive_label_ == "fraud"
    assert np.isfinite(ranker.suspicion(rows[0])).all()


@pytest.mark.parametrize("name", ["rank-forest", "rank-boost"])
@pytest.mark.parametrize("method", ["weights", "under", "cost-boost"])
def test_other_learners_can_be_the_base(name, method, rows):
    base = learner_comparison.make_learner(name, n_estimators=3, n_jobs=1)
    suspicion = fitted(RemedyTrial(method, 0.5), rows, base).suspicion(rows[0])

    assert suspicion[rows[1] == "fraud"].mean() > suspicion[rows[1] != "fraud"].mean()


def test_own_probabilities_follow_the_ratio_that_was_learned_from(rows):
    X, y = rows
    for trial in (RemedyTrial("under", 1.0), RemedyTrial("weights", 1.0)):
        ranker = fitted(trial, rows)
        own = methods.own_probability(ranker, ranker.suspicion(X))
        is_fraud = y == "fraud"
        # among as many frauds as others, half of the probability is theirs
        assert (own[is_fraud].mean() + own[~is_fraud].mean()) / 2 == approx(0.5, abs=0.06), trial

    none = fitted(RemedyTrial("none"), rows)
    own = methods.own_probability(none, none.suspicion(X))
    assert own == approx(none.probability(X))
    assert own.mean() == approx(np.mean(y == "fraud"), abs=0.02)


def test_what_costs_call_positive_is_above_one_half_and_a_cascade_has_its_probability(rows):
    costs, cascade = (
        fitted(RemedyTrial("cost-boost", 1.0), rows),
        fitted(RemedyTrial("balance-cascade"), rows),
    )
    suspicion = costs.suspicion(rows[0])
    assert methods.own_probability(costs, suspicion) == approx(expit(suspicion))
    own = methods.own_probability(cascade, cascade.suspicion(rows[0]))
    assert own == approx(cascade.probability(rows[0]))


# Which ratios, which methods


def test_default_ratios_are_evenly_spread_between_the_rows_own_and_1():
    assert methods.check_ratios(None, np.arange(1001) < 1) == approx([0.01, 0.1, 1])


def test_ratios_are_put_in_order_without_repeats():
    assert methods.check_ratios([1, 0.5, 0.5], np.arange(101) < 1) == [0.5, 1.0]


@pytest.mark.parametrize("ratio", [0.01, 0.005])
def test_a_ratio_the_rows_have_already_is_refused_by_name(ratio):
    with pytest.raises(ValueError, match=r"ratios must be above 0\.01, .* at most 1; got 0\.0"):
        methods.check_ratios([1, ratio], np.arange(101) < 1)


@pytest.mark.parametrize("ratio", [0, -1, 1.5])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(ValueError, match="ratios must be greater than 0 and at most 1"):
        methods.check_ratios([ratio], np.arange(101) < 1)


def test_no_ratio_at_all_is_refused():
    with pytest.raises(ValueError, match="ratios must have at least one number"):
        methods.check_ratios([], np.arange(101) < 1)


def test_positives_that_are_not_rarer_are_refused():
    with pytest.raises(ValueError, match="positives must be rarer than negatives"):
        methods.check_ratios(None, np.arange(10) < 5)


def test_the_baseline_comes_first_and_nothing_twice():
    assert methods.check_methods(["smote", "none", "smote"]) == ["none", "smote"]
    with pytest.raises(ValueError, match=r"got 'smoet'; did you mean 'smote'\?"):
        methods.check_methods(["smoet"])


def test_any_learner_but_auto_can_be_the_base():
    assert set(base_names()) == set(comparable_learners()) - {"auto"}
    with pytest.raises(ValueError, match=r"base must be one of log, .*; got 'auto'"):
        methods.check_base("auto")


def test_methods_without_a_ratio_are_tried_once():
    trials = methods.trials_of(METHODS, [0.1, 1.0])

    assert [each.method for each in trials if each.ratio is None] == [
        "none",
        "tomek",
        "balance-cascade",
    ]
    assert len(trials) == 3 + 2 * 6

"""Costs: decisions and savings are those of counting row by row, and intervals cover the truth."""

import time

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import norm

from examples import examples
from strategies import rankings
from toprank.decisions import (
    CostMatrix,
    best_savings,
    expected_savings,
    expected_savings_curve,
    minimum_risk,
    savings_curve,
)

pytestmark = pytest.mark.kernel
compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of resamples")
SLOW = pytest.mark.slow
AMOUNTS = st.sampled_from([0.0, 1.0, 5.0, 20.0, 300.0])


@st.composite
def priced_rankings(draw, max_rows=25):
    """Draw labels and suspicions with costs, each cost a number or one value per row."""
    is_positive, suspicion = draw(rankings(max_rows))
    n = suspicion.size
    one_per_row = st.lists(AMOUNTS, min_size=n, max_size=n)
    amount = np.array(draw(one_per_row))
    amount[is_positive.argmax()] = 500.0
    check_cost = draw(st.one_of(AMOUNTS, one_per_row))
    return is_positive, suspicion, CostMatrix.of_checks(amount, check_cost)


def at_row(cost, row):
    return cost[row] if np.ndim(cost) else cost


def total_cost(is_positive, is_alert, costs):
    """Slow twin: the cost of every row, one by one."""
    total = 0.0
    for row in range(is_positive.size):
        if is_alert[row]:
            cost = costs.true_positive if is_positive[row] else costs.false_positive
        else:
            cost = costs.false_negative if is_positive[row] else costs.true_negative
        total += at_row(cost, row)
    return total


def saved(is_positive, is_alert, costs):
    nobody = np.zeros(is_positive.size, dtype=bool)
    return total_cost(is_positive, nobody, costs) - total_cost(is_positive, is_alert, costs)


def saved_by_checks(is_positive, suspicion, costs, k):
    """Slow twin: each row's saving times its chance to be among the first k."""
    total = 0.0
    for row in range(suspicion.size):
        places_left = k - np.sum(suspicion > suspicion[row])
        chance = np.clip(places_left / np.sum(suspicion == suspicion[row]), 0, 1)
        alone = np.arange(suspicion.size) == row
        total += chance * saved(is_positive, alone, costs)
    return total


@examples(60)
@given(priced_rankings(), st.data())
def test_an_alert_is_given_where_it_is_expected_to_cost_less(sample, data):
    is_positive, _, costs = sample
    n = is_positive.size
    probability = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    saving, is_alert = expected_savings(probability, costs), minimum_risk(probability, costs)
    for row, p in enumerate(probability):
        alerting = p * at_row(costs.true_positive, row)
        alerting += (1 - p) * at_row(costs.false_positive, row)
        letting = p * at_row(costs.false_negative, row)
        letting += (1 - p) * at_row(costs.true_negative, row)
        assert saving[row] == approx(letting - alerting, abs=1e-9)
        if abs(letting - alerting) > 1e-9:
            assert is_alert[row] == (alerting < letting)


def test_minimum_risk_costs_least_of_all_decisions_where_probabilities_are_true():
    generator = np.random.default_rng(0)
    probability = generator.beta(0.5, 10, 10_000)
    is_positive = generator.random(10_000) < probability
    amount = generator.lognormal(3, 1, 10_000)
    costs = CostMatrix.of_checks(amount, 4.0)
    right = total_cost(is_positive, minimum_risk(probability, costs), costs)
    for other in (probability / 3, probability**0.5, np.full(10_000, probability.mean())):
        assert right < total_cost(is_positive, minimum_risk(other, costs), costs)


def test_a_plain_matrix_alerts_above_elkan_s_probability():
    costs = CostMatrix(true_positive=1, false_positive=3, false_negative=21, true_negative=0)
    # (false_positive - true_negative) / (that + false_negative - true_positive)
    assert minimum_risk([0.12, 0.14], costs).tolist() == [False, True]
    assert 0.12 < 3 / (3 + 20) < 0.14


def test_the_thesis_table_charges_alerts_a_check_and_missed_frauds_their_amount():
    costs = CostMatrix.of_checks(amount=[50.0, 8.0], check_cost=10.0)
    frauds, genuine = np.array([True, True]), np.array([False, False])
    everyone, nobody = np.array([True, True]), np.array([False, False])
    assert total_cost(frauds, everyone, costs) == 20
    assert total_cost(frauds, nobody, costs) == 58
    assert total_cost(genuine, everyone, costs) == 20
    assert total_cost(genuine, nobody, costs) == 0


@examples(60)
@given(priced_rankings())
def test_the_curve_is_what_checking_row_by_row_saves_ties_in_expectation(sample):
    is_positive, suspicion, costs = sample
    every = np.arange(1, suspicion.size + 1)
    curve = savings_curve(is_positive, suspicion, costs, checks=every, n_resamples=2)
    expected = [saved_by_checks(is_positive, suspicion, costs, k) for k in every]
    assert np.array_equal(curve.checks, every)
    assert curve.savings == approx(expected, abs=1e-6)


@examples(60)
@given(priced_rankings())
def test_no_threshold_saves_more_than_the_best(sample):
    is_positive, suspicion, costs = sample
    best = best_savings(is_positive, suspicion, costs, n_resamples=2)
    possible = [saved(is_positive, suspicion >= score, costs) for score in suspicion]
    is_alert = suspicion >= best.threshold
    assert saved(is_positive, is_alert, costs) == approx(max([0.0, *possible]), abs=1e-6)
    assert best.n_alerts == is_alert.sum()
    assert not np.isin(best.threshold, suspicion)
    assert best.threshold_low <= best.threshold <= best.threshold_high
    assert best.savings.low <= best.savings.value <= best.savings.high


@examples(60)
@given(priced_rankings(), st.data())
def test_savings_to_expect_are_the_rows_expected_savings_added_up(sample, data):
    _, suspicion, costs = sample
    n = suspicion.size
    probability = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    every = np.arange(1, n + 1)
    by_saving = expected_savings_curve(probability, costs, checks=every, n_resamples=2)
    saving = expected_savings(probability, costs)
    assert by_saving.savings == approx(np.sort(saving)[::-1].cumsum(), abs=1e-6)
    given_order = expected_savings_curve(
        probability, costs, suspicion, checks=every, n_resamples=2
    )
    for k, value in zip(every, given_order.savings, strict=True):
        places = np.array([k - np.sum(suspicion > score) for score in suspicion])
        tied = np.array([np.sum(suspicion == score) for score in suspicion])
        assert value == approx(np.sum(np.clip(places / tied, 0, 1) * saving), abs=1e-6)
    assert np.all(given_order.savings <= by_saving.savings + 1e-6)


@pytest.mark.parametrize(
    ("n_cases", "least", "most"), [(20, 0.8, 1.0), pytest.param(200, 0.9, 0.99, marks=SLOW)]
)
def test_the_interval_of_expected_savings_contains_the_actual_ones(n_cases, least, most):
    generator = np.random.default_rng(1)
    n_covered = 0
    for seed in range(n_cases):
        probability = generator.beta(0.3, 6, 300)
        costs = CostMatrix.of_checks(generator.lognormal(3, 1, 300), 5.0)
        expected = expected_savings_curve(probability, costs, checks=[60], random_state=seed)
        happened = generator.random(300) < probability
        order = np.argsort(-expected_savings(probability, costs))
        is_alert = np.isin(np.arange(300), order[:60])
        n_covered += expected.low[0] <= saved(happened, is_alert, costs) <= expected.high[0]
    assert least <= n_covered / n_cases <= most


def priced_classes(generator, n_rows, share, distance, spread):
    is_positive = generator.random(n_rows) < share
    suspicion = generator.normal(size=n_rows) + distance * is_positive
    return is_positive, suspicion, generator.lognormal(4, spread, n_rows)


def true_savings(threshold, n_rows, share, distance, spread, check_cost):
    true_rate, false_rate = norm.sf(threshold - distance), norm.sf(threshold)
    amount = np.exp(4 + spread**2 / 2)
    per_row = share * true_rate * (amount - check_cost) - (1 - share) * false_rate * check_cost
    return n_rows * per_row


@compiled_only
@pytest.mark.parametrize(
    ("n_large", "n_cases", "least"), [(60, 25, 0.76), pytest.param(60, 150, 0.88, marks=SLOW)]
)
def test_the_curve_s_band_contains_the_savings_on_new_rows(n_large, n_cases, least):
    generator = np.random.default_rng(2)
    checks, truth = np.array([20, 100, 1000]), np.zeros(3)
    for _ in range(n_large):
        y, suspicion, amount = priced_classes(generator, 20_000, 0.02, 2.0, 0.5)
        costs = CostMatrix.of_checks(amount, 15.0)
        truth += savings_curve(y, suspicion, costs, checks * 10, n_resamples=2).savings
    truth /= 10 * n_large
    covered = np.zeros(3)
    for seed in range(n_cases):
        y, suspicion, amount = priced_classes(generator, 2000, 0.02, 2.0, 0.5)
        costs = CostMatrix.of_checks(amount, 15.0)
        curve = savings_curve(y, suspicion, costs, checks, n_resamples=100, random_state=seed)
        covered += (curve.low <= truth) & (truth <= curve.high)
    assert np.all(covered / n_cases >= least)


@compiled_only
@pytest.mark.parametrize(
    ("n_cases", "least", "most"), [(25, 0.8, 1.0), pytest.param(150, 0.89, 0.99, marks=SLOW)]
)
def test_best_savings_are_corrected_and_their_interval_contains_the_truth(n_cases, least, most):
    generator = np.random.default_rng(3)
    setting = (5000, 0.02, 2.0, 0.5)
    n_covered, plain, corrected, truth = 0, 0.0, 0.0, 0.0
    for seed in range(n_cases):
        y, suspicion, amount = priced_classes(generator, *setting)
        costs = CostMatrix.of_checks(amount, 15.0)
        best = best_savings(y, suspicion, costs, n_resamples=100, random_state=seed)
        real = true_savings(best.threshold, *setting, check_cost=15.0)
        plain += saved_fast(y, suspicion >= best.threshold, amount, 15.0)
        corrected, truth = corrected + best.savings.value, truth + real
        n_covered += best.savings.low <= real <= best.savings.high
    assert least <= n_covered / n_cases <= most
    assert plain > 1.1 * truth
    assert abs(corrected - truth) < 0.6 * (plain - truth)


def saved_fast(is_positive, is_alert, amount, check_cost):
    return amount[is_positive & is_alert].sum() - check_cost * is_alert.sum()


@examples(20)
@given(priced_rankings())
def test_resampled_curves_spread_around_the_curve(sample):
    curve = savings_curve(*sample, n_resamples=60)
    assert np.all(curve.low <= curve.high)
    assert curve.checks[0] == 1
    assert curve.checks[-1] == sample[1].size


def test_where_every_threshold_loses_nothing_is_alerted_and_nothing_saved():
    costs = CostMatrix.of_checks(amount=[9.0, 9.0, 9.0, 9.0], check_cost=5.0)
    best = best_savings([0, 0, 0, 1], [4.0, 3.0, 2.0, 1.0], costs)
    assert best.threshold > 4
    assert best.n_alerts == 0
    assert best.savings == (0, 0, 0)


def test_costs_by_row_and_one_cost_for_all_give_the_same_where_they_are_the_same():
    generator = np.random.default_rng(4)
    y, suspicion, amount = priced_classes(generator, 2000, 0.05, 2.0, 1.0)
    plain = CostMatrix.of_checks(amount, 10.0)
    by_row = CostMatrix(np.full(2000, 10.0), np.full(2000, 10.0), amount, np.zeros(2000))
    curves = [savings_curve(y, suspicion, costs) for costs in (plain, by_row)]
    assert curves[0].savings == approx(curves[1].savings)
    assert np.array_equal(curves[0].low, curves[1].low)


@SLOW
@compiled_only
def test_curves_of_the_card_data_s_size_take_seconds_at_most():
    generator = np.random.default_rng(5)
    is_positive = np.arange(284_807) < 492
    suspicion = generator.normal(size=is_positive.size) + 3 * is_positive
    amount = generator.lognormal(3, 1.5, is_positive.size)
    for check_cost in (10.0, generator.uniform(5, 15, is_positive.size)):
        costs = CostMatrix.of_checks(amount, check_cost)
        begin = time.process_time()
        savings_curve(is_positive, suspicion, costs)
        assert time.process_time() - begin < 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5.0, -1.0], 2.0), "amount must not be negative; 1 of 2 are, down to -1. Leave refunds"),
        (([5.0, np.nan], 2.0), "amount must .* finite numbers; 1 of 2 are not"),
        ((5.0, -2.0), "check_cost must not be negative; 1 of 1 are, down to -2"),
        (([5.0, 6.0], [1.0, 1.0, 1.0]), "costs must have one value per row; got lengths 2 and 3"),
        (([[5.0]], 1.0), r"amount must have one dimension; got shape \(1, 1\)"),
        ((5.0, 8.0), "false_negative must cost more than true_positive on at least one row"),
    ],
)
def test_unusable_amounts_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CostMatrix.of_checks(*arguments)


def test_unreasonable_matrices_are_refused():
    with pytest.raises(ValueError, match="false_negative must cost more than true_positive"):
        CostMatrix(true_positive=10, false_positive=1, false_negative=2, true_negative=0)
    with pytest.raises(ValueError, match=r"false_positive must cost at least .* got 1 and 3"):
        CostMatrix(true_positive=1, false_positive=1, false_negative=9, true_negative=3)
    small = CostMatrix.of_checks(amount=[1.0, 2.0], check_cost=5.0)
    with pytest.raises(ValueError, match="is no amount above the cost of a check"):
        best_savings([0, 1], [1.0, 2.0], small)


def test_rows_of_small_amounts_alone_are_let_through_without_complaint():
    small = CostMatrix.of_checks(amount=[1.0, 2.0], check_cost=5.0)
    assert not minimum_risk([0.99, 1.0], small).any()


def test_rows_and_costs_that_do_not_match_are_refused():
    costs = CostMatrix.of_checks(amount=[10.0, 20.0], check_cost=1.0)
    with pytest.raises(ValueError, match="costs must have one value for each of the 3 rows; got"):
        minimum_risk([0.1, 0.2, 0.3], costs)
    with pytest.raises(ValueError, match="costs must have one value for each of the 3 rows; got"):
        savings_curve([0, 1, 0], [1.0, 2.0, 3.0], costs)
    with pytest.raises(ValueError, match="suspicion must have 2 values; got 3"):
        expected_savings_curve([0.1, 0.2], costs, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"probability must be between 0 and 1; got 0 to 1\.5"):
        expected_savings([0.0, 1.5], costs)
    with pytest.raises(ValueError, match="checks must be between 1 and 2; got 3"):
        savings_curve([0, 1], [1.0, 2.0], costs, checks=[3])
    with pytest.raises(ValueError, match=r"checks must .* at least one number; got none"):
        savings_curve([0, 1], [1.0, 2.0], costs, checks=[])

"""Thresholds: the best of all there are, half-way between scores, with figures that hold."""

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
from toprank import metrics
from toprank.decisions import choose_threshold, f_beta_by_threshold
from toprank.decisions.thresholds import halfway_cuts

pytestmark = pytest.mark.kernel
SLOW = pytest.mark.slow
compiled_only = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="thousands of resamples")


def normal_classes(generator, n_rows, share, distance):
    is_positive = generator.random(n_rows) < share
    return is_positive, generator.normal(size=n_rows) + distance * is_positive


def every_threshold(is_positive, suspicion):
    """Slow twin: true and false positives, missed and rest of every threshold, highest first."""
    for score in np.unique(suspicion)[::-1]:
        is_alert = suspicion >= score
        yield tuple(
            int(np.sum(cell))
            for cell in (
                is_alert & is_positive,
                is_alert & ~is_positive,
                ~is_alert & is_positive,
                ~is_alert & ~is_positive,
            )
        )


def best_f_beta(is_positive, suspicion, beta):
    return max(
        (1 + beta**2) * true / ((1 + beta**2) * true + beta**2 * missed + false)
        for true, false, missed, _ in every_threshold(is_positive, suspicion)
    )


def best_mcc(is_positive, suspicion):
    values = []
    for true, false, missed, rest in every_threshold(is_positive, suspicion):
        spread = (true + false) * (true + missed) * (rest + false) * (rest + missed)
        values.append((true * rest - false * missed) / spread**0.5 if spread else 0.0)
    return max(values)


def alerted(chosen, is_positive, suspicion):
    is_alert = suspicion >= chosen.threshold
    return int(np.sum(is_alert & is_positive)), int(is_alert.sum())


@examples(100)
@given(rankings(), st.sampled_from([0.5, 1.0, 2.0]))
def test_no_threshold_has_a_higher_f_beta_than_the_chosen_one(sample, beta):
    chosen = choose_threshold(*sample, beta=beta, n_resamples=2)
    at_chosen = metrics.f_beta(*sample, threshold=chosen.threshold, beta=beta)
    assert at_chosen == approx(best_f_beta(*sample, beta))


@examples(100)
@given(rankings())
def test_no_threshold_has_a_higher_mcc_than_the_chosen_one(sample):
    chosen = choose_threshold(*sample, "mcc", n_resamples=2)
    at_chosen = metrics.matthews_correlation(*sample, threshold=chosen.threshold)
    assert at_chosen == approx(best_mcc(*sample), abs=1e-12)


@examples(100)
@given(rankings(), st.sampled_from([0.05, 0.3, 0.5, 0.7, 1.0]))
def test_of_all_thresholds_precise_enough_the_chosen_one_finds_most(sample, least):
    tables = list(every_threshold(*sample))
    enough = [true for true, false, *_ in tables if true / (true + false) >= least]
    if not enough:
        best = max(true / (true + false) for true, false, *_ in tables)
        with pytest.raises(ValueError, match="least_precision must be at most") as refusal:
            choose_threshold(*sample, "precision", least_precision=least)
        named = float(str(refusal.value).split("at most ")[1].split(",")[0])
        assert best - 0.001 <= named <= best
        return
    chosen = choose_threshold(*sample, "precision", least_precision=least, n_resamples=2)
    found, n_alerts = alerted(chosen, *sample)
    assert found == max(enough)
    assert found / n_alerts >= least


@examples(100)
@given(rankings(), st.data())
def test_a_budget_is_never_exceeded_and_used_as_far_as_ties_allow(sample, data):
    suspicion = sample[1]
    budget = data.draw(st.integers(1, suspicion.size))
    sizes = [true + false for true, false, *_ in every_threshold(*sample)]
    if sizes[0] > budget:
        message = f"budget must be at least {sizes[0]}, .*got {budget}"
        with pytest.raises(ValueError, match=message):
            choose_threshold(*sample, "alerts", budget=budget)
        return
    chosen = choose_threshold(*sample, "alerts", budget=budget, n_resamples=2)
    assert chosen.n_alerts == alerted(chosen, *sample)[1]
    assert chosen.n_alerts == max(size for size in sizes if size <= budget)


@examples(60)
@given(rankings(), st.sampled_from(["f_beta", "mcc"]))
def test_a_threshold_is_half_way_between_neighbouring_scores(sample, aim):
    chosen = choose_threshold(*sample, aim, n_resamples=2)
    scores = np.unique(sample[1])
    above, below = scores[scores >= chosen.threshold], scores[scores < chosen.threshold]
    assert not np.isin(chosen.threshold, scores)
    if below.size:
        assert chosen.threshold == (above.min() + below.max()) / 2
    else:
        assert chosen.threshold < scores[0]


@examples(60)
@given(rankings(), st.sampled_from(["f_beta", "mcc"]))
def test_every_figure_is_in_its_interval_and_in_the_range_of_its_metric(sample, aim):
    chosen = choose_threshold(*sample, aim, n_resamples=20)
    assert chosen.threshold_low <= chosen.threshold <= chosen.threshold_high
    for value, low, high in (chosen.value, chosen.precision, chosen.recall):
        assert -1 <= low <= value <= high <= 1
    assert chosen.precision.low >= 0
    assert chosen.recall.low >= 0


def test_cuts_separate_even_neighbouring_floats():
    above = 1.0
    below = np.nextafter(above, 0)
    first, last = halfway_cuts(np.array([above, below]))
    assert below < first <= above
    assert last <= below
    huge = np.array([1e300, -1e300])
    assert np.all(halfway_cuts(huge) <= huge)
    assert halfway_cuts(np.array([7.0])) == approx([6.5])


def test_shifting_every_score_by_a_rounding_error_moves_no_row_across():
    generator = np.random.default_rng(0)
    is_positive, suspicion = normal_classes(generator, 3000, 0.02, 2.0)
    chosen = choose_threshold(is_positive, suspicion)
    wobbled = suspicion * (1 + 1e-12 * generator.choice([-1, 1], 3000))
    assert np.array_equal(wobbled >= chosen.threshold, suspicion >= chosen.threshold)


def test_perfect_scores_of_few_positives_promise_no_certainty():
    suspicion = np.arange(200.0)
    chosen = choose_threshold(suspicion >= 195, suspicion)
    assert chosen.threshold == 194.5
    assert chosen.precision.low < 0.75
    assert chosen.recall.low < 0.75


def f_1_of(true_rate, false_rate, share):
    return 2 * true_rate * share / (share + true_rate * share + false_rate * (1 - share))


def mcc_of(true_rate, false_rate, share):
    called = true_rate * share + false_rate * (1 - share)
    spread = share * (1 - share) * called * (1 - called)
    return (true_rate * share - called * share) / spread**0.5


def recall_of(true_rate, false_rate, share):
    return true_rate


@compiled_only
@pytest.mark.parametrize(
    ("n_cases", "least", "most"), [(15, 0.8, 1.0), pytest.param(200, 0.89, 0.995, marks=SLOW)]
)
@pytest.mark.parametrize(
    ("n_rows", "share", "distance", "aim", "options", "truth_of"),
    [
        (2000, 0.01, 2.0, "f_beta", {}, f_1_of),
        (2000, 0.01, 3.0, "f_beta", {}, f_1_of),
        (2000, 0.01, 3.0, "mcc", {}, mcc_of),
        (2000, 0.02, 3.0, "precision", {"least_precision": 0.5}, recall_of),
        (2000, 0.02, 3.0, "alerts", {"budget": 50}, recall_of),
    ],
)
def test_intervals_contain_the_figures_of_the_chosen_threshold_on_new_rows(
    n_rows, share, distance, aim, options, truth_of, n_cases, least, most
):
    generator = np.random.default_rng(1)
    covered = np.zeros(3)
    for seed in range(n_cases):
        rows = normal_classes(generator, n_rows, share, distance)
        chosen = choose_threshold(*rows, aim, random_state=seed, **options)
        true_rate = norm.sf(chosen.threshold - distance)
        false_rate = norm.sf(chosen.threshold)
        precision = true_rate * share / (true_rate * share + false_rate * (1 - share))
        truths = truth_of(true_rate, false_rate, share), precision, true_rate
        figures = chosen.value, chosen.precision, chosen.recall
        covered += [low <= t <= high for t, (_, low, high) in zip(truths, figures, strict=True)]
    # nominal is 0.95; chance alone moves a share of 200 cases by 0.03
    assert np.all(covered / n_cases >= least)
    assert covered[0] / n_cases <= most


@compiled_only
@pytest.mark.parametrize(
    ("n_cases", "share_left"), [(40, 0.8), pytest.param(200, 0.5, marks=SLOW)]
)
def test_with_20_positives_the_correction_removes_optimism(n_cases, share_left):
    generator = np.random.default_rng(2)
    plain, corrected, truth = [], [], []
    for seed in range(n_cases):
        is_positive, suspicion = normal_classes(generator, 2000, 0.01, 2.0)
        chosen = choose_threshold(is_positive, suspicion, random_state=seed)
        plain.append(metrics.best_f_beta(is_positive, suspicion).value)
        corrected.append(chosen.value.value)
        truth.append(f_1_of(norm.sf(chosen.threshold - 2), norm.sf(chosen.threshold), 0.01))
    optimism = np.mean(plain) - np.mean(truth)
    assert optimism > 0.05
    assert abs(np.mean(corrected) - np.mean(truth)) < share_left * optimism


def test_a_threshold_for_a_budget_has_almost_no_optimism():
    # it does not depend on the labels
    generator = np.random.default_rng(3)
    plain, corrected = [], []
    for seed in range(20):
        is_positive, suspicion = normal_classes(generator, 2000, 0.02, 2.0)
        chosen = choose_threshold(
            is_positive, suspicion, "alerts", budget=100, n_resamples=50, random_state=seed
        )
        plain.append(metrics.recall_at_k(is_positive, suspicion, k=100))
        corrected.append(chosen.recall.value)
    assert np.mean(corrected) == approx(np.mean(plain), abs=0.01)


def test_thresholds_of_other_draws_are_mostly_between_low_and_high():
    generator = np.random.default_rng(4)
    draws = [
        choose_threshold(*normal_classes(generator, 2000, 0.05, 2.0), n_resamples=50)
        for _ in range(20)
    ]
    middle = np.median([each.threshold for each in draws])
    covered = np.mean([each.threshold_low <= middle <= each.threshold_high for each in draws])
    assert covered >= 0.8
    assert max(each.threshold_high - each.threshold_low for each in draws) < 1.5


def test_more_weight_on_recall_alerts_more():
    rows = normal_classes(np.random.default_rng(5), 5000, 0.05, 1.5)
    half, one, two = (choose_threshold(*rows, beta=beta).n_alerts for beta in (0.5, 1.0, 2.0))
    assert half < one < two


def test_the_seed_decides_the_intervals_and_never_the_threshold():
    rows = normal_classes(np.random.default_rng(6), 1000, 0.05, 2.0)
    one, again, other = (choose_threshold(*rows, random_state=seed) for seed in (0, 0, 1))
    assert one == again
    assert one.threshold == other.threshold
    assert one.value != other.value


def test_blocks_of_resamples_give_what_all_at_once_give(monkeypatch):
    rows = normal_classes(np.random.default_rng(7), 500, 0.1, 2.0)
    at_once = choose_threshold(*rows, n_resamples=30)
    monkeypatch.setattr("toprank.decisions.thresholds._VALUES_AT_ONCE", 700)
    assert choose_threshold(*rows, n_resamples=30) == at_once


@examples(60)
@given(rankings(), st.sampled_from([0.5, 1.0, 2.0]), st.integers(2, 50))
def test_the_curve_holds_the_best_threshold_and_only_true_values(sample, beta, n_points):
    curve = f_beta_by_threshold(*sample, beta, n_points)
    assert curve.threshold.size <= n_points
    assert np.all(np.diff(curve.threshold) < 0)
    for threshold, value in zip(*curve, strict=True):
        assert value == approx(metrics.f_beta(*sample, threshold=threshold, beta=beta))
    assert curve.value.max() == approx(best_f_beta(*sample, beta))


def test_the_curve_of_many_rows_is_small():
    rows = normal_classes(np.random.default_rng(8), 50_000, 0.001, 2.0)
    assert f_beta_by_threshold(*rows).threshold.size <= 2 * rows[0].sum() + 1
    assert f_beta_by_threshold(*rows, n_points=20).threshold.size <= 20


@pytest.mark.slow
@compiled_only
def test_a_threshold_of_the_card_data_s_size_takes_well_under_a_second():
    is_positive = np.arange(284_807) < 492
    suspicion = np.random.default_rng(9).normal(size=is_positive.size) + 3 * is_positive
    choose_threshold(is_positive[:2000], suspicion[:2000])  # compiles
    begin = time.process_time()
    choose_threshold(is_positive, suspicion)
    assert time.process_time() - begin < 1


ROWS = [1, 0, 1, 0], [3.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"aim": "f1"}, "aim must be one of 'f_beta', 'mcc', 'precision', 'alerts'; got 'f1'"),
        ({"beta": 0}, "beta must be greater than 0; got 0"),
        ({"aim": "precision"}, "least_precision must be given for the aim 'precision'; got None"),
        ({"aim": "alerts"}, "budget must be given for the aim 'alerts'; got None"),
        ({"budget": 3}, "budget must be None unless the aim is 'alerts'; got aim 'f_beta'"),
        (
            {"aim": "alerts", "budget": 3, "least_precision": 0.5},
            "least_precision must be None unless the aim is 'precision'; got aim 'alerts'",
        ),
        (
            {"aim": "precision", "least_precision": 1.5},
            "least_precision must be greater than 0 and at most 1; got 1.5",
        ),
        ({"aim": "alerts", "budget": 0}, "budget must be at least 1; got 0"),
        ({"aim": "alerts", "budget": 5}, "budget must be at most 4, the number of rows; got 5"),
        (
            {"aim": "alerts", "budget": 1},
            "budget must be at least 2, .*; got 1",
        ),
        (
            {"aim": "precision", "least_precision": 0.9},
            r"least_precision must be at most 0.666, .*\(2 positives in 3 alerts\); got 0.9",
        ),
        ({"level": 1}, "level must be greater than 0 and at most 0.999; got 1"),
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
    ],
)
def test_unusable_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold(*ROWS, **arguments)


def test_unusable_rows_are_refused():
    with pytest.raises(ValueError, match=r"suspicion must .* finite numbers; 1 of 2 are not"):
        choose_threshold([1, 0], [np.nan, 0.0])
    with pytest.raises(ValueError, match=r"y must .* both classes; got 0"):
        choose_threshold([0, 0], [1.0, 0.0])
    with pytest.raises(ValueError, match="y must have 3 values, one per score; got 2"):
        choose_threshold([0, 1], [1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match="n_points must be at least 2; got 1"):
        f_beta_by_threshold(*ROWS, n_points=1)

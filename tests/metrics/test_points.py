import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn import metrics as sklearn_metrics

import reference
from examples import examples
from strategies import rankings
from toprank import metrics
from toprank.metrics.points import FORMULAS
from toprank.metrics.ranking import Ranking

pytestmark = pytest.mark.kernel
shares = st.sampled_from([0.01, 0.1, 0.3, 0.5, 0.9])
betas = st.sampled_from([0.5, 1.0, 2.0])


def options_of(name, n_rows):
    if name.endswith("_at_k"):
        return {"k": max(1, n_rows // 3)}
    return {
        "f_beta": {"threshold": 0.0, "beta": 2.0},
        "matthews_correlation": {"threshold": 0.0},
        "partial_roc_auc": {"max_fpr": 0.3},
        "prevalence_adjusted_ap": {"prevalence": 0.05},
    }.get(name, {})


def all_values(is_positive, suspicion):
    return [
        getattr(metrics, name)(is_positive, suspicion, **options_of(name, suspicion.size))
        for name in FORMULAS
        if name not in ("best_f_beta", "f_beta", "matthews_correlation")
    ] + [metrics.best_f_beta(is_positive, suspicion).value]


def ranked(positive_ranks, n_rows):
    """Labels and suspicions of rows of which those at `positive_ranks`, from 1, are positive."""
    rank = np.arange(1, n_rows + 1)
    return np.isin(rank, positive_ranks), -rank


@pytest.mark.parametrize(
    "positive_ranks, auc, ap",
    [([4, 5], 0.625, 0.325), ([2, 8], 0.5625, 0.375), ([1, 2, 9, 10], 0.5, 0.683)],
)
def test_ten_rows_score_as_worked_out_by_hand(positive_ranks, auc, ap):
    y, suspicion = ranked(positive_ranks, 10)

    assert metrics.roc_auc(y, suspicion) == approx(auc)
    assert metrics.average_precision(y, suspicion) == approx(ap, abs=5e-4)


@pytest.mark.parametrize("sign, ap, auc", [(1, 0.324, 0.485), (-1, 0.294, 0.515), (0, 0.214, 0.5)])
def test_fourteen_points_on_a_line_score_as_worked_out_by_hand(sign, ap, auc):
    x = np.arange(-6, 8)
    y = np.isin(x, [-3, -2, 6])

    assert metrics.average_precision(y, sign * x) == approx(ap, abs=5e-4)
    assert metrics.roc_auc(y, sign * x) == approx(auc, abs=5e-4)


@given(rankings())
def test_average_precision_is_that_of_scikit_learn(sample):
    expected = sklearn_metrics.average_precision_score(*sample)

    assert metrics.average_precision(*sample) == approx(expected)
    assert metrics.average_precision(*sample) == approx(reference.average_precision(*sample))


@given(rankings(), st.data())
def test_a_row_of_weight_two_counts_as_two_rows_and_one_of_none_not_at_all(sample, data):
    y, suspicion = sample
    counts = st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))
    weight = np.array(data.draw(counts))
    weight[[np.argmax(y), np.argmin(y)]] = 1  # both classes stay
    repeated = np.repeat(y, weight), np.repeat(suspicion, weight)
    expected = reference.average_precision(*repeated)

    assert metrics.average_precision(y, suspicion, weight) == approx(expected)
    assert metrics.average_precision(y, suspicion, 0.1 * weight) == approx(expected)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1], "sample_weight must have 3 values; got 2"),
        ([1, -1, 1], "sample_weight must not be negative"),
        ([0, 1, 1], "y, without rows of zero weight, must .*got 0 positives"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        metrics.average_precision([1, 0, 0], [3, 2, 1], weight)


@given(rankings(), shares)
def test_prevalence_adjusted_ap_weighs_negatives_to_the_prevalence(sample, prevalence):
    is_positive, _ = sample
    adjusted = metrics.prevalence_adjusted_ap(*sample, prevalence)
    unchanged = metrics.prevalence_adjusted_ap(*sample, is_positive.mean())

    assert adjusted == approx(reference.prevalence_adjusted_ap(*sample, prevalence))
    assert unchanged == approx(metrics.average_precision(*sample))


@given(rankings(), st.data())
def test_found_precision_and_recall_at_k_are_expectations_over_ties(sample, data):
    is_positive, suspicion = sample
    k = data.draw(st.integers(1, suspicion.size))
    found = reference.found_at_k(is_positive, suspicion, k)

    assert metrics.found_at_k(*sample, k) == approx(found)
    assert metrics.precision_at_k(*sample, k) == approx(found / k)
    assert metrics.recall_at_k(*sample, k) == approx(found / is_positive.sum())


@examples(25)
@given(rankings(max_rows=6), st.data())
def test_found_at_k_is_the_mean_over_all_ways_to_break_ties(sample, data):
    k = data.draw(st.integers(1, sample[1].size))

    assert metrics.found_at_k(*sample, k) == approx(
        reference.found_at_k_over_all_orders(*sample, k)
    )


@given(rankings())
def test_positives_at_top_is_the_share_strictly_above_all_negatives(sample):
    assert metrics.positives_at_top(*sample) == approx(reference.positives_at_top(*sample))


def test_a_positive_tied_with_the_highest_negative_is_not_at_the_top():
    assert metrics.positives_at_top([1, 1, 0, 0], [3, 2, 2, 1]) == 0.5


@given(rankings())
def test_roc_auc_is_the_share_of_pairs_in_order(sample):
    assert metrics.roc_auc(*sample) == approx(reference.roc_auc(*sample))
    assert metrics.roc_auc(*sample) == approx(sklearn_metrics.roc_auc_score(*sample))


@given(rankings(), shares)
def test_partial_roc_auc_is_the_area_up_to_max_fpr_over_max_fpr(sample, max_fpr):
    value = metrics.partial_roc_auc(*sample, max_fpr)
    # scikit-learn rescales the area so that a random order scores 1/2.
    random = max_fpr**2 / 2
    rescaled = sklearn_metrics.roc_auc_score(*sample, max_fpr=max_fpr)
    area = random + (2 * rescaled - 1) * (max_fpr - random)

    assert value == approx(area / max_fpr, abs=1e-9)
    assert value == approx(reference.partial_roc_auc(*sample, max_fpr), abs=5e-3)


@given(rankings())
def test_partial_roc_auc_up_to_1_is_roc_auc(sample):
    assert metrics.partial_roc_auc(*sample, max_fpr=1) == approx(metrics.roc_auc(*sample))


@given(rankings(), st.integers(-4, 4), betas)
def test_metrics_at_a_threshold_are_those_of_scikit_learn(sample, threshold, beta):
    is_positive, suspicion = sample
    called = suspicion >= threshold
    f_beta = sklearn_metrics.fbeta_score(is_positive, called, beta=beta, zero_division=0)
    correlation = sklearn_metrics.matthews_corrcoef(is_positive, called)

    assert metrics.f_beta(*sample, threshold, beta) == approx(f_beta)
    assert metrics.f_beta(*sample, threshold, beta) == approx(
        reference.f_beta(is_positive, called, beta)
    )
    assert metrics.matthews_correlation(*sample, threshold) == approx(correlation, abs=1e-12)


@given(rankings(), betas)
def test_best_f_beta_is_reached_at_its_threshold_and_nowhere_exceeded(sample, beta):
    best = metrics.best_f_beta(*sample, beta)

    assert best.value == approx(reference.best_f_beta(*sample, beta))
    assert best.value == approx(metrics.f_beta(*sample, best.threshold, beta))


@given(rankings())
def test_precision_recall_gain_is_the_mean_precision_gain_over_recall_gains(sample):
    expected = reference.precision_recall_gain(*sample)

    assert metrics.precision_recall_gain(*sample) == approx(expected, rel=5e-3, abs=5e-3)


def test_precision_recall_gain_is_0_for_a_constant_and_1_when_perfect():
    y = [1, 1, 0, 0, 0, 0]

    assert metrics.precision_recall_gain(y, [1] * 6) == approx(0)
    assert metrics.precision_recall_gain(y, [2, 2, 1, 1, 1, 1]) == approx(1)


@given(rankings(), st.randoms(use_true_random=False))
def test_strictly_increasing_maps_and_row_order_change_no_metric(sample, random):
    is_positive, suspicion = sample
    order = random.sample(range(suspicion.size), suspicion.size)
    expected = all_values(is_positive, suspicion)

    assert all_values(is_positive, suspicion**3 + 7) == approx(expected)
    assert all_values(is_positive, np.arctan(suspicion / 100)) == approx(expected)
    assert all_values(is_positive[order], suspicion[order]) == approx(expected)


@given(rankings())
def test_shares_lie_between_0_and_1_and_a_perfect_ranking_reaches_1(sample):
    is_positive, suspicion = sample
    perfect = suspicion + 5000 * is_positive
    names = ["average_precision", "positives_at_top", "roc_auc", "partial_roc_auc"]
    names += ["prevalence_adjusted_ap"]
    for name in names:
        options, metric = options_of(name, suspicion.size), getattr(metrics, name)
        assert 0 <= metric(is_positive, suspicion, **options) <= 1
        assert metric(is_positive, perfect, **options) == approx(1)
    assert metrics.best_f_beta(is_positive, perfect).value == approx(1)


@pytest.mark.parametrize("name", FORMULAS)
@examples(40)
@given(sample=rankings())
def test_merging_groups_of_negatives_changes_no_metric(name, sample):
    options = options_of(name, sample[1].size)
    merged = Ranking.of(*sample).merged(border=options.get("threshold"))
    value = getattr(metrics, name)(*sample, **options)

    assert FORMULAS[name](merged, **options) == approx(getattr(value, "value", value))


@pytest.mark.parametrize("name", ["found_at_k", "precision_at_k", "recall_at_k"])
@pytest.mark.parametrize("k", [0, 4])
def test_a_budget_outside_the_rows_is_refused_with_its_bounds(name, k):
    with pytest.raises(ValueError, match=f"k must be between 1 and 3; got {k}"):
        getattr(metrics, name)([1, 0, 0], [3, 2, 1], k)


@pytest.mark.parametrize(
    "y, suspicion, message",
    [
        ([1, 0], [3, 2, 1], "y must have 3 values"),
        ([0, 0, 0], [3, 2, 1], "y must .*got 0 positives in 3 rows"),
        ([1, 1, 1], [3, 2, 1], "y must .*got 3 positives in 3 rows"),
        ([1, 0, 1], [3, np.nan, 1], "suspicion must .*1 of 3"),
        ([1, 0, 2], [3, 2, 1], "y must .*-1/1"),
        ([1, 0], [[3, 2]], "suspicion must have one dimension"),
    ],
)
def test_unusable_rows_are_refused_by_every_metric(y, suspicion, message):
    for name in FORMULAS:
        with pytest.raises(ValueError, match=message):
            getattr(metrics, name)(y, suspicion, **options_of(name, 3))


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("partial_roc_auc", {"max_fpr": 0}, "max_fpr must be greater than 0 and at most 1; got 0"),
        ("f_beta", {"threshold": np.nan}, "threshold must be"),
        ("f_beta", {"threshold": np.inf}, "threshold must .*got inf"),
        ("f_beta", {"threshold": 1, "beta": -1}, "beta must be greater than 0; got -1"),
        ("best_f_beta", {"beta": 0}, "beta must be greater than 0; got 0"),
        ("matthews_correlation", {"threshold": np.inf}, "threshold must .*got inf"),
        ("prevalence_adjusted_ap", {"prevalence": 1}, "prevalence must be less than 1; got 1"),
        ("prevalence_adjusted_ap", {"prevalence": 0}, "prevalence must be greater than 0"),
    ],
)
def test_options_out_of_range_are_refused_by_name(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)([1, 0, 0], [3, 2, 1], **options)

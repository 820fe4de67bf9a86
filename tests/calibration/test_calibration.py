"""Calibration: known sigmoids come back, sums are counts, ranges cover what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.special import expit
from scipy.stats import binom, poisson

from examples import examples
from strategies import rankings
from toprank.calibration import (
    SigmoidCalibration,
    bounded_range,
    count_range,
    fit_sigmoid,
)

STRANGE_SCALES = [(1.0, 0.0), (1e4, 0.0), (1e-6, 0.0), (1.0, 1e4), (1e-3, -50.0)]


def gaussian_classes(generator, n_rows, share, distance=2.0):
    """Two normal classes of equal spread: their log-odds are exactly linear in the score."""
    is_positive = generator.random(n_rows) < share
    return is_positive, generator.normal(size=n_rows) + distance * is_positive


def test_a_known_sigmoid_comes_back():
    generator = np.random.default_rng(0)
    raw = generator.normal(size=200_000)
    is_positive = generator.random(raw.size) < expit(1.7 * raw - 3.0)
    fitted = fit_sigmoid(is_positive, raw)
    assert fitted.slope == approx(1.7, abs=4 * fitted.slope_variance**0.5)
    assert fitted.intercept == approx(-3.0, abs=4 * fitted.intercept_variance**0.5)
    assert fitted.slope_variance**0.5 < 0.03


def test_the_variances_are_those_of_refitting_on_new_samples():
    generator = np.random.default_rng(1)
    fits = np.array(
        [fit_sigmoid(*gaussian_classes(generator, 1500, 0.1)) for _ in range(120)]
    )  # columns: slope, intercept, slope variance, covariance, intercept variance
    spread = np.cov(fits[:, 0], fits[:, 1])
    assert fits[:, 2].mean() == approx(spread[0, 0], rel=0.35)
    assert fits[:, 3].mean() == approx(spread[0, 1], rel=0.35)
    assert fits[:, 4].mean() == approx(spread[1, 1], rel=0.35)


@examples(100)
@given(rankings(max_rows=60), st.sampled_from(STRANGE_SCALES))
def test_probabilities_add_up_to_the_positives_and_rise_with_the_score(sample, scaling):
    is_positive, raw = sample
    scale, shift = scaling
    raw = raw * scale + shift
    fitted = fit_sigmoid(is_positive, raw)
    probability = fitted.probability(raw)
    n_positive, n_negative = is_positive.sum(), (~is_positive).sum()
    softened = n_positive * (n_positive + 1) / (n_positive + 2) + n_negative / (n_negative + 2)
    assert probability.sum() == approx(softened, rel=1e-4)
    assert abs(softened - n_positive) < 1
    assert np.isfinite(fitted).all()
    assert fitted.slope > 0
    assert np.all(np.diff(probability[np.argsort(raw)]) >= 0)


@pytest.mark.parametrize(("scale", "shift"), STRANGE_SCALES)
def test_the_scale_of_the_scores_changes_no_probability(scale, shift):
    is_positive, raw = gaussian_classes(np.random.default_rng(2), 3000, 0.05)
    plain, scaled = fit_sigmoid(is_positive, raw), fit_sigmoid(is_positive, scale * raw + shift)
    assert scaled.probability(scale * raw + shift) == approx(plain.probability(raw), rel=1e-6)
    top = np.argsort(-raw)[:200]
    expected = plain.expected_positives(raw[top])
    assert scaled.expected_positives(scale * raw[top] + shift) == approx(expected, rel=1e-4)


@pytest.mark.parametrize("worth", [0.0, -2.0], ids=["useless", "reversed"])
def test_a_score_that_is_useless_or_reversed_keeps_its_order_and_the_right_level(worth):
    is_positive, raw = gaussian_classes(np.random.default_rng(3), 4000, 0.05, distance=worth)
    fitted = fit_sigmoid(is_positive, raw)
    probability = fitted.probability(raw)
    assert fitted.slope > 0
    assert probability.sum() == approx(is_positive.sum(), rel=0.02)
    if worth < 0:
        assert np.ptp(probability) < 0.01


def test_perfectly_separated_classes_stay_finite_and_short_of_certainty():
    raw = np.array([0.0] * 500 + [1.0] * 5)
    fitted = fit_sigmoid(raw > 0.5, raw)
    assert np.isfinite(fitted).all()
    assert fitted.probability([1.0])[0] == approx(6 / 7, abs=1e-6)
    assert fitted.probability([0.0])[0] == approx(1 / 502, abs=1e-6)


def test_equal_scores_all_get_the_share_of_positives():
    raw = np.full(300, 0.1)
    fitted = fit_sigmoid(np.arange(300) < 30, raw)
    assert fitted.probability(raw) == approx(0.1, rel=0.02)
    assert fitted.probability([0.2])[0] == approx(0.1, rel=0.02)
    low, high = fitted.expected_positives(raw)[1:]
    assert low < 30 < high


def test_weights_count_like_copies_where_rows_are_many():
    is_positive, raw = gaussian_classes(np.random.default_rng(3), 4000, 0.2)
    weight = np.random.default_rng(4).integers(1, 4, 4000)
    weighted = fit_sigmoid(is_positive, raw, weight)
    copied = fit_sigmoid(np.repeat(is_positive, weight), np.repeat(raw, weight))
    assert weighted.probability(raw) == approx(copied.probability(raw), rel=0.03)


@pytest.mark.parametrize("unit", [1e-6, 1 / 3000, 1000.0])
def test_the_unit_of_the_weights_changes_nothing(unit):
    is_positive, raw = gaussian_classes(np.random.default_rng(5), 3000, 0.02)
    plain, scaled = (
        fit_sigmoid(is_positive, raw, np.full(3000, weight)) for weight in (1.0, unit)
    )
    assert scaled.expected_positives(raw) == approx(plain.expected_positives(raw), rel=1e-6)


def test_rows_without_weight_do_not_count():
    is_positive, raw = gaussian_classes(np.random.default_rng(4), 500, 0.2)
    weight = np.ones(500)
    weight[::3] = 0
    counted = weight > 0
    with_zeros = fit_sigmoid(is_positive, raw, weight)
    assert with_zeros == approx(fit_sigmoid(is_positive[counted], raw[counted]), rel=1e-6)


def test_unusable_scores_are_refused():
    with pytest.raises(ValueError, match=r"raw must .*1 of 2"):
        fit_sigmoid([True, False], [0.0, np.nan])
    with pytest.raises(ValueError, match=r"is_positive must .*both classes"):
        fit_sigmoid([True, True], [0.0, 1.0])


@pytest.mark.parametrize(
    ("share", "n_rows", "k", "n_cases"),
    [
        (0.05, 1000, 20, 100),
        pytest.param(0.005, 8000, 80, 300, marks=pytest.mark.slow),
        pytest.param(0.05, 2000, 100, 300, marks=pytest.mark.slow),
        pytest.param(0.05, 1000, 20, 300, marks=pytest.mark.slow),
    ],
)
def test_nine_of_ten_new_lists_hold_as_many_positives_as_expected(share, n_rows, k, n_cases):
    generator = np.random.default_rng(0)
    n_inside, expected, found = 0, 0.0, 0
    for _ in range(n_cases):
        calibration = fit_sigmoid(*gaussian_classes(generator, n_rows, share))
        is_positive, raw = gaussian_classes(generator, n_rows, share)
        top = np.argsort(-raw)[:k]
        value, low, high = calibration.expected_positives(raw[top])
        count = is_positive[top].sum()
        n_inside += low <= count <= high
        expected, found = expected + value, found + count
    assert 0.85 <= n_inside / n_cases <= 0.95
    assert expected == approx(found, rel=0.1)


def test_a_range_grows_with_the_doubt_about_the_calibration():
    raw = np.zeros(100)
    sure, unsure = SigmoidCalibration(1.0, 0.0), SigmoidCalibration(1.0, 0.0, 0.0, 0.0, 0.1)
    assert sure.expected_positives(raw) == (50, 42, 58)
    _, low, high = unsure.expected_positives(raw)
    assert low < 42
    assert high > 58


def test_a_wider_level_gives_a_wider_range():
    calibration, raw = SigmoidCalibration(1.0, -3.0), np.linspace(-2, 3, 80)
    narrow, wide = (calibration.expected_positives(raw, level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


@examples(150)
@given(
    st.integers(1, 500),
    st.floats(0.0005, 0.9995),
    st.floats(0, 1e4),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_a_range_is_of_whole_numbers_around_the_mean_within_the_possible(
    most, share, doubt, level
):
    mean = share * most
    low, high = count_range(mean, mean * (1 - share) + doubt, most, level)
    assert low.is_integer()
    assert high.is_integer()
    assert 0 <= low <= mean <= high <= most


@pytest.mark.parametrize("mean", [0.05, 0.4, 1.0, 3.0, 10.0, 200.0])
def test_counts_that_chance_alone_spreads_lie_in_their_range(mean):
    low, high = count_range(mean, mean, most=100_000)
    covered = poisson.cdf(high, mean) - poisson.cdf(low - 1, mean)
    assert covered >= 0.88
    # no wider than it takes: one number less would be too few, unless the mean itself needs it
    if mean > 1:
        assert poisson.cdf(high - 2, mean) - poisson.cdf(low + 1, mean) < 0.9


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_counts_near_either_end_lie_in_their_range(share):
    low, high = count_range(50 * share, 50 * share * (1 - share), most=50)
    assert binom.cdf(high, 50, share) - binom.cdf(low - 1, 50, share) >= 0.88


def test_half_a_positive_is_expected_to_be_none_or_one():
    assert count_range(0.4, 0.4, most=100) == (0, 1)
    assert count_range(0.02, 0.02, most=100) == (0, 1)
    assert count_range(99.6, 0.4, most=100) == (99, 100)


def test_what_does_not_vary_is_its_own_range():
    assert bounded_range(3.0, 0.0, 0.0, 10.0) == (3, 3)
    assert count_range(3.0, 0.0, most=10) == (3, 3)


def test_more_variance_than_there_is_room_for_fills_the_room():
    assert count_range(1.0, 1e9, most=2) == (0, 2)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn import metrics as sklearn_metrics

from examples import examples
from strategies import rankings
from toprank import metrics

pytestmark = pytest.mark.kernel


@given(rankings())
def test_precision_recall_curve_has_a_point_per_distinct_suspicion(sample):
    is_positive, suspicion = sample
    curve = metrics.precision_recall_curve(*sample)

    assert curve.threshold.tolist() == sorted(set(suspicion), reverse=True)
    for precision, recall, threshold in zip(*curve, strict=True):
        assert precision == approx(is_positive[suspicion >= threshold].mean())
        assert recall == approx((suspicion >= threshold)[is_positive].mean())


@given(rankings())
def test_average_precision_is_the_steps_under_the_precision_recall_curve(sample):
    curve = metrics.precision_recall_curve(*sample)
    steps = np.diff(curve.recall, prepend=0)

    assert steps @ curve.precision == approx(metrics.average_precision(*sample))


@given(rankings())
def test_roc_curve_is_that_of_scikit_learn_and_has_roc_auc_below_it(sample):
    curve = metrics.roc_curve(*sample)
    expected = sklearn_metrics.roc_curve(*sample, drop_intermediate=False)

    for ours, theirs in zip(curve, expected, strict=True):
        assert ours == approx(theirs)
    area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert area == approx(metrics.roc_auc(*sample))


@examples(30)
@given(rankings())
def test_checks_curve_holds_precision_and_recall_at_every_k(sample):
    n_rows = sample[1].size
    curve = metrics.checks_curve(*sample, checks=range(1, n_rows + 1), n_resamples=5)

    assert curve.checks.tolist() == list(range(1, n_rows + 1))
    for k, precision, recall in zip(curve.checks, curve.precision, curve.recall, strict=True):
        assert precision == approx(metrics.precision_at_k(*sample, k))
        assert recall == approx(metrics.recall_at_k(*sample, k))


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    y = generator.random(5000) < 0.05
    return y, generator.normal(size=y.size) + 1.5 * y


def test_checks_curve_spaces_about_60_checks_evenly_on_a_log_scale(rows):
    checks = metrics.checks_curve(*rows, n_resamples=2).checks

    assert checks[0] == 1
    assert checks[-1] == 5000
    assert 45 <= checks.size <= 60
    assert np.all(np.diff(np.log(checks[checks > 20])) < 0.2)


def test_checks_curve_gives_the_intervals_of_precision_and_recall_at_k(rows):
    curve = metrics.checks_curve(*rows, checks=[500, 50, 50], random_state=4)

    assert curve.checks.tolist() == [50, 500]
    for i, k in enumerate(curve.checks):
        for name in ("precision", "recall"):
            value, low, high = (getattr(curve, name + end)[i] for end in ("", "_low", "_high"))
            expected = metrics.interval(f"{name}_at_k", *rows, k=k, random_state=4)
            assert (value, low, high) == approx(tuple(expected))


@pytest.mark.parametrize(
    "checks, message",
    [([0], "between 1 and 3; got 0"), ([4], "between 1 and 3; got 4"), ([], "at least one")],
)
def test_checks_outside_the_rows_are_refused(checks, message):
    with pytest.raises(ValueError, match=f"checks must .*{message}"):
        metrics.checks_curve([1, 0, 0], [3, 2, 1], checks=np.array(checks, dtype=int))


@given(rankings(), st.integers(1, 12))
def test_calibration_bins_are_in_order_hold_all_rows_and_bracket_what_was_observed(sample, n_bins):
    is_positive, suspicion = sample
    probability = (suspicion + 1000) / 2000
    curve = metrics.calibration_curve(is_positive, probability, n_bins)

    assert curve.n_rows.sum() == suspicion.size
    assert curve.n_rows.size <= n_bins
    assert np.all(np.diff(curve.predicted) > 0)
    assert curve.observed @ curve.n_rows == approx(is_positive.sum())
    assert curve.predicted @ curve.n_rows == approx(probability.sum())
    assert np.all((curve.low >= 0) & (curve.low <= curve.observed))
    assert np.all((curve.high <= 1) & (curve.high >= curve.observed))
    if curve.n_rows.size > 1:
        assert np.all(curve.predicted * curve.n_rows >= 5 - 1e-9)


@given(rankings(), st.randoms(use_true_random=False))
def test_calibration_does_not_depend_on_the_order_of_rows(sample, random):
    is_positive, suspicion = sample
    probability = (suspicion + 1000) / 2000
    order = random.sample(range(suspicion.size), suspicion.size)
    curve = metrics.calibration_curve(is_positive, probability)
    shuffled = metrics.calibration_curve(is_positive[order], probability[order])

    for part, shuffled_part in zip(curve, shuffled, strict=True):
        assert part == approx(shuffled_part)


def test_honest_probabilities_keep_ten_equal_bins_that_hold_the_truth():
    generator = np.random.default_rng(1)
    probability = generator.random(10_000)
    y = generator.random(probability.size) < probability
    curve = metrics.calibration_curve(y, probability)

    assert curve.n_rows.tolist() == [1000] * 10
    assert np.mean((curve.low <= curve.predicted) & (curve.predicted <= curve.high)) >= 0.9


def test_rare_probabilities_are_merged_until_5_positives_are_expected():
    probability = np.repeat([0.001, 0.002, 0.01, 0.1], 250)
    y = np.arange(1000) % 100 == 99
    curve = metrics.calibration_curve(y, probability, n_bins=4)

    # They expect 0.25, 0.5, 2.5 and 25 positives: the first three alone stay below 5.
    assert curve.n_rows.tolist() == [1000]
    curve = metrics.calibration_curve(y, 3 * probability, n_bins=4)
    assert curve.n_rows.tolist() == [750, 250]


def test_the_wilson_interval_of_2_in_10_is_as_worked_out_by_hand():
    curve = metrics.calibration_curve([1, 1] + [0] * 8, [0.2] * 10)

    assert curve.low.tolist() == approx([0.0567], abs=1e-4)
    assert curve.high.tolist() == approx([0.5098], abs=1e-4)


def test_probabilities_outside_0_and_1_are_refused():
    with pytest.raises(ValueError, match=r"probability must .* got 0\.2 to 1\.5"):
        metrics.calibration_curve([1, 0], [1.5, 0.2])

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from strategies import rankings
from toprank import metrics
from toprank.metrics.score_histogram import ScoreHistogram

pytestmark = pytest.mark.kernel
LARGEST = float(np.finfo(np.float32).max)
finite = st.floats(allow_nan=False, allow_infinity=False)
edges = st.sampled_from([0.0, -0.0, 1e-50, -1e-50, 2.0**-126, -(2.0**-149), LARGEST, -1e300, 0.5])


@st.composite
def crowds(draw, max_rows=40):
    """Labels and scores that fall into few bins; in a bin, many differ and many are tied."""
    is_positive, places = draw(rankings(max_rows))
    widest = draw(st.sampled_from([1, 4, 16]))
    shift = draw(st.sampled_from([-2000, 0, 512, 1000]))
    return is_positive, (np.sign(places) * (np.abs(places) % widest) + shift) / 512


def histogram_of(is_positive, scores):
    histogram = ScoreHistogram()
    histogram.add(scores, is_positive)
    return histogram


def bin_of(score):
    return int(histogram_of([True], [score]).to_arrays()["bins"][0])


@examples(200)
@given(crowds())
def test_the_average_precision_of_the_scores_is_between_the_bounds(sample):
    bounded = histogram_of(*sample).average_precision()

    assert bounded.low <= bounded.value <= bounded.high
    assert bounded.low - 1e-12 <= metrics.average_precision(*sample) <= bounded.high + 1e-12


@given(crowds(), st.data())
def test_precision_and_recall_at_k_of_the_scores_are_between_the_bounds(sample, data):
    k = data.draw(st.integers(1, sample[1].size))
    histogram = histogram_of(*sample)
    precision, recall = histogram.precision_at(k), histogram.recall_at(k)

    assert precision.low <= precision.value <= precision.high
    assert precision.low - 1e-12 <= metrics.precision_at_k(*sample, k) <= precision.high + 1e-12
    assert recall.low <= recall.value <= recall.high
    assert recall.low - 1e-12 <= metrics.recall_at_k(*sample, k) <= recall.high + 1e-12


@examples(30)
@given(crowds(max_rows=4), st.data())
def test_the_bounds_are_the_worst_and_the_best_that_any_order_within_bins_gives(sample, data):
    is_positive, scores = sample
    k = data.draw(st.integers(1, scores.size))
    bins, histogram = reference.binned(scores), histogram_of(*sample)

    for metric, bounded in (
        (metrics.average_precision, histogram.average_precision()),
        (lambda *rows: metrics.precision_at_k(*rows, k), histogram.precision_at(k)),
        (lambda *rows: metrics.recall_at_k(*rows, k), histogram.recall_at(k)),
    ):
        values = reference.values_over_all_orders_within(metric, is_positive, bins)
        assert (bounded.low, bounded.high) == approx((min(values), max(values)))


@given(crowds(), st.data())
def test_the_value_takes_the_rows_of_a_bin_as_tied(sample, data):
    is_positive, scores = sample
    k = data.draw(st.integers(1, scores.size))
    binned, histogram = (is_positive, reference.binned(scores)), histogram_of(*sample)

    assert histogram.average_precision().value == approx(metrics.average_precision(*binned))
    assert histogram.precision_at(k).value == approx(metrics.precision_at_k(*binned, k))
    assert histogram.recall_at(k).value == approx(metrics.recall_at_k(*binned, k))


def test_positives_tied_ahead_of_their_bin_reach_the_highest_average_precision():
    is_positive, scores = [False, True, True, False], [2.0, 1.001, 1.001, 1.0]

    assert metrics.average_precision(is_positive, scores) == approx(2 / 3)
    # tied with the negative: 2/4; behind it, one after the other: 1/3 and 2/4
    assert histogram_of(is_positive, scores).average_precision() == approx((1 / 2, 5 / 12, 2 / 3))


def test_positives_that_share_a_bin_with_nothing_else_leave_nothing_open_at_the_top():
    histogram = histogram_of([True, True, False], [5.0, 5.01, 1.0])

    assert histogram.average_precision() == (1, 1, 1)
    assert histogram.precision_at(1) == (1, 1, 1)


@pytest.mark.parametrize("n_positive", [999, 1000, 1001, 4000])
@pytest.mark.parametrize("n_ahead", [0, 1, 300])
def test_many_positives_of_one_bin_have_a_lowest_average_precision_that_is_hardly_lower(
    n_positive, n_ahead
):
    scores = np.append(np.linspace(1.007, 1.0, n_ahead), np.linspace(0.999, 0.9961, n_positive))
    is_positive = np.arange(scores.size) >= n_ahead
    histogram = histogram_of(is_positive, np.full(scores.size, 0.999))
    # a negative at the end changes nothing, and the metric asks for one
    worst = metrics.average_precision(np.append(is_positive, False), np.append(scores, 0.0))
    low = histogram.average_precision().low

    assert worst - 0.05 / n_positive < low <= worst + 1e-12


def test_a_count_of_any_size_is_measured_at_once():
    arrays = {
        "bins": np.array([40000, 50000], dtype=np.uint16),
        "n_positive": np.array([2**50, 2**50]),
        "n_negative": np.array([2**50, 0]),
    }
    value, low, high = ScoreHistogram.from_counts(**arrays).average_precision()

    assert (value, high) == approx((5 / 6, 1))
    # half are at 1, half at the mean of (1 + x) / (2 + x) over x from 0 to 1
    assert low == approx((1 + 1 - np.log(3 / 2)) / 2)


@given(finite | edges, finite | edges)
def test_bins_are_in_the_order_of_the_scores(a, b):
    low, high = sorted([a, b])

    assert bin_of(low) <= bin_of(high)


@given(st.floats(2.0**-126, 1e38), st.sampled_from([-1, 1]))
@example(1.0, 1)
@example(np.nextafter(1.0, 0), 1)
def test_scores_that_differ_by_more_than_a_128th_never_share_a_bin(score, sign):
    assert bin_of(sign * score) != bin_of(sign * score * (1 + 1 / 128) * (1 + 1e-15))


def test_a_score_and_one_a_500th_above_it_may_share_a_bin():
    assert bin_of(1.0) == bin_of(1.002)
    assert bin_of(0.997) == bin_of(0.999)


def test_minus_zero_is_zero_and_scores_beyond_float32_are_its_largest():
    assert bin_of(-0.0) == bin_of(0.0) == bin_of(-1e-60)
    assert bin_of(1e300) == bin_of(LARGEST)
    assert bin_of(-1e300) == bin_of(-LARGEST)
    assert bin_of(-(2.0**-149)) == bin_of(0.0) - 1


@given(st.lists(st.tuples(finite | edges, st.booleans()), max_size=20))
def test_rows_added_one_by_one_are_counted_as_all_at_once(rows):
    one_by_one = ScoreHistogram()
    for score, is_positive in rows:
        one_by_one.add_one(score, is_positive)
    scores, is_positive = [row[0] for row in rows], [row[1] for row in rows]

    assert one_by_one == histogram_of(np.array(is_positive, dtype=bool), scores)
    assert one_by_one.n_rows == len(rows)
    assert one_by_one.n_positives == sum(is_positive)


@given(st.floats(-LARGEST, LARGEST) | edges)
def test_a_threshold_is_the_lowest_float32_of_its_bin(score):
    threshold = float(histogram_of([True], [score]).ranking().threshold[0])

    assert threshold <= np.float32(np.clip(score, -LARGEST, LARGEST))
    assert bin_of(threshold) == bin_of(score)
    if threshold > -LARGEST:
        assert bin_of(float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))) < bin_of(
            score
        )


@given(crowds(), crowds())
def test_the_sum_of_two_histograms_counts_the_rows_of_both(first, second):
    a, b = histogram_of(*first), histogram_of(*second)
    both = a + b
    labels, scores = (np.concatenate(pair) for pair in zip(first, second, strict=True))

    assert both == histogram_of(labels, scores)
    assert both != a == histogram_of(*first)
    a += b
    assert a == both
    assert b == histogram_of(*second)


@given(st.lists(finite | edges, max_size=20))
def test_a_histogram_comes_back_from_its_arrays(scores):
    histogram = histogram_of(np.arange(len(scores)) % 3 == 0, scores)
    arrays = histogram.to_arrays()

    assert ScoreHistogram.from_counts(**arrays) == histogram
    assert arrays["bins"].size == len({bin_of(score) for score in scores})


BINS = np.array([40000, 40001], dtype=np.uint16)
ONES = np.ones(2, dtype=np.int64)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"bins": BINS.astype(np.int64)}, "array 'bins' must be one row of uint16; got int64"),
        ({"bins": BINS[None, :]}, r"array 'bins' must be one row of uint16; .* shape \(1, 2\)"),
        ({"bins": BINS[::-1]}, "array 'bins' must rise"),
        ({"bins": BINS[[0, 0]]}, "array 'bins' must rise"),
        ({"bins": BINS - BINS}, "array 'bins' must be between 128 and 65407"),
        ({"bins": BINS | np.uint16(65408)}, "array 'bins' must be between 128 and 65407"),
        ({"n_positive": np.ones(3, dtype=np.int64)}, "'n_positive' must be one row of 2 int64"),
        ({"n_negative": np.ones(2)}, "'n_negative' must be one row of 2 int64; got float64"),
        ({"n_negative": np.array([1, -1])}, "must not be negative; got -1"),
        ({"n_positive": ONES * 0, "n_negative": ONES * 0}, "each bin must .*at least one row"),
        ({"n_positive": ONES * (2**63 - 1)}, r"at most 2\*\*53 rows; got about 1.84e\+19"),
    ],
)
def test_arrays_that_are_not_sound_are_refused_by_name(changed, message):
    sound = {"bins": BINS, "n_positive": ONES, "n_negative": ONES}
    assert ScoreHistogram.from_counts(**sound).n_rows == 4

    with pytest.raises(ValueError, match=message):
        ScoreHistogram.from_counts(**{**sound, **changed})


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused_and_nothing_is_counted(score):
    histogram = ScoreHistogram()
    with pytest.raises(ValueError, match=r"scores must .*1 of 2"):
        histogram.add([1.0, score], [True, False])
    with pytest.raises(ValueError, match="score must be a finite number; got"):
        histogram.add_one(score, True)

    assert histogram.n_rows == 0


@pytest.mark.parametrize("label", [-1, 2, 0.5, "1"])
def test_labels_other_than_true_and_false_are_refused_and_nothing_is_counted(label):
    histogram = ScoreHistogram()
    with pytest.raises(ValueError, match=f"is_positive must be bool or 0/1; got {label!r}"):
        histogram.add([1.0], [label])
    with pytest.raises(ValueError, match=f"is_positive must .*got {label!r}"):
        histogram.add_one(1.0, label)

    assert histogram.n_rows == 0


def test_a_label_too_few_is_refused():
    with pytest.raises(ValueError, match=r"is_positive must have 2 values.*got shape \(1,\)"):
        ScoreHistogram().add([1.0, 2.0], [True])


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match=r"must .*at least one row; got 0"):
        ScoreHistogram().precision_at(1)
    histogram = histogram_of([False, False, False], [1.0, 2.0, 3.0])
    for measure in (histogram.average_precision, lambda: histogram.recall_at(1)):
        with pytest.raises(ValueError, match="at least one positive; got 0 of 3 rows"):
            measure()
    for k in (0, 4):
        with pytest.raises(ValueError, match=f"k must be between 1 and 3; got {k}"):
            histogram.precision_at(k)

import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy import stats

from examples import examples
from strategies import rankings
from toprank import metrics

pytestmark = pytest.mark.kernel


@st.composite
def rows_and_points(draw):
    """Suspicions of rows and of points, many of them tied, and weights with a mean near 1."""
    is_row, suspicion = draw(rankings())
    n_points = int(np.count_nonzero(~is_row))
    weight = draw(st.lists(st.floats(0.7, 1.8), min_size=n_points, max_size=n_points))
    return suspicion[is_row], suspicion[~is_row], np.array(weight)


@st.composite
def curves(draw):
    numbers = st.lists(st.integers(0, 9), min_size=8, max_size=8).filter(any)
    return metrics.mass_volume_of_groups(draw(numbers), draw(numbers))


def lower_pairs(rows, points, weight):
    """The mean over all pairs of whether the point is less suspicious, a tie counting half."""
    is_lower = (points < rows[:, None]) + (points == rows[:, None]) / 2
    return float(np.average(is_lower.mean(axis=0), weights=weight))


def best_excess(curve, level):
    return float(np.max(curve.mass - level * curve.volume))


@given(rows_and_points())
def test_the_area_is_the_share_of_pairs_whose_point_is_less_suspicious(sample):
    rows, points, _ = sample
    assert metrics.area_under_mass_volume(rows, points) == approx(
        lower_pairs(rows, points, np.ones(points.size))
    )


@given(rankings())
def test_on_even_points_the_area_is_one_minus_the_roc_auc(sample):
    is_point, suspicion = sample
    area = metrics.area_under_mass_volume(suspicion[~is_point], suspicion[is_point])

    assert area == approx(1 - metrics.roc_auc(is_point, suspicion))


@given(rows_and_points())
def test_the_curve_has_the_share_of_rows_and_points_up_to_each_suspicion(sample):
    rows, points, _ = sample
    curve = metrics.mass_volume_curve(rows, points)
    thresholds = np.unique(np.append(rows, points))

    assert (curve.mass[0], curve.volume[0]) == (0, 0)
    assert (curve.mass[-1], curve.volume[-1]) == (1, 1)
    for i, t in enumerate(thresholds, start=1):
        assert curve.mass[i] == approx(np.mean(rows <= t))
        assert curve.volume[i] == approx(np.mean(points <= t))


@given(rows_and_points())
def test_a_weighted_curve_rises_from_nothing_to_the_whole_box(sample):
    curve = metrics.mass_volume_curve(*sample)

    assert (curve.mass[0], curve.volume[0]) == (0, 0)
    assert (curve.mass[-1], curve.volume[-1]) == (1, 1)
    assert np.all(np.diff(curve.mass) >= 0)
    assert np.all(np.diff(curve.volume) >= 0)


@given(rows_and_points(), st.integers(1, 3))
def test_weights_whose_mean_is_1_count_points_as_often_as_they_say(sample, times):
    rows, points, _ = sample
    weight = np.where(np.arange(points.size) % 2, 2.0 * times, 1.0)
    repeated = np.repeat(points, weight.astype(int))
    area = metrics.area_under_mass_volume(rows, points, weight / weight.mean())

    assert area == approx(metrics.area_under_mass_volume(rows, repeated))


def test_weights_that_miss_a_mean_of_1_are_corrected_by_regression_on_themselves():
    rows, points = np.array([2.5]), np.array([1.0, 2.0, 3.0, 4.0])
    weight = np.array([0.2, 0.4, 1.0, 2.0])
    carried = weight * [1, 1, 0, 0]
    slope = np.cov(carried, weight)[0, 1] / np.var(weight, ddof=1)
    expected = carried.mean() + slope * (1 - weight.mean())

    assert metrics.area_under_mass_volume(rows, points, weight) == approx(expected)


@given(rows_and_points())
def test_the_area_does_not_depend_on_the_scale_of_suspicion(sample):
    rows, points, weight = sample
    area = metrics.area_under_mass_volume(rows, points, weight)

    assert metrics.area_under_mass_volume(rows**3, points**3, weight) == approx(area)


def test_a_constant_suspicion_has_an_area_of_one_half():
    assert metrics.area_under_mass_volume(np.ones(7), np.ones(5)) == 0.5


def test_a_row_above_all_points_counts_the_whole_box():
    assert metrics.area_under_mass_volume([9, 9, 9, 0], [1, 2, 3]) == approx(0.75)


@given(rows_and_points())
def test_groups_with_the_counts_of_rows_and_points_have_the_same_curve(sample):
    rows, points, _ = sample
    values = np.unique(np.append(rows, points))
    n_rows = [np.count_nonzero(rows == value) for value in values]
    n_points = [np.count_nonzero(points == value) for value in values]
    curve = metrics.mass_volume_of_groups(n_rows, n_points)

    assert curve.area == approx(metrics.area_under_mass_volume(rows, points))
    assert curve.mass == approx(metrics.mass_volume_curve(rows, points).mass)


@given(curves(), st.floats(0, 50))
def test_excess_mass_is_the_best_mass_less_level_times_volume(curve, level):
    excess = curve.excess_mass()

    assert np.interp(level, *excess) == approx(best_excess(curve, level), abs=1e-12)


@given(curves())
def test_excess_mass_falls_from_1_and_bends_upwards(curve):
    level, excess = curve.excess_mass()

    assert (level[0], excess[0]) == (0, 1)
    assert np.all(np.diff(level) > -1e-12)
    assert np.all(np.diff(excess) < 1e-12)
    for i in range(1, level.size - 1):
        chord = np.interp(level[i], level[[i - 1, i + 1]], excess[[i - 1, i + 1]])
        assert excess[i] <= chord + 1e-12


@examples(30)
@given(curves(), st.sampled_from([0.0, 0.5, 0.9]))
def test_the_area_under_excess_mass_is_that_of_fine_steps(curve, down_to):
    excess = curve.excess_mass()
    last = excess.last_level(down_to)
    if last == np.inf:
        assert excess.area(down_to) == np.inf
        assert excess.excess[-1] > down_to
        return
    middles = (np.arange(20_000) + 0.5) / 20_000 * last
    assert best_excess(curve, last) == approx(down_to, abs=1e-9)
    assert excess.area(down_to) == approx(np.interp(middles, *excess).mean() * last, rel=1e-4)


def test_the_excess_mass_of_a_constant_suspicion_is_one_minus_the_level():
    curve = metrics.excess_mass_curve(np.ones(5), np.ones(9))

    assert (curve.level.tolist(), curve.excess.tolist()) == ([0, 1], [1, 0])
    assert metrics.area_under_excess_mass(np.ones(5), np.ones(9)) == approx(0.095)


def test_rows_where_no_point_fell_have_an_infinite_area_under_excess_mass():
    assert metrics.area_under_excess_mass(np.zeros(20), np.ones(30)) == np.inf


def test_a_better_suspicion_has_less_area_under_mass_volume_and_more_under_excess_mass():
    generator = np.random.default_rng(0)
    rows, points = generator.normal(0.5, 0.1, 2000), generator.random(2000)
    good = np.abs(rows - 0.5), np.abs(points - 0.5)

    assert metrics.area_under_mass_volume(*good) < metrics.area_under_mass_volume(rows, points)
    assert metrics.area_under_excess_mass(*good) > metrics.area_under_excess_mass(rows, points)


def test_a_hundred_thousand_rows_and_points_take_less_than_a_second():
    generator = np.random.default_rng(0)
    rows, points = generator.random((2, 100_000))
    started = time.process_time()
    area = metrics.area_under_mass_volume(rows, points)

    assert area == approx(0.5, abs=0.01)
    assert time.process_time() - started < 1


# The rows are the squares of even numbers, their suspicion as well as the points' the number
# itself: volume(t) = t and mass(t) = sqrt(t), so that the area is E[U^2] = 1/3.
TRUE_AREA = 1 / 3


def drawn(generator, n_rows, n_points, is_weighted):
    rows = generator.random(n_rows) ** 2
    if not is_weighted:
        return rows, generator.random(n_points), None
    # half even, half with density 2 (1 - x)
    near = 1 - np.sqrt(generator.random(n_points))
    points = np.where(generator.random(n_points) < 0.5, generator.random(n_points), near)
    return rows, points, 1 / (0.5 + (1 - points))


def coverage(truth_of, n_points, is_weighted, rows_vary, n_times):
    generator = np.random.default_rng(11)
    hits = 0
    for _ in range(n_times):
        sample = drawn(generator, 60, n_points, is_weighted)
        _, low, high = metrics.mass_volume_interval(*sample, level=0.9, rows_vary=rows_vary)
        hits += low <= truth_of(sample[0]) <= high
    return hits / n_times


COVERAGES = pytest.mark.parametrize(
    ("n_times", "within"), [(100, 0.07), pytest.param(600, 0.04, marks=pytest.mark.slow)]
)


@COVERAGES
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_points", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_the_interval_holds_the_area_with_exact_volumes_as_often_as_promised(
    n_points, is_weighted, n_times, within
):
    covered = coverage(np.mean, n_points, is_weighted, rows_vary=False, n_times=n_times)
    assert covered == approx(0.9, abs=within)


@COVERAGES
@pytest.mark.parametrize("is_weighted", [False, True])
def test_with_rows_that_vary_the_interval_holds_the_true_area_as_often_as_promised(
    is_weighted, n_times, within
):
    covered = coverage(lambda _: TRUE_AREA, 100, is_weighted, rows_vary=True, n_times=n_times)
    assert covered == approx(0.9, abs=within)


@given(rows_and_points(), st.sampled_from([0.5, 0.9, 0.99]), st.booleans())
def test_the_interval_holds_its_value_and_stays_within_0_and_1(sample, level, rows_vary):
    area, low, high = metrics.mass_volume_interval(*sample, level=level, rows_vary=rows_vary)

    assert area == metrics.area_under_mass_volume(*sample)
    assert 0 <= low <= area <= high <= 1


def test_rows_that_vary_widen_the_interval():
    sample = drawn(np.random.default_rng(0), 60, 400, True)
    fixed = metrics.mass_volume_interval(*sample)
    varying = metrics.mass_volume_interval(*sample, rows_vary=True)

    assert varying.low < fixed.low
    assert varying.high > fixed.high


def test_the_interval_of_no_point_among_the_rows_is_that_of_no_success():
    points = np.ones(200)
    with pytest.warns(metrics.HopelessVolume):
        area, low, high = metrics.mass_volume_interval(np.zeros(50), points, level=0.95)
    wilson = stats.binomtest(0, 200).proportion_ci(0.95, "wilson")

    assert (area, low) == (0, 0)
    assert high == approx(wilson.high)


def test_too_few_points_among_the_rows_are_warned_of_with_the_way_out():
    points = np.append(np.ones(2997), [0.0, 0.0, 0.0])
    with pytest.warns(metrics.HopelessVolume, match=r"only 3\.0 .* 3,000 .*importance_points"):
        metrics.area_under_mass_volume(np.full(50, 0.5), points)


def test_a_dozen_points_among_the_rows_are_not_warned_of():
    points = np.append(np.ones(2988), np.zeros(12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.area_under_mass_volume(np.full(50, 0.5), points) == approx(0.004)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], [1.0]), "suspicion must .*got none"),
        (([1.0], []), "volume_suspicion must .*got none"),
        (([1.0], [np.nan]), "volume_suspicion must .*finite"),
        (([1.0], [1.0, 2.0], [1.0]), "volume_weight must have 2 values, one per point; got 1"),
        (([1.0], [1.0, 2.0], [-1.0, 3.0]), "volume_weight must .*got -1 to 3"),
        (([1.0], [1.0, 2.0], [5.0, 5.0]), "volume_weight must be about 1 on average; got 5"),
    ],
)
def test_input_that_makes_no_curve_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.mass_volume_curve(*arguments)


def test_groups_need_a_volume_each():
    with pytest.raises(ValueError, match="volume must have 2 values, one per group; got 3"):
        metrics.mass_volume_of_groups([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match=r"mass must .*got 0 to 0"):
        metrics.mass_volume_of_groups([0, 0], [1, 2])


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_of_confidence_outside_of_0_and_1_is_refused(level):
    with pytest.raises(ValueError, match="level must be greater than 0"):
        metrics.mass_volume_interval([1.0], [1.0], level=level)

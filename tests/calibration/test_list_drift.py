"""Drift: ranges of lists that stray, against brute force and against drawn worlds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.special import expit, logit

from examples import examples
from toprank.calibration.list_drift import Drift, ListDay, fit_drift

NONE = Drift(mean=0.0, start=0.0, reach=0.0, memory=10.0, noise=0.0, oldest=30.0)


def probabilities(size=50, seed=0):
    return np.random.default_rng(seed).beta(2.0, 1.2, size)


def drawn_path(
    generator, n_days, *, mean=0.0, start=0.0, reach=0.0, memory=20.0, noise=0.0, size=50
):
    """The lists of one model, drawn as the model of drift says."""
    level, kept = np.sqrt(start) * generator.normal(), np.exp(-1 / memory)
    path = []
    for age in range(1, n_days + 1):
        level = kept * level + np.sqrt(reach * (1 - kept**2)) * generator.normal()
        probability = generator.beta(2.0, 1.2, size)
        shift = mean + level + np.sqrt(noise) * generator.normal()
        chance = expit(logit(probability) + shift)
        found = np.count_nonzero(generator.random(size) < chance)
        path.append(ListDay(probability, float(age), found=float(found)))
    return path


def exact_range(probability, level=0.9):
    """The range by adding one row at a time to the chances of every count."""
    chances = np.ones(1)
    for each in probability:
        chances = np.append(chances * (1 - each), 0) + np.append(0, chances * each)
    middle = np.cumsum(chances) - chances / 2
    inside = np.flatnonzero((middle >= (1 - level) / 2) & (middle <= (1 + level) / 2))
    mean = probability.sum()
    return min(inside.min(initial=1000), np.floor(mean)), max(inside.max(initial=0), np.ceil(mean))


@examples(40)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40))
def test_without_drift_the_range_is_that_of_adding_rows_one_by_one(chances):
    probability = np.array(chances)
    expected = NONE.expected([ListDay(probability, 3.0)])
    low, high = exact_range(probability)
    assert expected.value == approx(probability.sum(), rel=0.01, abs=0.01)
    # a count whose middle is all but on the border may fall on either side
    assert abs(expected.low - low) <= 1
    assert abs(expected.high - high) <= 1


@pytest.mark.parametrize("probability", [np.full(60, 0.03), np.full(60, 0.97), probabilities(60)])
@pytest.mark.parametrize("ages", [[12.0], [2.0, 3.0, 4.0]], ids=["one day", "three days"])
def test_nine_of_ten_lists_that_drift_as_assumed_are_in_the_range(probability, ages):
    drift = Drift(mean=-0.2, start=0.05, reach=0.3, memory=20.0, noise=0.1, oldest=20.0)
    generator = np.random.default_rng(0)
    parts = np.array_split(probability, len(ages))
    days = [ListDay(part, age) for part, age in zip(parts, ages, strict=True)]
    found = np.zeros(4000)
    level = np.sqrt(drift.start) * generator.normal(size=found.size)
    before = 0.0
    for day in days:
        kept = np.exp((before - day.age) / drift.memory)
        wandered = np.sqrt(drift.reach * (1 - kept**2))
        level = kept * level + wandered * generator.normal(size=found.size)
        before = day.age
        own = drift.mean + level + np.sqrt(drift.noise) * generator.normal(size=found.size)
        found += generator.binomial(1, expit(logit(day.probability) + own[:, None])).sum(axis=1)
    expected = drift.expected(days)
    assert expected.value == approx(found.mean(), rel=0.05, abs=0.1)
    share = np.mean((found >= expected.low) & (found <= expected.high))
    assert 0.85 < share < 0.97  # counts are whole: a short list cannot have just 90 %


def test_the_range_widens_with_age_and_with_what_the_calibration_does_not_know():
    drift = Drift(mean=0.0, start=0.01, reach=0.9, memory=30.0, noise=0.01, oldest=30.0)
    young, old = (drift.expected([ListDay(probabilities(), age)]) for age in (1.0, 30.0))
    unsure = drift.expected([ListDay(probabilities(), 1.0, doubt=25.0)])
    assert old.low < young.low < young.high < old.high
    assert unsure.low < young.low < young.high < unsure.high


def test_a_range_for_lists_of_different_length_is_between_theirs():
    short, long = ListDay(probabilities(10), 1.0), ListDay(probabilities(90), 1.0)
    low, high = NONE.expected([short]), NONE.expected([long])
    both = NONE.likely([[short], [long]])
    assert both.value == approx((low.value + high.value) / 2)
    assert low.low <= both.low < low.high < high.low < both.high <= high.high


def test_lists_that_kept_their_promise_show_little_drift():
    generator = np.random.default_rng(1)
    drift = fit_drift([drawn_path(generator, 30) for _ in range(3)])
    assert abs(drift.mean) < 0.1
    assert np.sqrt(max(drift.start, drift.reach) + drift.noise) < 0.35
    assert drift.oldest == 30.0


def test_what_all_models_have_in_common_moves_the_mean():
    generator = np.random.default_rng(2)
    drift = fit_drift([drawn_path(generator, 10, mean=-0.8) for _ in range(5)])
    assert drift.mean == approx(-0.8, abs=0.2)
    promised = drift.expected([ListDay(probabilities(), 5.0)])
    assert promised.value == approx(expit(logit(probabilities()) - 0.8).sum(), abs=2)


def test_days_that_differ_are_noise_and_levels_that_move_on_are_reach():
    generator = np.random.default_rng(3)
    differing = [drawn_path(generator, 25, noise=0.4, size=200) for _ in range(3)]
    wandering = [drawn_path(generator, 25, reach=0.6, memory=15, size=200) for _ in range(3)]
    noisy, moving = fit_drift(differing), fit_drift(wandering)
    assert noisy.noise > 0.2 > noisy.reach
    assert moving.noise < 0.1 < 0.2 < moving.reach


def test_no_lists_show_no_drift():
    assert fit_drift([]) is None
    assert fit_drift([[], []]) is None


def test_lists_of_one_moment_are_enough():
    assert fit_drift([[ListDay(probabilities(), 0.0, found=30.0)]]).oldest == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"reach": 0.2, "noise": 0.04, "mean": -0.2, "start": 0.04},
        {"reach": 0.6, "memory": 40.0, "noise": 0.1, "start": 0.09},
        {"reach": 0.05, "memory": 100.0, "mean": -0.4, "start": 0.01},
    ],
    ids=str,
)
def test_ranges_of_fitted_drifts_hold_in_nine_of_ten_later_lists(world):
    generator = np.random.default_rng(4)
    inside, corrected = [], []
    for _ in range(16):
        paths = [drawn_path(generator, days, **world) for days in (12, 12, 12, 40)]
        drift, later = fit_drift(paths), drawn_path(generator, 46, **world)
        inside += [is_inside(drift, day) for day in later[::2]]
        known = drift.after(later[:20])
        corrected += [is_inside(known, day) for day in later[27:]]
    assert 0.85 < np.mean(inside) < 0.96
    assert 0.84 < np.mean(corrected) < 0.96


def is_inside(drift, day):
    _, low, high = drift.expected([day])
    return low <= day.found <= high


# As labels arrive


def test_labels_that_arrived_move_the_promise_and_narrow_it():
    drift = Drift(mean=0.0, start=0.3, reach=0.3, memory=90.0, noise=0.01, oldest=30.0)
    generator = np.random.default_rng(5)
    path = drawn_path(generator, 10, mean=-1.0, size=200)
    known = drift.after(path)
    assert known.level == approx(-1.0, abs=0.15)
    assert known.start < 0.05
    assert known.since == 10.0
    before, after = (each.expected([ListDay(probabilities(200), 11.0)]) for each in (drift, known))
    assert after.value < before.value
    assert after.high - after.low < before.high - before.low


def test_the_order_in_which_labels_arrive_does_not_matter():
    generator = np.random.default_rng(6)
    drift = Drift(mean=0.1, start=0.1, reach=0.2, memory=20.0, noise=0.05, oldest=30.0)
    path = drawn_path(generator, 8, mean=0.5)
    assert drift.after(path[::-1]) == drift.after(path)
    assert drift.after([]).level == approx(0.0)


def test_following_levels_agrees_with_weighing_drawn_ones():
    """A slow twin: many drawn levels, each weighed by how well it explains the lists."""
    drift = Drift(mean=-0.1, start=0.2, reach=0.5, memory=8.0, noise=0.1, oldest=30.0)
    generator = np.random.default_rng(7)
    path = drawn_path(generator, 4, mean=-0.6, noise=0.1, size=40)
    level = np.sqrt(drift.start) * generator.normal(size=200_000)
    weight = np.zeros(level.size)
    for day in path:
        kept = np.exp(-1 / drift.memory)
        wandered = np.sqrt(drift.reach * (1 - kept**2))
        level = kept * level + wandered * generator.normal(size=level.size)
        own = drift.mean + level + np.sqrt(drift.noise) * generator.normal(size=level.size)
        total = np.zeros(level.size)
        for each in day.probability:
            total += np.log1p(each * np.expm1(own))
        weight += day.found * own - total
    weight = np.exp(weight - weight.max())
    mean = np.average(level, weights=weight)
    known = drift.after(path)
    assert known.level == approx(mean, abs=0.02)
    assert known.start == approx(np.average((level - mean) ** 2, weights=weight), rel=0.1)


# On disk


def test_a_drift_is_restored_from_its_numbers():
    drift = Drift(-0.2, 0.05, reach=0.3, memory=9.0, noise=0.1, oldest=20.0, level=1.0, since=3.0)
    assert Drift.from_json(drift.to_json()) == drift


@pytest.mark.parametrize(
    "change",
    [
        {"mean": np.nan},
        {"level": 1e9},
        {"start": -1.0},
        {"noise": np.inf},
        {"oldest": -1.0},
        {"memory": 0.0},
    ],
    ids=str,
)
def test_numbers_that_make_no_drift_are_refused(change):
    (name,) = change
    with pytest.raises(ValueError, match="ages" if name in ("oldest", "memory") else name):
        Drift.from_json({**NONE.to_json(), **change})

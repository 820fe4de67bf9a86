import numpy as np
import pytest
from scipy.special import expit, logit

from toprank.calibration.daily_shift import CheckedList, DailyShift


def days_off_by(shift, n_days, n_checks=60, seed=0):
    drawn = np.random.default_rng(seed)
    for _ in range(n_days):
        chances = drawn.beta(0.5, 1.2, n_checks).clip(0.01, 0.99)
        found = (drawn.random(n_checks) < expit(logit(chances) + shift)).sum()
        yield CheckedList(chances, float(found))


def test_what_is_expected_moves_to_what_is_found():
    rows = np.full(40, 0.4)
    for shift in (-1.0, 0.0, 1.0):
        followed = DailyShift.followed(days_off_by(shift, 15))
        assert followed.mean == pytest.approx(shift, abs=0.25)
        assert followed.expected(rows).value == pytest.approx(
            40 * expit(logit(0.4) + shift), rel=0.15
        )


def test_a_change_is_followed_within_three_days():
    before = DailyShift.followed(days_off_by(0.0, 20))
    after = before
    for day in days_off_by(-1.5, 3, n_checks=100, seed=1):
        after = after.after(day)
    assert abs(before.mean) < 0.3 and after.mean < -1.1


def test_days_that_hold_narrow_the_range_and_days_that_do_not_widen_it():
    shift = DailyShift.start()
    chances = np.full(50, 0.5)
    inside, outside = CheckedList(chances, 25), CheckedList(chances, 2)
    assert shift.holds(inside) and not shift.holds(outside)
    assert shift.after(inside).made_for < shift.made_for < shift.after(outside).made_for
    for _ in range(200):
        shift = shift.after(inside)
    assert shift.made_for == 0.5  # not below


def test_a_day_that_is_not_over_moves_the_shift_and_not_what_the_range_is_made_for():
    day = CheckedList(np.full(50, 0.5), 5)
    seen = DailyShift.start().seen(day)
    assert seen.made_for == DailyShift.start().made_for and seen.mean < -0.5
    assert seen.mean == pytest.approx(DailyShift.start().after(day).mean)


def test_a_range_contains_what_is_expected_and_only_counts_that_can_be():
    shift = DailyShift.followed(days_off_by(0.0, 5))
    for chances in ([0.5], [0.01] * 3, [0.999] * 7, [0.0, 1.0]):
        value, low, high = shift.expected(chances)
        assert 0 <= low <= value <= high <= len(chances)
    assert shift.expected([]) == (0.0, 0.0, 0.0)


def test_a_day_without_checks_changes_nothing():
    shift = DailyShift.start()
    assert shift.after(CheckedList(np.array([]), 0.0)) is shift

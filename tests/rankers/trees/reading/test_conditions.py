"""Conditions of one column: what both allow, what either allows, and the hull of both."""

from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st

from toprank.rankers.trees.reading.conditions import OneOf, ValueRange

VALUES = (*(each / 2 for each in range(-1, 12)), nan)
ENDS = st.sampled_from([-inf, 0.0, 1.0, 2.0, 3.0, 4.0, inf])


@st.composite
def intervals(draw):
    low, high = draw(ENDS), draw(ENDS)
    return ValueRange().meet(ValueRange(low, high, draw(st.booleans())))


@st.composite
def choices(draw):
    return OneOf(draw(st.frozensets(st.integers(0, 3))), 4, draw(st.booleans()))


PAIRS = st.one_of(st.tuples(intervals(), intervals()), st.tuples(choices(), choices()))


def allowed(condition):
    values = VALUES if isinstance(condition, ValueRange) else (0.0, 1.0, 2.0, 3.0, nan)
    return [condition.holds(value) for value in values]


@given(PAIRS)
def test_the_meet_allows_what_both_allow(pair):
    one, other = pair
    expected = [a and b for a, b in zip(allowed(one), allowed(other), strict=True)]
    assert allowed(one.meet(other)) == expected
    assert one.meet(other).is_nothing == (not any(expected))


@given(PAIRS)
def test_joined_conditions_hold_what_either_holds_and_are_refused_otherwise(pair):
    one, other = pair
    either = [a or b for a, b in zip(allowed(one), allowed(other), strict=True)]
    joined = one.join(other)
    if joined is None:
        numbers = either[:-1]
        first, last = numbers.index(True), len(numbers) - numbers[::-1].index(True)
        assert not all(numbers[first:last])
    else:
        assert allowed(joined) == either
        assert joined.is_everything == all(either)


@given(PAIRS)
def test_the_hull_holds_all_that_either_holds(pair):
    one, other = pair
    either = [a or b for a, b in zip(allowed(one), allowed(other), strict=True)]
    assert all(b or not a for a, b in zip(either, allowed(one.hull(other)), strict=True))
    assert allowed(one.hull(one)) == allowed(one)


def test_intervals_without_a_number_are_equal():
    assert ValueRange(3.0, inf, True).meet(ValueRange(-inf, 2.0)) == ValueRange(inf, -inf, True)

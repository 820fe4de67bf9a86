"""Numbers and words are written as a reader would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.metrics import Interval
from toprank.report.markup import interval, percent, text


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0, "0%"),
        (0.00004, "&lt;0.01%"),
        (0.0084, "0.84%"),
        (0.031, "3.1%"),
        (0.834, "83%"),
        (0.991, "99.1%"),
        (0.9996, "&gt;99.9%"),
        (1, "100%"),
        (float("nan"), "not known"),
    ],
)
def test_percent_keeps_the_digits_that_matter(share, written):
    assert percent(share) == written


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_percent_never_rounds_a_chance_to_never_or_always(share):
    assert percent(share) not in ("0%", "0.0%", "0.00%", "100%", "100.0%")


@given(st.text())
def test_text_holds_no_markup_and_can_be_written(value):
    shown = text(value)

    assert not set(shown) & set("<>\"'\x00\n")
    shown.encode("utf-8")


def test_an_interval_in_percent_says_percent_once_per_side():
    assert interval(Interval(0.36, 0.33, 0.41), "%") == '36% <span class="bounds">(33–41%)</span>'


def test_an_interval_without_bounds_is_its_value():
    assert interval(Interval(0.5, float("nan"), float("nan"))) == "0.500"

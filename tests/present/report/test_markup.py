"""Numbers and words are written as a reader would."""

from hypothesis import given
from hypothesis import strategies as st

from toprank.metrics import Interval
from toprank.present.report.markup import interval, percent, text


def test_shares_are_text_of_a_page():
    assert percent(0.834) == "83 %"
    assert percent(0.9996) == "&gt;99 %"
    assert percent(1e-12) == "&lt;0.000001 %"


@given(st.text())
def test_text_holds_no_markup_and_can_be_written(value):
    shown = text(value)

    assert not set(shown) & set("<>\"'\x00\n")
    shown.encode("utf-8")


def test_an_interval_in_percent_says_percent_once_per_side():
    shown = interval(Interval(0.36, 0.33, 0.41), "%")

    assert shown == '36 % <span class="bounds">(33–41 %)</span>'


def test_an_interval_without_bounds_is_its_value():
    assert interval(Interval(0.5, float("nan"), float("nan"))) == "0.500"

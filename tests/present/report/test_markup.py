"""Numbers and words are written as a reader would."""

import re

from hypothesis import given
from hypothesis import strategies as st

from toprank.metrics import Interval
from toprank.present.report.markup import interval, percent, prose, text


def test_shares_are_text_of_a_page():
    assert percent(0.834) == "83 %"
    assert percent(0.9996) == "&gt;99 %"
    assert percent(1e-12) == "&lt;0.000001 %"


@given(st.text())
def test_text_holds_no_markup_and_can_be_written(value):
    shown = text(value)

    assert not set(shown) & set("<>\"'\x00\n")
    shown.encode("utf-8")


def test_a_range_or_a_percentage_is_never_broken_over_two_lines_and_stays_as_it_is():
    words = "others: 7.05-152.25, .83 (.79-.88), 3-13 or 45 %; card-517 & <b>"
    shown = prose(words)

    wholes = re.findall('<span class="whole">(.*?)</span>', shown)
    assert wholes == ["7.05-152.25", "79-.88", "3-13", "45 %"]
    assert re.sub("<.*?>", "", shown) == text(words)


def test_an_interval_in_percent_says_percent_once_per_side():
    shown = interval(Interval(0.36, 0.33, 0.41), "%")

    assert shown == '36 % <span class="bounds">(33-41 %)</span>'


def test_an_interval_without_bounds_is_its_value():
    assert interval(Interval(0.5, float("nan"), float("nan"))) == ".500"

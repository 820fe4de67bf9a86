"""Numbers, lists and tables are written as a reader would."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from toprank.wording import aligned, decimal, listed, percent, ratio


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.5, "50 %"),
        (0.125, "12 %"),
        (0.0999, "10 %"),
        (0.0949, "9.5 %"),
        (0.05, "5 %"),
        (0.0084, "0.84 %"),
        (0.00001, "0.001 %"),
        (1.23e-8, "0.0000012 %"),
        (1e-9, "<0.000001 %"),
        (0.834, "83 %"),
        (0.991, "99 %"),
        (0.9996, ">99 %"),
        (np.float32(0.25), "25 %"),
        (math.nan, "not known"),
    ],
)
def test_a_share_keeps_the_digits_that_matter(share, text):
    assert percent(share) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_share_is_never_rounded_to_never_or_always(share):
    text = percent(share)

    assert text not in ("0 %", "100 %")
    assert len(text) < 14


@given(st.floats(1e-8, 1))
def test_a_share_is_what_its_text_says(share):
    text = percent(share)
    if text != ">99 %":
        assert float(text.removesuffix(" %")) / 100 == approx(share, rel=0.051)


@given(st.floats(-50, 50), st.integers(1, 6))
def test_a_decimal_reads_back_and_has_no_zero_in_front(number, decimals):
    text = decimal(number, decimals)

    assert float(text) == approx(number, abs=0.501 * 10.0**-decimals)
    assert not text.removeprefix("-").startswith("0")
    assert not (text.startswith("-") and float(text) == 0)


def test_ratios_have_two_digits_and_no_exponent():
    assert [ratio(each) for each in (0.00001, 0.5, 2.0, 100.0)] == [".00001", ".5", "2", "100"]


def test_words_are_listed_as_in_a_sentence():
    assert listed(["AP"]) == "AP"
    assert listed(["AP", "F1", "AUC"], "or") == "AP, F1 or AUC"


def test_numbers_can_stand_to_the_right_and_no_line_ends_in_spaces():
    rows = [["", "AP", "found"], ["log-loss", ".71", "7"], ["auto", ".8", ""]]

    assert aligned(rows) == "          AP   found\nlog-loss  .71  7\nauto      .8"
    assert aligned(rows, n_left=2) == ("          AP   found\nlog-loss  .71      7\nauto      .8")

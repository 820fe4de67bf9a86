"""Spans of time: the same length however it is given."""

from datetime import timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.data.tables.spans import span_microseconds, span_of
from toprank.payments.features.kinds import microseconds

SECONDS = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
NUMPY = {"d": "D", "h": "h", "min": "m", "s": "s"}


@given(st.integers(0, 99_999), st.sampled_from(sorted(SECONDS)))
def test_a_span_has_one_length_however_it_is_given(amount, unit):
    exact = amount * SECONDS[unit] * 10**6
    given_as = [
        f"{amount}{unit}",
        f" {amount} {unit} ",
        f"{amount}.0{unit}",
        timedelta(seconds=amount * SECONDS[unit]),
        pd.Timedelta(seconds=amount * SECONDS[unit]),
        np.timedelta64(amount, NUMPY[unit]),
    ]
    assert [span_microseconds(each, "window") for each in given_as] == [exact] * len(given_as)
    assert span_microseconds(amount, "--gap", unit=unit) == exact
    assert microseconds(f"{amount}{unit}", "window") == exact
    assert span_of(f"{amount}{unit}", "window") == np.timedelta64(exact, "us")


@given(st.decimals(0, 10_000, places=3), st.sampled_from(sorted(SECONDS)))
def test_a_fraction_is_rounded_to_the_microsecond(amount, unit):
    exact = Fraction(amount) * SECONDS[unit] * 10**6
    assert abs(span_microseconds(f"{amount}{unit}", "window") - exact) <= 1


@pytest.mark.parametrize(
    "value",
    ["", "7", "d", "7 days", "-1d", "1e3s", "٧d", "1d12h", 7, 7.0, True, None, [7],
     np.timedelta64(1, "M"), np.timedelta64(7), np.timedelta64("NaT"), pd.NaT],
    ids=str,
)  # fmt: skip
def test_what_is_no_span_is_refused_by_name(value):
    with pytest.raises(ValueError, match="window must be a span of time such as '7d'"):
        span_of(value, "window")


def test_a_number_is_a_span_only_where_the_option_has_a_unit():
    assert span_of(1.5, "--gap", unit="d") == np.timedelta64(36, "h")
    for value in (float("nan"), True, "7 days"):
        with pytest.raises(ValueError, match=r"--gap must be a span .*, or a number of d; got"):
            span_of(value, "--gap", unit="d")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (timedelta(-1), "window must not be negative"),
        (np.timedelta64(-1, "us"), "window must not be negative"),
        ("100001d", "window must be at most 100,000 days; got '100001d'"),
        (np.timedelta64(10**9, "D"), "window must be at most 100,000 days"),
        (timedelta.max, "window must be at most 100,000 days"),
    ],
)
def test_a_span_below_nothing_or_beyond_all_time_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        span_of(value, "window")


def test_a_feature_takes_text_alone_since_its_name_holds_it():
    with pytest.raises(ValueError, match="window must be a span of time in text"):
        microseconds(timedelta(1), "window")

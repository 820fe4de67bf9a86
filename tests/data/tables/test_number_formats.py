"""Numbers as people write them: which format a column has, and what its cells are."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.data.tables.number_formats import (
    FORMATS,
    PLAIN,
    NotNumbers,
    NumberFormat,
    NumberReading,
    NumericCodes,
    number_in,
    reading_of,
)


def counts(*texts):
    return dict.fromkeys(texts, 1)


def written(number, form):
    """A number as a program writes it in a format."""
    text = f"{number:,.2f}".replace(",", "G").replace(".", form.decimal)
    return text.replace("G", form.thousands)


@examples(60)
@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=20).map(
        lambda cents: [each / 100 for each in cents]
    ),
    st.sampled_from(FORMATS),
)
def test_what_is_written_with_cents_is_read_back(numbers, form):
    texts = [written(number, form) for number in numbers]
    found = reading_of(counts(*texts))

    assert isinstance(found, NumberReading)
    assert [number_in(text, found.format) for text in texts] == numbers
    assert found.other is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("EUR 12.50", 12.5), ("12.50 EUR", 12.5), ("€12.50", 12.5), ("12.50€", 12.5),
        ("$1,200", 1200), ("-$5", -5), ("$-5", -5), ("(12.50)", -12.5), ("($1,200.50)", -1200.5),
        ("12.5-", -12.5), ("+7", 7), ("−7", -7), ("1e3", 1000), ("1,23,456.78", 123456.78),
        (" 1,234.5 ", 1234.5), ("50%", 50), ("Rs. 500", 500), (".5", 0.5),
    ],
)  # fmt: skip
def test_signs_currencies_and_brackets_are_understood(text, number):
    assert number_in(text, NumberFormat(".", ",")) == number


@pytest.mark.parametrize("text", ["", " ", "-", "n.a.", "N/A", "unknown", "None", "?", "#DIV/0!"])
def test_words_for_missing_are_missing(text):
    assert math.isnan(number_in(text, PLAIN))


@pytest.mark.parametrize(
    "text", ["abc", "A12", "12x", "1,2,3", "1.2.3", "--5", "(5", "$5€", "7 8"]
)
def test_what_is_no_number_is_none(text):
    assert all(number_in(text, form) is None for form in FORMATS)


@pytest.mark.parametrize(
    ("texts", "value", "other"),
    [
        (["1,234", "5,678"], 1234, NumberFormat(",")),
        (["1.234", "5.678"], 1.234, NumberFormat(",", ".")),
        (["1.234", "0.678"], 1.234, None),
        (["1,234", "5,678.90"], 1234, None),
        (["1.234.567"], 1234567, None),
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_said_to_be_so(texts, value, other):
    found = reading_of(counts(*texts))

    assert number_in(texts[0], found.format) == value
    assert found.other == other


def test_what_is_known_of_the_column_or_the_file_decides():
    ambiguous = counts("1.234")

    assert reading_of(ambiguous, known=NumberFormat(",", ".")).value == 1234
    assert reading_of(ambiguous, thousands=".").value == 1234
    assert reading_of(ambiguous, default=",").value == 1234
    assert reading_of(ambiguous, decimal=".").other is None


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["FR", "DE", "12"], None),
        (["75", "13", "2A"], NumericCodes("2A")),
        (["75", "01", "unknown"], NumericCodes("01")),
        (["1.5", "2.5", "abc"], NotNumbers("abc", "most of its cells are numbers")),
        ([*map(str, range(100)), "12x"], NotNumbers("12x", "most of its cells are numbers")),
    ],
)
def test_other_columns_are_text_codes_or_faulty(texts, found):
    assert reading_of(counts(*texts)) == found


@pytest.mark.parametrize(
    ("texts", "unit"), [(["EUR 1", "€2", "3 euros"], "eur"), (["5%", "6 %"], "%"), (["5"], "")]
)
def test_a_unit_has_one_name_however_it_is_written(texts, unit):
    assert reading_of(counts(*texts)).unit == unit


@pytest.mark.parametrize("texts", [["EUR 1", "USD 2", "EUR 3"], ["5%", "6%", "0.07"]])
def test_units_are_not_mixed(texts):
    assert isinstance(reading_of(counts(*texts)), NotNumbers)

"""Cells of a stream are read as a model knows their columns."""

import pytest

from toprank.cli.stream_cells import StreamCells
from toprank.data.tables import Reading
from toprank.data.tables.known_numbers import KnownNumbers
from toprank.data.tables.number_formats import PLAIN, NumberFormat

CENTS = KnownNumbers(PLAIN, "", 2)
EURO_CENTS = KnownNumbers(NumberFormat(",", "."), "eur", 2)


def cells(known=CENTS, times=None, **options):
    reading = Reading(
        known_numbers={"amount": known}, known_times={"at": times} if times else {}, **options
    )
    return StreamCells(reading, frozenset(["amount"]), "at")


@pytest.mark.parametrize(
    ("known", "text", "number"),
    [
        (CENTS, "12.50", 12.5),
        (CENTS, "12,50", 12.5),
        (CENTS, "unknown", None),
        (EURO_CENTS, "EUR 1.234", 1234),
        (EURO_CENTS, "1.234,50 €", 1234.5),
        (KnownNumbers(PLAIN, "", 3), "1.234", 1.234),
        (KnownNumbers(PLAIN, "%", 0), "12 %", 12),
    ],
)
def test_a_number_is_read_as_the_model_knows_it_or_as_it_must_be(known, text, number):
    assert cells(known).number(text, "amount") == number


@pytest.mark.parametrize(
    ("known", "text", "words"),
    [
        (CENTS, "1.234", r"may separate decimals or thousands.*--thousands \."),
        (CENTS, "abc", "must be a number; got 'abc'"),
        (CENTS, "12 %", "without a unit"),
        (KnownNumbers(PLAIN, "%", 0), "0.12", "in '%'"),
        (EURO_CENTS, "$12", "in 'eur'"),
    ],
)
def test_a_number_that_may_mean_something_else_is_refused(known, text, words):
    with pytest.raises(ValueError, match=words):
        cells(known).number(text, "amount")


def test_an_option_says_what_three_decimals_are():
    assert cells(decimal=".").number("1.234", "amount") == 1.234
    assert cells(thousands=".").number("1.234", "amount") == 1234


@pytest.mark.parametrize(
    ("known", "value", "moment"),
    [
        ("%d/%m/%Y %H:%M", "03/04/2024 10:30", "2024-04-03T10:30"),
        ("%m/%d/%Y", "03/04/2024", "2024-03-04T00:00"),
        ("%d/%m/%Y", "2024-04-03 10:30:00", "2024-04-03 10:30"),
        ("Excel days", 45321.5, "2024-01-30T12:00"),
        ("Excel days", "45321.5", "2024-01-30T12:00"),
        ("Excel days", "2024-01-30T12:00", "2024-01-30T12:00"),
    ],
)
def test_a_time_is_read_as_the_model_knows_it(known, value, moment):
    assert cells(times=known).time(value, "at").startswith(moment)


@pytest.mark.parametrize("known", [None, "numbers"])
def test_times_of_other_models_are_left_to_the_model(known):
    assert cells(times=known).time(45321.5, "at") == 45321.5


def test_a_time_that_contradicts_the_model_is_refused_and_a_format_overrules_it():
    with pytest.raises(ValueError, match=r"day first.*'01/13/2024'"):
        cells(times="%d/%m/%Y").time("01/13/2024", "at")
    given = cells(times="%d/%m/%Y", time_format="%m/%d/%Y")
    assert given.time("01/13/2024", "at").startswith("2024-01-13")

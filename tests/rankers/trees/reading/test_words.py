"""Conditions in words: thresholds as short as possible, the shorter list, missing where seen."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from rankers.trees.reading import hand_made
from rankers.trees.reading.test_compact import graphs
from toprank.data.tables import Column, Schema
from toprank.rankers.trees.reading.compact import CompactGroup, Graph, Tally, compact
from toprank.rankers.trees.reading.conditions import OneOf, ValueRange
from toprank.rankers.trees.reading.seen import Seen, seen_in, threshold_of
from toprank.rankers.trees.reading.words import Words, tally_text, threshold_text

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)


def number(text):
    return float(text.replace(",", ""))


@given(st.one_of(FLOATS, st.integers(-50, 50).map(float)), FLOATS, st.floats(0, 0.999))
@examples(400)
def test_a_written_threshold_separates_its_neighbours(below, above, share):
    assume(below < above)
    threshold = min(max(below + (above - below) * share, below), np.nextafter(above, -inf))
    assert below <= number(threshold_text(threshold, below, above)) < above


@given(st.integers(-(10**9), 10**9), st.integers(1, 1000), st.floats(0, 0.999))
def test_a_written_threshold_of_whole_numbers_is_whole_and_separates_them(below, gap, share):
    text = threshold_text(below + gap * share, below, below + gap, is_whole=True)
    assert "." not in text
    assert below <= number(text) < below + gap


@given(FLOATS, st.booleans())
def test_a_threshold_without_neighbours_keeps_the_digits_that_distinguish_floats(value, is_half):
    value = np.float32(value)
    after = np.nextafter(value, np.float32(inf))
    threshold = (float(value) + float(after)) / 2 if is_half else float(value)
    written = number(threshold_text(threshold, -inf, inf))
    assert float(np.nextafter(value, np.float32(-inf))) < written < float(after)
    assert not is_half or float(value) <= written  # itself, it still goes to the left


@pytest.mark.parametrize(
    ("threshold", "below", "above", "text"),
    [
        (121.37, 119.0, 123.74, "121"),
        (150.0, 90.0, 210.0, "150"),
        (13.735, 13.73, 13.74, "13.735"),
        (0.000012345, 0.00001, 0.0000147, "1.2e-5"),
        (123456.7, 123000.0, 124000.0, "123,500"),
        (0.0, -1.0, 1.0, "0"),
        (-2.5, -3.0, -2.0, "-2.5"),
        (42.3, 42.3, 42.31, "42.3"),
        (3e20, 2e20, 4e20, "3e20"),
    ],
)
def test_a_threshold_is_written_as_short_as_it_can_be(threshold, below, above, text):
    assert threshold_text(threshold, below, above) == text


@pytest.mark.kernel
@given(graphs())
@examples(60)
def test_written_thresholds_split_the_training_rows_as_the_cuts_do(made):
    _, graph, table = made
    words = Words(graph, seen_in(graph, table.features, table.is_positive))
    for cut in graph.cuts:
        if isinstance(cut.yes_if, OneOf) or np.isinf(threshold_of(cut)):
            continue
        threshold = threshold_of(cut)
        values = table.features[:, cut.column].astype(np.float64)
        written = number(words.threshold(cut.column, threshold))
        assert np.array_equal(values <= written, values <= threshold)
        for value in values[~np.isnan(values)] + 0.3:  # and a row that is new
            written = number(words.threshold(cut.column, threshold, value))
            assert (value <= written) == (value <= threshold)


SCHEMA = Schema(
    (
        Column("amount", "number"),
        Column("country", "category", ("DE", "FR", "IT", "home")),
        Column("is_new", "boolean"),
    )
)


def words(has_missing=False, **options):
    """Words for three columns; `has_missing` says whether training had missing values."""
    graph = Graph(SCHEMA, (), (CompactGroup(0, Tally()),))
    none = np.zeros(0)
    seen = Seen(none, none, np.full(3, has_missing), np.zeros(3, bool), none, none)
    return Words(graph, seen, **options)


def some(*codes, missing=False):
    return OneOf(frozenset(codes), 4, missing)


@pytest.mark.parametrize(
    ("column", "condition", "plain", "with_missing"),
    [
        (0, ValueRange(120.0, inf, True), "amount > 120", "amount > 120 (or missing)"),
        (0, ValueRange(-inf, 5.0, False), "amount <= 5", "amount <= 5"),
        (0, ValueRange(3.0, 5.0, True), "3 < amount <= 5", "3 < amount <= 5 (or missing)"),
        (0, ValueRange(-inf, inf, False), None, "amount is not missing"),
        (0, ValueRange(inf, -inf, True), "amount is missing", "amount is missing"),
        (1, some(0, 1), "country is DE or FR", "country is DE or FR"),
        (1, some(0, 1, missing=True), "country is DE or FR", "country is not IT or home"),
        (1, some(0, 1, 2), "country is not home", "country is not home or missing"),
        (1, some(3, missing=True), "country is home", "country is home or missing"),
        (1, some(missing=True), "country is missing", "country is missing"),
        (1, some(0, 1, 2, 3), None, "country is not missing"),
        (2, ValueRange(-inf, 0.5, True), "is_new is no", "is_new is no or missing"),
        (2, ValueRange(0.5, inf, False), "is_new is yes", "is_new is yes"),
        (2, ValueRange(-inf, inf, False), None, "is_new is not missing"),
    ],
)
def test_conditions_in_words(column, condition, plain, with_missing):
    assert words().condition(column, condition) == plain
    assert words(has_missing=True).condition(column, condition) == with_missing


def test_long_lists_of_categories_are_counted():
    said = words(most_names=2).condition(1, some(0, 1, 2, missing=True))
    assert said == "country is not home"
    names = tuple(f"c{i}" for i in range(20))
    graph = Graph(Schema((Column("c", "category", names),)), (), (CompactGroup(0, Tally()),))
    condition = OneOf(frozenset(range(9)), 20, False)
    assert Words(graph, most_names=3).condition(0, condition) == "c is c0, c1 or 7 others"


def test_a_row_with_a_missing_value_is_described_so_even_if_training_had_none():
    condition = ValueRange(120.0, inf, True)
    assert words().condition(0, condition, nan) == "amount > 120 (or missing)"


def test_a_value_near_a_threshold_is_under_or_over_it():
    features, is_positive = hand_made.rows()
    graph = compact(hand_made.tree(), hand_made.SCHEMA)
    said = Words(graph, seen_in(graph, features, is_positive))
    assert said.nearness(0, 60.5, 60.0) == "amount is just under 61"
    assert said.nearness(0, 60.5, 61.0) == "amount is just over 60"
    assert said.nearness(0, 120.0, 119.9) == "amount is just under 120"


@pytest.mark.parametrize(
    ("tally", "text"),
    [
        (Tally(44, 44, 31), "31 frauds in 44"),
        (Tally(1200, 1200, 1), "1 fraud in 1,200"),
        (Tally(3, 4.5, 1.25), "1.25 frauds in 4.50 by weight"),
        (Tally(), "0 frauds in 0"),
    ],
)
def test_counts_in_words(tally, text):
    assert tally_text(tally, "frauds") == text

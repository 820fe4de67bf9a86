"""Formulas in CSV: harmless for a spreadsheet, read back as they were."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toprank.data.tables.spreadsheet import with_formulas, without_formulas

NUMBER = re.compile(r"[+-][0-9.,]+")
starts = st.sampled_from(["", "'", "''", "=", "+", "-", "@", "\t", "\r", "a", "1"])
texts = st.builds(lambda start, rest: start + rest, starts, st.text(max_size=4))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_begins_as_a_formula_gets_an_apostrophe(start):
    table = pa.table({f"{start}name": [f"{start}cmd|' /C calc'!A0", None]})
    harmless = without_formulas(table)
    assert harmless.column_names == [f"'{start}name"]
    assert harmless.column(0).to_pylist() == [f"'{start}cmd|' /C calc'!A0", None]


@pytest.mark.parametrize("number", ["-12.50", "+3", "-1e-7", "-.5", "-12,50"])
def test_numbers_written_as_text_stay_numbers(number):
    assert without_formulas(pa.table({"amount": [number]}))["amount"].to_pylist() == [number]


def test_columns_of_numbers_and_categories_are_handled():
    table = pa.table({"n": [-1.5, None], "shop": pa.array(["=x", "b"]).dictionary_encode()})
    assert without_formulas(table).to_pydict() == {"n": [-1.5, None], "shop": ["'=x", "b"]}


@given(st.lists(st.none() | texts, min_size=1, max_size=6))
def test_what_was_made_harmless_is_read_back_as_it_was(cells):
    table = pa.table({"text": pa.array(cells, pa.string())})
    assert with_formulas(without_formulas(table)) == table
    for text in without_formulas(table)["text"].to_pylist():
        assert not text or text[0] not in "=+-@\t\r" or NUMBER.fullmatch(text)

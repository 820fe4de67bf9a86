"""Rows that hold little of what a model knows are noted."""

import re
import warnings

import pyarrow as pa
import pytest

from toprank.data.tables import Column, NewValues, Schema, TableWarning

SCHEMA = Schema((Column("country", "category", ("DE", "FR")), Column("amount", "number")))


def noted(*batches):
    watch = NewValues(SCHEMA, "today.csv")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        for countries, amounts in batches:
            columns = pa.array(countries, pa.string()), pa.array(amounts, pa.float64())
            watch.see(pa.table(columns, names=["country", "amount"]))
        watch.end()
    return [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([(["GB", "FR"], [1, 2]), (["GB", "IT"], [3, 4])], "3 of 4 .* 'country' .* 'GB'"),
        ([(["FR", "DE"], [None, None])], "'amount' in today.csv has no value"),
        ([(["", None, "NA"], [1, 2, 3])], "'country' in today.csv has no value"),
    ],
)
def test_new_and_missing_values_are_counted_over_all_batches(batches, words):
    (sentence,) = noted(*batches)

    assert re.search(words, sentence)


def test_some_new_and_some_missing_values_are_nothing_to_note():
    assert noted((["GB", "FR", "DE", None], [1, None, None, None])) == []

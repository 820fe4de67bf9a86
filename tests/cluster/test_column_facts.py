"""The schema of a table in partitions is that of the whole."""

import warnings
from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank.cluster import column_facts
from toprank.data.tables import Schema, TableError, TableWarning

COLUMNS = {
    "number": st.none() | st.floats(-1e6, 1e6, width=32),
    "whole": st.none() | st.integers(-(2**40), 2**40),
    "boolean": st.none() | st.booleans(),
    "category": st.none() | st.sampled_from(["DE", "FR", "7", "7.0", ""]),
}
TYPES = {"number": pa.float64(), "whole": pa.int64(), "boolean": pa.bool_(), "category": "string"}


@examples(150)
@given(
    st.lists(st.tuples(*COLUMNS.values()), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_the_schema_of_the_partitions_is_that_of_the_whole(rows, borders):
    columns = zip(*rows, strict=True)
    whole = pa.table(
        {name: pa.array(each, TYPES[name]) for name, each in zip(COLUMNS, columns, strict=True)}
    )
    edges = [0, *sorted(min(border, len(rows)) for border in borders), len(rows)]
    parts = [whole.slice(i, j - i) for i, j in pairwise(edges)]
    assert learned(parts) == outcome_of(whole)


@pytest.mark.parametrize(
    "values",
    [
        [f"card {i % 1500}" for i in range(4000)],
        [f"card {i}" for i in range(2000)],
        [7 * i for i in range(2000)],
        [7 * (i * 1009 % 2000) for i in range(2000)],
        [i * 1009 % 2000 for i in range(2000)],
        [i % 1500 for i in range(4000)],
        [2**53 + 8 * i for i in range(2000)],
        [2.0**60 * (1 + i) for i in range(2000)],
        ["31.12.2024", "01.01.2025"] * 4,
        [None] * 8,
    ],
    ids=lambda values: str(values[1]),
)
def test_partitions_give_the_warnings_and_errors_of_the_whole(values):
    whole = pa.table({"x": values})
    third = len(values) // 3
    assert learned([whole.slice(0, third), whole.slice(third)]) == outcome_of(whole)


def test_distinct_numbers_are_estimated_when_they_are_many():
    values = pa.table({"x": np.random.default_rng(0).integers(0, 50_000, 200_000)})
    parts = (values.slice(i, 50_000) for i in range(0, 200_000, 50_000))
    facts = reduce(column_facts.joined, map(column_facts.facts_of_columns, parts))
    assert facts["x"].n_distinct() == approx(len(set(values["x"].to_pylist())), rel=0.05)


def test_text_in_one_partition_and_numbers_in_another_are_refused():
    parts = [pa.table({"x": ["a"]}), pa.table({"x": [1.5]})]
    with pytest.raises(TableError, match="column 'x' must have one kind of values"):
        learned(parts)


def learned(parts):
    """Return schema and warnings of the partitions, or the error."""
    facts = reduce(column_facts.joined, map(column_facts.facts_of_columns, parts))
    try:
        return column_facts.learned(facts)
    except TableError as error:
        return str(error)


def outcome_of(whole):
    """Return schema and warnings of a table, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        try:
            return Schema.of(whole), [str(warning.message) for warning in caught]
        except TableError as error:
            return str(error)

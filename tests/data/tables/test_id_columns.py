"""Columns that only name their rows are known as such; quantities are not."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.data.tables.id_columns import id_columns

ROWS = np.arange(300)
SHUFFLED = np.random.default_rng(0).permutation(ROWS)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("__index_level_0__", SHUFFLED * 2.5),
        ("Unnamed: 0", ROWS % 7),
        ("row", ROWS + 10**9),
        ("tx", ROWS**2),  # counts up, with gaps
        ("shuffled", SHUFFLED),
        ("text", [f"T{i}" for i in SHUFFLED]),
    ],
)
def test_an_id_is_found(name, values):
    assert list(id_columns(pa.table({name: values}), [name])) == [name]


@pytest.mark.parametrize(
    "values",
    [
        SHUFFLED * 0.25,
        ROWS * 0.25,  # a quantity that grows
        SHUFFLED * 1_000_003,  # whole amounts, all different
        ROWS % 100,
        [f"S{i % 40}" for i in ROWS],
        ROWS[:99],
    ],
)
def test_quantities_categories_and_short_columns_are_no_ids(values):
    assert id_columns(pa.table({"x": values}), ["x"]) == {}

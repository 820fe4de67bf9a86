"""Copies of rows are found, and kept on one side of a split."""

import numpy as np
import pyarrow as pa
import pytest

from toprank import splits
from toprank.data.tables import TableWarning
from toprank.workflow.task import prepare


def random_rows(n_distinct=60, n_copies=5, n_columns=3, seed=0):
    """Rows of numbers without meaning, each several times with its one random label."""
    rng = np.random.default_rng(seed)
    rows = np.tile(np.arange(n_distinct), n_copies)
    rng.shuffle(rows)
    values, labels = rng.normal(size=(n_distinct, n_columns)), rng.random(n_distinct) < 0.3
    columns = {f"x{j}": values[rows, j] for j in range(n_columns)}
    return pa.table({**columns, "is_fraud": labels[rows].astype(int)}), rows


def test_copies_share_a_number_whatever_the_types_of_their_columns():
    table = pa.table(
        {
            "amount": pa.chunked_array([[1.5, None], [1.5, None, 2.0], [7.0, 8.0, 9.0]]),
            "shop": pa.array(["a", "b", "a", "b", "a", "c", "d", "e"]).dictionary_encode(),
            "at": [1, 2, 1, 2, 3, 4, 5, 6],
            "is_new": [True, False, True, False, True, True, True, True],
        }
    )
    groups = splits.copies(table)
    assert groups[0] == groups[2] != groups[1] == groups[3]
    assert len(set(groups)) == 6


def test_rows_of_few_values_are_equal_by_chance_and_no_copies():
    rng = np.random.default_rng(0)
    assert (
        splits.copies(pa.table({"x": rng.integers(0, 3, 50), "y": rng.integers(0, 3, 50)})) is None
    )
    assert splits.copies(pa.table({"x": rng.normal(size=50)})) is None
    cents = {"amount": rng.integers(0, 20_000, 3_000), "country": rng.integers(0, 2, 3_000)}
    assert splits.copies(pa.table(cents)) is None


def test_no_row_of_the_test_equals_one_to_learn_from():
    table, rows = random_rows()
    with pytest.warns(TableWarning, match="% of the test rows equal a row .* on one side"):
        task = prepare(table, "is_fraud")
    learned = np.concatenate([task.split.train, task.split.validation])
    assert not np.isin(rows[task.split.test], rows[learned]).any()
    together = np.sort(np.concatenate([learned, task.split.test]))
    assert np.array_equal(together, np.arange(len(rows)))
    assert 0.1 < task.split.test.size / len(rows) < 0.4


def test_copies_in_time_stay_where_they_are_and_are_reported():
    table, _ = random_rows()
    table = table.append_column("at", pa.array(np.arange(table.num_rows) * 86_400 + 1_700_000_000))
    with pytest.warns(TableWarning, match="figures may be too good"):
        task = prepare(table, "is_fraud", time="at", gap=np.timedelta64(1, "D"))
    assert task.split.test.size == pytest.approx(table.num_rows / 4, abs=2)


def test_a_table_without_copies_is_split_as_before(recwarn):
    table, _ = random_rows(n_distinct=200, n_copies=1)
    task = prepare(table, "is_fraud")
    alone = splits.stratified(task.is_positive)
    assert np.array_equal(task.split.test, alone.test)
    assert not [each for each in recwarn if "equal a row" in str(each.message)]

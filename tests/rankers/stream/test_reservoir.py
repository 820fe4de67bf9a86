"""The reservoir: what it keeps, in bounded memory, and that its weights are right."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from toprank.rankers.stream.memory import MEMORIES, Memory, chances
from toprank.rankers.stream.reservoir import Pool, Reservoir, StoredRows


def stored(numbers, n_columns=2, favours=False):
    numbers = np.asarray(numbers, dtype=np.int64)
    favour = 1.0 + (numbers % 5 if favours else np.zeros(numbers.size))
    values = np.repeat(numbers[:, np.newaxis], n_columns, axis=1).astype(np.float32)
    buckets = np.full(values.shape, -1, dtype=np.int16)
    return StoredRows(values, buckets, np.ones(numbers.size), favour, numbers)


def filled(kind, most=100, n_rows=3000, size=1, seed=0, span=400.0, favours=True):
    pool = Pool(most, Memory(kind, span), seed)
    for start in range(1, n_rows + 1, size):
        pool.add(stored(np.arange(start, min(start + size, n_rows + 1)), favours=favours))
    return pool


@pytest.mark.parametrize("kind", MEMORIES)
def test_it_keeps_the_rows_whose_keys_are_below_the_limit_and_no_others(kind):
    pool = filled(kind)
    pool.drop_old(3000)
    numbers = np.arange(1, 3001)
    keys = pool.memory.keys(chances(numbers, 0) / (1 + numbers % 5), 3000 - numbers + 1)

    assert pool.n_rows <= pool.room
    assert_array_equal(pool.rows.number, numbers[keys < pool.limit])
    assert_array_equal(pool.rows.values[:, 1], pool.rows.number)


@pytest.mark.parametrize("kind", MEMORIES)
def test_it_keeps_the_same_rows_however_many_come_at_a_time(kind):
    one_by_one = filled(kind)
    for size in (7, 250, 3000):
        batches = filled(kind, size=size)
        assert batches.limit == one_by_one.limit
        for name, array in one_by_one.to_arrays().items():
            assert_array_equal(batches.to_arrays()[name], array)


@pytest.mark.parametrize("kind", MEMORIES)
def test_weights_add_up_to_what_all_rows_count(kind):
    n_rows, numbers = 3000, np.arange(1, 3001)
    value = np.sin(numbers / 300)  # a sum over all rows that depends on their ages
    truth = (Memory(kind, 400.0).importance(n_rows - numbers + 1) * value).sum()
    found = []
    for seed in range(60):
        pool = filled(kind, size=n_rows, seed=seed)
        pool.drop_old(n_rows)
        found.append((pool.weights(n_rows) * value[pool.rows.number - 1]).sum())

    assert abs(np.mean(found) - truth) < 4 * np.std(found) / len(found) ** 0.5


def test_rows_that_are_favoured_are_kept_more_often_and_weigh_less():
    pool = filled("all", most=300, n_rows=30_000, size=30_000)
    favour, weight = pool.rows.favour, pool.weights(30_000)
    counts = np.bincount(favour.astype(int))[1:]
    assert_allclose(counts / counts.sum(), np.arange(1, 6) / 15, atol=0.07)
    assert_allclose(weight * favour, np.full(favour.size, 1 / pool.limit))


def test_everything_is_kept_while_there_is_room():
    pool = filled("all", most=3000)
    assert_array_equal(pool.rows.number, np.arange(1, 3001))
    assert (pool.weights(3000) == 1).all()


def reservoir(keeps_positives, most_positives=200, kind="decay", n_rows=4000):
    made = Reservoir(most_positives, 300, Memory(kind, 500.0), keeps_positives, seed=0)
    is_positive = np.arange(n_rows) % 40 == 0
    made.add(stored(np.arange(1, n_rows + 1)), is_positive)
    return made.sample(n_rows, n_columns=2), is_positive


def test_old_positives_count_as_much_as_new_ones_and_all_together_as_the_memory_says():
    sample, is_positive = reservoir(keeps_positives=True)
    own = sample.weight[sample.is_positive]
    numbers = np.flatnonzero(is_positive) + 1

    assert_array_equal(sample.rows.number[sample.is_positive], numbers)
    assert np.ptp(own) == 0
    assert_allclose(own.sum(), (2 ** (-(4000 - numbers + 1) / 500)).sum())


def test_positives_fade_with_the_memory_if_they_are_not_kept():
    sample, _is_positive = reservoir(keeps_positives=False)
    numbers = sample.rows.number[sample.is_positive]
    assert_allclose(sample.weight[sample.is_positive], 2 ** (-(4000 - numbers + 1) / 500))


def test_positives_beyond_a_window_still_have_some_weight_if_they_are_kept():
    made = Reservoir(50, 50, Memory("window", 10.0), True, seed=0)
    made.add(stored(range(1, 101)), np.arange(100) < 5)
    sample = made.sample(100, n_columns=2)
    assert sample.is_positive.sum() == 5
    assert_allclose(sample.weight[sample.is_positive].sum(), 0.5)
    assert_array_equal(sample.rows.number[~sample.is_positive], np.arange(91, 101))


@pytest.mark.parametrize("keeps_positives", [True, False])
def test_more_positives_than_there_is_room_for_are_sampled_with_weights(keeps_positives):
    sample, is_positive = reservoir(keeps_positives, most_positives=20, kind="all")
    own = sample.weight[sample.is_positive]
    assert own.size <= 20 + 64
    assert own.sum() == pytest.approx(is_positive.sum(), rel=0.5)


def test_columns_that_come_later_are_missing_in_earlier_rows():
    made = Reservoir(50, 50, Memory("all", 1.0), True, seed=0)
    made.add(stored([1, 2], n_columns=1), np.array([True, False]))
    made.add(stored([3, 4], n_columns=3), np.array([True, False]))
    sample = made.sample(4, n_columns=4)
    assert_array_equal(sample.rows.number, [2, 4, 1, 3])
    assert_array_equal(np.isnan(sample.rows.values).sum(axis=1), [3, 1, 3, 1])
    assert (sample.rows.buckets == -1).all()


def test_a_row_of_fewer_columns_than_are_known_may_come_late():
    pool = Pool(100, Memory("all", 1.0), 0)
    for number, n_columns in enumerate((1, 3, 2, 3, 1) * 30, start=1):
        pool.add(stored([number], n_columns))
    assert 100 <= pool.n_rows < 164
    missing = np.isnan(pool.rows.values).sum(axis=1)
    assert_array_equal(missing, np.array([2, 0, 1, 0, 2])[(pool.rows.number - 1) % 5])


def test_a_pool_is_restored_from_its_arrays():
    pool = filled("by-age")
    again = Pool(100, pool.memory, 0)
    again.restore({name: array.copy() for name, array in pool.to_arrays().items()}, 2, 8)
    for each in (pool, again):
        each.add(stored(range(3001, 5000)))
    for name, array in pool.to_arrays().items():
        assert_array_equal(again.to_arrays()[name], array)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("values", np.zeros((3, 2)), "'values' must be float32"),
        ("buckets", np.full((3, 2), 8, dtype=np.int16), "'buckets' must be between -1 and 7"),
        ("buckets", np.zeros((3, 2), dtype=np.int16), "NaN beside buckets"),
        ("weight", np.array([1.0, 0.0, 1.0]), "'weight' must"),
        ("weight", np.array([1.0, 1e300, 1.0]), "'weight' must"),
        ("favour", np.array([1.0, 0.5, 1.0]), "'favour' must"),
        ("favour", np.array([1.0, np.nan, 1.0]), "'favour' must"),
        ("number", np.array([1, 1, 2]), "'number' must rise"),
        ("number", np.array([0, 1, 2]), "'number' must rise"),
        ("number", np.array([1, 2**62, -(2**63)]), "'number' must rise"),
        ("limit", np.array([np.nan]), "limit must be a number"),
    ],
)
def test_arrays_that_no_pool_has_are_refused(name, value, message):
    pool = filled("all", n_rows=3)
    with pytest.raises(ValueError, match=message):
        Pool(100, pool.memory, 0).restore({**pool.to_arrays(), name: value}, 2, 8)


def test_a_file_with_more_rows_than_there_is_room_for_is_refused():
    arrays = filled("all", most=3000).to_arrays()
    with pytest.raises(ValueError, match="fewer than 164 rows; got 3000"):
        Pool(100, Memory("all", 1.0), 0).restore(arrays, 2, 8)

"""Memories: which rows they keep how often, and that weights make up for the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from toprank.rankers.stream.memory import MEMORIES, Memory, chances

LIMITS = {"all": 0.3, "window": 0.4, "decay": -1.0, "by-age": 20.0}


@pytest.mark.parametrize("favour", [1.0, 2.5])
@pytest.mark.parametrize("kind", MEMORIES)
def test_a_row_is_kept_as_often_as_the_memory_says(kind, favour):
    memory, limit = Memory(kind, 50.0), LIMITS[kind]
    age = np.array([1, 10, 49, 60, 400])
    drawn = np.random.default_rng(0).random((200_000, age.size))
    kept = np.column_stack(
        [
            memory.keys(u, np.full(u.size, a)) < limit
            for u, a in zip(drawn.T / favour, age, strict=True)
        ]
    )

    counted = memory.importance(age) > 0
    share = memory.kept_share(age, limit, np.full(age.size, favour))
    assert_allclose(kept.mean(axis=0)[counted], share[counted], rtol=0, atol=0.005)
    assert not kept[:, ~counted].any()


@pytest.mark.parametrize("kind", MEMORIES)
def test_keys_never_fall_with_age(kind):
    age = np.arange(1, 300)
    for chance in (0.001, 0.4, 0.999):
        keys = Memory(kind, 70.0).keys(np.full(age.size, chance), age)
        assert (keys[1:] >= keys[:-1]).all()


def test_what_rows_count_follows_the_formulas():
    age = np.array([1, 10, 20, 40])
    assert Memory("all", 10.0).importance(age).tolist() == [1, 1, 1, 1]
    assert Memory("window", 10.0).importance(age).tolist() == [1, 1, 0, 0]
    assert_allclose(Memory("decay", 10.0).importance(age), [2**-0.1, 0.5, 0.25, 0.0625])
    assert Memory("by-age", 10.0).importance(age).tolist() == [1, 1, 0.5, 0.25]


def test_chances_are_those_of_the_published_generator_and_spread_evenly():
    numbers = np.arange(1, 50_001)
    for seed in (0, 7):
        found = chances(numbers, seed)
        assert found[:20].tolist() == [reference.split_mix(n, seed) for n in range(1, 21)]
        assert ((found > 0) & (found < 1)).all()
        counts = np.histogram(found, bins=50, range=(0, 1))[0]
        assert np.abs(counts - 1000).max() < 5 * 1000**0.5
    assert not np.isin(chances(numbers, 0), chances(numbers, 1)).any()

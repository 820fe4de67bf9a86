"""Totals over machines, and every machine's columns in one order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from losses.machines import machines
from toprank.losses import AucHinge, Gather


def on_all(work, n):
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, range(n), machines(n)))


def test_columns_of_all_machines_come_in_the_order_of_their_ranks():
    parts = [np.array([[1.0, 2.0], [-1.0, -2.0]]), np.zeros((2, 0)), np.array([[3.0], [-3.0]])]

    found = on_all(lambda rank, gather: gather.side_by_side(parts[rank]), 3)

    assert [begin for begin, _ in found] == [0, 2, 2]
    for _, everything in found:
        np.testing.assert_array_equal(everything, [[1, 2, 3], [-1, -2, -3]])


def test_one_machine_has_its_own_columns_to_the_last_bit():
    own = np.array([[-0.0, 1e-300], [np.pi, 3.0]])

    for gather in (Gather(), Gather(lambda vector, how: vector)):
        begin, everything = gather.side_by_side(own)
        assert begin == 0
        assert everything.tobytes() == own.tobytes()


def test_a_gather_that_does_not_say_which_machine_it_is_on_is_refused():
    twice = Gather(lambda vector, how: 2 * vector)  # as if another machine had the same

    with pytest.raises(ValueError, match="this machine and n_machines=2; got rank=0"):
        twice.side_by_side(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({"rank": 2, "n_machines": 2}, "rank must be between 0 and 1; got 2"),
        ({"n_machines": 0}, "n_machines must be"),
    ],
)
def test_a_rank_must_be_one_of_the_machines(place, reason):
    with pytest.raises(ValueError, match=reason):
        Gather(**place)


@pytest.mark.parametrize("has_weight", [False, True])
def test_auc_hinge_is_the_same_in_every_run_on_several_machines(has_weight):
    generator = np.random.default_rng(0)
    raw = generator.integers(0, 9, 300) / 3  # ties, whose masses are added in some order
    is_positive, weight = generator.random(300) < 0.3, generator.gamma(1, 1, 300)

    def one_run():
        def on_machine(rank, gather):
            own = slice(100 * rank, 100 * rank + 100)
            weights = weight[own] if has_weight else None
            return AucHinge().gradient_curvature(is_positive[own], raw[own], weights, gather)

        return [vector.tobytes() for vectors in on_all(on_machine, 3) for vector in vectors]

    assert all(one_run() == run for run in (one_run(), one_run(), one_run()))

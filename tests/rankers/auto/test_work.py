"""Work and time: what a budget allows."""

import pytest
from pytest import approx

from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.work import EFFORTS, Budget


class Clock:
    now = 50.0

    def __call__(self):
        return self.now


def spent(deadline, *trials):
    """Return a budget after trials, each a kind, its work and its seconds; and its clock."""
    clock = Clock()
    budget = Budget(1000.0, deadline, bags=60.0, clock=clock)
    for kind, work, seconds in trials:
        budget.start()
        clock.now += seconds
        assert budget.spend(kind, work) == approx(seconds)
    return budget, clock


def test_work_is_allowed_until_it_is_used_up_whatever_the_clock_says():
    budget, clock = spent(None, ("trees", 600, 1e6))
    assert budget.has_work(400)
    assert not budget.has_work(401)
    clock.now += 1e9
    assert budget.has_time([("trees", 1e30)])


def test_time_is_estimated_from_trials_of_the_same_kind():
    budget, _ = spent(100.0, ("trees", 100, 10.0), ("forest", 10, 10.0))
    # 30 seconds are left; trees take a tenth of a second per unit, a forest one
    assert budget.has_time([("trees", 250)])
    assert not budget.has_time([("trees", 270)])
    assert budget.has_time([("forest", 25)])
    assert not budget.has_time([("forest", 27)])
    assert not budget.has_time([("trees", 150), ("forest", 15)])


def test_a_kind_that_was_never_tried_is_taken_to_be_as_slow_as_the_slowest():
    budget, _ = spent(100.0, ("trees", 100, 10.0), ("forest", 10, 10.0))
    assert budget.has_time([("smooth", 25)])
    assert not budget.has_time([("smooth", 27)])


def test_bags_are_limited_by_work_and_by_time():
    assert spent(None)[0].n_bags("trees", 1.0, most=5) == 5
    assert spent(None)[0].n_bags("trees", 25.0, most=5) == 2
    assert spent(None)[0].n_bags("trees", 1e9, most=5) == 1
    budget, _ = spent(100.0, ("trees", 100, 10.0))  # 40 seconds are left
    assert budget.n_bags("trees", 20.0, most=5) == 3
    late, _ = spent(60.0, ("trees", 100, 20.0))
    assert late.n_bags("trees", 20.0, most=5) == 1


@pytest.mark.parametrize(("n_rows", "n_columns"), [(200, 5), (500_000, 100)])
def test_more_effort_is_more_work(n_rows, n_columns):
    one_fit = BoostedTrees(max_leaves=255).work(n_rows, n_columns)
    allowed = []
    for effort in EFFORTS:
        budget = Budget.of(effort, None, 300, n_rows, n_columns)
        most = 1e6
        while budget.has_work(most * 1.01):
            most *= 1.01
        allowed.append(most)
    assert EFFORTS == ("quick", "normal", "thorough")
    assert allowed == sorted(allowed)
    if n_rows > 1000:
        assert [each / one_fit for each in allowed] == approx([0.1, 0.4, 4.0], rel=0.02)
    else:
        assert allowed[0] > 2 * one_fit  # small tables have a minimum

"""Sums over pairs against the same sums written out, and one grid for all machines."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from scipy.special import expit

from examples import examples
from losses.machines import machines
from toprank.losses import score_grid
from toprank.losses.gather import HERE
from toprank.losses.score_grid import SIGMOID, SLOPE, SOFTPLUS, distinct_scores, make_grid

pytestmark = pytest.mark.kernel

WRITTEN_OUT = {
    SIGMOID: expit,
    SLOPE: lambda x: expit(x) * expit(-x),
    SOFTPLUS: lambda x: np.logaddexp(0.0, x),
}
EVERY_KERNEL = [pytest.param(kernel, id=kernel.name) for kernel in WRITTEN_OUT]


@st.composite
def nodes(draw):
    """Nodes tied, near, far apart or too far to interact, and their masses."""
    n = draw(st.integers(1, 9))
    distances = [0.0, 1e-9, 0.03, 1.0, 7.0, 36.0, 300.0, 1e12]
    gaps = draw(st.lists(st.sampled_from(distances), min_size=n - 1, max_size=n - 1))
    masses = [0.0, 1e-12, 0.5, 1.0, 1e6]
    return np.array(gaps), np.array(
        draw(st.lists(st.sampled_from(masses), min_size=n, max_size=n))
    )


def differences(gaps):
    """Score of the source minus score of the target, no digit lost to nodes far away."""
    n = gaps.size + 1
    return np.array(
        [
            [gaps[target:source].sum() - gaps[source:target].sum() for source in range(n)]
            for target in range(n)
        ]
    )


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@examples(60)
@given(case=nodes())
def test_sums_keep_their_digits_however_far_apart_the_nodes_are(kernel, case):
    gaps, mass = case
    pairs = WRITTEN_OUT[kernel](differences(gaps)) * mass
    tiny = 1e-280
    assert score_grid.sums(kernel, gaps, mass) == approx(pairs.sum(1), rel=1e-10, abs=tiny)
    others = (pairs * ~np.eye(mass.size, dtype=bool)).sum(1)
    assert score_grid.sums_of_others(kernel, gaps, mass) == approx(others, rel=1e-10, abs=tiny)


@pytest.mark.parametrize("kernel", EVERY_KERNEL)
@examples(30)
@given(case=nodes())
def test_mirrored_sums_swap_source_and_target(kernel, case):
    gaps, mass = case
    pairs = WRITTEN_OUT[kernel](-differences(gaps)) * mass
    assert score_grid.mirrored_sums(kernel, gaps, mass) == approx(
        pairs.sum(1), rel=1e-10, abs=1e-280
    )


def test_a_row_shares_its_mass_between_its_neighbours_by_nearness():
    even = score_grid.ScoreGrid(np.array([0.25, 2.0, 1.5]), 0.0, 1.0, np.ones(3), None)
    labels = np.array([False, False, True])
    assert even.spread_negatives(labels, None) == approx([0.75, 0.25, 1.0, 0.0])
    assert even.spread_negatives(labels, np.array([2.0, 0.0, 1.0])) == approx([1.5, 0.5, 0, 0])
    assert even.spread(np.array([1.5]), np.array([4.0])) == approx([0, 2, 2, 0])
    assert even.read(np.array([0.25, 3.0]), np.array([0.0, 8.0, 1.0, 5.0])) == approx([2, 5])


def test_every_row_is_filled_with_its_weight_times_both_tables():
    even = score_grid.ScoreGrid(np.array([0.25, 7e9, 2.0]), 0.0, 1.0, np.ones(3), None)
    tables = np.array([0.0, 8.0, 1.0, 5.0]), np.array([4.0, 4.0, 0.0, 0.0])
    gradient, curvature = np.empty(3), np.empty(3)
    even.fill(np.array([2.0, 0.0, 1.0]), tables, gradient, curvature)
    assert gradient == approx([4, 0, 1])
    assert curvature == approx([8, 0, 0])
    assert curvature[1] == 0 < curvature[2]


@pytest.mark.parametrize(("spread", "step"), [(0.0, 1 / 256), (1.0, 1 / 256), (1e3, 1 / 32)])
def test_steps_are_as_fine_as_the_cells_are_cheap(spread, step):
    scores = np.linspace(5.0, 5.0 + spread, 40_000)
    even = make_grid(scores, None, 1.0, HERE)
    assert even.distinct is None
    assert set(even.gaps) == {step}
    assert even.places(scores).max() <= even.n_nodes - 1
    assert make_grid(scores / 4, None, 4.0, HERE).n_nodes == even.n_nodes


@pytest.mark.parametrize("scores", [np.arange(5.0), 1e3 * np.arange(20_000)])
def test_few_rows_and_rows_far_apart_are_nodes_themselves(scores):
    exact = make_grid(scores, None, 1.0, HERE)
    assert exact.distinct == approx(scores)
    assert exact.places(scores) == approx(np.arange(scores.size))


def test_one_row_far_away_costs_no_nodes_in_between():
    scores = np.concatenate([np.linspace(0, 1, 20_000), [1e30]]).astype(np.float32)
    assert make_grid(scores, None, 1.0, HERE).n_nodes <= scores.size + 1
    weights = np.ones(scores.size)
    weights[-1] = 0
    assert make_grid(scores, weights, 1.0, HERE).n_nodes < 300


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(wrong):
    with pytest.raises(ValueError, match="raw must be finite"):
        make_grid(np.array([0.0, wrong]), None, 1.0, HERE)
    assert make_grid(np.array([0.0, wrong]), np.array([1.0, 0.0]), 1.0, HERE).distinct == [0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@examples(30)
@given(
    parts=st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.5, 1e30, -1e-30, 3.0, -1e9]), max_size=5),
        min_size=1,
        max_size=2,
    )
)
def test_all_machines_find_the_same_distinct_scores(dtype, parts):
    scores = [np.array(part, dtype) for part in ([7.0], *parts)]
    gathers = machines(len(scores))
    with ThreadPoolExecutor(len(scores)) as pool:
        found = list(
            pool.map(lambda i: distinct_scores(scores[i], gathers[i]), range(len(scores)))
        )
    expected = np.unique(np.concatenate(scores))
    for own, (distinct, rank) in zip(scores, found, strict=True):
        assert distinct.dtype == dtype
        assert distinct.tolist() == expected.tolist()
        assert distinct[rank].tolist() == own.tolist()

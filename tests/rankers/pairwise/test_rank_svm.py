"""RankSVM against every pair written out, and against a general optimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from sklearn.exceptions import ConvergenceWarning

import reference
from examples import examples
from rankers.pairwise import slow_twins
from toprank import RankSVM
from toprank.data.inputs import TrainingRows
from toprank.rankers.pairwise import rank_svm
from toprank.rankers.pairwise.rank_svm import hinge_over_pairs


@st.composite
def samples(draw):
    n = draw(st.integers(2, 14))
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    points = np.round(generator.normal(size=(n, 3)), draw(st.sampled_from([0, 8])))
    is_positive = generator.permutation(np.arange(n) < draw(st.integers(1, n - 1)))
    weight = draw(st.sampled_from([None, generator.uniform(0.5, 2, n)]))
    line = generator.normal(size=3) * draw(st.sampled_from([0.0, 0.3, 5.0]))
    return points, TrainingRows(points.astype(np.float32), is_positive, weight), line


@given(samples(), st.sampled_from([0.01, 1.0]))
@examples(80)
def test_value_and_gradient_are_those_of_all_pairs(sample, penalty):
    points, rows, line = sample
    value, gradient = hinge_over_pairs(line, points, rows, penalty)
    raw = points @ line
    slow = reference.auc_hinge(rows.is_positive, raw, rows.weight, tau=1.0)
    assert value == approx(slow + penalty * line @ line / 2)
    slopes, _ = reference.auc_hinge_gradient(rows.is_positive, raw, rows.weight, tau=1.0)
    assert gradient == approx(points.T @ slopes + penalty * line, abs=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_line_is_the_one_a_general_optimiser_finds(C):
    X, y, weight = clouds()
    ranker = RankSVM(C=C).fit(X, y, weight)
    terms = ranker.design_.terms(X.astype(np.float32))
    expected = slow_twins.hinge_line(terms, y, weight, C)
    assert ranker.score_.weights == approx(expected, abs=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_no_small_change_of_any_height_or_weight_makes_it_better(kernel):
    X, y, weight = clouds()
    ranker = RankSVM(kernel=kernel, C=20.0).fit(X, y, weight)
    terms = ranker.design_.terms(X.astype(np.float32))
    if kernel == "linear":
        points, norm, start = terms, np.eye(terms.shape[1]), ranker.score_.weights
    else:
        points = norm = slow_twins.gaussian_kernel(terms, terms, ranker.score_.gamma)
        start = ranker.score_.heights

    def cost(line):
        hinge = reference.auc_hinge(y, points @ line, weight, tau=1.0)
        return line @ norm @ line / 2 + 20 * hinge

    least = cost(start)
    for place in range(start.size):
        for step in (-1e-2, 1e-2):
            moved = start.copy()
            moved[place] += step
            assert cost(moved) >= least - 1e-8


def clouds(n=60):
    generator = np.random.default_rng(0)
    y = np.arange(n) % 4 == 0
    X = generator.normal(size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0])
    return X, y, generator.uniform(0.5, 2, n)


def test_a_larger_sample_of_the_same_rows_gives_the_same_line():
    X, y, _ = clouds()
    once = RankSVM().fit(X, y).suspicion(X)
    often = RankSVM().fit(np.tile(X, (30, 1)), np.tile(y, 30)).suspicion(X)
    assert often == approx(once, abs=1e-4)


def test_counting_pairs_more_leaves_less_of_the_hinge():
    X, y, _ = clouds()
    left = [
        reference.auc_hinge(y, RankSVM(C=C).fit(X, y).suspicion(X), tau=1.0)
        for C in (0.01, 0.1, 1.0, 10.0)
    ]
    assert (np.diff(left) < 0).all()


def test_pairs_far_enough_apart_cost_nothing():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 5)])[:, None]
    y = np.arange(25) >= 20
    raw = RankSVM(C=1e4).fit(X, y).suspicion(X)
    assert raw[y].min() - raw[~y].max() == approx(1, abs=0.01)


def test_too_few_steps_give_a_warning():
    X, y, _ = clouds()
    with pytest.warns(ConvergenceWarning, match="RankSVM took all of max_iter=1 steps"):
        ranker = RankSVM(max_iter=1).fit(X, y)
    assert ranker.n_iter_ == 1


def test_columns_that_distinguish_nothing_take_no_step():
    ranker = RankSVM().fit(np.ones((20, 2)), np.arange(20) < 4)
    assert ranker.n_iter_ == 0
    assert ranker.suspicion([[1.0, 5.0]]).tolist() == [0.0]


def test_of_very_many_rows_a_gaussian_learns_from_every_kth(monkeypatch):
    X, y, _ = clouds(400)
    thinned = TrainingRows(X, y, None).thinned(50)
    monkeypatch.setattr(rank_svm, "_MOST_ROWS_OF_BUMPS", 50)
    seen = []
    whole = rank_svm.hinge_over_pairs

    def watched(line, points, rows, penalty):
        seen.append(rows)
        return whole(line, points, rows, penalty)

    monkeypatch.setattr(rank_svm, "hinge_over_pairs", watched)
    RankSVM(kernel="gaussian", n_centres=30).fit(X, y)
    assert np.array_equal(seen[0].is_positive, thinned.is_positive)
    assert np.array_equal(seen[0].weight, thinned.weight)
    seen.clear()
    RankSVM().fit(X, y)
    assert len(seen[0].is_positive) == 400

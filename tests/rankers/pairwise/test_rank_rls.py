"""RankRLS against every pair written out, and against ridges fitted without two rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.pairwise import slow_twins
from toprank import RankRLS
from toprank.data.inputs import TrainingRows
from toprank.metrics import roc_auc
from toprank.rankers.pairwise import rank_rls
from toprank.rankers.pairwise.pairwise_ranker import Features


@st.composite
def samples(draw):
    """Rows of three columns, labels of both classes with two rows at least, weights."""
    n = draw(st.integers(5, 14))
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = generator.normal(size=(n, 3))
    if draw(st.booleans()):
        X = np.round(X)  # ties
    X[0] += 1  # no column of one value
    is_positive = np.arange(n) < draw(st.integers(2, n - 2))
    weight = generator.integers(1, 4, n).astype(float)
    return X, generator.permutation(is_positive), weight


def fitted_to(sample, **parameters):
    X, is_positive, weight = sample
    return RankRLS(positive_label=True, **parameters).fit(X, is_positive, weight)


@given(samples(), st.sampled_from([1e-6, 0.01, 1.0, 50.0]))
@examples(60)
def test_the_line_has_the_least_squares_over_all_pairs(sample, regularization):
    X, is_positive, weight = sample
    ranker = fitted_to(sample, regularization=regularization)
    terms = ranker.design_.terms(X.astype(np.float32))
    expected = slow_twins.least_squares_line(terms, is_positive, weight, regularization)
    assert ranker.score_.weights == approx(expected, rel=1e-5, abs=1e-7)


@given(samples(), st.sampled_from([0.001, 0.1, 1.0]))
@examples(40)
def test_bumps_around_all_rows_have_the_least_squares_over_all_pairs(sample, regularization):
    X, is_positive, weight = sample
    ranker = fitted_to(sample, kernel="gaussian", gamma=0.3, regularization=regularization)
    terms = ranker.design_.terms(X.astype(np.float32))
    kernel = slow_twins.gaussian_kernel(terms, terms, 0.3)
    heights = slow_twins.least_squares_bumps(kernel, is_positive, weight, regularization)
    assert ranker.suspicion(X) == approx(kernel @ heights, abs=1e-5)


@given(samples(), st.sampled_from([1e-4, 0.1, 10.0]))
@examples(40)
def test_left_out_leads_are_those_of_ridges_fitted_without_the_two_rows(sample, regularization):
    X, is_positive, weight = sample
    design = fitted_to(sample, regularization=1.0).design_
    rows = TrainingRows(X.astype(np.float32), is_positive, weight)
    features = Features(design, None)
    ridge = rank_rls._Ridge.of(features, rows)
    left_out = rank_rls._left_out(ridge, features, rows, np.random.default_rng(0))
    leads = rank_rls.left_out_leads(ridge, *left_out, ridge.damped(regularization))

    points = features.of(rows.features)
    share = weight / np.where(is_positive, weight[is_positive].sum(), weight[~is_positive].sum())
    for a, i in enumerate(np.flatnonzero(is_positive)):
        for b, j in enumerate(np.flatnonzero(~is_positive)):
            rest = np.delete(np.arange(len(X)), [i, j])
            *line, _ = slow_twins.balanced_ridge(
                points[rest], is_positive[rest], share[rest], regularization
            )
            assert leads[a, b] == approx(line @ (points[i] - points[j]), rel=1e-4, abs=1e-5)


def test_the_line_points_where_the_balanced_ridges_does():
    X, y = two_clouds(80, 1.0)
    ranker = RankRLS(regularization=0.3).fit(X, y)
    points = ranker.design_.terms(X.astype(np.float32))
    share = np.where(y, 1 / y.sum(), 1 / (~y).sum())
    *line, _ = slow_twins.balanced_ridge(points, y, share, 0.3)
    ratio = ranker.score_.weights / line
    assert ratio == approx(ratio[0])
    assert ratio[0] > 0


def two_clouds(n, gap, n_columns=4, seed=0):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % 5 == 0
    X = generator.normal(size=(n, n_columns))
    X[:, 0] += gap * y
    return X, y


def test_the_regularization_chosen_ranks_left_out_pairs_best():
    X, y = two_clouds(60, 1.0, n_columns=20)
    chosen = RankRLS().fit(X, y).regularization_
    points = RankRLS(regularization=1.0).fit(X, y).design_.terms(X.astype(np.float32))
    share = np.where(y, 1 / y.sum(), 1 / (~y).sum())

    def found(regularization):
        leads = []
        for i in np.flatnonzero(y):
            for j in np.flatnonzero(~y):
                rest = np.delete(np.arange(60), [i, j])
                *line, _ = slow_twins.balanced_ridge(
                    points[rest], y[rest], share[rest], regularization
                )
                leads.append(line @ (points[i] - points[j]))
        return np.mean(np.array(leads) > 0)

    grid = rank_rls._GRID[::4]
    assert found(chosen) >= max(found(each) for each in grid) - 1e-12


def test_columns_of_noise_are_regularised_more_than_one_that_decides():
    noise, y = two_clouds(60, 0.3, n_columns=40)
    clear = noise.copy()
    clear[:, 0] = y + 0.01 * noise[:, 0]
    assert RankRLS().fit(noise, y).regularization_ > 0.1
    ranker = RankRLS().fit(clear, y)
    assert roc_auc(y, ranker.suspicion(clear)) == 1


def test_without_any_signal_left_out_pairs_are_ranked_no_worse_than_by_chance():
    # rows left out one by one would be: each pulls the others' mean to the other side
    areas = []
    for seed in range(20):
        X, y = two_clouds(40, 0.0, n_columns=2, seed=seed)
        rows = TrainingRows(X.astype(np.float32), y, None)
        features = Features(RankRLS(regularization=1.0).fit(X, y).design_, None)
        ridge = rank_rls._Ridge.of(features, rows)
        left_out = rank_rls._left_out(ridge, features, rows, np.random.default_rng(0))
        areas.append(rank_rls._left_out_auc(ridge, *left_out, 1.0))
    assert 0.4 < np.mean(areas) < 0.6


def test_a_class_of_one_row_has_a_regularization_of_1():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert RankRLS().fit(X, np.arange(30) == 4).regularization_ == 1
    assert RankRLS().fit(X, np.arange(30) < 2).regularization_ in rank_rls._GRID


def test_rows_that_nothing_distinguishes_are_regularised_most():
    ranker = RankRLS().fit(np.ones((20, 2)), np.arange(20) < 4)
    assert ranker.regularization_ == approx(100)
    assert ranker.suspicion([[1.0, 5.0]]).tolist() == [0.0]


def test_the_smallest_regularization_gives_finite_scores_of_more_columns_than_rows():
    X, y = two_clouds(15, 1.0, n_columns=30)
    for kernel in ("linear", "gaussian"):
        ranker = RankRLS(kernel=kernel, regularization=1e-300).fit(X, y)
        assert np.isfinite(ranker.suspicion(X)).all()
        assert roc_auc(y, ranker.suspicion(X)) == 1


def test_of_many_rows_some_are_left_out():
    X, y = two_clouds(6_000, 1.0)
    rows = TrainingRows(X.astype(np.float32), y, None)
    features = Features(RankRLS(regularization=1.0).fit(X, y).design_, None)
    ridge = rank_rls._Ridge.of(features, rows)
    positives, negatives = rank_rls._left_out(ridge, features, rows, np.random.default_rng(0))
    assert len(positives.places) == len(negatives.places) == 500


def test_rows_are_summed_in_blocks(monkeypatch):
    from toprank.rankers.pairwise import pairwise_ranker

    X, y = two_clouds(90, 1.0)
    whole = RankRLS(kernel="gaussian", n_centres=20).fit(X, y)
    monkeypatch.setattr(pairwise_ranker, "_ROWS_AT_ONCE", 7)
    in_blocks = RankRLS(kernel="gaussian", n_centres=20).fit(X, y)
    assert in_blocks.suspicion(X) == approx(whole.suspicion(X), rel=1e-4, abs=1e-6)
    assert in_blocks.contributions(X) == approx(whole.contributions(X), rel=1e-4, abs=1e-6)

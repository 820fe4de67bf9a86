"""The Gaussian kernel against the formula, and features that reproduce it."""

import numpy as np
import pytest
from pytest import approx

from rankers.pairwise import slow_twins
from toprank.rankers.pairwise.kernel_features import (
    KernelFeatures,
    bump_sums,
    drawn_centres,
    gaussian_kernel,
)

pytestmark = pytest.mark.kernel


def points(n, n_terms=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_terms))


@pytest.mark.parametrize("n_terms", [0, 1, 5])
@pytest.mark.parametrize("gamma", [0.01, 2.0])
def test_the_kernel_is_that_of_the_formula(n_terms, gamma):
    rows, centres = points(12, n_terms), points(7, n_terms, seed=1)
    kernel = gaussian_kernel(rows, centres, gamma)
    assert kernel == approx(slow_twins.gaussian_kernel(rows, centres, gamma), abs=1e-14)
    heights = points(7, 1)[:, 0]
    assert bump_sums(rows, centres, gamma, heights) == approx(kernel @ heights)


def test_a_row_far_away_has_no_bump_over_it():
    assert bump_sums(np.full((1, 2), 1e38), points(5, 2), 0.5, np.ones(5)).tolist() == [0.0]


def test_a_sum_does_not_depend_on_the_other_rows():
    rows, centres, heights = points(30), points(9, seed=1), points(9, 1)[:, 0]
    sums = bump_sums(rows, centres, 0.3, heights)
    assert np.array_equal(bump_sums(rows[4:11], centres, 0.3, heights), sums[4:11])


def test_with_all_rows_as_centres_products_of_features_are_the_kernel():
    rows = points(25)
    features = KernelFeatures.around(rows, 0.4).of(rows)
    assert features @ features.T == approx(gaussian_kernel(rows, rows, 0.4), abs=1e-6)


def test_weights_of_features_have_the_norm_of_the_bumps_they_make():
    rows, centres = points(20), points(6, seed=1)
    kernel = KernelFeatures.around(centres, 0.4)
    weights = points(kernel.whitening.shape[1], 1, seed=2)[:, 0]
    heights = kernel.heights(weights)
    assert heights @ gaussian_kernel(centres, centres, 0.4) @ heights == approx(weights @ weights)
    assert kernel.of(rows) @ weights == approx(bump_sums(rows, centres, 0.4, heights))


def test_a_centre_twice_adds_no_feature():
    centres = points(6)
    once, twice = (
        KernelFeatures.around(each, 0.4) for each in (centres, np.vstack([centres, centres]))
    )
    assert once.whitening.shape[1] == twice.whitening.shape[1] == 6


def test_few_rows_are_all_centres():
    chosen = drawn_centres(np.arange(9) < 2, 9, np.random.default_rng(0))
    assert chosen.tolist() == list(range(9))


@pytest.mark.parametrize(("n_positive", "expected"), [(3, 3), (10, 10), (60, 10), (97, 17)])
def test_half_of_the_centres_are_of_the_rarer_class_if_it_has_enough(n_positive, expected):
    chosen = drawn_centres(np.arange(100) < n_positive, 20, np.random.default_rng(0))
    assert np.unique(chosen).size == 20
    assert (chosen < n_positive).sum() == expected


def test_one_centre_can_be_drawn():
    assert drawn_centres(np.arange(9) < 2, 1, np.random.default_rng(0)).size == 1

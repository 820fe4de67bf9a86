"""A grid of shifts: what goes from shift to shift, and how likely what was found is at each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank.calibration.shift_grid import SHIFTS, STEP, likelihood, likelihoods, steps

VARIANCES = st.one_of(st.sampled_from([0.0, STEP**2]), st.floats(0.0, 2.0))


@examples(60)
@given(st.floats(0.0, 1.0), VARIANCES)
def test_steps_are_chances_with_the_mean_and_variance_asked_for(kept, variance):
    matrix = steps(kept * SHIFTS, variance)
    assert (matrix >= 0).all() and matrix.sum(axis=1) == approx(1.0)

    # near an end, what would go beyond is cut off
    far_from_the_ends = np.abs(kept * SHIFTS) + 5 * np.sqrt(variance) < SHIFTS[-1] - STEP
    centres, matrix = kept * SHIFTS[far_from_the_ends], matrix[far_from_the_ends]
    mean = matrix @ SHIFTS
    assert mean == approx(centres, abs=1e-6)
    spread = (matrix * np.subtract.outer(mean, SHIFTS) ** 2).sum(axis=1)
    # between two shifts, there is at least the spread of going to either
    assert (spread >= variance - 1e-4).all() and (
        spread <= max(variance, STEP**2 / 4) + 1e-4
    ).all()


@pytest.mark.parametrize("variance", [0.0, 0.0004, 0.0099, STEP**2, 0.09, 2.0])
def test_a_spread_of_the_rows_own_is_the_mean_over_the_steps_from_each_shift(variance):
    probability = np.array([0.01, 0.2, 0.4, 0.9])
    alone = likelihood(probability, 2.0)
    assert likelihood(probability, 2.0, variance) == approx(
        steps(SHIFTS, variance) @ alone, rel=1e-6, abs=1e-8
    )


def test_likelihoods_are_those_of_one_variance_after_the_other():
    probability, variances = np.array([0.05, 0.5, 0.8]), [0.0, 0.001, 0.5]
    found = likelihoods(probability, 1.0, variances)
    for row, variance in zip(found, variances, strict=True):
        assert np.array_equal(row, likelihood(probability, 1.0, variance))


def test_what_was_found_is_likeliest_at_the_shift_that_expects_it():
    probability = np.full(50, 0.2)
    for shift in (-1.0, 0.0, 1.3):
        odds = 0.25 * np.exp(shift)
        found = 50 * odds / (1 + odds)
        assert SHIFTS[np.argmax(likelihood(probability, found))] == approx(shift, abs=STEP)

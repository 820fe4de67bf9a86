"""Average precision under resamples of the positives: each one as if its rows were repeated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from strategies import rankings
from toprank.metrics.positive_resamples import PositiveResamples

N_RESAMPLES = 12


def drawn_counts(n_positive, seed):
    """How often each positive comes in each resample: a Poisson number of times, never none."""
    counts = np.random.default_rng(seed).poisson(1.0, (N_RESAMPLES, n_positive))
    return counts[counts.any(axis=1)]


def repeated(is_positive, suspicion, counts, weight):
    """The AP of rows repeated by their whole weight, positives also by their counts."""
    times = np.array(weight)
    times[is_positive] *= counts
    rows = np.repeat(np.arange(suspicion.size), times)
    return reference.average_precision(is_positive[rows], suspicion[rows])


@examples(80)
@given(rankings(), st.integers(0, 1000))
def test_the_first_is_the_average_precision_of_the_rows_as_they_are(sample, seed):
    is_positive, suspicion = sample
    resamples = PositiveResamples(is_positive, None, N_RESAMPLES, seed)
    precisions = resamples.average_precisions(suspicion)

    assert precisions[0] == approx(reference.average_precision(is_positive, suspicion))
    assert precisions.size == len(resamples)


@examples(80)
@given(rankings(), st.integers(0, 1000), st.booleans())
def test_each_resample_repeats_positives_and_leaves_the_negatives(sample, seed, weighted):
    is_positive, suspicion = sample
    generator = np.random.default_rng(seed + 1)
    weight = generator.integers(1, 4, suspicion.size) if weighted else np.ones(suspicion.size, int)
    given_weight = weight.astype(float) if weighted else None
    resamples = PositiveResamples(is_positive, given_weight, N_RESAMPLES, seed)
    precisions = resamples.average_precisions(suspicion)

    counts = drawn_counts(is_positive.sum(), seed)
    expected = [
        repeated(is_positive, suspicion, each, weight)
        for each in (np.ones(is_positive.sum(), int), *counts)
    ]
    assert precisions == approx(np.array(expected))


@examples(40)
@given(rankings(), st.floats(1e-6, 1e6))
def test_the_unit_of_weights_does_not_matter(sample, unit):
    is_positive, suspicion = sample
    weight = np.random.default_rng(0).exponential(size=suspicion.size) + 0.01
    small, large = (
        PositiveResamples(is_positive, each, N_RESAMPLES, 0).average_precisions(suspicion)
        for each in (weight, unit * weight)
    )
    assert small == approx(large)


@examples(40)
@given(rankings())
def test_only_the_order_of_scores_counts(sample):
    is_positive, suspicion = sample
    resamples = PositiveResamples(is_positive, None, N_RESAMPLES, 0)
    _, ranks = np.unique(suspicion, return_inverse=True)

    assert np.array_equal(
        resamples.average_precisions(suspicion), resamples.average_precisions(ranks)
    )


def test_scores_all_alike_are_as_good_as_chance():
    is_positive = np.arange(50) < 10
    first = PositiveResamples(is_positive, None, 5, 0).average_precisions(np.zeros(50))[0]
    assert first == approx(0.2)


def test_one_positive_is_never_left_out():
    is_positive = np.array([False, True, False])
    resamples = PositiveResamples(is_positive, None, 200, seed=0)
    precisions = resamples.average_precisions(np.array([3.0, 2.0, 1.0]))

    # drawn k times, below one negative: k in k + 1
    assert 100 < len(resamples) < 160  # it was not drawn at all in a third
    assert set(precisions.round(6)) <= {round(k / (k + 1), 6) for k in range(1, 9)}


def test_resampled_values_vary_as_those_of_resampled_rows_nearly_do():
    generator = np.random.default_rng(0)
    is_positive = np.arange(2000) < 40
    suspicion = generator.normal(size=2000) + 2 * is_positive
    values = PositiveResamples(is_positive, None, 400, 0).average_precisions(suspicion)[1:]
    expected = reference.resampled_values(
        reference.average_precision, is_positive, suspicion, 200, seed=0
    )
    assert values.std() == approx(expected.std(), rel=0.3)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_seed_gives_the_same_resamples_again(seed):
    is_positive = np.arange(30) < 5
    suspicion = np.random.default_rng(2).normal(size=30)
    one, same = (
        PositiveResamples(is_positive, None, 20, seed).average_precisions(suspicion)
        for _ in range(2)
    )
    other = PositiveResamples(is_positive, None, 20, seed + 5).average_precisions(suspicion)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)

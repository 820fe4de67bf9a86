"""Resampled figures are the metrics of the repeated rows, whatever the ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank import metrics
from toprank_bench.sampling.resamples import N_RESAMPLES, Resamples, difference


@st.composite
def tied_scores(draw):
    n = draw(st.integers(4, 25))
    is_positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    is_positive[:2] = [True, False]
    levels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return is_positive, np.array(levels) / 4, draw(st.integers(0, 5)) / 4


@examples(30)
@given(tied_scores())
def test_every_resample_has_the_metrics_of_its_repeated_rows(sample):
    is_positive, suspicion, threshold = sample
    resamples = Resamples(is_positive)
    figures = resamples.figures(suspicion, threshold)
    for number in (0, 1, N_RESAMPLES - 1):
        times = resamples.counts[:, number]
        y, repeated = np.repeat(is_positive, times), np.repeat(suspicion, times)
        expected = {
            "roc_auc": metrics.roc_auc(y, repeated),
            "f1": metrics.f_beta(y, repeated, threshold),
            "average_precision": metrics.average_precision(y, repeated),
        }
        for name, value in expected.items():
            assert figures[name][number] == pytest.approx(1e4 * value, abs=0.5001)


def test_all_methods_meet_the_same_resamples():
    is_positive = np.arange(40) % 5 == 0
    np.testing.assert_array_equal(Resamples(is_positive).counts, Resamples(is_positive).counts)


def test_a_lone_positive_is_in_every_resample():
    is_positive = np.arange(30) == 7
    assert Resamples(is_positive).counts[7].all()


def test_a_difference_is_over_shared_seeds_and_its_interval_holds_it():
    generator = np.random.default_rng(1)
    drawn = {seed: generator.normal(7000, 50, N_RESAMPLES) for seed in range(5)}
    ahead = {seed: values + 300 for seed, values in drawn.items()}
    lead = difference(
        dict.fromkeys(range(5), 0.73), ahead, {0: 0.7, 1: 0.69, 9: 0.1}, {**drawn, 9: [0]}
    )
    assert lead.value == pytest.approx(0.035)
    assert (lead.low, lead.high) == pytest.approx((0.03, 0.03))


def test_methods_without_a_shared_seed_are_not_compared():
    with pytest.raises(ValueError, match="share a seed"):
        difference({1: 0.5}, {1: [5000]}, {2: 0.5}, {2: [5000]})

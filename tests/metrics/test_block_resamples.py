"""Average precision under resamples of blocks: each one as if its rows were repeated."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import reference
from examples import examples
from strategies import rankings
from toprank.metrics.block_resamples import BlockResamples

N_RESAMPLES = 12


def drawn_counts(is_positive, blocks, seed):
    """How often each block comes in each resample: a Poisson number of times."""
    names = np.unique(blocks)
    counts = np.random.default_rng(seed).poisson(1.0, (N_RESAMPLES, names.size))
    has_positive = np.isin(names, blocks[is_positive])
    return [dict(zip(names, each, strict=True)) for each in counts if each[has_positive].any()]


def slow_precision(is_positive, suspicion, lists, times):
    """The mean, over the repeated positives of all lists, of the precision at their place."""
    total = n_positive = 0.0
    for name in np.unique(lists):
        rows = np.repeat(np.arange(lists.size), np.where(lists == name, times, 0))
        found = int(is_positive[rows].sum())
        if found:
            total += found * reference.average_precision(is_positive[rows], suspicion[rows])
            n_positive += found
    return total / n_positive


@examples(80)
@given(rankings(), st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_each_resample_repeats_whole_blocks(sample, seed, n_blocks, n_lists, weighted):
    is_positive, suspicion = sample
    generator = np.random.default_rng(seed + 1)
    n = suspicion.size
    blocks, lists = generator.integers(0, n_blocks, n), generator.integers(0, n_lists, n)
    weight = generator.integers(1, 4, n) if weighted else np.ones(n, int)
    given_weight = weight.astype(float) if weighted else None
    resamples = BlockResamples(is_positive, given_weight, lists, blocks, N_RESAMPLES, seed)
    precisions = resamples.average_precisions(suspicion)

    assert precisions[0] == approx(slow_precision(is_positive, suspicion, lists, weight))
    counts = drawn_counts(is_positive, blocks, seed)
    assert precisions.size == len(resamples) == 1 + len(counts)
    for precision, count in zip(precisions[1:], counts, strict=True):
        times = weight * np.array([count[block] for block in blocks])
        assert precision == approx(slow_precision(is_positive, suspicion, lists, times))
    assert resamples.average_precisions(suspicion, n_first=1) == approx(precisions[:1])


def test_days_that_differ_make_a_lead_less_sure_than_single_rows_do():
    # one day of ten decides which of two scores is better
    generator = np.random.default_rng(0)
    day = np.repeat(np.arange(10), 60)
    is_positive = np.arange(600) % 10 == 0
    base = is_positive + generator.normal(size=600)
    other = np.where(day == 0, base + 2 * is_positive, base - 0.2 * is_positive)
    shares = []
    for blocks in (np.arange(600), day):
        resamples = BlockResamples(is_positive, None, np.zeros(600, int), blocks, 400, 0)
        gap = resamples.average_precisions(other) - resamples.average_precisions(base)
        shares.append(np.mean(gap[1:] > 0))
    assert shares[0] > shares[1] > 0.5

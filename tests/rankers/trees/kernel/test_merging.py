"""Leaves in order of suspicion, and the prefix of that order that makes the left union."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from examples import examples
from toprank.rankers.trees.kernel.merging import MERGES, merge

pytestmark = pytest.mark.kernel

EVERY_AIM = pytest.mark.parametrize("aim", MERGES)


@st.composite
def leaves_of_roots(draw):
    """Mass and hits of the leaves of some roots, each root with both classes and many ties."""
    roots = []
    for _ in range(draw(st.integers(1, 4))):
        n_leaves = draw(st.integers(1, 7))
        counts = st.lists(st.integers(0, 3), min_size=n_leaves, max_size=n_leaves)
        hits, others = np.array(draw(counts)), np.array(draw(counts))
        others += hits + others == 0  # no leaf without rows
        hits[0] += not hits.any()
        others[-1] += not others.any()
        roots.append((hits + others, hits))
    scale = draw(st.sampled_from([1.0, 0.25]))
    return [(scale * mass, scale * hits) for mass, hits in roots]


def merged(roots, aim):
    """Which leaves of each root are on the left."""
    starts = np.cumsum([0, *(mass.size for mass, _ in roots)])
    mass, hits = (np.concatenate(parts).astype(float) for parts in zip(*roots, strict=True))
    return np.split(merge(starts, mass, hits, MERGES[aim]), starts[1:-1])


def rows_of_leaves(mass, hits):
    """The same leaves with one row per class: the rows of each, their labels and their weights."""
    rows = [np.array([2 * leaf, 2 * leaf + 1]) for leaf in range(mass.size)]
    is_positive = np.tile([True, False], mass.size)
    return rows, is_positive, np.column_stack([hits, mass - hits]).ravel().astype(float)


@EVERY_AIM
@given(roots=leaves_of_roots())
@examples(120)
def test_the_left_union_is_the_best_prefix(aim, roots):
    for (mass, hits), is_left in zip(roots, merged(roots, aim), strict=True):
        expected = reference.first_leaves(*rows_of_leaves(mass, hits), aim)
        assert is_left.tolist() == (expected if mass.size > 1 else np.ones(1, bool)).tolist()


@given(roots=leaves_of_roots())
@examples(60)
def test_no_union_of_leaves_is_further_above_the_diagonal(roots):
    for (mass, hits), is_left in zip(roots, merged(roots, "auc"), strict=True):
        others = mass - hits

        def height(chosen, hits=hits, others=others):
            return hits[chosen].sum() / hits.sum() - others[chosen].sum() / others.sum()

        subsets = (np.arange(2**mass.size)[:, None] >> np.arange(mass.size)) % 2 == 1
        assert height(is_left) >= max(map(height, subsets)) - 1e-12


@EVERY_AIM
@given(roots=leaves_of_roots(), power=st.integers(-20, 20))
@examples(30)
def test_all_weights_times_a_number_change_nothing(aim, roots, power):
    scaled = [(mass * 2.0**power, hits * 2.0**power) for mass, hits in roots]
    for one, other in zip(merged(roots, aim), merged(scaled, aim), strict=True):
        assert one.tolist() == other.tolist()


def test_unions_worked_out_by_hand():
    mass, hits = np.array([10.0, 4.0, 2.0]), np.array([1.0, 2.0, 2.0])
    # ap: 2 of 2 first gives 2/5 + 3/5 * 5/16, then 4 of 6 gives 4/5 * 4/6 + 1/5 * 5/16
    assert merged([(mass, hits)], "ap")[0].tolist() == [False, True, True]
    # auc: 2/5 - 0, then 4/5 - 2/11
    assert merged([(mass, hits)], "auc")[0].tolist() == [False, True, True]
    # one pure leaf with most of the positives and a mixed one: alone 8/9 + 1/9 * 9/20
    mass, hits = np.array([12.0, 8.0]), np.array([1.0, 8.0])
    for aim in MERGES:
        assert merged([(mass, hits)], aim)[0].tolist() == [False, True]


def test_the_order_of_ap_puts_many_good_rows_before_few_perfect_ones_but_for_pure_leaves():
    # (1 - precision) / recall: 9 of 10 gives 0.1 / 0.9, 1 of 1 gives 0 and comes first
    mass, hits = np.array([10.0, 1.0, 2.0]), np.array([9.0, 1.0, 1.0])
    assert merged([(mass, hits)], "ap")[0].tolist() == [True, True, False]


@EVERY_AIM
def test_one_leaf_is_left_as_it_is(aim):
    assert merged([(np.array([5.0]), np.array([2.0]))], aim)[0].tolist() == [True]


@EVERY_AIM
def test_no_roots_have_no_leaves(aim):
    assert merge(np.zeros(1, np.int64), np.empty(0), np.empty(0), MERGES[aim]).size == 0

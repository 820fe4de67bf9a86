"""Pruning: the best of all subtrees for every penalty, and the penalty that folds choose."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from examples import examples
from rankers.trees.kernel.test_cuts import made_table, tables
from rankers.trees.kernel.test_meta_tree import assert_same, grown, ranks_of
from rankers.trees.made_payments import numbers
from toprank import TreeRank
from toprank.data.inputs import TrainingRows
from toprank.rankers.trees.folds import stratified_folds
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.pruning import auc_gains, penalties, pruned, pruned_by_folds

pytestmark = pytest.mark.kernel


@st.composite
def ranking_trees(draw):
    """A tree with few groups or many, and the rows it was grown on, of both classes."""
    table = draw(tables())
    assume(np.unique(table.is_positive).size == 2)
    growth = Growth("gini", draw(st.integers(1, 2)), is_balanced=True)
    return grown(table, growth, draw(st.integers(1, 3)), "auc"), table


def auc_of(tree, table):
    suspicion = -ranks_of(tree, table.features)
    return roc_auc_score(table.is_positive, suspicion, sample_weight=table.masses)


def every_subtree(unions, union=0):
    """Every choice of unions, below this one, that are split."""
    if unions.left[union] < 0:
        return [[]]
    sides = (every_subtree(unions, side) for side in (unions.left[union], unions.right[union]))
    return [[], *([union, *left, *right] for left, right in product(*sides))]


def with_split(tree, split):
    is_end = np.ones(tree.unions.tree.size, dtype=bool)
    is_end[split] = False
    return tree.pruned(is_end)


@given(ranking_trees())
@examples(40)
def test_what_splits_add_comes_to_the_auc_of_the_groups(drawn):
    tree, table = drawn
    gains = auc_gains(tree.unions)
    assert gains.sum() == approx(auc_of(tree, table) - 0.5, abs=1e-9)
    assert (gains[tree.unions.left < 0] == 0).all()
    for split in every_subtree(tree.unions)[:6]:
        found = auc_of(with_split(tree, split), table)
        assert gains[split].sum() == approx(found - 0.5, abs=1e-9)


@given(ranking_trees())
@examples(25)
def test_no_subtree_is_better_for_any_penalty(drawn):
    tree, table = drawn
    candidates = [with_split(tree, split) for split in every_subtree(tree.unions)]
    worth = np.array([(auc_of(each, table), each.n_groups[0]) for each in candidates])
    steps = penalties(tree.unions)
    steps = np.unique(steps[np.isfinite(steps)])
    for penalty in (0.0, *steps, *(steps[:-1] + steps[1:]) / 2, 1.0):
        left = pruned(tree, penalty)
        best = (worth[:, 0] - penalty * worth[:, 1]).max()
        assert auc_of(left, table) - penalty * left.n_groups[0] == approx(best, abs=1e-9)


@given(ranking_trees())
@examples(25)
def test_a_higher_penalty_leaves_a_part_of_what_a_lower_one_does(drawn):
    tree, _ = drawn
    unions, ends_at = tree.unions, penalties(tree.unions)
    assert np.array_equal(np.isinf(ends_at), unions.left < 0)
    below = np.flatnonzero((unions.parent >= 0) & (unions.left >= 0))
    assert (ends_at[below] <= ends_at[unions.parent[below]]).all()
    assert pruned(tree, 1.0).n_groups.tolist() == [1]
    assert_same(tree, tree.pruned(np.zeros(ends_at.size, dtype=bool)))


def test_the_weakest_link_worked_out_by_hand():
    # 10 of 10, 6 of 8 and 1 of 20: splitting them adds first 16/17 * 19/21 - 1/17 * 2/21 halves,
    # then 10/17 * 2/21 halves
    values = np.repeat([0.0, 1.0, 2.0], [10, 8, 20])
    labels = np.concatenate([np.ones(10), np.arange(8) < 6, np.arange(20) < 1]).astype(bool)
    tree = TreeRank(min_samples_leaf=1, positive_label=True).fit(values[:, None], labels).tree_
    assert tree.n_groups.tolist() == [3]
    first, second = (16 * 19 - 1 * 2) / 17 / 21 / 2, 10 * 2 / 17 / 21 / 2
    assert sorted(auc_gains(tree.unions))[-2:] == approx([second, first])
    ends_at = penalties(tree.unions)
    assert sorted(ends_at)[:2] == approx([second, first])
    for penalty, n_groups in ((second * 0.99, 3), (second * 1.01, 2), (first * 1.01, 1)):
        assert pruned(tree, penalty).n_groups.tolist() == [n_groups]


def test_folds_choose_the_penalty_with_the_highest_auc_held_out():
    X, y = numbers(250, n_columns=8)
    X = X.astype(np.float32)
    plain = TreeRank(global_depth=5, min_samples_leaf=1, scoring="rank")
    tree = plain.fit(X, y).tree_
    steps = penalties(tree.unions)
    steps = np.unique(steps[np.isfinite(steps)])
    tried = [0.0, *np.sqrt(steps[:-1] * steps[1:])]
    held_out = np.zeros(len(tried))
    for train, test in stratified_folds(y, seed=0):
        part = clone(plain).fit(X[train], y[train]).tree_
        for i, penalty in enumerate(tried):
            suspicion = -ranks_of(pruned(part, penalty), X[test])
            held_out[i] += roc_auc_score(y[test], suspicion)
    best = max(np.flatnonzero(held_out >= held_out.max() - 1e-9))
    assert 0 < best < len(tried) - 1  # neither the whole tree nor the smallest
    found = clone(plain).set_params(pruning="cv").fit(X, y)
    assert_same(found.tree_, pruned(tree, tried[best]))


def test_where_folds_find_no_difference_the_smallest_tree_is_taken():
    table = made_table(60, ["many", "many"], seed=1)
    tree = grown(table, Growth("gini", 2), 3, "auc")
    rows = TrainingRows(table.features, table.is_positive, table.weight)
    alike = pruned_by_folds(tree, rows, lambda part: tree.cut_back(0), seed=0)
    assert tree.n_groups[0] > alike.n_groups[0] == 2

"""TreeRank: the published settings, its merge worked out by hand, and what pruning leaves."""

import numpy as np
import pytest
from pytest import approx

import reference
from rankers.trees.made_payments import numbers
from rankers.trees.test_meta_ap import groups_of_values, rows_of
from toprank import TreeRank
from toprank.metrics import roc_auc
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.scoring import Scoring

pytestmark = pytest.mark.kernel


def test_leaves_are_merged_where_tpr_is_furthest_above_fpr():
    # 2/8 - 0 = 0.25 for the pure leaf alone, 6/8 - 16/92 = 0.576 with the next
    X, y = rows_of((2, 2), (4, 20), (2, 78))
    ranker = TreeRank(global_depth=1, min_samples_leaf=1).fit(X, y)
    assert groups_of_values(ranker, 3) == [0, 0, 1]
    assert [(each.positives, each.n_rows) for each in ranker.groups_] == [(6, 22), (2, 78)]
    assert groups_of_values(ranker.set_params(global_depth=2).fit(X, y), 3) == [0, 1, 2]


def test_a_purer_leaf_comes_first_however_small_it_is():
    # 2 to 1, 30 to 30, 1 to 99; and 2/32 - 1/31 > 0 splits the first two again
    X, y = rows_of((2, 3), (30, 60), (1, 100))
    ranker = TreeRank(min_samples_leaf=1).fit(X, y)
    assert groups_of_values(ranker, 3) == [0, 1, 2]


def test_leaves_that_are_no_neighbours_are_merged():
    X, y = rows_of((4, 5), (0, 10), (3, 5), (1, 10))
    ranker = TreeRank(global_depth=1, min_samples_leaf=1).fit(X, y)
    assert groups_of_values(ranker, 4) == [0, 1, 0, 1]
    assert roc_auc(y, -ranker.apply(X)) == approx((1 + 7 / 8 - 3 / 22) / 2)


def test_the_published_settings():
    ranker = TreeRank.published(depth=5)
    assert ranker.get_params() == TreeRank().get_params() | {
        "global_depth": 5,
        "local_depth": 5,
        "criterion": "error",
        "min_samples_leaf": 1,
        "scoring": "rank",
        "max_bins": 65_534,
    }
    assert (TreeRank.published().global_depth, TreeRank.published().local_depth) == (4, 4)
    assert TreeRank.published(pruning="cv").pruning == "cv"
    fitted = TreeRank.published(depth=2).fit(*numbers(60))
    assert fitted.settings_ == (Growth("error", 2, 1, is_balanced=True), 2, Scoring("rank"))


@pytest.mark.parametrize("criterion", ["error", "entropy", "gini"])
def test_its_groups_are_those_of_the_recursion(criterion):
    X, y = numbers(50)
    X = X.astype(np.float32)
    ranker = TreeRank(criterion=criterion, local_depth=3, min_samples_leaf=2).fit(X, y)
    growth = Growth(criterion, 3, 2, is_balanced=True)
    expected = reference.ranking_tree(X, np.zeros(3, bool), y, np.ones(50), growth, 2, "auc")
    assert ranker.apply(X).tolist() == expected.tolist()


@pytest.mark.parametrize("wrong", ["auc", True, 0.1])
def test_another_pruning_is_refused(wrong):
    with pytest.raises(ValueError, match=rf"pruning must .*got {wrong!r}"):
        TreeRank(pruning=wrong).fit(*numbers(20))


def test_a_tree_of_one_group_has_nothing_to_prune():
    y = np.arange(20) < 4
    assert len(TreeRank(pruning="cv").fit(np.ones((20, 1)), y).groups_) == 1


def test_pruning_puts_groups_together_at_little_loss():
    X, y = numbers(400, n_columns=8)
    grown, pruned = (
        TreeRank(global_depth=5, min_samples_leaf=1, pruning=pruning, scoring="rank").fit(X, y)
        for pruning in (None, "cv")
    )
    assert 1 < len(pruned.groups_) < len(grown.groups_)
    # what is left are whole groups put together, in the same order
    pairs = {*zip(grown.apply(X).tolist(), pruned.apply(X).tolist(), strict=True)}
    assert len(pairs) == len(grown.groups_)
    assert [to for _, to in sorted(pairs)] == sorted(to for _, to in pairs)
    new, labels = numbers(2000, n_columns=8, seed=1)
    assert roc_auc(labels, -pruned.apply(new)) > roc_auc(labels, -grown.apply(new)) - 0.01

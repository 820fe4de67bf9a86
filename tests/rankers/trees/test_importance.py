"""Importances: gains in AP or AUC that add up, shared out among the columns that are cut."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pytest import approx
from sklearn.metrics import average_precision_score

from examples import examples
from rankers.trees.kernel.test_cuts import tables
from rankers.trees.kernel.test_meta_tree import grown, ranks_of
from rankers.trees.made_payments import payments
from toprank import MetaAP, RankForest, TreeRank
from toprank.rankers.trees.importance import ap_gains, importances
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.pruning import auc_gains

pytestmark = pytest.mark.kernel


@given(tables(), st.integers(1, 3), st.sampled_from(["gini", "ap"]))
@examples(40)
def test_what_splits_add_comes_to_the_ap_of_the_groups(table, global_depth, criterion):
    assume(np.unique(table.is_positive).size == 2)
    tree = grown(table, Growth(criterion, 2), global_depth, "ap")
    gains = ap_gains(tree.unions)
    found = average_precision_score(
        table.is_positive, -ranks_of(tree, table.features), sample_weight=table.masses
    )
    prevalence = table.masses[table.is_positive].sum() / table.masses.sum()
    assert gains.sum() == approx(found - prevalence, abs=1e-9)
    assert (gains[tree.unions.left < 0] == 0).all()


@given(tables(), st.integers(1, 3), st.sampled_from(["ap", "auc"]))
@examples(40)
def test_importances_add_up_to_1_over_the_columns_that_are_cut(table, global_depth, aim):
    assume(np.unique(table.is_positive).size == 2)
    tree = grown(table, Growth("entropy", 2), global_depth, aim)
    n_columns = table.features.shape[1]
    found = importances(tree, aim, n_columns)
    assert found.shape == (n_columns,)
    assert (found >= 0).all()
    gains = auc_gains(tree.unions) if aim == "auc" else ap_gains(tree.unions)
    assert found.sum() == approx(1 if (gains > 0).any() else 0)
    assert (found[np.setdiff1d(np.arange(n_columns), tree.nodes.column)] == 0).all()


def test_importances_worked_out_by_hand():
    X = np.repeat([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [12, 8, 60], axis=0)
    y = np.concatenate([np.ones(12), np.zeros(8), np.arange(60) < 4]).astype(bool)
    ranker = MetaAP(local_depth=1, min_samples_leaf=1).fit(X, y)
    # 12 of the 16 positives first, then 4 in 80 rows; then those in 72, the last 8 behind them
    first = 12 / 16 + 4 / 16 * 16 / 80 - 16 / 80
    second = 4 / 16 * (16 / 72 - 16 / 80)
    assert sorted(ap_gains(ranker.tree_.unions))[-2:] == approx([second, first])
    expected = np.array([first, second]) / (first + second)
    assert ranker.feature_importances_ == approx(expected)


@pytest.mark.parametrize(
    "ranker",
    [MetaAP(), TreeRank(), RankForest(n_estimators=5), RankForest(MetaAP(), n_estimators=5)],
    ids=str,
)
def test_columns_that_separate_frauds_matter_more_than_noise(ranker):
    frame, is_fraud = payments()
    found = dict(zip(frame, ranker.fit(frame, is_fraud).feature_importances_, strict=True))
    assert sum(found.values()) == approx(1)
    assert found["amount"] > found["noise"]


@pytest.mark.parametrize("ranker", [MetaAP(), TreeRank(), RankForest(n_estimators=3)], ids=str)
def test_a_tree_without_a_cut_owes_nothing_to_any_column(ranker):
    fitted = ranker.fit(np.ones((20, 2)), np.arange(20) < 4)
    assert fitted.feature_importances_.tolist() == [0, 0]


@pytest.mark.filterwarnings("error:invalid value")
@pytest.mark.parametrize("tree", [MetaAP(), TreeRank()], ids=str)
def test_trees_of_one_class_leave_a_forests_importances_whole(tree):
    X = np.random.default_rng(0).normal(size=(60, 2))
    forest = RankForest(tree, n_estimators=30).fit(X, np.arange(60) < 2)
    assert forest.feature_importances_.sum() == approx(1)


def test_a_gain_that_rounding_left_below_nothing_counts_for_nothing():
    X = np.repeat([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [12, 8, 60], axis=0)
    y = np.concatenate([np.ones(12), np.zeros(8), np.arange(60) < 4]).astype(bool)
    tree = MetaAP(global_depth=1, local_depth=2, min_samples_leaf=1).fit(X, y).tree_
    assert {0, 1} <= {*tree.nodes.column}
    gain = np.where(tree.nodes.column == 1, -4e-16, tree.nodes.gain)
    found = importances(replace(tree, nodes=tree.nodes._replace(gain=gain)), "ap", 2)
    assert found.tolist() == [1.0, 0.0]

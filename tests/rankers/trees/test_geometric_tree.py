"""GeometricTree: scikit-learn's cuts, and rows ranked by their distance from them."""

import numpy as np
import pytest
from pytest import approx
from sklearn.tree import DecisionTreeClassifier

import reference
from rankers.trees.made_payments import numbers, payments
from toprank import GeometricTree


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_its_leaves_are_those_of_scikit_learn(criterion, depth):
    X, y = numbers(300)
    X, weight = X.astype(np.float32), np.random.default_rng(0).uniform(1, 2, 300)  # no ties
    tree = GeometricTree(criterion=criterion, max_depth=depth).fit(X, y, weight)
    twin = DecisionTreeClassifier(criterion=criterion, max_depth=depth).fit(X, y, weight)
    group, leaf = tree.apply(X), twin.apply(X)
    shares = np.bincount(group, weight * y) / np.bincount(group, weight)
    assert shares[group] == approx(twin.predict_proba(X)[:, 1])
    assert len({*zip(group, leaf, strict=True)}) == np.unique(group).size == np.unique(leaf).size
    assert (np.diff(shares) <= 0).all()


def test_suspicion_is_the_distance_to_the_nearest_cut_of_the_whole_path():
    frame, is_fraud = payments()
    tree = GeometricTree(max_depth=4).fit(frame, is_fraud)
    rows = tree.schema_.encode(frame[:60])
    expected = [reference.border_distance(tree.tree_, row, is_whole_path=True) for row in rows]
    assert tree.suspicion(frame[:60]) == approx([distance for distance, *_ in expected])


def test_a_tree_worked_out_by_hand():
    # no positive up to 4 in column 0; beyond it, all that are above 3 in column 1
    left = [[each, value] for each in range(4) for value in (0, 2, 4, 6)]
    right = [[each, value] for each in range(5, 9) for value in (0, 2, 4, 6)]
    X = np.array(left + right, dtype=float)
    y = (X[:, 0] > 4) & (X[:, 1] > 3)
    tree = GeometricTree(max_depth=2).fit(X, y)
    cuts = tree.tree_.nodes.column >= 0
    assert dict(
        zip(tree.tree_.nodes.column[cuts], tree.tree_.nodes.threshold[cuts], strict=True)
    ) == {0: 4.0, 1: 3.0}
    # the nearer of both cuts counts, below 0 where there are no positives
    assert tree.suspicion([[6.0, 4.5], [6.0, 9.0], [9.0, 2.5]]).tolist() == [1.5, 2.0, -0.5]
    assert tree.contributions([[6.0, 4.5], [6.0, 9.0]]).tolist() == [[0, 1.5, 0], [2, 0, 0]]


def test_the_whole_distance_is_the_nearest_cuts_columns():
    frame, is_fraud = payments()
    tree = GeometricTree(max_depth=4).fit(frame, is_fraud)
    shares = tree.contributions(frame)
    assert (np.count_nonzero(shares, axis=1) <= 1).all()
    assert (shares[:, -1] == 0).all()
    assert np.array_equal(shares.sum(axis=1), tree.suspicion(frame))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"max_depth": 0}, r"max_depth must be between 1 and 200; got 0"),
        ({"criterion": "ap"}, r"criterion must .*got 'ap'"),
        ({"min_samples_leaf": 0}, r"min_samples_leaf must be at least 1; got 0"),
        ({"max_bins": 1}, r"max_bins must be between 2 and 65534; got 1"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        GeometricTree(**wrong).fit(*numbers(20))

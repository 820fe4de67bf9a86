"""MetaAP: the paper's settings, and its merge worked out by hand."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import expit

import reference
from rankers.trees.made_payments import numbers
from toprank import MetaAP
from toprank.rankers.trees import scoring
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.scoring import Scoring

pytestmark = pytest.mark.kernel


def rows_of(*leaves):
    """Value i, and labels, of so many positives in so many rows for each leaf i."""
    values = np.repeat(np.arange(len(leaves)), [n_rows for _, n_rows in leaves])
    labels = [np.arange(n_rows) < hits for hits, n_rows in leaves]
    return values[:, None].astype(float), np.concatenate(labels)


def groups_of_values(ranker, n_values):
    return ranker.apply(np.arange(float(n_values))[:, None]).tolist()


def test_leaves_that_are_no_neighbours_are_merged_where_ap_is_highest():
    # in order 0, 2, 3, 1; "first these": 0.533, 0.646 (with 2), 0.4 (with 3), 0.267 (all)
    X, y = rows_of((4, 5), (0, 10), (3, 5), (1, 10))
    ranker = MetaAP(global_depth=1, min_samples_leaf=1).fit(X, y)
    assert groups_of_values(ranker, 4) == [0, 1, 0, 1]
    assert [(each.positives, each.n_rows) for each in ranker.groups_] == [(7, 10), (1, 20)]
    # once more: 0.757 beats 0.7 on the left, 0.1 beats 0.05 on the right
    assert groups_of_values(ranker.set_params(global_depth=2).fit(X, y), 4) == [0, 3, 1, 2]


def test_a_short_pure_list_is_worth_more_than_a_long_one():
    # 4/16 + 6/100 = 0.31 beats 36/176 + 2/100 = 0.225
    X, y = rows_of((2, 2), (4, 20), (2, 78))
    ranker = MetaAP(global_depth=1, min_samples_leaf=1).fit(X, y)
    assert groups_of_values(ranker, 3) == [0, 1, 1]


def test_a_large_leaf_comes_before_a_slightly_purer_small_one():
    # 1/3 wrong of 2 found, against 1/2 wrong of 30 found; the two together are best: 0.499
    X, y = rows_of((2, 3), (30, 60), (1, 100))
    ranker = MetaAP(min_samples_leaf=1).fit(X, y)
    # splitting them again would be a loss: 0.5005 with the large one first, 0.508 together
    assert groups_of_values(ranker, 3) == [0, 0, 1]


def test_the_papers_settings():
    ranker = MetaAP.published(depth=5)
    assert ranker.get_params() == MetaAP().get_params() | {
        "global_depth": 5,
        "local_depth": 5,
        "criterion": "ap",
        "min_samples_leaf": 1,
        "scoring": "rank + distance",
        "max_bins": 65_534,
    }
    assert (MetaAP.published().global_depth, MetaAP.published().local_depth) == (4, 4)
    assert MetaAP.published(scoring="rank", random_state=7).random_state == 7
    fitted = MetaAP.published(depth=2).fit(*numbers(60))
    assert fitted.settings_ == (Growth("ap", 2, 1), 2, Scoring("rank + distance"))


@pytest.mark.parametrize("criterion", ["ap", "entropy", "gini"])
def test_its_groups_are_those_of_the_recursion(criterion):
    X, y = numbers(50)
    X = X.astype(np.float32)
    ranker = MetaAP(criterion=criterion, local_depth=3, min_samples_leaf=2).fit(X, y)
    expected = reference.ranking_tree(
        X, np.zeros(3, bool), y, np.ones(50), Growth(criterion, 3, 2), 2, "ap"
    )
    assert ranker.apply(X).tolist() == expected.tolist()


def test_ties_are_broken_by_the_distance_to_the_nearest_cut():
    X, y = rows_of((4, 5), (0, 10), (3, 5), (1, 10))
    ranker = MetaAP.published(depth=1).fit(X, y)
    (threshold,) = ranker.tree_.nodes.threshold[ranker.tree_.nodes.column >= 0]
    below = threshold - np.array([0.1, 0.4])
    near, far = ranker.suspicion(below[:, None])
    is_suspicious = ranker.groups_[ranker.apply(below[:1, None])[0]].precision > 0.5
    assert (far > near) == is_suspicious
    assert ranker.apply(below[:, None]).tolist() == [ranker.apply([[0.0]])[0]] * 2
    _, low, high = scoring.group_ranges(ranker.tree_, ranker.shrinkage)
    (rank,) = ranker.apply(below[:1, None])
    within = expit([0.8, 0.2])  # twice the distance
    assert abs(far - near) == approx((high - low)[rank] * (within[0] - within[1]))

"""depth="cv": folds that hold each row out once; shared fits that judge like separate ones."""

import numpy as np
import pytest
from pytest import approx
from sklearn.metrics import average_precision_score

from rankers.trees.made_payments import numbers, payments
from toprank import MetaAP, TreeRank
from toprank.data.inputs import TrainingRows
from toprank.rankers.trees.cross_validation import Settings, TreeSettings, choose
from toprank.rankers.trees.folds import stratified_folds
from toprank.rankers.trees.kernel.growing import Growth
from toprank.rankers.trees.scoring import Scoring

KINDS = pytest.mark.parametrize("kind", [MetaAP, TreeRank])
ONE_KIND = pytest.mark.parametrize(
    "kind", [MetaAP, pytest.param(TreeRank, marks=pytest.mark.slow)]
)


@pytest.mark.parametrize(
    ("n_positives", "n_folds"), [(2, 2), (3, 3), (5, 5), (12, 5), (37, 3), (38, 2)]
)
def test_every_row_is_held_out_once_and_both_classes_each_time(n_positives, n_folds):
    is_positive = np.random.default_rng(0).permutation(40) < n_positives
    folds = stratified_folds(is_positive, seed=3)
    assert len(folds) == n_folds
    held_out = np.concatenate([test for _, test in folds])
    assert sorted(held_out) == list(range(40))
    for train, test in folds:
        assert np.intersect1d(train, test).size == 0
        assert train.size + test.size == 40
        assert np.unique(is_positive[train]).size == np.unique(is_positive[test]).size == 2


def test_folds_are_those_of_the_seed():
    is_positive = np.arange(40) < 10
    one, again, other = (stratified_folds(is_positive, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(one, again, strict=True))
    assert not all(np.array_equal(a, b) for (_, a), (_, b) in zip(one, other, strict=True))


@pytest.mark.parametrize("n_positives", [1, 39])
def test_a_class_of_one_row_cannot_be_held_out(n_positives):
    with pytest.raises(ValueError, match="at least two rows of each class; got 1 of one"):
        stratified_folds(np.arange(40) < n_positives, seed=0)


@KINDS
def test_shared_fits_judge_every_candidate_like_a_fit_of_its_own(kind):
    X, y = numbers(80)
    # whole numbers, which are the same in every part; others would be scaled in each
    X, weight = X.astype(np.float32), np.random.default_rng(0).integers(1, 4, 80).astype(float)
    candidates = [
        Settings(
            Growth(criterion, depth, least, is_balanced=kind._is_balanced),
            global_depth,
            Scoring(way, softness, shrinkage),
        )
        for criterion, depth, least in [("entropy", 2, 5), ("gini", 3, 1)]
        for global_depth, way, softness, shrinkage in [
            (3, "rank + soft", 0.5, 1.0),
            (1, "soft", 0.1, 5.0),
        ]
    ]
    rows = TrainingRows(X, y, weight)
    choice = choose(rows, np.zeros(3, np.int64), candidates, kind.aim, 65_534, seed=4)

    def judged(growth, global_depth, ways, train, test):
        ranker = kind(
            global_depth=global_depth,
            local_depth=growth.depth,
            criterion=growth.criterion,
            min_samples_leaf=growth.min_leaf,
            scoring=ways.way,
            softness=ways.softness,
            shrinkage=ways.shrinkage,
            positive_label=True,
        ).fit(X[train], y[train], weight[train])
        return average_precision_score(
            y[test], ranker.suspicion(X[test]), sample_weight=weight[test]
        )

    folds = stratified_folds(y, seed=4)
    expected = [np.mean([judged(*each, *fold) for fold in folds]) for each in candidates]
    assert choice.average_precision == approx(expected)
    assert choice.best == candidates[int(np.argmax(expected))]
    assert choice.tried == candidates


def test_of_equal_candidates_the_first_is_taken():
    tried = [Settings(Growth("gini", depth), 1, Scoring()) for depth in (1, 2, 3)]
    assert TreeSettings(tried, np.array([0.2, 0.7, 0.7])).best == tried[1]


@KINDS
def test_many_settings_are_tried_the_simplest_first(kind):
    tried = kind()._candidates()
    assert len(tried) == len(set(tried)) == 24 * len(kind()._growths())
    assert (tried[0].growth.depth, tried[0].global_depth) == (2, 1)


@pytest.fixture
def one_growth(kind, monkeypatch):
    """Try one of the ways to grow local trees, to save time."""
    growths = kind()._growths()
    monkeypatch.setattr(kind, "_growths", lambda self: growths[:1])


@ONE_KIND
@pytest.mark.usefixtures("one_growth")
def test_where_settings_make_no_difference_the_simplest_are_taken(kind):
    ranker = kind(depth="cv", scoring="rank").fit(np.ones((20, 1)), np.arange(20) < 4)
    assert np.ptp(ranker.choice_.average_precision) == 0
    assert ranker.settings_ == ranker.choice_.tried[0]
    assert ranker.settings_.global_depth == 1
    assert ranker.settings_.scoring.way == "rank"


@ONE_KIND
@pytest.mark.usefixtures("one_growth")
def test_the_tree_is_that_of_the_settings_chosen(kind):
    frame, is_fraud = payments(100)
    ranker = kind(depth="cv", random_state=2).fit(frame, is_fraud)
    growth, global_depth, ways = ranker.settings_
    found = ranker.choice_.average_precision
    assert len(ranker.choice_.tried) == found.size == 24
    assert ranker.settings_ == ranker.choice_.tried[int(np.argmax(found))]
    named = kind(
        global_depth=global_depth,
        local_depth=growth.depth,
        criterion=growth.criterion,
        min_samples_leaf=growth.min_leaf,
        softness=ways.softness,
        shrinkage=ways.shrinkage,
    ).fit(frame, is_fraud)
    assert np.array_equal(named.suspicion(frame), ranker.suspicion(frame))


def test_the_choice_is_the_same_whatever_n_jobs_is():
    X, y = numbers(80)
    rows = TrainingRows(X.astype(np.float32), y, None)
    candidates = [Settings(Growth("gini", depth), 2, Scoring()) for depth in (1, 2, 3)]
    one, two = (
        choose(rows, np.zeros(3, np.int64), candidates, "ap", 255, 0, n_jobs) for n_jobs in (1, 2)
    )
    assert np.array_equal(one.average_precision, two.average_precision)

"""`score` is average precision in everything that ranks, so that scikit-learn tunes by it."""

import numpy as np
import pytest
from pytest import approx
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from toprank import (
    BoostedRanker,
    MetaAP,
    OnlineGradientBoost,
    OnlineNonLinearBoost,
    RankForest,
    RankRLS,
    SampledRanker,
    ThresholdedRanker,
)

SMALL = {"n_estimators": 5, "n_jobs": 1}
RANKERS = [
    BoostedRanker(**SMALL),
    MetaAP(),
    RankForest(**SMALL),
    RankRLS(),
    SampledRanker(BoostedRanker(**SMALL)),
    ThresholdedRanker(BoostedRanker(**SMALL)),
    ThresholdedRanker(LogisticRegression()),
    OnlineNonLinearBoost(),
    OnlineGradientBoost(),
]
NAMES = np.array(["genuine", "fraud"])  # the positive label comes first in sorted order


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    y = X[:, 0] + X[:, 1] + generator.normal(size=600) > 2.7
    return X, NAMES[y.astype(int)]


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_score_is_the_average_precision_of_the_suspicions(ranker, rows):
    X, y = rows
    ranker.fit(X, y)
    weight = np.random.default_rng(1).integers(0, 4, y.size)
    expected = average_precision_score(y == "fraud", ranker.suspicion(X))
    weighted = average_precision_score(y == "fraud", ranker.suspicion(X), sample_weight=weight)

    assert ranker.score(X, y) == approx(expected)
    assert ranker.score(X, y, weight) == approx(weighted)
    assert ranker.score(X, y, sample_weight=np.full(y.size, 2.0)) == approx(expected)


def test_cross_validation_and_a_grid_judge_by_it(rows):
    X, y = rows
    scores = cross_val_score(BoostedRanker(**SMALL), X, y, cv=3)
    by_name = cross_val_score(
        BoostedRanker(**SMALL), X, y == "fraud", cv=3, scoring="average_precision"
    )
    grid = GridSearchCV(BoostedRanker(**SMALL), {"max_depth": [1, 3]}, cv=3).fit(X, y)

    assert scores == approx(by_name)
    assert (scores < 0.97).all()  # accuracy would be above it for an empty list of alerts
    assert grid.best_score_ == approx(max(grid.cv_results_["mean_test_score"]))


def test_several_classes_without_a_positive_one_are_scored_by_the_mean_over_classes():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    learner = OnlineNonLinearBoost().fit(X, y)
    each = [
        average_precision_score(y == label, learner.predict_proba(X)[:, place])
        for place, label in enumerate("abc")
    ]

    assert learner.positive_label_ is None
    assert learner.score(X, y) == approx(np.mean(each))
    named = OnlineNonLinearBoost(positive_label="c").fit(X, y)
    assert named.positive_label_ == "c"
    assert named.score(X, y) == approx(average_precision_score(y == "c", named.suspicion(X)))


def test_rows_that_cannot_be_scored_are_refused(rows):
    X, y = rows
    ranker = BoostedRanker(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="must have one label per row; got 600 rows and 599"):
        ranker.score(X, y[1:])
    with pytest.raises(ValueError, match=r"labels of X, y must be .*; got 'x'"):
        ranker.score(X, np.full(y.size, "x"))
    with pytest.raises(ValueError, match="must hold both classes; got 0 positives"):
        ranker.score(X, np.full(y.size, "genuine"))
    with pytest.raises(ValueError, match="without rows of zero weight, must hold both classes"):
        ranker.score(X, y, (y == "genuine").astype(float))

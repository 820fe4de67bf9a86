"""ThresholdedRanker: scikit-learn's contract, honest thresholds, any ranker inside."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from toprank import AnomalyTreeRank, BoostedRanker, TreeRank, metrics, save, splits
from toprank.decisions import ThresholdedRanker, choose_threshold

NOT_HALF = {"check_classifiers_train": "a threshold moved away from probability 1/2 is the point"}


def small_ranker(**options):
    return BoostedRanker("log", **{"n_estimators": 10, "n_jobs": 1, **options})


def rows(n_rows=1500, seed=0, share=0.05):
    X, y = make_classification(
        n_rows, 6, n_informative=4, weights=[1 - share], class_sep=0.8, random_state=seed
    )
    return X, y


@pytest.mark.parametrize(
    ("ranker", "expected"),
    [
        (LogisticRegression(), NOT_HALF),
        pytest.param(small_ranker(n_estimators=2), NOT_HALF, marks=pytest.mark.slow),
    ],
    ids=["LogisticRegression", "BoostedRanker"],
)
def test_it_passes_scikit_learns_checks(ranker, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(
            ThresholdedRanker(ranker, cv=2), expected_failed_checks=expected, on_fail="raise"
        )
    statuses = [outcome["status"] for outcome in outcomes]
    assert statuses.count("passed") > 40
    assert set(statuses) <= {"passed", "skipped", "xfail"}


LABELS = [[0, 1], ["genuine", "zfraud"], ["fraud", "genuine"]]


@pytest.mark.parametrize(
    ("ranker", "labels"),
    [
        *((LogisticRegression(), labels) for labels in LABELS),
        *((small_ranker(), labels) for labels in LABELS),
        (TreeRank(), LABELS[2]),
        (LinearSVC(), LABELS[2]),
        (RandomForestClassifier(20, random_state=0), LABELS[2]),
        (make_pipeline(StandardScaler(), LogisticRegression()), LABELS[2]),
        pytest.param(AnomalyTreeRank(), LABELS[2], marks=pytest.mark.slow),  # compiles for long
    ],
    ids=lambda value: str(value) if isinstance(value, list) else type(value).__name__,
)
def test_any_ranker_alerts_by_its_threshold_whatever_the_labels_are_called(ranker, labels):
    X, y = rows(600)
    # fraud is positive by its name, wherever it sorts
    names = np.array(labels[::-1] if "fraud" in labels else labels)
    thresholded = ThresholdedRanker(ranker, cv=3).fit(X, names[y])
    suspicion, threshold = thresholded.suspicion(X), thresholded.threshold_.threshold
    assert thresholded.positive_label_ == names[1]
    assert np.isfinite(suspicion).all()
    assert np.array_equal(thresholded.predict(X) == names[1], suspicion >= threshold)
    decision = thresholded.decision_function(X)
    assert np.array_equal(thresholded.classes_[(decision > 0).astype(int)], thresholded.predict(X))
    if not isinstance(ranker, AnomalyTreeRank):
        assert metrics.roc_auc(y, suspicion) > 0.65  # turned around, it would be below 0.35


def test_folds_scores_are_those_of_rankers_that_have_not_seen_them():
    X, y = rows()
    thresholded = ThresholdedRanker(LogisticRegression(), cv=4, random_state=3).fit(X, y)
    scores = np.empty(y.size)
    for learned, held_out in splits.folds(y == 1, 4, 3):
        fold = LogisticRegression().fit(X[learned], y[learned])
        scores[held_out] = fold.decision_function(X[held_out])
    assert thresholded.threshold_ == choose_threshold(y, scores, random_state=3)
    whole = LogisticRegression().fit(X, y)
    assert np.array_equal(thresholded.suspicion(X), whole.decision_function(X))
    assert np.array_equal(thresholded.predict_proba(X), whole.predict_proba(X))


def test_an_overfitted_ranker_gets_an_honest_threshold():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(600, 3)), generator.random(600) < 0.1
    thresholded = ThresholdedRanker(RandomForestClassifier(30, random_state=0)).fit(X, y)
    assert f1_score(y, thresholded.ranker_.predict(X)) > 0.9
    assert thresholded.threshold_.value.value < 0.35


def test_an_eval_set_decides_the_threshold_and_leaves_all_rows_to_the_ranker():
    X, y = rows(2000)
    train, later = slice(0, 1200), slice(1200, None)
    thresholded = ThresholdedRanker(small_ranker(), "mcc")
    thresholded.fit(X[train], y[train], eval_set=(X[later], y[later]))
    ranker = small_ranker().fit(X[train], y[train])
    assert np.array_equal(thresholded.suspicion(X), ranker.suspicion(X))
    assert thresholded.threshold_ == choose_threshold(y[later], ranker.suspicion(X[later]), "mcc")


@pytest.mark.parametrize("wrapped", [lambda model: model, FrozenEstimator])
def test_a_fitted_ranker_is_used_unchanged(wrapped):
    X, y = rows()
    ranker = wrapped(small_ranker().fit(X[:700], y[:700]))
    thresholded = ThresholdedRanker(ranker, cv="prefit")
    thresholded.fit(None, None, eval_set=(X[700:], y[700:]))
    assert thresholded.ranker_ is ranker
    assert thresholded.threshold_ == choose_threshold(y[700:], ranker.suspicion(X[700:]))


def test_a_budget_is_a_share_of_the_rows_it_was_chosen_on():
    X, y = rows(9000)
    ranker = ThresholdedRanker(LogisticRegression(), "alerts", budget=100)
    ranker.fit(X[:2000], y[:2000], eval_set=(X[2000:4000], y[2000:4000]))
    assert (ranker.predict(X[2000:4000]) == 1).sum() == ranker.threshold_.n_alerts == 100
    assert (ranker.predict(X[4000:]) == 1).sum() == approx(250, rel=0.3)


@pytest.mark.parametrize("has_eval_set", [True, False], ids=["eval_set", "folds"])
def test_the_promised_precision_and_recall_are_kept_on_new_rows(has_eval_set):
    X, y = rows(12_000)
    ranker = ThresholdedRanker(small_ranker(n_estimators=40), "precision", least_precision=0.7)
    eval_set = (X[3000:6000], y[3000:6000]) if has_eval_set else None
    ranker.fit(X[:3000], y[:3000], eval_set=eval_set)
    is_alert, is_positive = ranker.predict(X[6000:]) == 1, y[6000:] == 1
    found = (is_alert & is_positive).sum()
    precision, recall = ranker.threshold_.precision, ranker.threshold_.recall
    assert precision.low - 0.03 <= found / is_alert.sum() <= precision.high + 0.03
    assert recall.low - 0.03 <= found / is_positive.sum() <= recall.high + 0.03


@pytest.mark.parametrize("table", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_tables_with_categories_are_passed_to_the_ranker(table):
    X, y = rows(500)
    frame = pd.DataFrame(X[:, :2], columns=["amount", "age"])
    frame["country"] = np.where(y == 1, "US", "FR")
    frame.loc[::3, "country"] = "DE"
    thresholded = ThresholdedRanker(small_ranker(), cv=3).fit(table(frame), y)
    assert thresholded.feature_names_in_.tolist() == ["amount", "age", "country"]
    assert thresholded.n_features_in_ == 3
    turned = table(frame[["country", "age", "amount"]])
    assert np.array_equal(thresholded.predict(turned), thresholded.predict(table(frame)))
    assert thresholded.threshold_.value.value > 0.5


def test_lists_and_balanced_labels_are_accepted():
    X, y = rows(60, share=0.5)
    y = np.arange(60) % 2
    from_lists = ThresholdedRanker(small_ranker(), cv=7).fit(X.tolist(), y.tolist())
    assert from_lists.threshold_ == ThresholdedRanker(small_ranker(), cv=7).fit(X, y).threshold_
    assert from_lists.positive_label_ == 1


def test_a_named_positive_label_is_the_one_alerted():
    X, y = rows(400)
    thresholded = ThresholdedRanker(small_ranker(positive_label=0), cv=3).fit(X, y)
    assert thresholded.positive_label_ == 0
    is_alert = thresholded.suspicion(X) >= thresholded.threshold_.threshold
    assert np.array_equal(thresholded.predict(X) == 0, is_alert)
    share = thresholded.predict_proba(X)
    assert np.array_equal(thresholded.probability(X), share[:, 0])


def test_the_positive_label_is_that_of_training_even_where_an_eval_set_has_more_of_it():
    X, y = rows(1000)
    many = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:10]])
    for ranker in (small_ranker(), LogisticRegression()):
        thresholded = ThresholdedRanker(ranker).fit(X, y, eval_set=(X[many], y[many]))
        assert thresholded.positive_label_ == 1
        assert metrics.roc_auc(y, thresholded.suspicion(X)) > 0.65


def test_probability_is_the_rankers_own():
    X, y = rows(400)
    thresholded = ThresholdedRanker(small_ranker(), cv=3).fit(X, y)
    assert np.array_equal(thresholded.probability(X), thresholded.ranker_.probability(X))


def test_what_the_ranker_lacks_is_not_there():
    assert not hasattr(ThresholdedRanker(LinearSVC()), "predict_proba")
    assert not hasattr(ThresholdedRanker(LinearSVC()), "probability")
    assert hasattr(ThresholdedRanker(), "predict_proba")


def test_it_clones_and_works_inside_cross_validation():
    X, y = rows(600)
    model = ThresholdedRanker(LogisticRegression(C=2), beta=2, cv=3)
    assert clone(model).get_params()["ranker__C"] == 2
    plain = cross_val_score(LogisticRegression(C=2), X, y, scoring="f1", cv=3).mean()
    assert cross_val_score(model, X, y, scoring="f1", cv=3).mean() > plain - 0.05


@pytest.mark.parametrize("ranker", [small_ranker(), TreeRank()], ids=["boosted", "tree"])
def test_our_rankers_work_inside_scikit_learns_tuned_threshold(ranker):
    X, y = rows(800)
    tuned = TunedThresholdClassifierCV(ranker, scoring="f1", cv=2, thresholds=20).fit(X, y)
    assert f1_score(y, tuned.predict(X)) > 0.3


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_the_exact_search_is_never_behind_a_grid_on_the_same_folds_scores(seed):
    X, y = rows(500, seed)
    folds = splits.folds(y == 1, 4, seed)
    tuned = TunedThresholdClassifierCV(
        small_ranker(), scoring="f1", cv=folds, response_method="decision_function"
    ).fit(X, y)
    scores = np.empty(y.size)
    for learned, held_out in folds:
        scores[held_out] = (
            small_ranker().fit(X[learned], y[learned]).decision_function(X[held_out])
        )
    ours = choose_threshold(y, scores, n_resamples=2).threshold
    by_grid = metrics.f_beta(y, scores, threshold=tuned.best_threshold_)
    assert metrics.f_beta(y, scores, threshold=ours) >= by_grid


def test_certain_probabilities_become_finite_suspicions_in_the_same_order():
    X, y = rows(500)
    forest = RandomForestClassifier(7, random_state=0)
    thresholded = ThresholdedRanker(forest, cv=3).fit(X, y)
    probability, suspicion = thresholded.predict_proba(X)[:, 1], thresholded.suspicion(X)
    assert {0.0, 1.0} <= set(probability)
    assert np.isfinite(suspicion).all()
    order = np.argsort(probability, kind="stable")
    assert np.all(np.diff(suspicion[order]) >= 0)
    assert len(set(suspicion)) == len(set(probability))


def test_a_file_is_refused_with_the_learners_there_are(tmp_path):
    X, y = rows(300)
    thresholded = ThresholdedRanker(small_ranker(), cv=3).fit(X, y)
    with pytest.raises(TypeError, match=r"save takes a fitted .* got ThresholdedRanker"):
        save(thresholded, tmp_path / "model.toprank")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aim": "f1"}, "aim must be one of 'f_beta', 'mcc', 'precision', 'alerts'; got 'f1'"),
        ({"aim": "alerts"}, "budget must be given for the aim 'alerts'; got None"),
        ({"least_precision": 0.5}, "least_precision must be None unless the aim is 'precision'"),
        ({"cv": 1}, "cv must be at least 2; got 1"),
        ({"cv": "prefit"}, "eval_set must be given with cv='prefit'"),
        ({"aim": "alerts", "budget": 500}, "budget must be at most 100, the number of rows"),
    ],
)
def test_unusable_parameters_are_refused_by_name(options, message):
    X, y = rows(100, share=0.2)
    with pytest.raises(ValueError, match=message):
        ThresholdedRanker(LogisticRegression(), **options).fit(X, y)


def test_invalid_rankers_and_folds_are_rejected():
    X, y = rows(100, share=0.2)
    with pytest.raises(TypeError, match="ranker must have fit and one of suspicion, decision_fun"):
        ThresholdedRanker(StandardScaler()).fit(X, y)
    with pytest.raises(TypeError, match=r"cv must be a whole number; got 0\.2"):
        ThresholdedRanker(LogisticRegression(), cv=0.2).fit(X, y)


def test_one_positive_alone_needs_an_eval_set():
    X, y = rows(100, share=0.2)
    lonely = np.arange(100) == 7
    model = ThresholdedRanker(LogisticRegression())
    with pytest.raises(ValueError, match=r"two rows of each class .* eval_set"):
        model.fit(X, lonely)
    assert model.fit(X, lonely, eval_set=(X, y == 1)).threshold_.n_alerts > 0


def test_an_eval_set_of_other_labels_is_refused():
    X, y = rows(100, share=0.2)
    model = ThresholdedRanker(LogisticRegression())
    with pytest.raises(ValueError, match=r"ranker's two classes, \[0, 1\]; got \[0, 2\]"):
        model.fit(X, y, eval_set=(X, 2 * y))
    with pytest.raises(ValueError, match=r"y must .* two classes"):
        model.fit(X, y, eval_set=(X, 0 * y))
    with pytest.raises(ValueError, match="one label per row; got 100 rows and 99 labels"):
        model.fit(X, y, eval_set=(X, y[:-1]))


def test_folds_whose_scores_are_not_on_one_scale_give_a_warning():
    """Each fold's ranker learns another offset, so that one threshold suits only some of them."""

    class Shifting(LogisticRegression):
        def decision_function(self, X):
            return super().decision_function(X) + 50 * (self.intercept_[0] * 1e3 % 1)

    generator = np.random.default_rng(0)
    X = generator.normal(size=(1000, 2))
    y = X[:, 0] + generator.normal(size=1000) > 2
    with pytest.warns(UserWarning, match=r"do not score on one scale.* eval_set"):
        ThresholdedRanker(Shifting()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ThresholdedRanker(LogisticRegression()).fit(X, y)

"""Our online learners in River, and River's classifiers in toprank."""

import random
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from river import (
    base,
    checks,
    datasets,
    drift,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    preprocessing,
)
from scipy.special import logit
from sklearn.base import clone

import toprank
from examples import examples
from toprank.rankers.online.online_learner import OnlineLearner
from toprank.river import FromRiver, RiverClassifier

LEARNERS = {
    "OnlineNonLinearBoost": "many classes",
    "OnlineLinearBoost": "many classes",
    "OnlineBBM": "two classes",
    "AdaBoostOL": "two classes",
    "AdaBoostOLW": "two classes",
    "OnlineGradientBoost": "two classes",
    "StreamBoost": "two classes",
    "StreamRanker": "two classes",
}
SLOW = pytest.mark.slow
WITH_PANDAS = {"check_learn_many_matches_learn_one", "check_predict_many_matches_predict_one"}


def made(name="OnlineNonLinearBoost", **parameters):
    return RiverClassifier(getattr(toprank, name)(**parameters))


def taught(model, rows):
    for x, y in rows:
        model.learn_one(x, y)
    return model


def phishing(n_rows=200):
    return list(datasets.Phishing().take(n_rows))


def table(rows):
    return pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])


def assert_same_state(one, other):
    """Both have learned the same, to the last bit."""
    ours, theirs = one.learned.model_.arrays(), other.learned.model_.arrays()
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert np.array_equal(ours[name], theirs[name], equal_nan=True), name
    assert one.learned.model_.state() == other.learned.model_.state()


# RiverClassifier


@pytest.mark.parametrize(
    "name",
    [
        # one of either kind is quick
        name if name in ("OnlineNonLinearBoost", "OnlineBBM") else pytest.param(name, marks=SLOW)
        for name in LEARNERS
    ],
)
def test_every_learner_passes_all_checks_of_river(name):
    random.seed(0)  # some of the checks shuffle columns
    small = {"n_estimators": 2} if name == "StreamRanker" else {"n_learners": 2}
    model = made(name, **small)
    names = set()
    for check in checks.yield_checks(model):
        check(model.clone())
        names.add(check.__name__)
    assert names >= WITH_PANDAS
    assert not model._unit_test_skips()
    assert model._multiclass == (LEARNERS[name] == "many classes")


def test_all_online_learners_are_among_those_checked():
    online = {
        name
        for name in toprank.__all__
        if isinstance(getattr(toprank, name), type)
        and issubclass(getattr(toprank, name), OnlineLearner)
    }
    assert online == set(LEARNERS)


def test_a_loss_for_two_classes_makes_a_classifier_of_two_classes():
    assert not made(loss="ap")._multiclass


@SLOW
def test_a_loss_for_two_classes_passes_the_checks_of_river():
    checks.check_estimator(made(loss="ap", n_learners=2))


@SLOW
def test_a_pipeline_passes_the_checks_of_river():
    random.seed(0)
    pipeline = preprocessing.StandardScaler() | made(n_learners=2)
    for check in checks.yield_checks(pipeline):
        # the scaler of River learns from a whole mini-batch before it scales the first row of it
        if check.__name__ != "check_learn_many_matches_learn_one":
            check(pipeline.clone())


def test_progressive_validation_in_river_is_that_of_the_learner():
    rows = phishing(600)
    steps = evaluate.iter_progressive_val_score(
        rows, made(), metrics.ROCAUC(), yield_predictions=True
    )
    in_river = [step["Prediction"] for step in steps]
    X, y = table(rows)
    learner = toprank.OnlineNonLinearBoost()
    suspicion = learner.score_then_learn(X, y)

    assert in_river[0] == {}
    assert np.allclose(logit([shown[True] for shown in in_river[1:]]), suspicion[1:], atol=1e-9)


def test_a_pipeline_ranks_phishing_as_well_as_logistic_regression():
    ours = preprocessing.StandardScaler() | made()
    theirs = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    areas = [
        evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC()).get()
        for model in (ours, theirs)
    ]
    assert areas[0] > 0.93
    assert areas[0] > areas[1] - 0.01


def test_many_classes_are_distinguished():
    metric = metrics.Accuracy() + metrics.MacroF1()
    evaluate.progressive_val_score(datasets.ImageSegments(), made(), metric)
    assert min(metric.get()) > 0.85


def test_two_class_learners_distinguish_many_classes_by_one_vs_rest():
    model = multiclass.OneVsRestClassifier(made("OnlineGradientBoost"))
    accuracy = evaluate.progressive_val_score(
        datasets.ImageSegments().take(1000), model, metrics.Accuracy()
    )
    assert accuracy.get() > 0.7


def test_an_ensemble_of_river_is_made_of_clones():
    model = ensemble.BaggingClassifier(made(n_learners=3), n_models=3, seed=1)
    area = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    assert area.get() > 0.9
    assert len({member.score_one({}) for member in model}) == 3


def test_a_pipeline_gives_the_raw_score():
    rows = phishing()
    pipeline = taught(preprocessing.StandardScaler() | made(), rows)
    x = pipeline["StandardScaler"].transform_one(rows[0][0])
    assert pipeline.score_one(rows[0][0]) == pipeline["RiverClassifier"].learned.score_one(x) != 0


def test_a_detector_of_river_restarts_it_after_a_drift():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(4000, 3))
    is_positive = (values[:, 0] + values[:, 1] > 0) ^ (np.arange(4000) >= 2000)
    model = drift.DriftRetrainingClassifier(made(), drift.ADWIN(), train_in_background=False)
    hits = []
    for row, label in zip(values.tolist(), is_positive.tolist(), strict=True):
        x = dict(zip("abc", row, strict=True))
        hits.append(model.predict_one(x) == label)
        model.learn_one(x, label)

    assert 1000 < model.model.learned.model_.n_rows <= 2000
    assert np.mean(hits[1000:2000]) > 0.95
    assert np.mean(hits[3000:]) > 0.9


def test_a_clone_is_untrained_and_the_given_learner_is_not_changed():
    learner = toprank.OnlineNonLinearBoost(n_learners=3)
    model = taught(RiverClassifier(learner), phishing())
    again = model.clone()

    assert not hasattr(learner, "model_")
    assert again.learner.get_params() == learner.get_params()
    assert again.score_one(phishing()[0][0]) == 0 != model.score_one(phishing()[0][0])
    assert_same_state(model, taught(again, phishing()))


def test_a_clone_takes_another_learner():
    again = made().clone({"learner": toprank.OnlineBBM(n_learners=2)})
    assert isinstance(again.learned, toprank.OnlineBBM)
    assert again.learned.n_learners == 2


def test_training_continues_from_a_file_as_if_it_had_not_been_saved(tmp_path):
    rows = phishing()
    whole = taught(made(), rows)
    toprank.save(taught(made(), rows[:90]).learned, tmp_path / "half.toprank")
    half = RiverClassifier(toprank.load(tmp_path / "half.toprank"))
    assert_same_state(taught(half, rows[90:]), whole)


def test_a_learner_fitted_on_an_array_continues_with_rows_and_tables():
    X, y = table(phishing())
    fitted = toprank.OnlineNonLinearBoost().fit(X.to_numpy(), y.to_numpy())
    model = RiverClassifier(fitted)
    turned = X.set_axis(range(X.shape[1]), axis=1).iloc[:, ::-1]
    expected = fitted.predict_proba(X.to_numpy())

    assert np.array_equal(model.predict_proba_many(turned), expected)
    assert list(model.predict_proba_one(turned.iloc[3].to_dict()).values()) == approx(expected[3])


cells = st.sampled_from([None, -1.5, 0.25, 3.0])
texts = st.sampled_from([None, "FR", "DE"])
frames = st.lists(
    st.fixed_dictionaries(
        {"amount": cells, "country": texts, "is_new": st.booleans(), "label": st.booleans()}
    ),
    min_size=1,
    max_size=8,
)


@examples(40)
@given(st.lists(st.tuples(frames, st.sets(st.sampled_from(["amount", "country"]))), max_size=4))
def test_mini_batches_give_the_model_that_rows_give_as_columns_come_and_go(batches):
    one, many = made(n_learners=2, n_buckets=64), made(n_learners=2, n_buckets=64)
    for frame, absent in batches:
        X = pd.DataFrame(frame)
        y = X.pop("label")
        X = X.drop(columns=sorted(absent))
        many.learn_many(X, y)
        for x, label in zip(X.to_dict("records"), y.tolist(), strict=True):
            one.learn_one(x, label)
        assert_same_state(one, many)

        shown = many.predict_proba_many(X)
        assert shown.to_dict("records") == [one.predict_proba_one(x) for x in X.to_dict("records")]


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineBBM"])
@pytest.mark.parametrize("rows", [[], phishing(), phishing(1)], ids=["fresh", "taught", "one row"])
def test_tables_of_every_library_are_predicted_as_their_rows(name, rows):
    model = taught(made(name), rows)
    X = table(phishing(30))[0].set_axis(range(100, 130))
    labels = [model.predict_one(x) for x in X.to_dict("records")]
    shown = [
        {str(label): part for label, part in model.predict_proba_one(x).items()}
        for x in X.to_dict("records")
    ]
    in_polars = pl.from_pandas(X)

    assert model.predict_many(X).tolist() == labels
    assert model.predict_many(X).index.equals(X.index)
    assert model.predict_proba_many(X).index.equals(X.index)
    assert model.predict_many(in_polars).to_list() == labels
    assert model.predict_many(in_polars.to_arrow()).to_pylist() == labels
    if shown[0]:
        assert model.predict_proba_many(X).rename(columns=str).to_dict("records") == shown
        assert model.predict_proba_many(in_polars).to_dicts() == shown
        assert model.predict_proba_many(in_polars.to_arrow()).to_pylist() == shown


def test_mini_batches_go_through_a_pipeline_of_river():
    X, y = table(phishing(1000))
    model = preprocessing.StandardScaler() | made()
    for start in range(0, 800, 100):
        model.learn_many(X[start : start + 100], y[start : start + 100])
    assert np.mean(model.predict_many(X[800:]) == y[800:]) > 0.85


def test_true_and_false_both_have_a_probability_once_one_was_seen():
    model = made()
    assert model.predict_proba_one({"amount": 3}) == {}
    assert model.predict_one({"amount": 3}) is None
    model.learn_one({"amount": 3}, False)
    shown = model.predict_proba_one({"amount": 3})
    assert shown.keys() == {False, True}
    assert 0 < shown[True] < shown[False] < 1


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineBBM"])
def test_false_may_be_the_positive_label(name):
    rows = phishing()
    turned = taught(made(name, positive_label=True), [(x, not y) for x, y in rows])
    model = taught(made(name, positive_label=False), rows)
    x = rows[0][0]

    assert model.predict_proba_one(x)[False] == approx(turned.predict_proba_one(x)[True])
    assert model.score_one(x) == turned.score_one(x)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineBBM"])
def test_text_labels_have_a_probability_once_they_were_seen(name):
    model = made(name, positive_label="fraud")
    assert model.predict_proba_one({"amount": 3}) == {}
    model.learn_one({"amount": 3}, "fine")
    assert model.predict_proba_one({"amount": 3}) == {"fine": 1.0}
    taught(model, [({"amount": 3}, "fine"), ({"amount": 900}, "fraud")] * 50)

    assert model.predict_one({"amount": 3}) == "fine"
    assert model.predict_one({"amount": 900}) == "fraud"


def test_weights_of_a_stream_reach_the_learner():
    rows = phishing()
    weighted = [(x, y, {"w": 3.0 if y else 0.0}) for x, y in rows]
    model, expected = made(), made()
    evaluate.progressive_val_score(weighted, model, metrics.Accuracy())
    for x, y in rows:
        expected.learn_one(x, y, w=3.0 if y else 0.0)

    assert_same_state(model, expected)
    assert model.learned.model_.n_rows == sum(y for _, y in rows)


def test_only_an_online_learner_becomes_a_classifier_of_river():
    with pytest.raises(TypeError, match=r"learner must be an online learner of toprank.*; got"):
        RiverClassifier(toprank.BoostedRanker())


def test_without_river_the_import_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "toprank.river")
    with pytest.raises(ImportError, match=r"River.*not installed.*pip install 'toprank\[river\]'"):
        import_module("toprank.river")


# FromRiver


def logistic():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def test_scores_are_the_log_odds_of_the_probabilities_of_river():
    rows = phishing()
    learner, model = taught(FromRiver(logistic()), rows), taught(logistic(), rows)
    for x, _ in rows[:20]:
        shown = model.predict_proba_one(x)[True]
        assert learner.probability_one(x) == approx(shown)
        assert learner.score_one(x) == approx(logit(shown))


def test_a_learner_that_went_to_river_and_back_scores_as_before():
    rows = phishing()
    learner = taught(toprank.OnlineNonLinearBoost(), rows)
    back = taught(FromRiver(made()), rows)
    X, _ = table(rows)
    assert back.suspicion(X) == approx(learner.suspicion(X))
    assert back.probability(X) == approx(learner.probability(X))


def test_a_fresh_learner_can_score():
    learner = FromRiver(logistic())
    assert learner.score_one({"amount": 3}) == 0
    assert learner.probability_one({"amount": 3}) == 0.5
    assert learner.suspicion(np.ones((2, 1))).tolist() == [0, 0]


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_tables_are_learned_row_by_row(library):
    X, y = table(phishing())
    if library == "numpy":
        X = X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)
    records = X.to_dict("records")
    given_as = {"pandas": X, "polars": pl.from_pandas(X), "numpy": X.to_numpy()}[library]
    by_row = FromRiver(logistic())
    scores = []
    for x, label in zip(records, y.tolist(), strict=True):
        scores.append(by_row.score_one(x))
        by_row.learn_one(x, label)

    assert FromRiver(logistic()).score_then_learn(given_as, y).tolist() == scores
    again = FromRiver(logistic()).partial_fit(given_as, y)
    assert again.suspicion(given_as).tolist() == [by_row.score_one(x) for x in records]


def test_missing_cells_of_a_table_are_left_out_of_its_rows():
    class Recorder(naive_bayes.GaussianNB):
        rows: list = []  # noqa: RUF012

        def learn_one(self, x, y):
            self.rows.append(x)

    X = pa.table({"amount": [1.0, None, float("nan")], "country": ["FR", "DE", None]})
    FromRiver(Recorder()).partial_fit(X, [True, False, True])
    assert Recorder.rows == [{"amount": 1.0, "country": "FR"}, {"country": "DE"}, {}]


def test_scores_stay_finite_and_distinct_where_probabilities_round_to_one():
    class Constant(base.Classifier):
        def learn_one(self, x, y):
            pass

        def predict_proba_one(self, x, **kwargs):
            return {False: x["of_false"], True: 1 - x["of_false"]}

    learner = taught(FromRiver(Constant()), [({}, True), ({}, False)])
    scores = [learner.score_one({"of_false": part}) for part in (1, 0.5, 1e-20, 1e-30, 0)]

    assert np.isfinite(scores).all()
    assert (np.diff(scores) > 0).all()
    assert scores[1] == 0


def test_the_given_model_is_not_changed_and_copies_continue_from_it():
    rows = phishing()
    given_model = taught(logistic(), rows[:100])
    before = given_model.predict_proba_one(rows[0][0])
    learner = taught(FromRiver(given_model), rows[100:])
    whole = taught(FromRiver(logistic()), rows)

    assert given_model.predict_proba_one(rows[0][0]) == before
    assert learner.score_one(rows[0][0]) == whole.score_one(rows[0][0])
    assert clone(learner).score_one(rows[0][0]) == 0


def test_text_labels_that_are_not_obvious_need_a_positive_label():
    rows = [({"amount": 3.0}, "fine"), ({"amount": 5.0}, "fine")] * 9
    rows += [({"amount": 900.0}, "stolen"), ({"amount": 800.0}, "stolen")] * 9
    with pytest.raises(ValueError, match=r"positive_label must name .* got \['fine', 'stolen'\]"):
        taught(FromRiver(naive_bayes.GaussianNB()), rows).score_one({"amount": 3.0})
    learner = taught(FromRiver(naive_bayes.GaussianNB(), positive_label="stolen"), rows)
    assert learner.score_one({"amount": 4.0}) < 0 < learner.score_one({"amount": 850.0})


@pytest.mark.parametrize(
    "model",
    [
        linear_model.LinearRegression(),
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
        toprank.OnlineBBM(),
    ],
    ids=["regressor", "pipeline", "only labels", "not of River"],
)
def test_only_classifiers_that_give_probabilities_come_from_river(model):
    with pytest.raises(TypeError, match="model must be a classifier of River that gives"):
        FromRiver(model).learn_one({"amount": 3.0}, True)


def test_a_table_must_have_as_many_rows_as_labels():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FromRiver(logistic()).partial_fit(pd.DataFrame({"amount": [1.0, 2.0]}), [True])

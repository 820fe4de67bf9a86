"""The seven online boosters: what all promise, what each learns, and what they reject."""

import copy
import inspect
import io
import tracemalloc
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from scipy.special import expit, logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import toprank
from contracts import check_models_are_equal, check_online_learner, frame_of, learned
from files.packing import npy_of, refused, rewrite
from toprank.files import load, save
from toprank.metrics import average_precision, roc_auc
from toprank.rankers.online import model as online_model
from toprank.rankers.online import stream_columns as online_columns

NAMES = [
    "OnlineNonLinearBoost",
    "OnlineLinearBoost",
    "OnlineBBM",
    "AdaBoostOL",
    "AdaBoostOLW",
    "OnlineGradientBoost",
    "StreamBoost",
]
SMALL = {"n_learners": 4, "n_buckets": 32}


def small(name, **settings):
    return getattr(toprank, name)(**(SMALL | settings))


ALL = [small(name) for name in NAMES]
EVERY_BOOSTER = pytest.mark.parametrize("booster", ALL, ids=NAMES)
VOTING = ("OnlineBBM", "AdaBoostOL", "AdaBoostOLW")
VARIED = [
    *ALL,
    small("OnlineNonLinearBoost", update="residual"),
    small("OnlineNonLinearBoost", update="prefix", averaged=True),
    small("OnlineNonLinearBoost", loss="ap", random_state=3),
    small("OnlineNonLinearBoost", class_weight="balanced", averaged=True),
    small("OnlineLinearBoost", update="full", loss="ap", class_weight="balanced"),
    small("OnlineBBM", averaged=True, edge=0.3),
    small("AdaBoostOL", class_weight="balanced", averaged=True),
    small("OnlineGradientBoost", step=0.5, averaged=True),
]


def made_rows(n_rows=40, seed=0):
    """Payments as dicts, with text, flags and gaps; columns are left out where they can be."""
    random = np.random.default_rng(seed)
    is_fraud = random.random(n_rows) < 0.4
    is_fraud[:2] = False, True
    rows = []
    for fraud in is_fraud.tolist():
        x = {
            "amount": float(random.normal(3 if fraud else 1)),
            "country": str(random.choice(["FR", "DE", "XX" if fraud else "IT"])),
            "is_abroad": bool(random.random() < 0.5),
            "hour": float("nan") if random.random() < 0.2 else int(random.integers(24)),
        }
        gap = random.choice(["none", "country", "is_abroad"])
        if gap != "none":
            x[gap] = None
        rows.append(x)
    return rows, is_fraud.tolist()


def payments(n_rows=300, seed=0):
    rows, labels = made_rows(n_rows, seed)
    return frame_of(rows), np.array(labels)


def two_blobs(n_rows=600, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(n_rows) < 0.3).astype(int)
    return random.normal(size=(n_rows, 4)) + 1.5 * y[:, None], y


def three_blobs(n_rows=900, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n_rows)
    centres = np.array([[3, 0], [0, 3], [-3, -3]])
    return random.normal(size=(n_rows, 2)) + centres[y], y


@cache
def fitted(name):
    return small(name).fit(*payments())


# What all promise


@pytest.mark.parametrize("booster", VARIED, ids=str)
def test_it_keeps_the_promises_of_every_online_learner(booster, tmp_path):
    check_online_learner(booster, *made_rows(), tmp_path / "payments.toprank")


@pytest.mark.parametrize("booster", VARIED, ids=str)
def test_blocks_of_rows_give_the_model_of_all_rows_at_once(booster, monkeypatch):
    frame, labels = payments(100)
    matrix = frame[["amount", "hour"]].to_numpy(np.float32)
    row_weights = np.arange(100) % 3
    for X in (frame, matrix):
        whole = clone(booster).fit(X, labels, row_weights)
        with monkeypatch.context() as patch:
            patch.setattr(online_columns, "_CELLS_AT_ONCE", 50)
            in_blocks = clone(booster).fit(X, labels, row_weights)
            check_models_are_equal(in_blocks, whole)
            assert_array_equal(in_blocks.suspicion(X), whole.suspicion(X))


@EVERY_BOOSTER
def test_text_labels_are_learned_like_others(booster):
    rows, labels = made_rows()
    texts = ["fraud" if label else "genuine" for label in labels]
    named = clone(booster).set_params(positive_label="fraud")
    one, other = learned(booster, rows, labels), learned(named, rows, texts)
    assert [one.score_one(x) for x in rows] == [other.score_one(x) for x in rows]
    assert other.classes_.tolist() == ["fraud", "genuine"]
    assert other.probabilities_one(rows[0])["fraud"] == one.probability_one(rows[0])


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineLinearBoost"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_text_labels_and_a_late_third_class_keep_the_promises(name, n_classes, tmp_path):
    rows, labels = made_rows()
    texts = ["fraud" if label else "genuine" for label in labels]
    if n_classes == 3:
        texts[25:40:3] = ["doubtful"] * 5
    booster = small(name, positive_label="fraud")
    check_online_learner(booster, rows, texts, tmp_path / "payments.toprank")


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineLinearBoost"])
@pytest.mark.parametrize("n_cells", [1, 12, 100])
def test_a_third_class_may_appear_in_any_block(name, n_cells, monkeypatch):
    frame, labels = payments(40)
    three = np.where(labels, "fraud", "genuine").astype(object)
    three[25:40:3] = "doubtful"
    whole = small(name, positive_label="fraud").partial_fit(frame, three)
    monkeypatch.setattr(online_columns, "_CELLS_AT_ONCE", n_cells)
    check_models_are_equal(small(name, positive_label="fraud").partial_fit(frame, three), whole)


@pytest.mark.parametrize("kind", ["array", "arrow", "pandas"])
def test_learning_and_scoring_need_at_most_twice_the_memory_of_the_rows(kind, monkeypatch):
    monkeypatch.setattr(online_columns, "_CELLS_AT_ONCE", 2**15)
    matrix = np.random.default_rng(0).normal(size=(10_000, 30)).astype(np.float32)
    is_positive = matrix[:, 0] > 1
    X = matrix if kind == "array" else pd.DataFrame(matrix).add_prefix("x")
    X = pa.table(X) if kind == "arrow" else X
    learner = small("OnlineNonLinearBoost").partial_fit(X[:10], is_positive[:10])
    for work in (lambda: learner.partial_fit(X, is_positive), lambda: learner.suspicion(X)):
        tracemalloc.start()
        work()
        added = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 0 < added <= 2 * matrix.nbytes


@EVERY_BOOSTER
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract(booster):
    stepped = {
        "check_sample_weight_equivalence_on_dense_data": (
            "a row of weight 2 is one longer step, not two"
        )
    }
    outcomes = check_estimator(booster, expected_failed_checks=stepped, on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 2  # that one, and array API input where not enabled


OWN_PARAMETERS = {
    "AdaBoostOL": {},
    "AdaBoostOLW": {},
    "OnlineBBM": {"edge": 0.1},
    "OnlineGradientBoost": {"step": 1.0},
    "StreamBoost": {"step": 1.0},
    "OnlineLinearBoost": {"n_learners": 10, "update": "residual", "loss": "log"},
    "OnlineNonLinearBoost": {
        "n_learners": 10,
        "n_latents": 10,
        "update": "full",
        "loss": "log",
        "wide": False,
    },
}


@pytest.mark.parametrize("name", OWN_PARAMETERS)
def test_the_signature_names_every_parameter_with_its_default(name):
    kind = getattr(toprank, name)
    shared = {"n_learners": 20, "width": 2, "learning_rate": 0.1, "class_weight": None}
    shared |= {"averaged": False, "n_buckets": 4096, "positive_label": None, "random_state": 0}
    parameters = inspect.signature(kind).parameters

    found = {each.name: each.default for each in parameters.values()}
    assert found == shared | OWN_PARAMETERS[name] == kind().get_params()
    positional = [each.name for each in parameters.values() if each.kind != each.KEYWORD_ONLY]
    assert positional == [each for each in ("n_learners", "n_latents") if each in found]


@EVERY_BOOSTER
def test_probabilities_rise_with_suspicion_and_sum_to_1(booster):
    frame, is_fraud = payments()
    for settings in ({}, {"class_weight": "balanced"}, {"averaged": True}):
        learner = clone(booster).set_params(**settings).fit(frame, is_fraud)
        order = np.argsort(learner.suspicion(frame), kind="stable")
        probability = learner.probability(frame)
        assert (np.diff(probability[order]) >= 0).all()
        assert probability[order][-1] > probability[order][0]
        by_class = learner.predict_proba(frame)
        assert_allclose(by_class.sum(axis=1), 1)
        assert_array_equal(by_class[:, 1], probability)
        decides = learner.suspicion(frame) if "class_weight" in settings else probability - 0.5
        assert_array_equal(learner.predict(frame), decides > 0)
        at_odds = expit(learner.decision_function(frame))
        assert_allclose(at_odds, probability, rtol=1e-6)


@EVERY_BOOSTER
def test_another_seed_gives_another_model(booster):
    frame, is_fraud = payments()
    one, other = (clone(booster).set_params(random_state=seed) for seed in (0, 1))
    one, other = one.fit(frame, is_fraud), other.fit(frame, is_fraud)
    assert not np.array_equal(one.suspicion(frame), other.suspicion(frame))


@EVERY_BOOSTER
def test_fit_forgets_what_was_learned(booster):
    frame, is_fraud = payments(60)
    learner = clone(booster).fit(np.ones((20, 9)), np.arange(20) % 2)
    check_models_are_equal(learner.fit(frame, is_fraud), clone(booster).fit(frame, is_fraud))


@EVERY_BOOSTER
def test_a_model_learned_from_an_array_takes_numbered_rows(booster):
    X, y = two_blobs(40)
    learner = clone(booster).fit(X, y)
    one_by_one = clone(booster)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        one_by_one.learn_one(dict(enumerate(x)), label)
    expected = learner.suspicion(X)
    assert_array_equal([one_by_one.score_one(dict(enumerate(x))) for x in X.tolist()], expected)
    assert_array_equal(
        [learner.score_one({"x0": x[0], **dict(enumerate(x))}) for x in X.tolist()], expected
    )


# What they learn


@pytest.mark.parametrize("booster", VARIED, ids=str)
def test_every_booster_learns_an_easy_stream(booster):
    X, y = two_blobs()
    before = clone(booster).set_params(n_learners=10).score_then_learn(X, y)
    assert average_precision(y[200:], before[200:]) > 0.75  # by chance 0.3
    assert roc_auc(y[200:], before[200:]) > 0.9


@EVERY_BOOSTER
def test_categories_and_gaps_are_learned_from(booster):
    random = np.random.default_rng(0)
    is_fraud = random.random(600) < 0.3
    by_text = np.where(is_fraud, "XX", random.choice(["FR", "DE"], 600)).astype(object)
    by_gap = np.where(is_fraud, np.nan, 1.0)
    for signal in (by_text, by_gap):
        frame = pd.DataFrame({"noise": random.normal(size=600), "signal": signal})
        before = clone(booster).score_then_learn(frame, is_fraud)
        assert roc_auc(is_fraud[300:], before[300:]) > 0.95


@pytest.mark.parametrize(
    "booster",
    [
        *(small("OnlineNonLinearBoost", n_learners=10, update=way) for way in ("full", "prefix")),
        small("OnlineNonLinearBoost", n_learners=10, update="residual"),
        small("OnlineLinearBoost", n_learners=10, update="full", width=4),
    ],
    ids=str,
)
def test_what_no_line_can_separate_is_learned(booster):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (3000, 2))
    y = X[:, 0] * X[:, 1] > 0
    before = booster.score_then_learn(X, y)
    by_line = LogisticRegression().fit(X[:2000], y[:2000]).decision_function(X[2000:])
    assert roc_auc(y[2000:], by_line) < 0.6
    assert roc_auc(y[2000:], before[2000:]) > 0.9


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineLinearBoost"])
@pytest.mark.parametrize("update", ["residual", "prefix", "full"])
def test_several_classes_are_distinguished(name, update):
    X, y = three_blobs()
    learner = small(name, update=update, positive_label=2).fit(X[:600], y[:600])
    assert np.mean(learner.predict(X[600:]) == y[600:]) > 0.95
    by_class = learner.predict_proba(X)
    assert by_class.shape == (900, 3)
    assert_allclose(by_class.sum(axis=1), 1)
    raw = learner._raw(X)
    places = [learner.model_.classes.place(label) for label in (0, 1, 2)]
    by_place = softmax(np.column_stack([np.zeros(len(X)), raw]), axis=1)
    assert_allclose(by_class, by_place[:, places])
    # suspicion is the log-odds of the positive class
    assert_allclose(expit(learner.suspicion(X)), by_class[:, 2], rtol=1e-9)
    assert roc_auc(y == 2, learner.suspicion(X)) > 0.99


def test_a_class_is_added_at_the_row_where_it_first_appears():
    X, y = three_blobs(40)
    y = np.where(np.arange(40) < 25, y % 2, y)
    y[25] = 2
    learner = small("OnlineNonLinearBoost", positive_label=1)
    learner.partial_fit(X[:25], y[:25])
    assert learner.model_.shape.n_outputs == 1
    assert learner.classes_.tolist() == [0, 1]
    learner.partial_fit(X[25:], y[25:])
    assert learner.model_.shape.n_outputs == 2
    assert learner.classes_.tolist() == [0, 1, 2]
    check_models_are_equal(
        small("OnlineNonLinearBoost", positive_label=1).partial_fit(X, y), learner
    )


def test_classes_may_be_named_before_they_appear(tmp_path):
    X, y = two_blobs(50)
    learner = small("OnlineNonLinearBoost", positive_label=1).partial_fit(X, y, classes=[0, 1, 2])
    assert learner.classes_.tolist() == [0, 1, 2]
    by_class = learner.predict_proba(X)
    assert by_class.shape == (50, 3)
    assert_allclose(by_class.sum(axis=1), 1)
    save(learner, tmp_path / "classes.toprank")
    assert_array_equal(load(tmp_path / "classes.toprank").predict_proba(X), by_class)


def test_balanced_classes_find_the_rare_one():
    random = np.random.default_rng(0)
    y = random.random(10_000) < 0.05
    X = random.normal(size=(10_000, 2)) + 1.0 * y[:, None]
    balanced = small("OnlineNonLinearBoost", class_weight="balanced").fit(X, y)
    plain = small("OnlineNonLinearBoost").fit(X, y)
    assert np.mean(balanced.suspicion(X) > 0) > 0.2 > 0.02 > np.mean(plain.suspicion(X) > 0)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineBBM"])
@pytest.mark.parametrize("weights", ["balanced", {True: 19.0}], ids=str)
def test_class_weights_do_not_change_calibrated_probabilities(name, weights):
    random = np.random.default_rng(0)
    y = random.random(10_000) < 0.05
    X = random.normal(size=(10_000, 2)) + 1.0 * y[:, None]
    learner = small(name, n_learners=10, class_weight=weights).fit(X, y)
    assert np.mean(learner.probability(X)) == approx(0.05, abs=0.05)


def test_a_late_first_positive_does_not_outweigh_all_others():
    random = np.random.default_rng(0)
    y = (random.random(12_000) < 0.03) & (np.arange(12_000) > 6_000)
    X = random.normal(size=(12_000, 4)) + y[:, None] * [1.5, 1.0, 0.0, 0.0]
    late = slice(9_000, None)
    found = {}
    for weight in (None, "balanced"):
        booster = small("OnlineNonLinearBoost", class_weight=weight)
        found[weight] = average_precision(y[late], booster.score_then_learn(X, y)[late])
    assert found["balanced"] > 0.6 * found[None]


def test_class_weights_given_are_weights_of_rows():
    frame, is_fraud = payments(80)
    weighted = small("OnlineLinearBoost", class_weight={True: 3.0, False: 0.5})
    by_row = small("OnlineLinearBoost").fit(
        frame, is_fraud, sample_weight=np.where(is_fraud, 3.0, 0.5)
    )
    assert_array_equal(weighted.fit(frame, is_fraud).suspicion(frame), by_row.suspicion(frame))
    one_by_one = clone(weighted)
    for x, y in zip(*made_rows(80), strict=True):
        one_by_one.learn_one(x, y)
    check_models_are_equal(one_by_one, clone(weighted).partial_fit(frame, is_fraud))


def test_a_late_class_may_have_a_weight():
    rows, labels = made_rows()
    three = ["fraud" if label else "genuine" for label in labels]
    three[25:40:3] = ["doubtful"] * 5
    weights = {"doubtful": 2.0, "fraud": 3.0}
    booster = small("OnlineNonLinearBoost", positive_label="fraud", class_weight=weights)
    at_once = clone(booster).partial_fit(frame_of(rows), three)
    check_models_are_equal(at_once, learned(booster, rows, three))


def test_rows_of_a_class_with_zero_weight_are_ignored():
    rows, labels = made_rows(30)
    booster = small("OnlineLinearBoost", class_weight={False: 0})
    one_by_one = learned(booster, rows, labels)
    at_once = clone(booster).partial_fit(frame_of(rows), np.array(labels))
    assert one_by_one.model_.n_rows == at_once.model_.n_rows == sum(labels)


def test_scores_match_their_rows_if_some_have_zero_weight():
    rows, labels = made_rows(20)
    weights = np.arange(20) % 3
    one_by_one, expected = small("StreamBoost"), []
    one_by_one.encode_one(dict.fromkeys(rows[0]))
    for x, y, weight in zip(rows, labels, weights.tolist(), strict=True):
        expected.append(one_by_one.score_one(x))
        one_by_one.learn_one(x, y, weight)
    found = small("StreamBoost").score_then_learn(
        frame_of(rows), np.array(labels), sample_weight=weights
    )
    assert_array_equal(found, expected)


def test_heavier_rows_move_the_model_further():
    rows, labels = made_rows(30)
    light, heavy = small("StreamBoost"), small("StreamBoost")
    for x, y in zip(rows, labels, strict=True):
        light.learn_one(x, y)
        heavy.learn_one(x, y, weight=5.0 if y else 1.0)
    assert np.mean([heavy.score_one(x) for x in rows]) > np.mean(
        [light.score_one(x) for x in rows]
    )


def test_average_precision_as_the_loss_keeps_calibrated_probabilities():
    X, y = two_blobs(1500)
    learner = small("OnlineNonLinearBoost", loss="ap").fit(X, y)
    assert np.mean(learner.probability(X)) == approx(y.mean(), abs=0.05)


@pytest.mark.parametrize("name", VOTING)
def test_votes_become_probabilities(name):
    X, y = two_blobs(1500)
    learner = small(name, n_learners=10).fit(X, y)
    assert np.mean(learner.probability(X)) == approx(y.mean(), abs=0.08)
    assert learner.probability(X)[y == 1].mean() > 2 * learner.probability(X)[y == 0].mean()


def test_averaged_weights_score_with_less_noise():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3))
    y = random.random(3000) < expit(2 * X[:, 0])
    losses = []
    for averaged in (False, True):
        learner = small("OnlineNonLinearBoost", averaged=averaged, learning_rate=0.5)
        raw = learner.score_then_learn(X, y)[1000:]
        losses.append(np.mean(np.logaddexp(0, np.where(y[1000:], -raw, raw))))
    assert losses[1] < losses[0]


# Late columns


@EVERY_BOOSTER
def test_a_column_may_appear_at_any_row(booster):
    rows, labels = made_rows()
    learner = clone(booster)
    for number, (x, y) in enumerate(zip(rows, labels, strict=True)):
        learner.learn_one({name: x[name] for name in list(x)[: 1 + number // 10]}, y)
    assert learner.feature_names_in_.tolist() == list(rows[0])
    assert learner.n_features_in_ == 4
    assert learner.score_one({"amount": 1.0}) == learner.score_one(
        {"country": None, "amount": 1.0, "hour": None}
    )


@EVERY_BOOSTER
def test_a_row_encoded_before_a_column_appeared_has_a_gap_there(booster):
    rows, labels = made_rows()
    learner = learned(booster, rows[:20], labels[:20])
    pending = learner.encode_one(rows[20])
    learner.learn_one({**rows[21], "late": "text", "later": 3.5}, labels[21])
    assert learner.score_encoded(pending) == learner.score_one(rows[20])
    now = learned(booster, rows[:20], labels[:20])
    now.learn_one({**rows[21], "late": "text", "later": 3.5}, labels[21])
    now.learn_one(rows[20], labels[20])
    learner.learn_encoded(pending, labels[20])
    check_models_are_equal(learner, now)


@EVERY_BOOSTER
def test_a_row_without_columns_is_learned(booster):
    learner = clone(booster)
    for label in (1, 0, 1):
        learner.learn_one({}, label)
    assert np.isfinite(learner.score_one({}))
    learner.learn_one({"amount": 1.0}, 1)
    assert learner.score_one({}) == learner.score_one({"amount": None})


# The model's tools


@EVERY_BOOSTER
def test_a_raised_rate_makes_the_next_steps_larger(booster):
    rows, labels = made_rows()
    moves = []
    for times in (1.0, 3.0):
        learner = learned(booster, rows, labels)
        learner.model_.raise_rate(times)
        before = learner.model_.weights.units.copy()
        for x, y in zip(*made_rows(10, seed=1), strict=True):
            learner.learn_one(x, y)
        moves.append(np.abs(learner.model_.weights.units - before).sum())
    assert moves[1] > 1.2 * moves[0]


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost", "OnlineLinearBoost", "StreamBoost"])
def test_the_learner_that_does_most_harm_is_renewed(name):
    learner = clone(fitted(name)).fit(*payments())
    frame, is_fraud = payments()
    model, rows = learner.model_, learner._encoded(frame)
    places = is_fraud.astype(int)
    # a learner that says the opposite of the truth to every row
    own = slice(2 * model.shape.width, 3 * model.shape.width)
    model.weights.units[:, own] *= -9
    raw = model.raw(rows)[:, 0]
    assert model.log_loss(rows, places) == approx(
        np.mean(np.logaddexp(0, np.where(is_fraud, -raw, raw)))
    )
    without = [model.log_loss(rows, places, t) for t in range(4)]
    before = model.weights.units.copy()
    assert model.renew_worst(rows, places) == np.argmin(without)
    changed = np.flatnonzero((model.weights.units != before).any(axis=0))
    worst = int(np.argmin(without)) * model.shape.width
    assert changed.tolist() == list(range(worst, worst + model.shape.width))
    assert model.n_renewed == 1


def test_the_log_loss_of_several_classes_is_that_of_the_softmax():
    X, y = three_blobs(100)
    learner = small("OnlineNonLinearBoost").fit(X, y)
    places = learner.model_.classes.places_of(y.tolist())
    by_class = np.column_stack([np.zeros(100), learner._raw(X)])
    expected = np.mean(logsumexp(by_class, axis=1) - by_class[np.arange(100), places])
    assert learner.model_.log_loss(learner._encoded(X), places) == approx(expected)


@pytest.mark.parametrize("averaged", [False, True])
def test_latents_and_the_constant_add_up_to_the_score(averaged):
    frame, is_fraud = payments()
    settings = {"n_latents": 6, "wide": False}  # a wide part would add to the score as well
    learner = small("OnlineNonLinearBoost", **settings, averaged=averaged).fit(frame, is_fraud)
    latents = learner.latents(frame)
    assert latents.shape == (300, 6)
    rest = learner.suspicion(frame) - latents.sum(axis=1)
    assert np.ptp(rest) < 1e-9
    assert learner.projections().shape == (4, 6)
    X, y = three_blobs(60)
    several = small("OnlineNonLinearBoost", **settings).fit(X, y)
    assert several.latents(X).shape == (60, 6, 2)
    assert several.projections().shape == (4, 6, 2)
    rest = several._raw(X) - several.latents(X).sum(axis=1)
    assert np.ptp(rest, axis=0).max() < 1e-9


# What is rejected


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("OnlineBBM", {"n_learners": 0}, "n_learners must be between 1 and 10000; got 0"),
        ("OnlineBBM", {"width": 0}, "width must be between 1 and 10000; got 0"),
        ("OnlineBBM", {"n_buckets": 0}, "n_buckets must be between 1 and"),
        ("OnlineBBM", {"learning_rate": 0}, "learning_rate must be greater than 0"),
        ("OnlineBBM", {"learning_rate": np.nan}, "learning_rate must be greater than 0"),
        ("OnlineBBM", {"edge": 0}, "edge must be greater than 0 and at most 0.999; got 0"),
        ("OnlineBBM", {"edge": 1}, "edge must be greater than 0 and at most 0.999; got 1"),
        ("StreamBoost", {"step": 0}, "step must be greater than 0 and at most 100; got 0"),
        ("OnlineGradientBoost", {"step": 2}, "step must be greater than 0 and at most 1; got 2"),
        ("OnlineNonLinearBoost", {"n_latents": 0}, "n_latents must be between 1 and 10000"),
        ("OnlineNonLinearBoost", {"update": "all"}, "update must be one of 'residual', 'prefix'"),
        ("OnlineLinearBoost", {"update": "all"}, "update must be one of 'residual', 'prefix'"),
        ("OnlineNonLinearBoost", {"loss": "auc"}, "loss must be one of 'log', 'ap'; got 'auc'"),
        ("AdaBoostOL", {"class_weight": "even"}, "class_weight must be None, 'balanced' or a"),
        ("AdaBoostOL", {"class_weight": 2}, "class_weight must be None, 'balanced' or a dict"),
        ("AdaBoostOL", {"class_weight": {1: -1}}, "class_weight of 1 must be at least 0; got -1"),
        (
            "AdaBoostOLW",
            {"n_learners": 10_000, "n_buckets": 2**24},
            "n_learners, width, .* at most 134,217,728 weights; got 335,544,410,000",
        ),
    ],
    ids=str,
)
def test_invalid_settings_are_rejected_when_learning_begins(name, settings, sentence):
    booster = small(name, **settings)
    with pytest.raises(ValueError, match=f"^{sentence}"):
        booster.learn_one({"amount": 1.0}, 1)
    with pytest.raises(ValueError, match=f"^{sentence}"):
        clone(booster).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("setting", ["n_learners", "width", "n_buckets", "learning_rate"])
def test_settings_of_the_wrong_type_are_rejected(setting):
    with pytest.raises(TypeError, match=f"^{setting} must be a (whole )?number; got 'many'"):
        small("StreamBoost", **{setting: "many"}).learn_one({"amount": 1.0}, 1)


@EVERY_BOOSTER
def test_a_row_must_be_a_mapping(booster):
    learner = clone(booster)
    for method in (learner.encode_one, lambda x: learner.learn_one(x, 1)):
        with pytest.raises(
            TypeError,
            match=r"^a row must be a mapping of column names to values; got list; score and learn",
        ):
            method([1.0, 2.0])


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_a_negative_or_infinite_weight_is_rejected(weight):
    learner = learned(small("StreamBoost"), *made_rows(5))
    before = learner.model_.weights.head.copy()
    with pytest.raises(ValueError, match=r"^weight must be"):
        learner.learn_one({"amount": 1.0}, True, weight=weight)
    assert_array_equal(learner.model_.weights.head, before)


@pytest.mark.parametrize("name", NAMES[2:])
def test_a_booster_of_two_classes_rejects_a_third(name):
    X, y = three_blobs(30)
    learner = small(name)
    with pytest.raises(ValueError, match=r"^labels must be of 2 classes; got 2 .*0 and 1"):
        learner.partial_fit(X, np.sort(y))
    with pytest.raises(ValueError, match=r"^Only binary classification is supported"):
        learner.fit(X, y)


def test_average_precision_as_the_loss_takes_two_classes():
    X, y = three_blobs(30)
    with pytest.raises(ValueError, match=r"labels must be of 2 classes"):
        small("OnlineNonLinearBoost", loss="ap").partial_fit(X, np.sort(y))


@EVERY_BOOSTER
def test_a_batch_with_an_invalid_label_is_not_learned(booster):
    learner = clone(booster).partial_fit(np.ones((4, 1)), [0, 0, 0, 0])
    before = {name: array.copy() for name, array in learner.model_.arrays().items()}
    with pytest.raises(ValueError, match=r"labels must be all text or all numbers"):
        learner.partial_fit(np.ones((2, 1)), np.array([1, "a"], dtype=object))
    with pytest.raises(ValueError, match=r"labels must be all text or all numbers"):
        learner.learn_one({"x0": 2.0}, "a")
    assert learner.classes_.tolist() == [0]
    for name, array in learner.model_.arrays().items():
        assert_array_equal(array, before[name], err_msg=name)


@EVERY_BOOSTER
def test_fit_needs_two_classes(booster):
    with pytest.raises(ValueError, match=r"^y must contain two classes; got one class, 1"):
        clone(booster).fit([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match=r"requires y to be passed, but the target y is None"):
        clone(booster).fit([[1.0], [2.0]], None)


@EVERY_BOOSTER
def test_an_unfitted_booster_scores_no_table(booster):
    for method in ("suspicion", "probability", "predict_proba", "predict"):
        with pytest.raises(NotFittedError):
            getattr(clone(booster), method)([[1.0]])
    with pytest.raises(NotFittedError):
        _ = clone(booster).classes_


def test_text_labels_without_a_positive_one_have_no_suspicion():
    rows, labels = made_rows()
    texts = ["stolen" if label else "fine" for label in labels]
    learner = learned(small("OnlineNonLinearBoost"), rows, texts)
    assert set(learner.probabilities_one(rows[0])) == {"stolen", "fine"}
    assert learner.predict(frame_of(rows)).tolist().count("stolen") > 5
    sentence = r"positive label must be named .*\['fine', 'stolen'\]"
    with pytest.raises(ValueError, match=sentence):
        learner.score_one(rows[0])
    with pytest.raises(ValueError, match=sentence):
        learner.suspicion(frame_of(rows))


def test_rows_are_not_learned_if_the_positive_label_is_unknown():
    rows, labels = made_rows()
    texts = np.where(labels, "stolen", "fine")
    learner = small("OnlineNonLinearBoost")
    with pytest.raises(ValueError, match=r"positive label must be named"):
        learner.score_then_learn(frame_of(rows), texts)
    assert learner.model_.n_rows == 0


@pytest.mark.parametrize("amount", [1e308, -1e101, np.inf])
def test_numbers_too_large_to_square_are_rejected(amount):
    learner = small("StreamBoost")
    learner.learn_one({"amount": 5.0}, 0)
    before = copy.deepcopy(learner)
    with pytest.raises(ValueError, match=r"'amount' must be finite numbers below 1e\+100"):
        learner.learn_one({"amount": amount}, 1)
    with pytest.raises(ValueError, match=r"'amount' must be finite numbers below 1e\+100"):
        learner.partial_fit(pd.DataFrame({"amount": [1.0, amount]}), [0, 1])
    check_models_are_equal(learner, before)


@pytest.mark.parametrize("large", [1e101, np.inf])
def test_a_rejected_number_in_the_last_block_leaves_all_rows_unlearned(large, monkeypatch):
    monkeypatch.setattr(online_columns, "_CELLS_AT_ONCE", 2)
    numbers = np.append(np.arange(8.0), large)[:, None]
    labels = np.arange(9) % 2
    for X in (numbers, pd.DataFrame(numbers, columns=["amount"])):
        learner = small("StreamBoost").partial_fit(X[:4], labels[:4])
        before = copy.deepcopy(learner)
        with pytest.raises(ValueError, match=r"finite numbers|infinity"):
            learner.partial_fit(X, labels)
        check_models_are_equal(learner, before)


# Why


@EVERY_BOOSTER
def test_effects_are_what_the_score_would_lose_without_each_column(booster):
    frame, is_fraud = payments()
    learner = clone(booster).fit(frame, is_fraud)
    row = frame.iloc[3].to_dict()
    before = copy.deepcopy(learner)
    effects = learner.effects_one(row)
    check_models_are_equal(learner, before)
    assert list(effects) == list(frame.columns)
    rows = learner.model_.columns.encode_one(row)
    for place, effect in enumerate(effects.values()):
        without = rows.take(slice(None))
        without = type(rows)(without.values.copy(), without.buckets.copy())
        without.values[0, place], without.buckets[0, place] = np.nan, -1
        assert effect == approx(learner.score_one(row) - learner.score_encoded(without))


def test_the_column_that_makes_a_row_suspicious_has_the_largest_effect():
    learner = small("OnlineNonLinearBoost")
    random = np.random.default_rng(0)
    for _ in range(400):
        is_fraud = random.random() < 0.3
        row = {"hour": random.normal(), "kind": "ab"[int(random.random() < 0.5)]}
        learner.learn_one({**row, "amount": random.normal(9 if is_fraud else 0)}, is_fraud)
    effects = learner.effects_one({"hour": 0.1, "kind": "a", "amount": 9.0})
    assert max(effects, key=effects.get) == "amount"
    assert effects["amount"] > 1
    assert small("OnlineNonLinearBoost").effects_one({"amount": 9.0}) == {}


# Files


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def path(name, tmp_path):
    save(fitted(name), tmp_path / "payments.toprank")
    return tmp_path / "payments.toprank"


def test_a_loaded_booster_is_the_saved_one(name, path):
    frame = payments()[0]
    loaded = load(path)
    check_models_are_equal(loaded, fitted(name))
    assert loaded.get_params() == fitted(name).get_params()
    assert_array_equal(loaded.predict_proba(frame), fitted(name).predict_proba(frame))
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()


def test_a_booster_of_an_array_is_restored_as_one(name, tmp_path):
    X, y = two_blobs(50)
    learner = small(name).fit(X, np.where(y, "a", "b"))
    save(learner, tmp_path / "array.toprank")
    loaded = load(tmp_path / "array.toprank")
    assert_array_equal(loaded.suspicion(X), learner.suspicion(X))
    assert not hasattr(loaded, "feature_names_in_")
    assert loaded.n_features_in_ == 4
    check_models_are_equal(
        loaded.partial_fit(X, np.where(y, "a", "b")), learner.partial_fit(X, np.where(y, "a", "b"))
    )


def test_a_memory_mapped_booster_still_learns(tmp_path):
    X, y = two_blobs(50)
    learner = small("OnlineNonLinearBoost").fit(X, y)
    joblib.dump(learner, tmp_path / "mapped.joblib")
    mapped = joblib.load(tmp_path / "mapped.joblib", mmap_mode="r")
    check_models_are_equal(mapped.partial_fit(X, y), learner.partial_fit(X, y))


def test_class_weights_are_restored(tmp_path):
    rows, labels = made_rows()
    learner = learned(small("StreamBoost", class_weight={True: 5.0}), rows, labels)
    save(learner, tmp_path / "weighted.toprank")
    loaded = load(tmp_path / "weighted.toprank")
    assert loaded.class_weight == {True: 5.0}
    loaded.learn_one(rows[1], True)
    learner.learn_one(rows[1], True)
    check_models_are_equal(loaded, learner)


def test_a_restored_booster_continues_renewing_learners(tmp_path):
    rows, labels = made_rows()
    learner = learned(small("StreamBoost"), rows, labels)
    encoded = learner._encoded(frame_of(rows))
    places = np.array(labels, dtype=int)
    learner.model_.renew_worst(encoded, places)
    save(learner, tmp_path / "renewed.toprank")
    loaded = load(tmp_path / "renewed.toprank")
    for each in (loaded, learner):
        each.model_.renew_worst(encoded, places)
    check_models_are_equal(loaded, learner)


def spoiled(value):
    def change(array):
        array.flat[-1] = value
        return array

    return change


def with_array(path, name, change):
    def change_member(manifest, members):
        array = np.load(io.BytesIO(members[f"{name}.npy"])).copy()
        members[f"{name}.npy"] = npy_of(change(array))

    rewrite(path, change_member)


FLOATS = [
    *("units", "units_squares", "units_past", "head", "head_squares", "head_past"),
    *("n_values", "mean", "spread", "rows", "averaging", "ranked", "calibration"),
]


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost"], indirect=True)
@pytest.mark.parametrize("array", FLOATS)
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (spoiled(np.nan), "must contain finite numbers"),
        (spoiled(-np.inf), "must contain finite numbers"),
        (lambda array: array[..., :-1], "must be float64 of sizes"),
        (lambda array: array[None], "must be float64 of sizes"),
        (lambda array: array.astype(np.float32), "must be float64 of sizes"),
        (lambda array: array.astype(">f8"), "must be float64 of sizes"),
        (lambda array: array.astype(str), "must be float64 of sizes"),
        (lambda array: np.zeros(array.shape, dtype=np.int64), "must be float64 of sizes"),
    ],
    ids=["nan", "infinite", "short", "deep", "float32", "turned", "text", "whole"],
)
def test_arrays_that_do_not_fit_are_rejected(array, odd, reason, path):
    with_array(path, array, odd)
    with refused(f"its contents do not make a OnlineNonLinearBoost: {array} {reason}"):
        load(path)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost"], indirect=True)
@pytest.mark.parametrize(
    "array", ["units_squares", "head_squares", "n_values", "spread", "rows", "averaging", "ranked"]
)
def test_counts_and_squares_below_0_are_rejected(array, path):
    with_array(path, array, spoiled(-1.0))
    with refused(f"{array} must not be negative"):
        load(path)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost"], indirect=True)
@pytest.mark.parametrize(
    "calibration", [[0, 0, 1, 1], [-1, 0, 1, 1], [1, 0, -1, 1], [1, 0, 1, -1]]
)
def test_a_falling_calibration_is_rejected(calibration, path):
    with_array(path, "calibration", lambda array: np.array(calibration, dtype=float))
    with refused("calibration must have a positive slope"):
        load(path)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost"], indirect=True)
@pytest.mark.parametrize("array", [*FLOATS, "is_flag"])
def test_a_missing_array_is_rejected(array, path):
    def change(manifest, members):
        del members[f"{array}.npy"]

    rewrite(path, change)
    with refused("its contents do not make a OnlineNonLinearBoost"):
        load(path)


@pytest.mark.parametrize("name", ["OnlineNonLinearBoost"], indirect=True)
@pytest.mark.parametrize("change", [lambda a: a.astype(float), lambda a: a[1:]])
def test_flags_of_the_wrong_type_or_size_are_rejected(change, path):
    with_array(path, "is_flag", change)
    with refused("is_flag must be bool of sizes"):
        load(path)


@pytest.mark.parametrize("name", ["AdaBoostOL"], indirect=True)
@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("parameters", "n_learners", 5),
        ("parameters", "n_learners", 0),
        ("parameters", "n_learners", 10**9),
        ("parameters", "width", 3),
        ("parameters", "n_buckets", 2**24),
        ("parameters", "n_buckets", 33),
        ("parameters", "learning_rate", -1),
        ("parameters", "learning_rate", "fast"),
        ("parameters", "class_weight", "even"),
        ("parameters", "more", 1),
        ("state", "columns", ["amount"]),
        ("state", "columns", ["amount", "amount", "country", "hour"]),
        ("state", "columns", ["amount", 3, "country", "hour"]),
        ("state", "columns", "abcd"),
        ("state", "columns", None),
        ("state", "classes", [[False, 0], [True, 0]]),
        ("state", "classes", [[False, 1], [True, 0]]),
        ("state", "classes", [[True, 0]]),
        ("state", "classes", [["a", 0], [1, 1]]),
        ("state", "classes", [[None, 0]]),
        ("state", "classes", [0, 1]),
        ("state", "classes", None),
        ("state", "scale", 0),
        ("state", "scale", -1.0),
        ("state", "scale", 1e9),
        ("state", "scale", {"$float": "nan"}),
        ("state", "scale", None),
        ("state", "seed", -1),
        ("state", "seed", 2**31),
        ("state", "seed", 1.5),
        ("state", "n_renewed", -1),
        ("state", "n_renewed", None),
    ],
    ids=str,
)
def test_invalid_settings_in_a_file_are_rejected(name, part, key, value, path):
    def change(manifest, members):
        manifest[part][key] = value

    rewrite(path, change)
    with refused(f"its contents do not make a {name}"):
        load(path)


@pytest.mark.parametrize("name", ["AdaBoostOLW"], indirect=True)
@pytest.mark.parametrize(
    "key", ["columns", "classes", "positive", "scale", "seed", "n_renewed", "named_columns"]
)
def test_an_incomplete_state_is_rejected(key, path):
    def change(manifest, members):
        del manifest["state"][key]

    rewrite(path, change)
    with refused("its contents do not make a AdaBoostOLW"):
        load(path)


def test_a_booster_too_large_is_rejected_before_it_takes_memory(monkeypatch):
    monkeypatch.setattr(online_model, "_MOST_WEIGHTS", 500)
    learner = small("StreamBoost")
    learner.learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match=r"n_buckets .*at most 500 weights"):
        learner.learn_one({f"column {j}": 1.0 for j in range(40)}, 1)
    assert learner.model_.columns.names == ["a"]
    learner.learn_one({"a": 2.0}, 0)

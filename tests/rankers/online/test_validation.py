from copy import deepcopy
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank import AdaBoostOL, OnlineNonLinearBoost, metrics
from toprank.rankers.online.drift import DriftWatch
from toprank.rankers.online.validation import progressive_validation
from toprank.rankers.online.windows import Window

pytestmark = pytest.mark.kernel

LEARNERS = {
    "log-odds": OnlineNonLinearBoost(n_learners=2, n_latents=2, n_buckets=8),
    "calibrated": AdaBoostOL(n_learners=2, n_buckets=8),
    "balanced": OnlineNonLinearBoost(2, 2, n_buckets=8, class_weight="balanced"),
    "weighted": OnlineNonLinearBoost(2, 2, n_buckets=8, class_weight={True: 3.0}),
}


@st.composite
def streams(draw, max_rows=25):
    """A table of numbers and text with gaps, and labels."""
    n = draw(st.integers(1, max_rows))
    amounts = st.one_of(st.none(), st.floats(-9, 9, width=16))
    countries = st.sampled_from([None, "FR", "US", "JP"])
    table = pa.table(
        {
            "amount": pa.array(draw(st.lists(amounts, min_size=n, max_size=n)), pa.float64()),
            "country": pa.array(draw(st.lists(countries, min_size=n, max_size=n)), pa.string()),
        }
    )
    return table, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def new_learner():
    return deepcopy(LEARNERS["log-odds"])


def one_by_one(learner, table, labels, is_due):
    """Scores and probabilities of rows, each taken after the labels that were due by then."""
    rows = table.to_pylist()
    scores, probabilities, n_learned = [], [], 0
    for i, row in enumerate(rows):
        while n_learned < i and is_due(n_learned, i):
            learner.learn_one(rows[n_learned], labels[n_learned])
            n_learned += 1
        scores.append(learner.score_one(row))
        probabilities.append(learner.probability_one(row))
    for row, label in list(zip(rows, labels, strict=True))[n_learned:]:
        learner.learn_one(row, label)
    return np.array(scores), np.array(probabilities)


def assert_same_weights(first, second):
    for name, array in first.model_.arrays().items():
        assert np.array_equal(array, second.model_.arrays()[name]), name


def check_against_one_by_one(learner, table, labels, is_due, **options):
    slow, fast = deepcopy(learner), deepcopy(learner)
    scores, probabilities = one_by_one(slow, table, labels, is_due)
    validation = progressive_validation(fast, table, labels, window=10, budget=2, **options)

    assert np.array_equal(validation.suspicion, scores)
    of_label = np.where(labels, probabilities, 1 - probabilities)
    assert validation.log_loss == approx(-np.log(of_label).mean())
    assert_same_weights(fast, slow)


@pytest.mark.parametrize("name", LEARNERS)
@examples(15)
@given(stream=streams(), delay=st.integers(0, 30))
def test_a_delay_in_rows_gives_the_scores_of_the_obvious_loop(name, stream, delay):
    check_against_one_by_one(LEARNERS[name], *stream, lambda j, i: j + delay < i, delay=delay)


@pytest.mark.parametrize("name", LEARNERS)
@examples(15)
@given(stream=streams(), delay=st.sampled_from([0, 0.1, 0.3, 2, 50]), data=st.data())
def test_a_delay_in_time_gives_the_scores_of_the_obvious_loop(name, stream, delay, data):
    n = len(stream[1])
    steps = data.draw(st.lists(st.sampled_from([0, 0.1, 0.2, 1]), min_size=n, max_size=n))
    times = np.cumsum(steps)

    def is_due(j, i):
        return times[j] + delay <= times[i]

    check_against_one_by_one(LEARNERS[name], *stream, is_due, times=times, delay=delay)


@pytest.mark.parametrize("class_weight", [None, {False: 0.0}, {True: 2.0}])
def test_late_labels_leave_the_model_that_learns_the_rows_in_their_order(class_weight):
    table, labels = made_table(40)
    late, at_once = (new_learner().set_params(class_weight=class_weight) for _ in range(2))
    progressive_validation(late, table, labels, delay=6)

    assert_same_weights(late, at_once.partial_fit(table, labels))


def test_validation_continues_from_what_a_learner_has_learned():
    table, labels = made_table(40)
    learner = new_learner()
    one_by_one(learner, table[:20], labels[:20], lambda j, i: True)

    check_against_one_by_one(learner, table[20:], labels[20:], lambda j, i: j + 3 < i, delay=3)


def made_table(n_rows, seed=0):
    random = np.random.default_rng(seed)
    amounts = random.normal(size=n_rows)
    table = pa.table({"amount": amounts, "country": random.choice(["FR", "US"], n_rows)})
    return table, amounts + random.normal(size=n_rows) / 2 > 0.5


@pytest.mark.parametrize("delay", [0, 4])
def test_a_table_gives_the_same_whichever_library_holds_it(delay):
    table, labels = made_table(40)
    learner = LEARNERS["log-odds"]
    expected = progressive_validation(deepcopy(learner), table, labels, delay=delay)

    for same in (table.to_pandas(), pl.from_arrow(table), table.to_batches()[0]):
        validation = progressive_validation(deepcopy(learner), same, labels, delay=delay)
        assert np.array_equal(validation.suspicion, expected.suspicion)


def test_an_array_is_validated_as_its_rows_are_one_by_one():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[3, 1] = np.nan
    table = pa.table({"x0": X[:, 0], "x1": pa.array(X[:, 1])})
    slow = new_learner()
    scores, _ = one_by_one(slow, table, X[:, 0] > 0, lambda j, i: j + 5 < i)

    validation = progressive_validation(new_learner(), X, X[:, 0] > 0, delay=5, window=100)
    assert np.array_equal(validation.suspicion, scores)


DAYS = np.datetime64("2018-04-01") + np.arange(30) // 4


@pytest.mark.parametrize(
    "times, delay",
    [
        (DAYS, timedelta(days=2)),
        (DAYS.astype("datetime64[ns]"), np.timedelta64(2, "D")),
        (pd.Series(DAYS), pd.Timedelta("48h")),
        ([datetime(2018, 4, 1) + timedelta(days=i // 4) for i in range(30)], timedelta(days=2)),
        (np.arange(30) // 4, 2),
    ],
)
def test_datetimes_delay_labels_as_the_numbers_of_their_days_do(times, delay):
    table, labels = made_table(30)

    def is_due(j, i):
        return j // 4 + 2 <= i // 4

    check_against_one_by_one(LEARNERS["log-odds"], table, labels, is_due, times=times, delay=delay)


def test_datetimes_without_a_delay_are_the_fast_way():
    table, labels = made_table(30)
    expected = new_learner().score_then_learn(table, labels)
    learner = new_learner()

    assert np.array_equal(
        progressive_validation(learner, table, labels, times=DAYS).suspicion, expected
    )


def test_the_figures_are_those_of_the_scores():
    table, labels = made_table(200)
    validation = progressive_validation(new_learner(), table, labels)
    scores = validation.suspicion

    assert validation.error == approx(((scores > 0) != labels).mean())
    assert validation.average_precision == approx(metrics.average_precision(labels, scores))
    assert validation.log_loss == approx(np.logaddexp(0, np.where(labels, -scores, scores)).mean())


def test_the_curve_holds_the_windows_of_rows_in_the_order_of_the_stream():
    table, labels = made_table(95)
    validation = progressive_validation(
        new_learner(), table, labels, delay=7, window=40, budget=5, every=30
    )
    is_error = (validation.suspicion > 0) != labels

    assert [point.row for point in validation.curve] == [30, 60, 90, 95]
    for row, summary in validation.curve:
        window = Window(40, 5)
        window.add_batch(validation.suspicion[:row], labels[:row], is_error[:row])
        assert summary == window.summary()


def test_the_table_of_a_curve_has_a_row_per_point_and_nulls_for_what_is_undefined():
    table, _ = made_table(60)
    labels = np.arange(60) >= 40
    validation = progressive_validation(
        new_learner(), table, labels, window=20, budget=5, every=20
    )
    curve = validation.to_table()

    assert curve["row"].to_pylist() == [20, 40, 60]
    assert curve["n_positives"].to_pylist() == [0, 0, 20]
    assert curve["average_precision"].to_pylist() == [None, None, 1]
    assert curve["recall_at_budget_low"].to_pylist()[:2] == [None, None]
    assert curve["error"].to_pylist() == [point.window.error for point in validation.curve]


def test_a_curve_has_about_fifty_points_by_default():
    table, labels = made_table(120)
    assert len(progressive_validation(new_learner(), table, labels).curve) == 60
    assert len(progressive_validation(new_learner(), table[:30], labels[:30]).curve) == 30


@pytest.mark.parametrize("is_positive, expected", [(False, None), (True, 1.0)])
def test_rows_of_one_class_have_all_the_figures_that_are_defined(is_positive, expected):
    table, _ = made_table(10)
    validation = progressive_validation(new_learner(), table, np.full(10, is_positive))

    assert validation.average_precision == expected
    assert 0 <= validation.error <= 1


def test_labels_of_text_count_as_the_positive_label_says():
    table, labels = made_table(60)
    named = new_learner().set_params(positive_label="fraud")
    texts = np.where(labels, "fraud", "genuine")

    validation = progressive_validation(named, table, texts, delay=2)
    expected = progressive_validation(new_learner(), table, labels, delay=2)
    assert np.array_equal(validation.suspicion, expected.suspicion)
    assert validation.error == expected.error


@pytest.mark.parametrize("delay", [0, 5])
def test_a_watch_that_does_nothing_changes_nothing(delay):
    table, labels = made_table(60)
    first, second = new_learner(), new_learner()
    watch = DriftWatch(second, action="none")

    expected = progressive_validation(first, table, labels, delay=delay)
    validation = progressive_validation(second, table, labels, delay=delay, watch=watch)
    assert np.array_equal(validation.suspicion, expected.suspicion)
    assert_same_weights(first, second)


def test_a_watch_gets_every_alert_and_every_loss_once_its_label_is_known(monkeypatch):
    table, labels = made_table(30)
    learner = new_learner()
    watch, reported = DriftWatch(learner), []
    monkeypatch.setattr(watch, "scored", lambda is_alert: reported.append(is_alert))
    monkeypatch.setattr(watch, "labelled", lambda row, label, loss: reported.append((label, loss)))
    validation = progressive_validation(learner, table, labels, delay=4, watch=watch)

    scores = validation.suspicion
    losses = np.logaddexp(0, np.where(labels, -scores, scores))
    expected = []
    for i in range(30):
        if i > 4:
            expected.append((labels[i - 5], approx(losses[i - 5])))
        expected.append(scores[i] > 0)
    expected += [(labels[i], approx(losses[i])) for i in range(25, 30)]
    assert reported == expected


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"delay": -1}, ValueError, "delay must be at least 0; got -1"),
        ({"delay": 1.5}, TypeError, "delay must be a whole number; got 1.5"),
        ({"window": 10, "budget": 11}, ValueError, "budget must be between 1 and 10; got 11"),
        ({"every": 0}, ValueError, "every must be at least 1; got 0"),
        ({"times": [1, 2]}, ValueError, r"times must have 30 values, one per row; got shape \(2,"),
        ({"times": [1] * 29 + [0]}, ValueError, "row 29 is earlier than row 28; sort"),
        ({"times": ["a"] * 30}, ValueError, "times must be all numbers or all datetimes"),
        ({"times": [np.nan] * 30}, ValueError, "times must .* finite numbers; 30 of 30"),
        ({"times": [np.datetime64("NaT")] * 30}, ValueError, "must be all numbers or all datetim"),
        ({"times": range(30), "delay": -0.5}, ValueError, "delay must be at least 0; got -0.5"),
        ({"times": DAYS, "delay": 3}, ValueError, "delay must be a span of time .* got 3"),
        ({"times": DAYS, "delay": timedelta(-1)}, ValueError, "delay must not be negative"),
        (
            {"watch": DriftWatch(LEARNERS["log-odds"])},
            ValueError,
            "watch must be a DriftWatch of the validated learner",
        ),
    ],
)
def test_options_that_are_invalid_are_rejected_before_anything_is_learned(options, error, message):
    table, labels = made_table(30)
    learner = new_learner()
    with pytest.raises(error, match=message):
        progressive_validation(learner, table, labels, **options)

    assert learner.score_one({"amount": 1.0}) == 0


@pytest.mark.parametrize(
    "labels, message",
    [
        (np.arange(30) % 3, "labels must be of 2 classes; got 2 .*0 and 1"),
        (np.array(["a", "b"] * 15), r"positive label must be named .*\['a', 'b'\]"),
        (np.zeros(0), "y must contain at least one label"),
    ],
)
def test_labels_other_than_two_classes_one_of_them_positive_are_refused(labels, message):
    table, _ = made_table(30)
    with pytest.raises(ValueError, match=message):
        progressive_validation(new_learner(), table, labels)


@pytest.mark.parametrize("delay", [0, 3])
def test_labels_must_be_as_many_as_rows(delay):
    table, labels = made_table(30)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        progressive_validation(new_learner(), table, labels[:20], delay=delay)


def test_other_learners_are_rejected():
    with pytest.raises(TypeError, match=r"learner must be an online learner such as .*; got list"):
        progressive_validation([], np.ones((3, 1)), [0, 1, 0])

"""Each way learns from the labels that are its own to learn from."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.feedback.made_days import MeanDifference
from toprank.payments.ledger import MemoryLedger
from toprank.simulator.feedback.night import NightlyModels
from toprank.simulator.feedback.ways import LEAST_OF_EACH, WAYS

OLD, CLAIMED, CHECKED, UNKNOWN = (np.arange(start, start + 100) for start in range(0, 400, 100))


def made_night(is_fraud, since=None, n_checked=100):
    """Return a night with 100 old payments, 100 claimed ones, some checked and 100 unknown."""
    ledger = MemoryLedger()
    checked = CHECKED[:n_checked]
    ledger.append(CLAIMED, True, known="2025-03-09", source="claim")
    ledger.append(checked, is_fraud[checked], known="2025-03-10", source="investigator")
    time = np.full(400, np.datetime64("2025-03-08", "us"))
    time[OLD] = np.datetime64("2025-01-31")
    known = ledger.as_known("2025-03-11", np.arange(400)).silence(time, "30d")
    features = np.column_stack([np.arange(400) % 7, is_fraud, np.arange(400)])
    return NightlyModels(known, np.arange(400) < 100, since, lambda rows: features[rows])


@pytest.fixture
def is_fraud():
    fraud = np.random.default_rng(0).random(400) < 0.3
    fraud[OLD], fraud[CLAIMED] = False, True
    return fraud


def rows_of(labelled):
    return labelled.features[:, 2].astype(int).tolist()


def test_a_night_parts_labels_by_how_they_became_known(is_fraud):
    night = made_night(is_fraud)

    assert rows_of(night.delayed) == [*OLD, *CLAIMED]
    assert rows_of(night.feedback) == CHECKED.tolist()
    assert rows_of(night.pooled) == [*OLD, *CLAIMED, *CHECKED]
    assert (night.feedback.is_positive == is_fraud[CHECKED]).all()
    assert night.delayed.n_rarer == 100


def test_new_labels_come_in_the_order_they_became_known(is_fraud):
    first = made_night(is_fraud).new
    later = made_night(is_fraud, since=np.datetime64("2025-03-10")).new

    assert rows_of(first) == [*OLD, *CLAIMED, *CHECKED]  # silence was complete on 2 March
    assert rows_of(later) == CHECKED.tolist()


def test_feedback_apart_is_the_mean_of_two_models(is_fraud):
    night = made_night(is_fraud)
    way = WAYS["feedback"](MeanDifference(), 0)
    way.learn(night)
    X = night.gather(UNKNOWN)
    parts = [
        MeanDifference().fit(*part).probability(X) for part in (night.delayed, night.feedback)
    ]

    np.testing.assert_allclose(way.suspicion(X), (parts[0] + parts[1]) / 2)


def test_too_few_verdicts_make_no_model(is_fraud):
    few = int(np.flatnonzero(np.cumsum(is_fraud[CHECKED]) == LEAST_OF_EACH)[0])
    night = made_night(is_fraud, n_checked=few)
    way = WAYS["feedback"](MeanDifference(), 0)
    way.learn(night)
    X = night.gather(UNKNOWN)

    assert night.feedback.n_rarer == LEAST_OF_EACH - 1
    delayed = MeanDifference().fit(*night.delayed)
    np.testing.assert_array_equal(way.suspicion(X), delayed.probability(X))


@pytest.mark.parametrize("name", ["nightly", "feedback"])
def test_a_night_without_frauds_leaves_the_model_of_the_night_before(is_fraud, name):
    way = WAYS[name](MeanDifference(), 0)
    way.learn(made_night(is_fraud, n_checked=0))
    X = made_night(is_fraud).gather(UNKNOWN)
    before = way.suspicion(X)
    way.learn(replace(made_night(is_fraud), known=no_frauds()))

    np.testing.assert_array_equal(way.suspicion(X), before)


def no_frauds():
    time = np.full(400, np.datetime64("2025-01-01", "us"))
    return MemoryLedger().as_known("2025-03-11", np.arange(400)).silence(time, "30d")


def test_the_learner_given_stays_as_it_was(is_fraud):
    learner = MeanDifference()
    for make in WAYS.values():
        make(learner, 0).learn(made_night(is_fraud))

    assert not hasattr(learner, "weights_")

"""Each strategy learns from the labels that it should learn from."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.feedback.made_days import MeanDifference
from toprank.payments.ledger import MemoryLedger
from toprank.simulator.feedback.strategies import LEAST_OF_EACH, STRATEGIES
from toprank.simulator.feedback.training_labels import TrainingLabels

OLD, CLAIMED, CHECKED, UNKNOWN = (np.arange(start, start + 100) for start in range(0, 400, 100))


def made_labels(is_fraud, since=None, n_checked=100):
    """Return the labels of 100 old payments, 100 claimed ones, some checked and 100 unknown."""
    ledger = MemoryLedger()
    checked = CHECKED[:n_checked]
    ledger.append(CLAIMED, True, known="2025-03-09", source="claim")
    ledger.append(checked, is_fraud[checked], known="2025-03-10", source="investigator")
    time = np.full(400, np.datetime64("2025-03-08", "us"))
    time[OLD] = np.datetime64("2025-01-31")
    known = ledger.as_known("2025-03-11", np.arange(400)).silence(time, "30d")
    features = np.column_stack([np.arange(400) % 7, is_fraud, np.arange(400)])
    return TrainingLabels(
        known,
        np.arange(400) < 100,
        since,
        lambda rows: features[rows],
        paid=time,
        check_chance=np.where(np.isin(np.arange(400), checked), 1.0, 0.25),
    )


@pytest.fixture
def is_fraud():
    fraud = np.random.default_rng(0).random(400) < 0.3
    fraud[OLD], fraud[CLAIMED] = False, True
    return fraud


def rows_of(labelled):
    return labelled.features[:, 2].astype(int).tolist()


def test_labels_are_split_by_how_they_became_known(is_fraud):
    labels = made_labels(is_fraud)

    assert rows_of(labels.delayed) == [*OLD, *CLAIMED]
    assert rows_of(labels.feedback) == CHECKED.tolist()
    assert rows_of(labels.pooled) == [*OLD, *CLAIMED, *CHECKED]
    assert (labels.feedback.is_positive == is_fraud[CHECKED]).all()
    assert labels.delayed.n_rarer_class == 100


def test_new_labels_come_in_the_order_they_became_known(is_fraud):
    first = made_labels(is_fraud).new
    later = made_labels(is_fraud, since=np.datetime64("2025-03-10")).new

    assert rows_of(first) == [*OLD, *CLAIMED, *CHECKED]  # silence was complete on 2 March
    assert rows_of(later) == CHECKED.tolist()


def test_feedback_apart_is_the_mean_of_two_models(is_fraud):
    labels = made_labels(is_fraud)
    strategy = STRATEGIES["feedback"](MeanDifference(), 0)
    strategy.learn(labels)
    X = labels.gather(UNKNOWN)
    parts = [
        MeanDifference().fit(*part).probability(X) for part in (labels.delayed, labels.feedback)
    ]

    np.testing.assert_allclose(strategy.suspicion(X), (parts[0] + parts[1]) / 2)


def test_too_few_verdicts_make_no_model(is_fraud):
    few = int(np.flatnonzero(np.cumsum(is_fraud[CHECKED]) == LEAST_OF_EACH)[0])
    labels = made_labels(is_fraud, n_checked=few)
    strategy = STRATEGIES["feedback"](MeanDifference(), 0)
    strategy.learn(labels)
    X = labels.gather(UNKNOWN)

    assert labels.feedback.n_rarer_class == LEAST_OF_EACH - 1
    delayed = MeanDifference().fit(*labels.delayed)
    np.testing.assert_array_equal(strategy.suspicion(X), delayed.probability(X))


def test_weighted_learns_from_all_rows_and_weights_claims_by_how_likely_they_were(is_fraud):
    labels = made_labels(is_fraud)
    # of 40 old claims, half came within 3 days, which is the age of the recent payments
    days = np.where(np.arange(40) < 20, 1, 9) * np.timedelta64(1, "D")
    ledger = MemoryLedger()
    ledger.append(OLD[:40], True, known=labels.paid[:40] + days, source="claim")
    ledger.append(CLAIMED, True, known="2025-03-09", source="claim")
    ledger.append(CHECKED, is_fraud[CHECKED], known="2025-03-10", source="investigator")
    known = ledger.as_known("2025-03-11", np.arange(400)).silence(labels.paid, "30d")
    rows, weight = replace(labels, known=known).weighted

    assert rows_of(rows) == [*OLD, *CLAIMED, *CHECKED, *UNKNOWN]
    assert not rows.is_positive[UNKNOWN].any()
    assert (weight[~rows.is_positive] == 1).all()
    np.testing.assert_allclose(weight[CLAIMED], 1 / (1 - 0.75 * 0.5))
    assert (weight[OLD] == 1).all() and (weight[CHECKED] == 1).all()


@pytest.mark.parametrize("name", ["nightly", "feedback", "weighted"])
def test_labels_without_frauds_leave_the_last_model(is_fraud, name):
    strategy = STRATEGIES[name](MeanDifference(), 0)
    strategy.learn(made_labels(is_fraud, n_checked=0))
    X = made_labels(is_fraud).gather(UNKNOWN)
    before = strategy.suspicion(X)
    strategy.learn(replace(made_labels(is_fraud), known=no_frauds()))

    np.testing.assert_array_equal(strategy.suspicion(X), before)


def no_frauds():
    time = np.full(400, np.datetime64("2025-01-01", "us"))
    return MemoryLedger().as_known("2025-03-11", np.arange(400)).silence(time, "30d")


def test_the_given_learner_is_not_changed(is_fraud):
    learner = MeanDifference()
    for make in STRATEGIES.values():
        make(learner, 0).learn(made_labels(is_fraud))

    assert not hasattr(learner, "weights_")

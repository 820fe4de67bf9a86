"""The promises of each kind of object as checks that run over everything public."""

import copy

import numpy as np
from sklearn.base import clone


def check_ranker(ranker, frame, is_positive):
    """A ranker stores its arguments, learns in `fit` alone, and scores rows one by one."""
    check_arguments_are_stored(ranker)
    before = copy.deepcopy(ranker.get_params())
    fitted = clone(ranker).fit(frame, is_positive)
    assert fitted.get_params() == before
    check_scores_are_row_wise(fitted, frame)
    check_probabilities_follow_suspicion(fitted, frame)
    check_input_is_left_alone(ranker, frame, is_positive)


def check_arguments_are_stored(ranker):
    for name, value in ranker.get_params(deep=False).items():
        assert getattr(ranker, name) is value
    assert not [name for name in vars(ranker) if name.endswith("_")]


def check_scores_are_row_wise(fitted, frame):
    """A row's suspicion never depends on the rows beside it."""
    whole = fitted.suspicion(frame)
    order = np.random.default_rng(0).permutation(len(frame))
    assert np.array_equal(fitted.suspicion(frame.iloc[order]), whole[order])
    assert np.array_equal(fitted.suspicion(frame.iloc[:7]), whole[:7])


def check_probabilities_follow_suspicion(fitted, frame):
    suspicion, probability = fitted.suspicion(frame), fitted.predict_proba(frame)
    positive = int(np.flatnonzero(fitted.classes_ == fitted.positive_label_)[0])
    order = np.argsort(suspicion, kind="stable")
    assert (np.diff(probability[order, positive]) >= 0).all()
    assert np.allclose(probability.sum(axis=1), 1)


def check_input_is_left_alone(ranker, frame, is_positive):
    kept_frame, kept_labels = frame.copy(), is_positive.copy()
    clone(ranker).fit(frame, is_positive)
    assert frame.equals(kept_frame)
    assert np.array_equal(is_positive, kept_labels)

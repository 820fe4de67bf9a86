"""The promises of each kind of object as checks that run over everything public."""

import copy

import numpy as np
import polars as pl
import pyarrow as pa
from sklearn.base import clone

from toprank import load, save


def check_ranker(ranker, frame, is_positive):
    """A ranker stores its arguments, learns in `fit` alone, and scores rows one by one."""
    check_arguments_are_stored(ranker)
    before = copy.deepcopy(ranker.get_params())
    fitted = clone(ranker).fit(frame, is_positive)
    assert fitted.get_params() == before
    check_scores_are_row_wise(fitted, frame)
    check_probabilities_follow_suspicion(fitted, frame)
    check_shares_add_up(fitted, frame)
    check_columns_are_found_by_name(fitted, frame)
    check_unknown_categories_count_as_missing(fitted, frame)
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


def check_shares_add_up(fitted, frame):
    """The columns' shares of a row and the start, which comes last, are its suspicion."""
    shares = fitted.contributions(frame)
    assert shares.shape == (len(frame), frame.shape[1] + 1)
    assert np.allclose(shares.sum(axis=1), fitted.suspicion(frame), rtol=0, atol=1e-4)


def check_columns_are_found_by_name(fitted, frame):
    """Any library's table will do, its columns in any order, with others between them."""
    expected = fitted.suspicion(frame)
    turned = frame[frame.columns[::-1]].assign(note="of no use")
    for table in (turned, pl.from_pandas(turned), pa.Table.from_pandas(turned)):
        assert np.array_equal(fitted.suspicion(table), expected)


def check_unknown_categories_count_as_missing(fitted, frame):
    texts = list(frame.select_dtypes(exclude=["number", "bool"]).columns)
    assert texts, "the frame must have a column of categories"
    unknown = frame.assign(**dict.fromkeys(texts, "never seen before"))
    missing = frame.assign(**{name: np.full(len(frame), None) for name in texts})
    assert np.array_equal(fitted.suspicion(unknown), fitted.suspicion(missing))


def check_file_keeps(fitted, frame, path):
    """A ranker comes back from its file with its parameters, scoring rows as before."""
    save(fitted, path)
    again = load(path)
    assert type(again) is type(fitted)
    assert str(again.get_params()) == str(fitted.get_params())
    assert np.array_equal(again.suspicion(frame), fitted.suspicion(frame))
    assert np.array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    assert np.array_equal(again.contributions(frame), fitted.contributions(frame))
    return again


def check_input_is_left_alone(ranker, frame, is_positive):
    kept_frame, kept_labels = frame.copy(), is_positive.copy()
    clone(ranker).fit(frame, is_positive)
    assert frame.equals(kept_frame)
    assert np.array_equal(is_positive, kept_labels)

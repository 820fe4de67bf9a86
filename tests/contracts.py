"""The promises of each kind of object as checks that run over everything public."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.base import clone

from toprank import load, save


def check_ranker(ranker, frame, is_positive):
    """A ranker stores its arguments, learns only in `fit`, and scores rows one by one."""
    check_arguments_are_stored(ranker)
    before = str(ranker.get_params())
    fitted = clone(ranker).fit(frame, is_positive)
    assert str(fitted.get_params()) == before
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
    """A row's suspicion never depends on the other rows."""
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
    """The columns' contributions and, last, the baseline add up to the suspicion."""
    shares = fitted.contributions(frame)
    assert shares.shape == (len(frame), frame.shape[1] + 1)
    assert np.allclose(shares.sum(axis=1), fitted.suspicion(frame), rtol=0, atol=1e-4)


def check_columns_are_found_by_name(fitted, frame):
    """Any library's table will do, its columns in any order, with others between them."""
    expected = fitted.suspicion(frame)
    turned = frame[frame.columns[::-1]].assign(note="unused")
    for table in (turned, pl.from_pandas(turned), pa.Table.from_pandas(turned)):
        assert np.array_equal(fitted.suspicion(table), expected)


def check_unknown_categories_count_as_missing(fitted, frame):
    texts = list(frame.select_dtypes(exclude=["number", "bool"]).columns)
    assert texts, "the frame must have a column of categories"
    unknown = frame.assign(**dict.fromkeys(texts, "never seen before"))
    missing = frame.assign(**{name: np.full(len(frame), None) for name in texts})
    assert np.array_equal(fitted.suspicion(unknown), fitted.suspicion(missing))


def check_file_keeps(fitted, frame, path):
    """A ranker loaded from its file has the same parameters and scores."""
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


def check_online_learner(learner, rows, labels, path, *, has_fixed_arrays=True):
    """An online learner scores, then learns, row by row; `rows` are dicts, some with gaps.

    The arrays of one that keeps rows vary in size up to a bound, which its own tests check.
    """
    check_arguments_are_stored(learner)
    check_fresh_learner_scores(learner, rows)
    check_rows_are_left_alone(learner, rows, labels)
    if has_fixed_arrays:
        check_memory_levels_off(learner, rows, labels)
    check_same_stream_gives_same_scores(learner, rows, labels)
    check_batches_of_any_size_learn_the_same(learner, rows, labels)
    check_scores_come_before_labels(learner, rows, labels)
    check_file_resumes(learner, rows, labels, path)
    check_what_is_missing_is_missing(learner, rows, labels)
    check_unseen_categories_are_scored_and_learned(learner, rows, labels)
    check_rows_of_zero_weight_are_ignored(learner, rows, labels)


def learned(learner, rows, labels):
    """A copy of the learner that has learned from the rows one by one."""
    fresh = clone(learner)
    for x, y in zip(rows, labels, strict=True):
        fresh.learn_one(x, y)
    return fresh


def frame_of(rows):
    """The rows as a table whose columns are in the order in which they first appear."""
    names = list(dict.fromkeys(name for x in rows for name in x))
    return pd.DataFrame({name: [x.get(name) for x in rows] for name in names})


def check_models_are_equal(one, other):
    """Two online learners hold the same numbers, bit for bit."""
    others = other.model_.arrays()
    for name, array in one.model_.arrays().items():
        np.testing.assert_array_equal(array, others[name], name)
    assert one.model_.state() == other.model_.state()
    assert np.array_equal(one.classes_, other.classes_)


def check_fresh_learner_scores(learner, rows):
    fresh = clone(learner)
    assert fresh.score_one(rows[0]) == 0
    assert fresh.probability_one(rows[0]) == 0.5
    assert fresh.probabilities_one(rows[0]) == {}
    assert fresh.score_encoded(fresh.encode_one(rows[0])) == 0
    assert fresh.score_one(rows[0]) == 0  # its columns are known, nothing is learned


def check_rows_are_left_alone(learner, rows, labels):
    fresh = clone(learner)
    for x, y in zip(rows, labels, strict=True):
        kept = copy.deepcopy(x)
        fresh.score_one(x)
        fresh.learn_one(x, y)
        assert repr(x) == repr(kept)
    before = copy.deepcopy(fresh)
    for x in rows:
        fresh.score_one(x)
        fresh.probability_one({**x, "new": 1.0})
        fresh.probabilities_one({**x, "new": "text"})
    check_models_are_equal(fresh, before)


def check_memory_levels_off(learner, rows, labels):
    """Once all columns and classes are known, no array grows."""
    fresh = learned(learner, rows, labels)
    sizes = {name: array.nbytes for name, array in fresh.model_.arrays().items()}
    for number, (x, y) in enumerate(zip(rows, labels, strict=True)):
        fresh.learn_one({**x, "country": f"{number} more"}, y)
    assert {name: array.nbytes for name, array in fresh.model_.arrays().items()} == sizes


def check_same_stream_gives_same_scores(learner, rows, labels):
    one, other = learned(learner, rows, labels), learned(learner, rows, labels)
    check_models_are_equal(one, other)
    assert [one.score_one(x) for x in rows] == [other.score_one(x) for x in rows]
    assert len({one.score_one(x) for x in rows}) > 1


def check_batches_of_any_size_learn_the_same(learner, rows, labels):
    frame, labels = frame_of(rows), np.asarray(labels)
    one_by_one = clone(learner)
    one_by_one.encode_one(dict.fromkeys(frame.columns))  # all columns come at once, as in a table
    for x, y in zip(rows, labels.tolist(), strict=True):
        one_by_one.learn_one(x, y)
    for size in (1, 7, len(rows)):
        batches = clone(learner)
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            batches.partial_fit(frame.iloc[part], labels[part])
        check_models_are_equal(batches, one_by_one)
    scores = [one_by_one.score_one(x) for x in rows]
    assert np.array_equal(one_by_one.suspicion(frame), scores)
    probabilities = [one_by_one.probability_one(x) for x in rows]
    assert np.array_equal(one_by_one.probability(frame), probabilities)
    by_class = [one_by_one.probabilities_one(x) for x in rows]
    assert np.array_equal(
        one_by_one.predict_proba(frame),
        [[each[label] for label in one_by_one.classes_.tolist()] for each in by_class],
    )


def check_scores_come_before_labels(learner, rows, labels):
    """`score_then_learn` gives what `score_one` gives before each `learn_one`."""
    frame, labels = frame_of(rows), np.asarray(labels)
    one_by_one, expected = clone(learner), []
    one_by_one.encode_one(dict.fromkeys(frame.columns))
    for x, y in zip(rows, labels.tolist(), strict=True):
        expected.append(one_by_one.score_one(x))
        one_by_one.learn_one(x, y)
    at_once = clone(learner)
    assert np.array_equal(at_once.score_then_learn(frame, labels), expected)
    check_models_are_equal(at_once, one_by_one)
    assert expected[0] == 0
    late = clone(learner)
    late.encode_one(dict.fromkeys(frame.columns))
    pending = [late.encode_one(x) for x in rows]
    for row, y, score in zip(pending, labels.tolist(), expected, strict=True):
        assert late.score_encoded(row) == score
        late.learn_encoded(row, y)
    check_models_are_equal(late, one_by_one)


def check_file_resumes(learner, rows, labels, path):
    """A learner loaded from its file continues exactly like the saved one."""
    half = len(rows) // 2
    whole = learned(learner, rows[:half], labels[:half])
    save(whole, path)
    again = load(path)
    assert type(again) is type(whole)
    assert str(again.get_params()) == str(whole.get_params())
    check_models_are_equal(again, whole)
    for x, y in zip(rows[half:], labels[half:], strict=True):
        assert again.score_one(x) == whole.score_one(x)
        assert again.probabilities_one(x) == whole.probabilities_one(x)
        again.learn_one(x, y)
        whole.learn_one(x, y)
    check_models_are_equal(again, whole)


def check_what_is_missing_is_missing(learner, rows, labels):
    """NaN, None and a column that is not there are the same, of numbers and of text."""
    fresh = learned(learner, rows, labels)
    for x in rows:
        for name in x:
            without = {other: x[other] for other in x if other != name}
            scores = {fresh.score_one({**without, name: gap}) for gap in (None, float("nan"))}
            assert scores == {fresh.score_one(without)}
    gaps = [{name: None if x[name] != x[name] else x[name] for name in x} for x in rows]
    check_models_are_equal(learned(learner, gaps, labels), fresh)


def check_unseen_categories_are_scored_and_learned(learner, rows, labels):
    fresh = learned(learner, rows, labels)
    for text in ("never seen before", "", "\x00", "日本", "nan", "1"):
        odd = {**rows[0], "country": text}
        assert np.isfinite(fresh.score_one(odd))
        fresh.learn_one(odd, labels[0])
        assert np.isfinite(fresh.score_one(odd))


def check_rows_of_zero_weight_are_ignored(learner, rows, labels):
    fresh = clone(learner)
    fresh.encode_one(dict.fromkeys(name for x in rows for name in x))
    for number, (x, y) in enumerate(zip(rows, labels, strict=True)):
        fresh.learn_one(x, y)
        fresh.learn_one(rows[-1 - number], labels[-1 - number], weight=0)
    frame, labels = frame_of(rows), np.asarray(labels)
    doubled = np.arange(2 * len(rows)) // 2
    weights = np.tile([1.0, 0.0], len(rows))
    doubled[1::2] = doubled[::-2]
    at_once = clone(learner)
    at_once.partial_fit(frame.iloc[doubled], labels[doubled], sample_weight=weights)
    check_models_are_equal(at_once, fresh)
    check_models_are_equal(clone(learner).partial_fit(frame, labels), fresh)

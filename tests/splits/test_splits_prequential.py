"""Prequential folds: stretches of time, cards left out, and scikit-learn's use of them."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from examples import examples
from toprank import splits
from toprank.splits.moments import moment_of, moments_of

DAY = np.timedelta64(1, "D")
HOUR = np.timedelta64(1, "h")
START = np.datetime64("2025-01-01T00:00", "us")


@st.composite
def payments(draw):
    """Moments over six weeks in any order, cards, and labels of both classes."""
    n = draw(st.integers(20, 120))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    time = START + rng.integers(0, 42 * 24, n) * HOUR
    is_positive = rng.random(n) < 0.3
    is_positive[:2] = [True, False]
    return time, rng.integers(0, draw(st.integers(2, 12)), n), is_positive


def folds_or_skip(time, **options):
    try:
        return splits.prequential(time, **options)
    except ValueError as error:
        assume("must have rows" not in str(error) and "folds need" not in str(error))
        raise


def between(time, begin, end):
    return np.flatnonzero((time >= begin) & (time < end))


@examples(60)
@given(payments(), st.integers(1, 3), st.integers(0, 5), st.integers(0, 6), st.integers(1, 7))
def test_folds_are_the_stretches_named_each_later_by_a_test(sample, n_folds, first, delay, test):
    time, _, _ = sample
    start = START + first * DAY
    folds = folds_or_skip(
        time, n_folds=n_folds, train="7d", delay=delay * DAY, test=test * DAY, start=start
    )

    assert len(folds) == n_folds
    for number, fold in enumerate(folds):
        begin = start + number * test * DAY
        test_begin = begin + (7 + delay) * DAY
        assert np.array_equal(fold.train, between(time, begin, begin + 7 * DAY))
        assert np.array_equal(fold.gap, between(time, begin + 7 * DAY, test_begin))
        assert np.array_equal(fold.test, between(time, test_begin, test_begin + test * DAY))
        for part, rows in (("train", fold.train), ("test", fold.test)):
            assert fold.periods[part] == (time[rows].min(), time[rows].max())


def left_out_by_hand(time, cards, is_positive, fold_begin, delay, rows):
    """Rows of a test without those whose card had a positive known when their day began."""
    kept = []
    for row in rows:
        day = time[row].astype("datetime64[D]")
        known = is_positive & (time >= fold_begin) & (time < day - delay)
        if cards[row] not in cards[known]:
            kept.append(row)
    return np.array(kept, dtype=np.int64)


@examples(60)
@given(payments(), st.integers(0, 9), st.integers(1, 12))
def test_a_test_day_does_without_the_cards_known_when_it_began(sample, delay, test):
    time, cards, is_positive = sample
    options = {"n_folds": 2, "delay": delay * DAY, "test": test * DAY, "start": START}
    folds = folds_or_skip(time, cards=cards, is_positive=is_positive, **options)

    for number, (fold, whole) in enumerate(
        zip(folds, splits.prequential(time, **options), strict=True)
    ):
        begin = START + number * test * DAY
        expected = left_out_by_hand(time, cards, is_positive, begin, delay * DAY, whole.test)
        assert np.array_equal(fold.test, expected)
        assert np.array_equal(fold.train, whole.train)
        parts = np.concatenate([fold.train, fold.gap, fold.test])
        whole_parts = np.concatenate([whole.train, whole.gap, whole.test])
        assert np.array_equal(np.sort(parts), np.sort(whole_parts))


def test_a_fraud_is_known_the_day_after_its_delay_and_not_before():
    # Card 1 pays at noon each day from the first to the last; its one fraud is on the tenth day.
    time = np.concatenate([START + np.arange(35) * DAY + 12 * HOUR] * 2)
    cards = np.repeat([1, 2], 35)
    is_positive = np.arange(70) == 9
    (fold,) = splits.prequential(
        time, n_folds=1, test="14d", start=START, cards=cards, is_positive=is_positive
    )
    tested = time[fold.test[cards[fold.test] == 1]]

    # day 10 (counted from 1) and a week's delay: out from day 18 on
    assert tested.tolist() == (START + np.arange(14, 17) * DAY + 12 * HOUR).tolist()


def test_a_fraud_from_before_the_training_leaves_its_card_in():
    time = START + np.arange(28) * DAY
    is_positive = np.isin(np.arange(28), [0, 27])
    (fold,) = splits.prequential(
        time, n_folds=1, start=START + DAY, test="6d", cards=np.ones(28, int),
        is_positive=is_positive,
    )  # fmt: skip

    assert fold.test.size == 6


@examples(60)
@given(payments(), st.integers(0, 3))
def test_with_one_side_no_card_is_on_both_in_any_fold(sample, seed):
    time, cards, _ = sample
    options = {"n_folds": 2, "start": START}
    folds = folds_or_skip(
        time, cards=cards.astype(str), card_rule="one-side", random_state=seed, **options
    )
    trained = np.concatenate([cards[fold.train] for fold in folds])
    tested = np.concatenate([cards[fold.test] for fold in folds])

    assert not np.intersect1d(trained, tested).size
    for fold, whole in zip(folds, splits.prequential(time, **options), strict=True):
        assert np.isin(whole.train[np.isin(cards[whole.train], trained)], fold.train).all()
        assert np.isin(whole.test[np.isin(cards[whole.test], tested)], fold.test).all()


def test_one_side_keeps_about_half_of_the_cards_on_each():
    time = np.tile(START + np.arange(28) * DAY, 500)
    cards = np.repeat(np.arange(500), 28)
    (fold,) = splits.prequential(time, n_folds=1, cards=cards, card_rule="one-side")

    assert 200 < np.unique(cards[fold.test]).size < 300
    assert np.unique(cards[fold.test]).size + np.unique(cards[fold.train]).size == 500


def test_left_alone_the_last_test_ends_with_the_last_day():
    time = START + np.arange(60 * 24) * HOUR - 5 * HOUR
    folds = splits.prequential(time, n_folds=3)

    last_day = time.max().astype("datetime64[D]")
    assert folds[-1].periods["test"] == (last_day - 6 * DAY, time.max())
    for earlier, later in pairwise(folds):
        assert later.periods["test"][0] - earlier.periods["test"][0] == 7 * DAY


def test_left_alone_spans_of_hours_end_with_the_last_row():
    time = START + np.arange(50) * HOUR
    folds = splits.prequential(time, n_folds=2, train="12h", delay="6h", test="6h")

    assert folds[-1].test.tolist() == [44, 45, 46, 47, 48, 49]
    assert folds[0].train.tolist() == list(range(20, 32))


def test_as_many_folds_as_just_fit_are_made_and_no_more():
    time = START + np.arange(28) * DAY + 7 * HOUR

    assert splits.prequential(time, n_folds=2)[0].train[0] == 0
    with pytest.raises(
        ValueError, match=r"3 folds need 35 days .* rows span 27 days. Choose fewer"
    ):
        splits.prequential(time, n_folds=3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_folds": 0}, ValueError, "n_folds must be at least 1; got 0"),
        ({"train": 7}, ValueError, "train must be a span of time such as '7d'.* got 7"),
        ({"delay": "7 weeks"}, ValueError, "delay must be a span of time .* got '7 weeks'"),
        ({"delay": -DAY}, ValueError, "delay must not be negative"),
        ({"test": "0d"}, ValueError, "test must be longer than nothing"),
        ({"start": "soon"}, ValueError, "start must be a moment such as .* got 'soon'"),
        ({"start": "2025-03-01"}, ValueError, "fold 2 must have rows to test on; .* 2025-03-22T"),
        ({"card_rule": "none"}, ValueError, "card_rule must be one of 'known', 'one-side'"),
        ({"cards": np.ones(80, int)}, ValueError, "is_positive must be given .*='one-side'"),
        ({"cards": [1, 2]}, ValueError, "cards must have 80 values"),
    ],
)
def test_folds_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        splits.prequential(START + np.arange(80) * DAY, **options)


@pytest.mark.parametrize("span", ["36h", "1.5d", "2160min", "129600s", 36 * HOUR])
def test_a_span_may_be_written_in_any_unit(span):
    time = START + np.arange(24 * 20) * HOUR
    folds = splits.prequential(time, n_folds=1, train=span, start=START)

    assert folds[0].train.size == 36


@pytest.fixture(scope="module")
def table():
    """Eight weeks of payments of 400 cards, in a shuffled order, with some frauds."""
    rng = np.random.default_rng(0)
    n = 3000
    amount = rng.exponential(size=n)
    return pd.DataFrame(
        {
            "paid_at": START + rng.integers(0, 56 * 24 * 60, n) * np.timedelta64(1, "m"),
            "card": rng.integers(0, 400, n),
            "amount": amount,
            "is_fraud": (rng.random(n) < 0.02 + 0.1 * (amount > 2)).astype(int),
        }
    )


def test_scores_across_folds_are_those_of_fitting_each_fold_by_hand(table):
    X, y = table[["amount"]], table["is_fraud"]
    splitter = splits.PrequentialSplit(table["paid_at"].to_numpy(), n_folds=3)
    scores = cross_val_score(
        LogisticRegression(), X, y, groups=table["card"], cv=splitter, scoring="average_precision"
    )
    folds = splits.prequential(
        table["paid_at"].to_numpy(), n_folds=3, cards=table["card"], is_positive=y
    )
    by_hand = [
        cross_val_score(
            LogisticRegression(), X, y, cv=[(fold.train, fold.test)], scoring="average_precision"
        )[0]
        for fold in folds
    ]

    assert splitter.get_n_splits() == 3
    assert scores.tolist() == by_hand


def test_a_search_finds_the_time_in_its_column(table):
    model = make_pipeline(
        make_column_transformer(("passthrough", ["amount"])), LogisticRegression()
    )
    search = GridSearchCV(
        model,
        {"logisticregression__C": [0.01, 1]},
        cv=splits.PrequentialSplit("paid_at", train="14d", test="5d"),
        scoring="roc_auc",
    )
    search.fit(table[["paid_at", "amount"]], table["is_fraud"])

    assert search.n_splits_ == 4
    assert search.best_score_ > 0.6


def test_a_polars_table_splits_as_a_pandas_table_does(table):
    splitter = splits.PrequentialSplit("paid_at", card_rule="one-side")
    ours = list(splitter.split(table, groups=table["card"]))
    theirs = list(splitter.split(pl.from_pandas(table), groups=table["card"]))

    for one, other in zip(ours, theirs, strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("time", "X", "message"),
    [
        ("paid_att", pd.DataFrame({"paid_at": []}), "'paid_att' is not in X; did you mean 'paid_"),
        ("paid_at", np.zeros((3, 1)), "'paid_at' is not in X; X has no named columns"),
        (np.array([START] * 5), np.zeros((3, 1)), "each of the 3 rows of X; got 5.*time column"),
    ],
)
def test_a_time_that_does_not_go_with_the_table_is_refused(time, X, message):
    with pytest.raises(ValueError, match=message):
        list(splits.PrequentialSplit(time).split(X))


def test_a_splitter_shows_what_it_was_given_but_not_every_moment():
    assert repr(splits.PrequentialSplit("t", n_folds=2)).startswith("PrequentialSplit(n_folds=2,")


def test_moments_with_a_zone_become_utc_in_every_form(recwarn):
    instant = np.datetime64("2025-03-01T11:00", "us")
    zoned = pd.Timestamp("2025-03-01 12:00", tz="Europe/Paris")
    for one in (zoned, zoned.to_pydatetime(), "2025-03-01T12:00+01:00", "2025-03-01T11:00Z"):
        assert moment_of(one, "moment") == instant
    for many in (pd.Series([zoned]), [zoned], pd.DatetimeIndex([zoned])):
        assert moments_of(many).tolist() == [instant.item()]
    assert not recwarn.list

"""Splits: parts that never overlap, never look ahead, and hold both classes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from toprank import splits

DAY = np.timedelta64(1, "D")
HOUR = np.timedelta64(1, "h")
START = np.datetime64("2025-01-01T00:00", "us")


@st.composite
def times(draw):
    """Moments in any order, rich in ties, over a span of hours or of months."""
    unit = draw(st.sampled_from([np.timedelta64(1, "m"), HOUR, 7 * HOUR, 3 * DAY]))
    steps = draw(st.lists(st.integers(0, 60), min_size=5, max_size=150))
    return START + np.array(steps) * unit


def split_or_skip(time, **options):
    try:
        return splits.chronological(time, **options)
    except ValueError as error:
        assume("there would be no" not in str(error))
        raise


@examples(150)
@given(times(), st.sampled_from([None, 0 * DAY, 5 * HOUR, 2 * DAY]))
def test_the_parts_and_the_gap_hold_every_row_once_and_ascending(time, gap):
    split = split_or_skip(time, gap=gap)
    pieces = [split.train, split.validation, split.gap, split.test]

    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(time.size))
    assert all(np.all(np.diff(rows) > 0) for rows in pieces)
    assert all(rows.size for rows in split.parts().values())


@examples(150)
@given(times(), st.sampled_from([None, 0 * DAY, 5 * HOUR, 2 * DAY]))
def test_no_part_sees_a_moment_of_a_later_part(time, gap):
    split = split_or_skip(time, gap=gap)
    least_gap = np.timedelta64(0) if gap is None else gap

    assert time[split.train].max() < time[split.validation].min()
    assert time[split.validation].max() < time[split.test].min()
    assert time[split.validation].max() + least_gap <= time[split.test].min()
    assert np.all(time[split.gap] > time[split.validation].max())
    assert np.all(time[split.gap] < time[split.test].min())


@examples(50)
@given(times(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_their_part(time, random):
    split = split_or_skip(time)
    shuffle = np.array(random.sample(range(time.size), time.size))
    shuffled = splits.chronological(time[shuffle])

    for part, rows in split.parts().items():
        assert np.array_equal(np.sort(shuffle[shuffled.parts()[part]]), rows)


@examples(50)
@given(times())
def test_periods_are_the_first_and_last_moment_of_each_part(time):
    split = split_or_skip(time)

    for part, rows in split.parts().items():
        assert split.periods[part] == (time[rows].min(), time[rows].max())


def test_shares_are_of_all_rows():
    time = START + np.random.default_rng(0).integers(0, 100 * 24 * 60, 20_000) * np.timedelta64(
        1, "m"
    )
    split = splits.chronological(time, validation=0.2, test=0.3)

    assert split.validation.size / time.size == pytest.approx(0.2, abs=0.01)
    assert split.test.size / time.size == pytest.approx(0.3, abs=0.01)


def test_with_twenty_days_or_more_validation_and_test_begin_at_midnight():
    time = START + 5 * HOUR + np.arange(24 * 30) * HOUR
    split = splits.chronological(time)

    assert time[split.validation[0]] == time[split.validation[0]].astype("datetime64[D]")
    assert time[split.test[0]] == time[split.test[0]].astype("datetime64[D]")


@pytest.mark.parametrize(
    ("n_hours", "gap_in_hours"), [(24 * 100, 24 * 7), (24 * 45, 24 * 4), (24 * 15, 24), (100, 10)]
)
def test_the_default_gap_is_a_week_or_a_tenth_of_a_short_span(n_hours, gap_in_hours):
    time = START + np.arange(n_hours + 1) * HOUR
    split = splits.chronological(time)

    assert split.gap.size == gap_in_hours


def test_a_gap_that_swallows_everything_before_the_test_is_refused_with_the_way_out():
    time = START + np.arange(100) * DAY

    with pytest.raises(ValueError, match=r"no validation rows.*90 days.*shorter `gap`"):
        splits.chronological(time, gap=90 * DAY)


def test_a_gap_that_leaves_nothing_to_train_on_is_refused():
    time = START + np.arange(100) * DAY

    with pytest.raises(ValueError, match="no train rows"):
        splits.chronological(time, gap=65 * DAY)


def test_rows_of_one_moment_cannot_be_split():
    with pytest.raises(ValueError, match="no test rows"):
        splits.chronological(np.repeat(START, 10))


@pytest.mark.parametrize(
    ("time", "error", "message"),
    [
        ([1, 2, 3], TypeError, "datetime64; got int64"),
        (np.array(["2025-01-01", "NaT"], dtype="datetime64[us]"), ValueError, "in 1 of 2 rows"),
        (np.array([], dtype="datetime64[us]"), ValueError, r"shape \(0,\)"),
    ],
)
def test_time_must_be_known_moments(time, error, message):
    with pytest.raises(error, match=message):
        splits.chronological(time)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"validation": 0}, ValueError, "validation must be greater than 0"),
        ({"validation": 0.5, "test": 0.5}, ValueError, r"below 1; got 0.5 \+ 0.5"),
        ({"gap": 7}, ValueError, r"gap must be a span of time .* got 7"),
        ({"gap": -DAY}, ValueError, "gap must not be negative"),
    ],
)
def test_shares_and_gap_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        splits.chronological(START + np.arange(100) * DAY, **options)


@st.composite
def labels(draw):
    """Labels in any order with at least 3 positives and 3 negatives."""
    n_positive, n_negative = draw(st.integers(3, 20)), draw(st.integers(3, 80))
    values = [True] * n_positive + [False] * n_negative
    return np.array(draw(st.permutations(values)))


SHARES = st.sampled_from([(0.15, 0.25), (0.01, 0.01), (0.5, 0.45), (0.1, 0.85)])


@examples(100)
@given(labels(), SHARES, st.integers(0, 5))
def test_stratified_parts_hold_every_row_once_and_both_classes(is_positive, shares, seed):
    validation, test = shares
    split = splits.stratified(is_positive, validation=validation, test=test, random_state=seed)
    pieces = list(split.parts().values())

    assert np.array_equal(np.sort(np.concatenate(pieces)), np.arange(is_positive.size))
    assert all(np.all(np.diff(rows) > 0) for rows in pieces)
    assert split.gap.size == 0
    splits.check_positives(split, is_positive)


@examples(50)
@given(labels())
def test_stratified_parts_keep_the_share_of_positives_to_a_row(is_positive):
    split = splits.stratified(is_positive)

    for rows, share in ((split.validation, 0.15), (split.test, 0.25)):
        for members in (is_positive, ~is_positive):
            assert abs(members[rows].sum() - share * members.sum()) <= 1


def test_stratified_repeats_with_the_seed_and_varies_without_it():
    is_positive = np.arange(300) % 10 == 0
    first, again, other = (splits.stratified(is_positive, random_state=seed) for seed in (1, 1, 2))

    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)


@pytest.mark.parametrize("flip", [False, True])
def test_stratified_names_how_few_there_are(flip):
    is_positive = (np.arange(50) < 2) ^ flip
    kind = "negatives" if flip else "positives"

    with pytest.raises(ValueError, match=f"at least 3 {kind}.*got 2 in 50"):
        splits.stratified(is_positive)


def test_check_positives_names_the_part_and_its_counts():
    split = splits.chronological(START + np.arange(100) * DAY)
    is_positive = np.arange(100) % 2 == 0
    is_positive[split.validation] = False

    with pytest.raises(ValueError, match=r"validation rows .* got 0 positives in 15 rows"):
        splits.check_positives(split, is_positive)


def test_check_positives_refuses_labels_of_fewer_rows():
    split = splits.chronological(START + np.arange(100) * DAY)

    with pytest.raises(ValueError, match="each of the 100 rows; got 40"):
        splits.check_positives(split, np.arange(40) % 2 == 0)


def test_days_count_midnights_from_the_day_of_the_earliest_row():
    time = np.array(
        ["2025-03-02T00:00", "2025-02-28T23:59", "2025-02-28T00:00", "2025-03-01T12:00"],
        dtype="datetime64[us]",
    )

    assert splits.days(time).tolist() == [2, 0, 0, 1]


def test_days_before_1970_count_the_same():
    time = np.array(["1969-12-30T01:00", "1970-01-01T00:00"], dtype="datetime64[us]")

    assert splits.days(time).tolist() == [0, 2]


@given(st.integers(2, 6), st.integers(2, 40), st.floats(0.01, 0.9), st.integers(0, 5))
def test_rows_held_out_leave_both_classes_on_both_sides(n_positive, n_negative, share, seed):
    is_positive = np.arange(n_positive + n_negative) < n_positive
    kept, apart = splits.held_out(is_positive, share, seed)
    assert np.array_equal(np.sort(np.concatenate([kept, apart])), np.arange(is_positive.size))
    for rows in (kept, apart):
        assert is_positive[rows].any()
        assert not is_positive[rows].all()


def test_one_positive_cannot_be_on_both_sides():
    with pytest.raises(ValueError, match=r"at least 2 positives .*each side; got 1 in 9"):
        splits.held_out(np.arange(9) == 0, 0.2)


@examples(100)
@given(labels(), st.integers(1, 5), st.integers(0, 5))
def test_folds_spread_both_classes_evenly(is_positive, n_folds, seed):
    n_folds = min(n_folds, is_positive.sum(), (~is_positive).sum())
    parts = splits.folds(is_positive, int(n_folds), seed)

    assert len(parts) == n_folds
    for kept, apart in parts:
        assert np.array_equal(np.sort(np.concatenate([kept, apart])), np.arange(is_positive.size))
        assert np.all(np.diff(kept) > 0)
        assert np.all(np.diff(apart) > 0)
        for rows in (kept, apart):
            assert is_positive[rows].any()
            assert not is_positive[rows].all()
        n_apart = max(n_folds, 5 if n_folds == 1 else 1)
        for members in (is_positive, ~is_positive):
            assert abs(members[apart].sum() - members.sum() / n_apart) <= 1


@examples(60)
@given(labels(), st.integers(2, 3), st.integers(0, 5))
def test_with_several_folds_every_row_is_apart_once(is_positive, n_folds, seed):
    apart = [apart for _, apart in splits.folds(is_positive, n_folds, seed)]

    assert np.array_equal(np.sort(np.concatenate(apart)), np.arange(is_positive.size))
    sizes = [rows.size for rows in apart]
    assert max(sizes) - min(sizes) <= 1


def test_folds_repeat_with_the_seed_and_vary_without_it():
    is_positive = np.arange(300) % 10 == 0
    first, again, other = (splits.folds(is_positive, 3, seed)[0][1] for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("n_folds", "error", "message"),
    [
        (0, ValueError, "n_folds must be at least 1; got 0"),
        (2.0, TypeError, "n_folds must be a whole number; got 2.0"),
        (4, ValueError, "at least 4 positives .*each fold; got 3 in 20"),
    ],
)
def test_a_number_of_folds_that_cannot_be_is_refused(n_folds, error, message):
    with pytest.raises(error, match=message):
        splits.folds(np.arange(20) < 3, n_folds)


@examples(100)
@given(times(), st.sampled_from([0.05, 0.2, 0.5, 0.9]))
def test_the_latest_rows_come_after_all_earlier_ones_at_the_nearest_moment(time, share):
    assume(np.unique(time).size > 1)
    try:
        earlier, later = splits.latest(time, np.arange(time.size) % 2 == 0, share)
    except ValueError as error:
        assume("must hold both classes" not in str(error))
        raise

    assert np.array_equal(np.sort(np.concatenate([earlier, later])), np.arange(time.size))
    assert time[earlier].max() < time[later].min()
    sizes = [np.count_nonzero(time >= moment) for moment in np.unique(time)[1:]]
    assert abs(later.size - share * time.size) == pytest.approx(
        min(abs(size - share * time.size) for size in sizes)
    )


@pytest.mark.parametrize(
    ("time", "share", "error", "message"),
    [
        (START + np.arange(9) * DAY, 0.2, ValueError, "one moment per row; got 9 for 10"),
        (np.repeat(START, 10), 0.2, ValueError, "at least two moments.*all 10 rows are of 2025"),
        (np.arange(10), 0.2, TypeError, "time must hold moments of type datetime64"),
        (START + np.arange(10) * DAY, 0.0, ValueError, "share must be greater than 0"),
        (START + np.arange(10) * DAY, 1.0, ValueError, "share must be .* at most 0.99; got 1.0"),
        (START + np.arange(10) * DAY, 0.6, ValueError, "earlier rows must hold both classes"),
        (START - np.arange(10) * DAY, 0.2, ValueError, "latest rows must hold both classes"),
    ],
)
def test_latest_rows_that_cannot_be_are_refused(time, share, error, message):
    is_positive = np.isin(np.arange(10), [5, 9])
    with pytest.raises(error, match=message):
        splits.latest(time, is_positive, share)

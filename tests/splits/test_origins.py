"""Rolling origins: windows in time, each after the rows that are learned from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from toprank.splits import rolling_origins

START = np.datetime64("2025-01-01T06:00", "us")
HOUR, DAY = np.timedelta64(1, "h"), np.timedelta64(1, "D")


def slow_windows(time, begins, gap):
    """The rows before each window's beginning and gap, and those up to the next beginning."""
    windows = []
    for number, begin in enumerate(begins):
        later = begins[number + 1 :]
        train = [row for row, moment in enumerate(time) if moment < begin - gap]
        judged = [
            row
            for row, moment in enumerate(time)
            if moment >= begin and not any(moment >= other for other in later)
        ]
        windows.append((train, judged))
    return windows


@examples(60)
@given(st.integers(0, 1000), st.integers(0, 30), st.sampled_from([60, 400, 2000]))
def test_windows_follow_each_other_and_training_ends_before_the_gap(seed, gap, hours):
    generator = np.random.default_rng(seed)
    time = START + generator.integers(0, hours, 300) * HOUR
    is_positive = generator.random(300) < 0.4
    windows = rolling_origins(time, is_positive, gap * HOUR)

    begins = [time[judged].min() for _, judged in windows]
    whole_days = hours >= 20 * 24
    if whole_days:  # the first row of a day need not be at midnight
        begins = [begin.astype("datetime64[D]").astype(time.dtype) for begin in begins]
    expected = slow_windows(time, begins, gap * HOUR)
    for (train, judged), (slow_train, slow_judged) in zip(windows, expected, strict=True):
        assert train.tolist() == slow_train
        assert judged.tolist() == slow_judged
    assert len(windows) in (1, 2, 3, 4)


def test_four_windows_cover_the_latest_half():
    time = START + np.arange(800) * HOUR
    windows = rolling_origins(time, np.arange(800) % 5 == 0)

    judged = np.concatenate([rows for _, rows in windows])
    assert len(windows) == 4
    assert 380 <= judged.size <= 420
    assert np.array_equal(judged, np.arange(800 - judged.size, 800))
    assert all(80 <= rows.size <= 120 for _, rows in windows)


def test_long_data_is_cut_at_midnight():
    time = START + np.arange(800) * HOUR
    for _, judged in rolling_origins(time, np.arange(800) % 5 == 0):
        assert str(time[judged[0]]).endswith("T00:00:00.000000")


def test_windows_with_few_positives_are_fewer_and_longer():
    time = START + np.arange(1000) * HOUR
    sizes = {}
    for every in (5, 36, 100, 400):
        windows = rolling_origins(time, np.arange(1000) % every == 3)
        sizes[every] = len(windows)
        assert all((rows % every == 3).any() for _, rows in windows)
    assert sizes == {5: 4, 36: 2, 100: 1, 400: 1}


def test_where_a_gap_would_leave_nothing_to_learn_from_there_is_none():
    with pytest.warns(UserWarning, match="a gap of 1728000 seconds would leave nothing"):
        ((train, judged),) = rolling_origins(START + np.arange(10) * DAY, [0, 1] * 5, "20d")
    assert train.tolist() == list(range(8))
    assert judged.tolist() == [8, 9]


@pytest.mark.parametrize(
    ("time", "positive", "gap", "sentence"),
    [
        (START + np.arange(10) * DAY, [0, 1] * 5, "soon", "gap must be a span of time"),
        (START + np.arange(9) * DAY, [0, 1] * 5, None, "one moment per row; got 9 for 10"),
        (START + np.zeros(10) * HOUR, [0, 1] * 5, None, "at least two moments"),
        (START + np.arange(10) * DAY, [1] + [0] * 9, None, "latest rows must hold both classes"),
    ],
)
def test_what_cannot_be_split_is_named(time, positive, gap, sentence):
    with pytest.raises(ValueError, match=sentence):
        rolling_origins(time, positive, gap)

import json
import tracemalloc
from math import ceil, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from toprank import metrics
from toprank.metrics.score_histogram import ScoreHistogram
from toprank.rankers.online.windows import Window

pytestmark = pytest.mark.kernel


@st.composite
def streams(draw, max_rows=60):
    """Draw scores, labels and errors of a stream; scores are close to each other, many tied."""
    n = draw(st.integers(0, max_rows))
    scores = np.array(draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))) / 512 + 1
    is_positive, is_error = (
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
        for _ in range(2)
    )
    return scores, is_positive, is_error


@st.composite
def paned(draw):
    """A window too long to be exact."""
    size = draw(st.integers(1, 30))
    budget = draw(st.integers(1, size))
    return Window(size, budget, panes=draw(st.integers(2, 7)), exact_up_to=0)


def add_one_by_one(window, stream):
    for score, is_positive, is_error in zip(*stream, strict=True):
        window.add(score, is_positive, is_error)


def made_stream(n_rows, seed=0):
    random = np.random.default_rng(seed)
    is_positive = random.random(n_rows) < 0.1
    return random.normal(size=n_rows) + is_positive, is_positive, random.random(n_rows) < 0.2


def last(stream, n_rows):
    return [column[len(column) - n_rows :] for column in stream]


@given(streams(), st.integers(1, 40), st.data())
def test_a_short_window_measures_exactly_the_last_rows(stream, size, data):
    window = Window(size, budget=data.draw(st.integers(1, size)))
    add_one_by_one(window, stream)
    summary = window.summary()
    scores, is_positive, is_error = last(stream, min(size, stream[0].size))

    assert summary.n_rows == scores.size
    assert summary.n_positives == is_positive.sum()
    if scores.size:
        assert summary.error == approx(is_error.mean())
    if 0 < summary.n_positives < scores.size:
        k = summary.n_alerts
        expected = [
            metrics.average_precision(is_positive, scores),
            metrics.precision_at_k(is_positive, scores, k),
            metrics.recall_at_k(is_positive, scores, k),
        ]
        for bounded, value in zip(summary[-3:], expected, strict=True):
            assert bounded == (bounded.value,) * 3
            assert bounded.value == approx(value)


@given(paned(), streams())
def test_a_long_window_counts_the_last_rows_and_lacks_less_than_a_pane(window, stream):
    add_one_by_one(window, stream)
    summary = window.summary()
    n_seen = stream[0].size
    lacking = min(n_seen, window.size) - summary.n_rows
    scores, is_positive, is_error = last(stream, summary.n_rows)

    assert 0 <= lacking < ceil(window.size / window.panes)
    assert summary.n_positives == is_positive.sum()
    if n_seen:
        histogram = ScoreHistogram()
        histogram.add(scores, is_positive)
        assert summary.error == approx(is_error.mean())
        assert summary.precision_at_budget == histogram.precision_at(summary.n_alerts)
        if summary.n_positives:
            assert summary.average_precision == histogram.average_precision()
            assert summary.recall_at_budget == histogram.recall_at(summary.n_alerts)


@given(paned(), streams())
def test_a_long_window_never_has_more_than_its_maximum_of_panes(window, stream):
    for row in range(stream[0].size):
        window.add_batch(*(column[row : row + 1] for column in stream))

        assert window.to_state()[1]["pane_errors"].size <= window.panes


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_the_memory_of_a_window_levels_off(exact_up_to):
    window = Window(size=2000, budget=1, panes=2, exact_up_to=exact_up_to)
    tracemalloc.start()
    add_one_by_one(window, made_stream(5000))
    levelled, _ = tracemalloc.get_traced_memory()
    add_one_by_one(window, made_stream(15_000))
    grown = tracemalloc.get_traced_memory()[0] - levelled
    tracemalloc.stop()

    assert grown < 300_000


def test_a_full_window_of_panes_loses_the_oldest_with_the_next_row():
    window = Window(size=10, budget=1, panes=3, exact_up_to=0)
    n_rows = []
    for row in range(20):
        window.add(row, row % 2 == 0, is_error=False)
        n_rows.append(window.summary().n_rows)

    assert n_rows == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 7, 8, 9, 10, 7, 8, 9, 10, 7, 8]


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
@given(stream=streams(), size=st.integers(1, 30), data=st.data())
def test_batches_of_any_size_are_the_same_as_rows_one_by_one(exact_up_to, stream, size, data):
    one_by_one, in_batches = (Window(size, 1, exact_up_to=exact_up_to) for _ in range(2))
    add_one_by_one(one_by_one, stream)
    start = 0
    while start < stream[0].size:
        stop = start + data.draw(st.integers(1, 40))
        batch = [column[start:stop] for column in stream]
        if data.draw(st.booleans()):
            in_batches.add_batch(*batch)
        else:
            add_one_by_one(in_batches, batch)
        start = stop

    assert_same_state(one_by_one, in_batches)


def test_uncounted_rows_do_not_move_the_ends_of_panes():
    stream = made_stream(7321)
    one_by_one, at_once = (Window(2500, 50, panes=3, exact_up_to=0) for _ in range(2))
    add_one_by_one(one_by_one, stream)
    at_once.add_batch(*stream)

    assert_same_state(one_by_one, at_once)


def test_the_metrics_of_a_long_stream_are_within_the_bounds_of_a_long_window():
    stream = made_stream(30_000)
    window = Window(20_000, budget=500)
    window.add_batch(*stream)
    summary = window.summary()
    scores, is_positive, _ = last(stream, summary.n_rows)

    values = [
        metrics.average_precision(is_positive, scores),
        metrics.precision_at_k(is_positive, scores, summary.n_alerts),
        metrics.recall_at_k(is_positive, scores, summary.n_alerts),
    ]
    for bounded, value in zip(summary[-3:], values, strict=True):
        assert bounded.low <= value <= bounded.high < bounded.low + 0.01


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
@given(before=streams(), after=streams(), size=st.integers(1, 30))
def test_a_window_resumes_from_its_state_exactly_where_it_stopped(
    exact_up_to, before, after, size
):
    window = Window(size, 1, panes=4, exact_up_to=exact_up_to)
    add_one_by_one(window, before)
    state, arrays = window.to_state()
    resumed = Window.from_state(json.loads(json.dumps(state)), arrays)

    assert_same_state(resumed, window)
    for each in (window, resumed):
        add_one_by_one(each, after)
    assert_same_state(resumed, window)


def assert_same_state(first, second):
    (settings_a, arrays_a), (settings_b, arrays_b) = first.to_state(), second.to_state()
    assert settings_a == settings_b
    assert arrays_a.keys() == arrays_b.keys()
    for name, array in arrays_a.items():
        assert array.dtype == arrays_b[name].dtype
        assert np.array_equal(array, arrays_b[name])
    assert first.summary() == second.summary()


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_what_the_rows_leave_undefined_is_none(exact_up_to):
    window = Window(size=4, budget=2, exact_up_to=exact_up_to)
    assert window.summary() == (0, 0, 0, None, None, None, None)

    window.add(0.5, is_positive=False, is_error=True)
    assert window.summary() == (1, 0, 1, 1.0, None, (0, 0, 0), None)


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_rows_that_are_all_positive_have_every_metric(exact_up_to):
    window = Window(size=4, budget=2, exact_up_to=exact_up_to)
    window.add_batch([0.5, 0.6, 0.7, 0.8], [1, 1, 1, 1], [0, 0, 0, 1])

    assert window.summary() == (4, 4, 2, 0.25, (1, 1, 1), (1, 1, 1), (0.5, 0.5, 0.5))


def test_a_window_that_is_not_full_has_its_share_of_the_budget_and_at_least_one_alert():
    window = Window(size=100, budget=10)
    n_alerts = []
    for row in range(120):
        window.add(row, row % 2 == 0, is_error=False)
        n_alerts.append(window.summary().n_alerts)

    assert [n_alerts[i] for i in (0, 13, 15, 49, 99, 119)] == [1, 1, 2, 5, 10, 10]


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
@pytest.mark.parametrize(
    "row, message",
    [
        ((nan, True, False), "score must be a finite number; got nan"),
        ((-inf, True, False), "score must be a finite number; got -inf"),
        ((0.5, -1, False), "is_positive and is_error must be True or False; got -1 and False"),
        ((0.5, True, 2), "is_positive and is_error must be True or False; got True and 2"),
    ],
)
def test_an_invalid_row_is_rejected_and_not_added(exact_up_to, row, message):
    window = Window(size=4, budget=1, exact_up_to=exact_up_to)
    with pytest.raises(ValueError, match=message):
        window.add(*row)
    with pytest.raises(ValueError, match="must"):
        window.add_batch(*([value] for value in row))

    assert window.summary().n_rows == 0


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="is_error must have 2 values, one per score"):
        Window(4, 1).add_batch([0.1, 0.2], [True, False], [True])


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"size": 0}, ValueError, "size must be between 1 and"),
        ({"size": 10.0}, TypeError, "size must be a whole number; got 10.0"),
        ({"budget": 0}, ValueError, "budget must be between 1 and 100; got 0"),
        ({"budget": 101}, ValueError, "budget must be between 1 and 100; got 101"),
        ({"panes": 1}, ValueError, "panes must be between 2 and 100; got 1"),
        ({"exact_up_to": -1}, ValueError, "exact_up_to must be between 0 and 1000000; got -1"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(options, error, message):
    sound = {"size": 100, "budget": 10, "panes": 10, "exact_up_to": 0}
    with pytest.raises(error, match=message):
        Window(**{**sound, **options})
    with pytest.raises(error, match=message):
        Window.from_state({**sound, **options}, Window(**sound).to_state()[1])


@pytest.mark.parametrize("state", [{}, {"size": 3}, {"size": 4, "seed": 1}, None])
def test_settings_of_other_names_are_refused(state):
    with pytest.raises(ValueError, match="settings of a window must be size, budget, panes"):
        Window.from_state(state, Window(4, 1).to_state()[1])


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"scores": np.zeros(5)}, "'scores' must have at most 4 values; got 5"),
        ({"scores": np.array([0.1, nan, 0.3])}, "scores must hold finite numbers; 1 of 3"),
        ({"scores": np.zeros(3, dtype=np.float32)}, "'scores' must be one row of float64"),
        ({"is_positive": np.zeros(3)}, "'is_positive' must be one row of 3 bool; got float64"),
        ({"is_error": np.zeros(2, dtype=bool)}, r"'is_error' must be one row of 3 .* \(2,\)"),
    ],
)
def test_stored_rows_that_are_invalid_are_rejected_by_name(changed, message):
    window = Window(size=4, budget=1)
    add_one_by_one(window, made_stream(3))
    state, arrays = window.to_state()

    with pytest.raises(ValueError, match=message):
        Window.from_state(state, {**arrays, **changed})


def counts(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"pane_errors": counts(0, 3)}, "a pane of 2 rows must have 0 to 2 errors; got 3"),
        ({"pane_errors": counts(-1, 0)}, "a pane of 3 rows must have 0 to 3 errors; got -1"),
        ({"pane_errors": counts(*[0] * 5)}, "there must be at most 4 panes; got 5"),
        ({"pane_bins": counts(1, 1, 1)}, "'pane_bins' must be one row of 2 int64"),
        ({"pane_bins": counts(2, 2)}, "'pane_bins' must split the 3 bins among 2 panes"),
        ({"pane_bins": counts(-1, 4)}, "'pane_bins' must split the 3 bins among 2 panes"),
        ({"pane_bins": counts(3, 0)}, "'pane_bins' must split the 3 bins among 2 panes"),
        (
            # their sum is 3 in 64 bits
            {"pane_errors": counts(0, 0, 0), "pane_bins": counts(2**63 - 1, 2**63 - 1, 5)},
            "'pane_bins' must split the 3 bins among 3 panes",
        ),
        ({"pane_bins": counts(1, 2)}, "array 'bins' must rise"),
        ({"n_negative": counts(1, 1, -1)}, "must not be negative; got -1"),
        ({"n_negative": counts(1, 1)}, "'n_negative' must be one row of 3 int64"),
        ({"n_positive": counts(2, 0, 0)}, r"each pane but the last .* 3 rows; got \[4, 2\]"),
        ({"n_negative": counts(1, 1, 9)}, "the last pane must have 1 to 3 rows; got 9"),
    ],
)
def test_stored_panes_that_are_invalid_are_rejected_by_name(changed, message):
    # three rows of the scores 1 and 2 are in the first pane, two of the score 1 in the second
    window = Window(size=12, budget=1, panes=4, exact_up_to=0)
    window.add_batch([1, 1, 2, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0])
    state, arrays = window.to_state()
    assert arrays["n_negative"].tolist() == [1, 1, 2]

    with pytest.raises(ValueError, match=message):
        Window.from_state(state, {**arrays, **changed})


def test_stored_panes_with_more_rows_than_the_window_are_refused():
    window = Window(size=9, budget=1, panes=3, exact_up_to=0)
    add_one_by_one(window, made_stream(9))
    state, arrays = window.to_state()

    with pytest.raises(ValueError, match="panes must have at most 8 rows; got 9"):
        Window.from_state({**state, "size": 8}, arrays)

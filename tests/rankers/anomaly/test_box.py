"""The box around rows: where it ends, who is outside, and how far."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from toprank.rankers.anomaly.box import BOUNDS, Box

NUMBERS = np.array([False])


def column(*values):
    return np.array(values, dtype=np.float32)[:, None]


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    widest = draw(st.sampled_from([2, 1000]))
    values = st.integers(-widest, widest) | st.just(np.nan)
    row = st.lists(values, min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    return np.array(rows, dtype=np.float32) * draw(st.sampled_from([1, 1e-30, 0.1, 1e30]))


@given(tables())
@examples(60)
def test_the_range_holds_all_rows_it_is_around(features):
    box = Box.around(features, np.zeros(features.shape[1], bool))
    assert box.holds(features).all()
    assert (box.width > 0).all()


@given(tables(), st.sampled_from(BOUNDS))
@examples(60)
def test_a_row_is_inside_if_no_value_is_beyond_a_bound(features, way):
    box = Box.around(features, np.zeros(features.shape[1], bool), way)
    beyond = (features < box.low) | (features > box.high)
    assert np.array_equal(box.beyond(features) > 0, beyond)
    assert np.array_equal(box.holds(features), ~beyond.any(axis=1))


def test_the_range_reaches_half_a_gap_beyond_its_last_values():
    box = Box.around(column(4, 1, 2, 2), NUMBERS)
    assert (box.low.tolist(), box.high.tolist()) == ([0.5], [5.0])
    assert box.width.tolist() == [4.5]


def test_a_robust_box_is_not_blown_up_by_a_few_wild_values():
    features = column(*np.random.default_rng(0).normal(size=1000), 1e6, -1e6)
    wide, robust = (Box.around(features, NUMBERS, way) for way in BOUNDS)
    bottom, middle, top = np.quantile(features, [0.01, 0.5, 0.99])
    assert robust.low[0] == approx(middle - 1.5 * (middle - bottom))
    assert robust.high[0] == approx(middle + 1.5 * (top - middle))
    assert wide.width[0] > 1e6 > 10 > robust.width[0]
    assert robust.holds(features)[:-2].mean() > 0.99
    assert not robust.holds(features)[-2:].any()


@given(tables())
@examples(40)
def test_a_robust_box_is_within_the_range(features):
    nothing = np.zeros(features.shape[1], bool)
    wide, robust = (Box.around(features, nothing, way) for way in BOUNDS)
    assert (robust.low >= wide.low).all()
    assert (robust.high <= wide.high).all()


def test_a_column_mostly_of_one_value_keeps_its_range():
    features = column(*[0.0] * 999, 1.0)
    assert Box.around(features, NUMBERS, "robust").high.tolist() == [1.5]


@pytest.mark.parametrize("way", BOUNDS)
def test_a_column_of_one_value_has_width_1_and_nothing_else_in_it(way):
    box = Box.around(column(3, 3, 3), NUMBERS, way)
    assert box.width.tolist() == [1.0]
    assert box.beyond(column(3, 4, 2.5))[:, 0].tolist() == [0.0, 1.0, 0.5]


def test_a_value_outside_is_measured_in_widths():
    box = Box(np.array([0.0, -5.0]), np.array([10.0, 5.0]))
    rows = np.array([[0, 5], [-10, 0], [15, 6]], dtype=np.float32)
    assert box.beyond(rows).tolist() == [[0, 0], [1, 0], [0.5, 0.1]]


@pytest.mark.parametrize("way", BOUNDS)
def test_categories_have_no_bounds(way):
    features = np.array([[0, 1], [2, 5], [1, 3]], dtype=np.float32)
    box = Box.around(features, np.array([True, False]), way)
    assert (box.low[0], box.high[0], box.width[0]) == (-np.inf, np.inf, 1.0)
    assert box.holds(np.array([[99, 3]], dtype=np.float32)).all()


def test_a_missing_value_is_outside_where_there_was_none():
    features = np.array([[0, 1], [np.nan, 5], [1, 3]], dtype=np.float32)
    box = Box.around(features, np.array([False, False]))
    assert box.is_whole.tolist() == [False, True]
    rows = np.array([[np.nan, 3], [0, np.nan], [np.nan, np.nan]], dtype=np.float32)
    assert box.holds(rows).tolist() == [True, False, False]
    assert 0 < box.beyond(rows)[1, 1] < 1e-6


def test_missing_categories_are_outside_where_there_was_none():
    rows = np.array([[0], [np.nan]], dtype=np.float32)
    for seen, expected in ((rows[:1], [True, False]), (rows, [True, True])):
        assert Box.around(seen, np.array([True])).holds(rows).tolist() == expected


def test_a_column_without_any_value_holds_what_is_missing():
    box = Box.around(column(np.nan, np.nan), NUMBERS)
    assert box.holds(column(np.nan, 7.0)).tolist() == [True, False]


def test_given_bounds_are_taken_and_those_of_categories_left_aside():
    features = np.array([[0, 2], [np.nan, 1]], dtype=np.float32)
    box = Box.given([[-1, 4], [7, 3]], features, np.array([False, True]))
    assert box.low.tolist() == [-1, -np.inf]
    assert box.high.tolist() == [4, np.inf]
    assert box.is_whole.tolist() == [False, True]


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        ([[0, 1]], r"two numbers for each of the 2 columns, .*; got shape \(1, 2\) of int64"),
        ([0, 1], r"got shape \(2,\) of int64"),
        (None, r"got shape \(\) of object"),
        ([["a", "b"]] * 2, r"of <U1"),
        ([[True, False]] * 2, r"of bool"),
        ([[0, 1], [2, 2]], r"bounds of column 1 must be finite, .*; got 2 and 2"),
        ([[0, 1], [2, -1]], r"the lowest below the highest; got 2 and -1"),
        ([[0, np.nan], [2, 3]], r"bounds of column 0 must be finite, .*; got 0 and nan"),
        ([[-np.inf, 0], [2, 3]], r"bounds of column 0 must be finite, .*; got -inf and 0"),
    ],
    ids=str,
)
def test_bounds_that_make_no_box_are_named(bounds, sentence):
    with pytest.raises(ValueError, match=sentence):
        Box.given(bounds, np.zeros((1, 2), np.float32), np.array([False, False]))


def test_bounds_of_uneven_length_are_named():
    with pytest.raises(ValueError, match="bounds must be 'range', 'robust' or two numbers"):
        Box.given([[0, 1], [2]], np.zeros((1, 2), np.float32), np.array([False, False]))


def test_rows_that_are_all_inside_are_not_copied():
    rows = column(1.0, 2.0, 3.0)
    assert Box.around(rows, NUMBERS).inside(rows) is rows
    assert Box(np.zeros(1), np.full(1, 2.0)).inside(rows).tolist() == [[1.0], [2.0]]


def test_who_is_outside_is_found_in_every_block_of_rows():
    rows = np.random.default_rng(0).random((10_000, 2), dtype=np.float32)
    outside = [0, 4095, 4096, 8191, 8192, 9999]
    rows[outside, 1] = [2, -1, np.nan, 2, -1, np.nan]
    is_inside = Box(np.zeros(2), np.ones(2)).holds(rows)
    assert np.flatnonzero(~is_inside).tolist() == outside


def arrays_of(*boxes):
    return np.array([[box.low, box.high] for box in boxes]), np.array([~b.is_whole for b in boxes])


def test_boxes_come_back_from_their_arrays():
    features = np.array([[0, 1], [np.nan, 5], [1, 3]], dtype=np.float32)
    boxes = [Box.around(rows, np.array([False, True])) for rows in (features, features[::2])]
    again = Box.from_arrays(*arrays_of(*boxes))
    assert len(again) == 2
    for one, other in zip(boxes, again, strict=True):
        for values, expected in zip(other, one, strict=True):
            assert np.array_equal(values, expected)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda bounds, flags: (bounds[:, :1], flags), "two bounds per column"),
        (lambda bounds, flags: (bounds[..., :1], flags), "two bounds per column"),
        (lambda bounds, flags: (bounds, flags[0]), "two bounds per column"),
        (lambda bounds, flags: (bounds[:0], flags[:0]), "two bounds per column"),
        (lambda bounds, flags: (bounds.astype(np.float32), flags), "float64 .*bool"),
        (lambda bounds, flags: (bounds.astype(str), flags), "float64 .*bool"),
        (lambda bounds, flags: (bounds, flags.astype(int)), "float64 .*bool"),
        (lambda bounds, flags: (bounds[:, ::-1], flags), "the lowest first"),
        (lambda bounds, flags: (bounds * np.nan, flags), "the lowest first"),
    ],
)
def test_arrays_that_make_no_boxes_are_refused(change, sentence):
    sound = arrays_of(Box(np.zeros(2), np.ones(2)))
    with pytest.raises(ValueError, match=sentence):
        Box.from_arrays(*change(*sound))


@pytest.mark.parametrize("bound", [-np.inf, np.inf])
def test_a_box_nowhere_is_refused(bound):
    with pytest.raises(ValueError, match="boxes must"):
        Box.from_arrays(np.full((1, 2, 1), bound), np.array([[False]]))

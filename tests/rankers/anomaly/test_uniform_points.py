"""Points drawn from the box along the columns and from the rotated one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from examples import examples
from rankers.trees.made_payments import payments
from toprank.data.tables import Schema
from toprank.rankers.anomaly.uniform_points import RotatedSpace, UprightSpace, as_input
from toprank.rankers.anomaly.volume_bins import MISSING_SHARE

N_POINTS = 4000


def encoded(table):
    schema = Schema.of(table)
    return schema.encode(table), schema


def upright(table, bounds="range"):
    features, schema = encoded(table)
    space = UprightSpace.around(features, schema, bounds)
    return features, space, space.drawn(features, N_POINTS, np.random.default_rng(1))


def slanted(n_columns=3, n_rows=500, seed=0):
    """Rows near a line, which fill next to nothing of the box along the columns."""
    generator = np.random.default_rng(seed)
    along = generator.normal(size=(n_rows, 1))
    rows = along + 0.1 * generator.normal(size=(n_rows, n_columns))
    return (rows * [1, 10, 100][:n_columns] + 7).astype(np.float32)


def rotated(features, bounds="range"):
    return RotatedSpace.around(features, Schema.of(features), bounds)


def test_points_are_in_the_box_and_even_over_it():
    X = np.random.default_rng(0).normal(size=(300, 2))
    _, space, points = upright(X)

    assert not space.outside(points).any()
    share = (points - space.box.low) / space.box.width
    assert np.quantile(share, [0.25, 0.5, 0.75], axis=0) == approx(
        np.repeat([[0.25], [0.5], [0.75]], 2, axis=1), abs=0.03
    )
    assert abs(np.corrcoef(share.T)[0, 1]) < 0.05


def test_categories_and_flags_are_drawn_from_those_seen_each_as_likely():
    frame = pd.DataFrame({"country": ["FR"] * 95 + ["DE"] * 5, "online": [True] * 99 + [False]})
    _, _, points = upright(frame)

    assert set(np.unique(points)) == {0.0, 1.0}
    assert points.mean(axis=0) == approx([0.5, 0.5], abs=0.03)


def test_a_tenth_of_the_points_miss_a_value_where_rows_do_and_none_elsewhere():
    frame = pd.DataFrame(
        {
            "hours": [np.nan, 1.5, 2.5, 3.5],
            "country": ["FR", None, "DE", "FR"],
            "amount": [1.5, 2.0, 2.5, 3.0],
        }
    )
    _, _, points = upright(frame)
    share = np.isnan(points).mean(axis=0)
    assert share == approx([MISSING_SHARE, MISSING_SHARE, 0], abs=0.02)
    assert share[2] == 0


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=12))
@examples(30)
def test_whole_numbers_are_drawn_whole_and_inside_the_box(values):
    _, space, points = upright(np.array(values, dtype=float)[:, None])

    assert np.array_equal(points, np.rint(points))
    assert not space.outside(points).any()
    assert not np.signbit(points[points == 0]).any()


def test_a_whole_number_represents_the_unit_around_it():
    _, _, points = upright(np.array([[0.0], [1.0], [3.0]]))
    counts = np.unique(points, return_counts=True)[1] / N_POINTS
    # the box reaches from half a unit before 0 to a whole one beyond 3, which halves 4's
    assert counts == approx(np.array([1, 1, 1, 1, 0.5]) / 4.5, abs=0.03)


def test_whole_numbers_keep_to_bounds_between_them():
    _, space, points = upright(np.array([[1.0], [2.0]]), bounds=[[0.2, 3.7]])
    assert np.unique(points).tolist() == [1, 2, 3]
    assert not space.outside(points).any()


def test_a_column_of_one_value_keeps_it():
    _, space, points = upright(np.column_stack([np.full(9, 2.5), np.arange(9)]))
    assert (points[:, 0] == 2.5).all()
    assert space.outside(np.array([[2.6, 1.0]], dtype=np.float32))[0, 0] > 0


def test_many_points_are_drawn_in_blocks_of_the_same_kind(monkeypatch):
    monkeypatch.setattr("toprank.rankers.anomaly.uniform_points._AT_ONCE", 7)
    features, _, points = upright(payments(100)[0])
    assert points.shape == (N_POINTS, features.shape[1])
    assert np.isfinite(points[:, 0]).all()


@pytest.mark.parametrize("n_columns", [2, 8])
def test_points_near_rows_measure_the_same_volumes_as_even_ones(n_columns):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(300, n_columns))).rename(columns=str)
    frame.loc[:50, "0"] = np.nan
    frame["1"] = (3 * frame["1"]).round()
    frame["country"] = generator.choice(["FR", "DE", "US"], 300)
    features, space, even = upright(frame)
    points, weight = space.drawn_near(features, 4000, np.random.default_rng(2))

    def regions(at):
        numbers, country = at[:, :n_columns], at[:, n_columns]
        near = np.nansum(numbers[:, :2] ** 2, axis=1) < 9
        return [near, np.isnan(at[:, 0]), country == 1, near & (country == 0), at[:, 1] == 0]

    for close, far in zip(regions(points), regions(even), strict=True):
        assert weight[close].sum() / weight.size == approx(far.mean(), abs=0.03)
    assert np.array_equal(points[:, 1], np.rint(points[:, 1]))


def test_rows_fill_more_of_the_rotated_box():
    features = slanted()
    generator = np.random.default_rng(0)
    near_line = []
    for space in (UprightSpace.around(features, Schema.of(features)), rotated(features)):
        standard = (space.drawn(features, N_POINTS, generator) - 7) / [1, 10, 100]
        near_line.append((np.ptp(standard, axis=1) < 0.3).mean())
    assert near_line[1] > 10 * near_line[0]


def test_rotated_points_and_training_rows_are_in_the_rotated_box():
    features = slanted()
    space = rotated(features)
    assert not space.outside(features).any()
    points = space.drawn(features, N_POINTS, np.random.default_rng(0))
    # float32 may put a point on the border just outside
    assert (space.outside(points) > 0).any(axis=1).mean() < 0.001


def test_what_drives_a_row_out_of_the_rotated_box_is_reported_by_column():
    features = slanted()
    row = np.array([[7.0, 7.0, 7.0]], dtype=np.float32)
    row[0, 1] += 40  # four spreads from the line that the others are on
    parts = rotated(features).outside(row)
    assert parts[0, 1] > 0.6 * parts.sum()
    assert (parts >= 0).all()


def test_a_rotated_box_has_room_along_axes_without_any_spread():
    along = np.random.default_rng(0).normal(size=200)
    features = np.column_stack([along, 2 * along, np.full(200, 5.0)]).astype(np.float32)
    space = rotated(features)
    fresh = np.array([[0.5, 1.0, 5.0], [0.5, 1.0, 6.0], [0.5, 1.5, 5.0]], dtype=np.float32)
    assert space.outside(fresh).any(axis=1).tolist() == [False, True, True]


def test_a_missing_value_is_outside_the_rotated_box():
    features = slanted()
    row = features[:1].copy()
    row[0, 2] = np.nan
    parts = rotated(features).outside(row)
    assert parts[0, 2] > 0
    assert np.isfinite(parts).all()


@pytest.mark.parametrize(
    ("table", "bounds", "sentence"),
    [
        (payments(50)[0][["amount", "country"]], "range", "'country' is a category; leave it out"),
        (payments(50)[0][["amount", "online"]], "range", "'online' is a boolean; leave it out"),
        (payments(50)[0][["amount", "hours"]], "range", "column 'hours' misses .* of 50; fill"),
        (np.eye(3), [[0, 1]] * 3, "bounds must be 'range' or 'robust' with sampler='rotated'"),
    ],
)
def test_what_cannot_be_rotated_is_refused_with_a_way_out(table, bounds, sentence):
    features, schema = encoded(table)
    with pytest.raises(ValueError, match=sentence):
        RotatedSpace.around(features, schema, bounds)


@pytest.mark.parametrize("kind", [UprightSpace, RotatedSpace])
def test_a_space_comes_back_from_its_arrays(kind):
    features = slanted()
    space = kind.around(features, Schema.of(features))
    again = kind.from_arrays(space.arrays(), Schema.of(features))
    far = 3 * features
    assert np.array_equal(again.outside(far), space.outside(far))
    assert space.outside(far).any()


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("axes", lambda array: array[:2], "axes must be"),
        ("axes", lambda array: array.astype(np.float32), "axes must be"),
        ("centre", lambda array: array * np.nan, "centre must contain finite numbers"),
        ("spread", lambda array: -array, "spread must be greater than 0"),
        ("box", lambda array: array + 100, "must contain its centre"),
    ],
)
def test_broken_arrays_of_a_rotated_box_are_refused(name, change, sentence):
    features = slanted()
    arrays = rotated(features).arrays()
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError, match=sentence):
        RotatedSpace.from_arrays(arrays, Schema.of(features))


def test_encoded_rows_become_what_they_were_encoded_from():
    frame = payments(40)[0]
    frame.loc[3, "country"] = None
    features, schema = encoded(frame)
    table = as_input(features, schema)
    again = Schema.of(table).encode(table)
    assert np.array_equal(again, features, equal_nan=True)
    assert table["country"].to_pylist()[3] is None


def test_rows_of_numbers_stay_an_array():
    features, schema = encoded(np.eye(3))
    assert as_input(features, schema) is features

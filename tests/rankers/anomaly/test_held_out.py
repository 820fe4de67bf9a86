"""The curve of held-out rows: honest, in one box for all detectors, and cheap."""

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from toprank import AnomalyTreeRank
from toprank.metrics import area_under_mass_volume
from toprank.rankers.anomaly import held_out
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.held_out import held_out_curve


def normal_rows(n_rows, n_columns, seed=0):
    values = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return pa.table({f"x{i}": values[:, i] for i in range(n_columns)})


def mixed_rows(n_rows=600):
    generator = np.random.default_rng(0)
    amount = generator.gamma(2.0, 40.0, n_rows)
    gap = np.where(generator.random(n_rows) < 0.1, np.nan, generator.exponential(3, n_rows))
    return pa.table(
        {
            "amount": amount,
            "gap": gap,
            "country": generator.choice(["FR", "DE", "US"], n_rows, p=[0.8, 0.15, 0.05]),
            "online": generator.random(n_rows) < 0.3,
            "currency": np.full(n_rows, 978),
        }
    )


def forest(**options):
    return AnomalyForest(AnomalyTreeRank(**options), n_estimators=20)


@pytest.mark.parametrize("detector", [AnomalyTreeRank(), forest()], ids=["tree", "forest"])
def test_rows_learned_and_rows_judged_share_none_and_leave_none(detector):
    curve = held_out_curve(detector, normal_rows(301, 2))

    assert (curve.n_learned, curve.n_judged) == (150, 151)
    assert curve.area.low <= curve.area.value <= curve.area.high
    assert curve.area.value == approx(curve.curve.area)


def test_a_detector_that_remembers_its_rows_gets_no_credit():
    table = normal_rows(400, 3)
    memory = AnomalyTreeRank(global_depth=12, min_samples_leaf=1)
    of_its_own = memory.fit(table).mass_volume(table).area

    assert held_out_curve(memory, table).area.low > of_its_own


def test_the_area_of_a_normal_density_is_found_by_both_kinds_of_volume():
    table = normal_rows(3000, 2)
    low, high = (np.array([pick(table[name].to_numpy()) for name in ("x0", "x1")])
                 for pick in (np.min, np.max))  # fmt: skip
    points = np.random.default_rng(1).uniform(low, high, size=(20_000, 2))
    rows = np.column_stack([table["x0"], table["x1"]])
    best = area_under_mass_volume((rows**2).sum(axis=1), (points**2).sum(axis=1))

    for detector in (
        AnomalyTreeRank(global_depth=5),
        AnomalyForest(n_estimators=30, max_samples=0.5),
    ):
        area = held_out_curve(detector, table).area
        assert best - 0.01 < area.value < best + 0.03


def test_exact_and_measured_volumes_are_of_one_box():
    # one wild row widens the box for all, whichever half it falls in
    table = pa.concat_tables([normal_rows(999, 1), pa.table({"x0": [1000.0]})])

    for seed in range(2):
        for detector in (AnomalyTreeRank(), forest()):
            area = held_out_curve(detector, table, random_state=seed, n_points=2000).area
            assert area.value < 0.02


def test_robust_bounds_count_wild_rows_as_needing_all_of_the_box():
    table = pa.concat_tables([normal_rows(990, 1), pa.table({"x0": [1000.0] * 5})])

    for detector in (AnomalyTreeRank(bounds="robust"), forest(bounds="robust")):
        curve = held_out_curve(detector, table, bounds="robust").curve
        volume = np.interp(0.98, curve.mass, curve.volume)
        assert volume < 0.9
        assert np.interp(0.999, curve.mass, curve.volume) == approx(1)


@pytest.mark.parametrize("detector", [AnomalyTreeRank(), forest()], ids=["tree", "forest"])
@pytest.mark.parametrize("bounds", ["range", "robust"])
def test_categories_missing_and_constant_columns_have_their_place(detector, bounds):
    curve = held_out_curve(detector, mixed_rows(), bounds, n_points=1000)

    assert 0 < curve.area.value < 0.4
    assert curve.curve.mass[-1] == curve.curve.volume[-1] == 1


def test_many_columns_are_measured_with_points_near_the_rows():
    area = held_out_curve(forest(), normal_rows(600, 10), n_points=2000).area

    assert 0 < area.low < area.high < 0.05


def test_a_column_that_one_half_lacks_stops_nothing():
    table = mixed_rows().append_column("note", pa.array([None] * 599 + ["seen"]))
    amounts = pa.array([None] * 599 + [7.5])

    for seed in range(3):
        both = table.append_column("tip", amounts)
        held_out_curve(forest(), both, random_state=seed, n_points=1000)


def test_of_many_rows_some_are_enough(monkeypatch):
    monkeypatch.setattr(held_out, "_MOST_ROWS", 500)
    curve = held_out_curve(forest(), normal_rows(2000, 2))

    assert (curve.n_learned, curve.n_judged) == (250, 250)


def test_the_same_seed_gives_the_same_curve_and_the_detector_is_left_alone():
    detector = AnomalyTreeRank()
    first, second = (held_out_curve(detector, mixed_rows()) for _ in range(2))

    assert first.area == second.area
    assert not hasattr(detector, "tree_")
    assert detector.bounds == "range"


def test_one_row_cannot_be_split():
    with pytest.raises(ValueError, match=r"table must have at least 2 rows.* got 1\."):
        held_out_curve(AnomalyTreeRank(), normal_rows(1, 1))

"""Samples: the toy is the paper's, real rows come from data sets, none lies outside its box."""

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from toprank import metrics
from toprank_bench.simulated import anomaly_data
from toprank_bench.simulated.anomaly_data import ANOMALY_SAMPLES, anomaly_sample, has_density

GENERATOR = np.random.default_rng(0)
TABLES = {
    "adbench_satellite": {f"x{j}": GENERATOR.normal(size=500) for j in range(5)},
    "handbook_transactions": {
        "TX_TIME_SECONDS": GENERATOR.integers(0, 10_000_000, 30_000),
        "TX_AMOUNT": GENERATOR.gamma(2.0, 30.0, 30_000),
    },
    "ulb_creditcard": {f"V{j}": GENERATOR.normal(size=30_000) for j in (1, 2)},
    "nslkdd_train": {
        name: GENERATOR.choice([0.0, 0.25, 0.5, 1.0], 900)
        for name in ("dst_host_serror_rate", "srv_serror_rate", "serror_rate", "other")
    },
}


@pytest.fixture
def tables(monkeypatch):
    class Found:
        def __init__(self, name):
            self.features = pa.table(TABLES[name])

    monkeypatch.setattr(anomaly_data.datasets, "load", lambda name, folder: Found(name))


def test_the_toy_is_that_of_the_paper():
    toy = anomaly_sample("toy", 0, 1)
    density = toy.density(toy.points)
    assert density.mean() == approx(1)
    order = np.argsort(-density)
    best = metrics.mass_volume_of_groups(density[order], np.ones(order.size))
    assert best.area == approx(0.2373, abs=2e-4)  # the integral, known beforehand
    np.testing.assert_allclose(toy.rows.mean(axis=0), [0.5, 0.6], atol=0.02)


@pytest.mark.parametrize("name", ANOMALY_SAMPLES)
def test_a_seed_decides_a_world_and_all_of_it_is_in_the_box(name, tables):
    samples = [anomaly_sample(name, seed, 400) for seed in (1, 1, 2)]
    for sample in samples:
        low, high = sample.bounds.T
        for places in (sample.rows, sample.points):
            assert places.dtype == np.float32
            assert ((places >= low - 1e-6) & (places <= high + 1e-6)).all()
        assert sample.rows.shape[1] == sample.points.shape[1] == len(sample.bounds)
        assert (sample.density is None) != has_density(name)
    first, same, other = samples
    np.testing.assert_array_equal(first.rows, same.rows)
    np.testing.assert_array_equal(first.points, same.points)
    has_lattice = name == "toy"
    assert np.array_equal(first.points, other.points) == has_lattice
    assert len(first.points) == (40_000 if has_lattice else 400)


def test_large_sets_give_some_rows_and_hours_are_those_of_a_day(tables):
    cards, payments = anomaly_sample("cards", 0, 1).rows, anomaly_sample("payments", 0, 1).rows
    assert len(cards) == len(payments) == 20_000
    hour, log_amount = cards.T
    assert 0 <= hour.min() < 1 and 23 < hour.max() <= 24
    amounts = TABLES["handbook_transactions"]["TX_AMOUNT"].astype(np.float32)
    assert np.isclose(10 ** log_amount[0] - 1, amounts, rtol=1e-4).any()
    assert set(payments[:, 0]) <= set(TABLES["ulb_creditcard"]["V1"].astype(np.float32))


def test_satellite_rows_are_principal_components(tables):
    rows = anomaly_sample("satellite", 0, 1).rows
    assert rows.shape == (500, 3)
    np.testing.assert_allclose(np.corrcoef(rows.T), np.eye(3), atol=1e-5)
    spread = rows.std(axis=0)
    assert spread[0] >= spread[1] >= spread[2]


def test_intrusions_leave_corners_out_and_spread_rates_over_their_hundredths(tables):
    rows = anomaly_sample("intrusions", 0, 1).rows
    names = list(TABLES["nslkdd_train"])[:3]
    rates = np.column_stack([TABLES["nslkdd_train"][name] for name in names])
    kept = rates[((rates != 0) & (rates != 1)).any(axis=1)]
    assert len(rows) == len(kept) < 900
    assert np.abs(rows - kept).max() <= 0.005 + 1e-6
    assert len(np.unique(rows[:, 0])) > 0.9 * len(rows)  # rows no longer share values

"""One row that is far out does not blind a learner to all others."""

import numpy as np
import pytest

from toprank import (
    AdaBoostOL,
    AdaBoostOLW,
    OnlineBBM,
    OnlineGradientBoost,
    OnlineLinearBoost,
    OnlineNonLinearBoost,
    StreamBoost,
    metrics,
)

SIZES = [1e3, 1e4, 1e5, 1e6, 1e9, 1e12, 1e38, -1e9]
BOOSTERS = [
    AdaBoostOL, AdaBoostOLW, OnlineBBM, OnlineGradientBoost, OnlineLinearBoost, StreamBoost,
]  # fmt: skip


def made_payments(n_rows, seed):
    """Amounts from 0 to 100, most frauds among those above 80, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    amounts, other = rng.uniform(0, 100, n_rows), rng.normal(size=n_rows)
    return np.column_stack([amounts, other]), amounts + 5 * rng.normal(size=n_rows) > 80


def ap_after(learner, n_before, outlier, n_after=100):
    """Return the AP of ordinary rows after some rows, an outlier called genuine, and 100 more."""
    X, y = made_payments(n_before + n_after, seed=1)
    learner.partial_fit(X[:n_before], y[:n_before], classes=[False, True])
    if outlier is not None:
        learner.partial_fit([[outlier, 0.0]], [False])
    learner.partial_fit(X[n_before:], y[n_before:])
    X, is_positive = made_payments(1_000, seed=2)
    return metrics.average_precision(is_positive, learner.suspicion(X))


@pytest.mark.parametrize("n_before", [3, 12, 2_000])
@pytest.mark.parametrize("outlier", SIZES)
def test_the_ranking_of_ordinary_rows_recovers_within_100_rows_of_an_outlier(outlier, n_before):
    without = ap_after(OnlineNonLinearBoost(), n_before, None)
    assert without > 0.8
    assert ap_after(OnlineNonLinearBoost(), n_before, outlier) > without - 0.05


@pytest.mark.parametrize("booster", BOOSTERS)
def test_no_booster_is_blinded_by_one_outlier(booster):
    without = ap_after(booster(), 1_000, None)
    assert ap_after(booster(), 1_000, 1e9) > without - 0.05


def test_a_lasting_change_of_scale_is_followed():
    learner = OnlineNonLinearBoost()
    X, y = made_payments(2_000, seed=1)
    learner.partial_fit(X, y, classes=[False, True])
    learner.partial_fit(X * 1e6, y)  # from now on in other units
    X, is_positive = made_payments(1_000, seed=2)
    assert metrics.average_precision(is_positive, learner.suspicion(X * 1e6)) > 0.9


def test_outliers_of_several_columns_and_rows_leave_ordinary_rows_in_order():
    learner = OnlineNonLinearBoost()
    X, y = made_payments(2_000, seed=1)
    X[::200] = [1e9, -1e12]
    learner.partial_fit(X, y, classes=[False, True])
    X, is_positive = made_payments(1_000, seed=2)
    assert metrics.average_precision(is_positive, learner.suspicion(X)) > 0.9

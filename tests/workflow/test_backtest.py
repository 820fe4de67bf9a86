"""Backtests: lists promised from what came before, and what models promise afterwards."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx
from scipy.special import expit

from toprank import BoostedRanker
from toprank.calibration import fit_calibration
from toprank.calibration.list_drift import Drift
from toprank.data.tables import TableWarning
from toprank.metrics import Interval
from toprank.splits import DAY
from toprank.workflow import backtest
from toprank.workflow.alert_list import top_alerts
from toprank.workflow.backtest import (
    ListSize,
    ScoredWindow,
    backtested,
    lists_of,
    newest_calibration,
)
from toprank.workflow.promise import HeldDays, Promise, age_in_days

START = np.datetime64("2025-01-01T00:00", "us")


def window(first_day, n_days=10, *, shift=0.0, seed=0, per_day=200, until=None):
    """Rows whose scores are log-odds, off by a shift."""
    generator = np.random.default_rng(seed)
    raw = generator.normal(-3, 2, n_days * per_day)
    is_positive = generator.random(raw.size) < expit(raw + shift)
    time = START + (first_day + np.repeat(np.arange(n_days), per_day)) * DAY
    time = time + generator.integers(0, 86_400, raw.size).astype("timedelta64[s]")
    until = START + first_day * DAY if until is None else until
    return ScoredWindow(is_positive, raw, time, until)


def promise_of(windows, budget=20):
    calibration = newest_calibration(windows)
    return backtested(windows, calibration, windows[-1].time.max(), budget)


def test_each_list_is_the_top_of_its_day_with_what_was_found_there():
    calibration = fit_calibration(window(0).is_positive, window(0).suspicion)
    rows = window(10, 6, seed=1)
    lists = lists_of(rows, calibration, ListSize(DAY, 15))
    assert len(lists) == 6
    day = rows.time.astype("datetime64[D]")
    for number, each in enumerate(np.unique(day)):
        here = np.flatnonzero(day == each)
        top = here[np.argsort(-rows.suspicion[here])[:15]]
        assert lists[number].found == rows.is_positive[top].sum()
        assert lists[number].probability == approx(calibration.probability(rows.suspicion[top]))
        assert number < lists[number].age < number + 1


def test_a_card_is_listed_once_a_day():
    rows = window(10, 6, seed=1)._replace(card=np.arange(1200) % 8)
    lists = lists_of(rows, fit_calibration(rows.is_positive, rows.suspicion), ListSize(DAY, 15))
    assert [each.probability.size for each in lists] == [8] * 6


def test_a_short_test_is_cut_into_blocks_with_their_share_of_the_checks():
    time = START + np.arange(0, 86_400, 60).astype("timedelta64[s]")
    size = ListSize.of(time, 80)
    assert size.period == (time.max() - time.min()) // 8
    assert size.n_checks == 10
    assert ListSize.of(time[:1], 80) == (np.timedelta64(1, "us"), 80)
    assert ListSize.of(START + np.arange(5) * DAY, 80) == (DAY, 80)


def test_probabilities_come_from_the_newest_windows_with_enough_positives(monkeypatch):
    windows = [window(0, shift=1.0), window(10, seed=1), window(20, seed=2)]
    monkeypatch.setattr(backtest, "ENOUGH_POSITIVES", 1)
    assert newest_calibration(windows) == fit_calibration(*windows[-1][:2])
    monkeypatch.setattr(backtest, "ENOUGH_POSITIVES", 10**9)
    newest_first = zip(*(each[:2] for each in windows[::-1]), strict=True)
    assert newest_calibration(windows) == fit_calibration(*map(np.concatenate, newest_first))


def test_what_fell_short_in_every_window_is_promised_no_more():
    """Each window's positives are rarer than those before: lists held less than was promised."""
    steady = [window(10 * n, seed=n) for n in range(4)]
    falling = [window(10 * n, seed=n, shift=-0.7 * n) for n in range(4)]
    kept, fell = promise_of(steady), promise_of(falling)
    assert abs(kept.drift.mean) < 0.2
    assert fell.drift.mean < -0.3
    assert kept.held.n_lists == fell.held.n_lists == 10
    assert kept.held.n_held >= 8


def test_the_range_that_is_counted_was_made_before_the_test():
    windows = [window(10 * n, seed=n) for n in range(4)]
    none = np.zeros_like(windows[-1].is_positive)
    none[0] = True
    assert promise_of(windows).held.n_held >= 8
    assert promise_of([*windows[:-1], windows[-1]._replace(is_positive=none)]).held.n_held == 0


@pytest.mark.parametrize("windows", [[window(0)], [window(0)._replace(time=None)] * 2])
def test_without_times_or_an_earlier_window_nothing_is_promised(windows):
    calibration = fit_calibration(*windows[0][:2])
    assert backtested(windows, calibration, START, 10) is None


# What is promised of a list


@pytest.fixture
def promise():
    drift = Drift(mean=-0.5, start=0.02, reach=0.5, memory=20.0, noise=0.05, oldest=30.0)
    return Promise(drift, START, Interval(4.0, 1.0, 8.0), HeldDays(9, 10))


def test_a_promise_is_restored_from_plain_values(promise):
    assert Promise.from_json(json.loads(json.dumps(promise.to_json()))) == promise


@pytest.mark.parametrize(
    ("name", "value"), [("likely", [1, 5, 2]), ("held", [11, 10]), ("until", "soon")]
)
def test_plain_values_that_are_no_promise_are_refused(promise, name, value):
    with pytest.raises(ValueError, match=r"likely|lists that held|until"):
        Promise.from_json({**promise.to_json(), name: value})


def test_the_age_of_rows_from_before_the_model_is_nothing():
    assert age_in_days(START - 5 * DAY, START) == 0
    assert age_in_days(START + 36 * np.timedelta64(1, "h"), START) == 1.5


@pytest.fixture(scope="module")
def ranker():
    amount = np.arange(400.0)
    return BoostedRanker("log", n_estimators=10, n_jobs=1).fit(amount[:, None], amount > 380)


def listed(ranker, promise, day, **columns):
    time = np.full(300, START + day * DAY)
    table = pa.table({"x0": np.linspace(200, 400, 300), "at": time, **columns})
    ranker.feature_names_in_ = np.array(["x0"], dtype=object)
    return top_alerts(ranker, [table], 30, 0, facts={"time": "at"}, promise=promise)


def test_a_list_is_promised_less_by_a_model_that_fell_short_and_with_age_a_wider_range(
    ranker, promise
):
    plain, young, old = (
        listed(ranker, each, day).expected
        for each, day in ((None, 1), (promise, 1), (promise, 25))
    )
    assert young.value < plain.value
    assert old.high - old.low > young.high - young.low


def test_a_model_older_than_its_backtest_is_warned_of(ranker, promise):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed(ranker, promise, 29)
    with pytest.warns(TableWarning, match=r"10 days older .* backtest \(30 days\)"):
        listed(ranker, promise, 40)


def test_rows_without_times_are_taken_to_be_as_late_as_the_backtest_reached(ranker, promise):
    table = pa.table({"x0": np.linspace(200, 400, 300)})
    without = top_alerts(ranker, [table], 30, 0, facts={"time": "at"}, promise=promise)
    assert without.expected == listed(ranker, promise, 30).expected

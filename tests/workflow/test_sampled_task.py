"""A task of a sample: weights where probabilities are learned, all rows where figures are."""

import numpy as np
import pyarrow as pa
import pytest

from toprank.calibration import fit_calibration
from toprank.workflow.backtest import ScoredWindow, newest_calibration
from toprank.workflow.sampled_task import SampledTask, SampleFacts
from toprank.workflow.task import ScoredTest, prepare

N_ROWS, N_SAMPLED = 40_000, 5_000


class AllRows:
    """The test rows of a table, scored by their amount."""

    def __init__(self, table, rows):
        self._table, self._rows = table, rows

    def scored(self, ranker):
        picked = self._table.take(pa.array(self._rows))
        return ScoredTest(
            picked["is_fraud"].to_numpy(zero_copy_only=False),
            picked["amount"].to_numpy(),
            picked["at"].to_numpy(),
            None,
            None,
        )

    def features(self, places):
        return self._table.take(pa.array(self._rows[places]))

    def names(self, places):
        return [f"row {self._rows[place]}" for place in places]


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    amount = random.exponential(size=N_ROWS)
    at = np.datetime64("2025-01-01", "us") + np.arange(N_ROWS) * np.timedelta64(100, "s")
    is_fraud = random.random(N_ROWS) < 0.02 * amount
    return pa.table({"at": at, "amount": amount, "is_fraud": is_fraud})


@pytest.fixture(scope="module")
def sampled(table):
    """A task of all frauds and a tenth of the other rows."""
    is_fraud = table["is_fraud"].to_numpy(zero_copy_only=False)
    draw = np.random.default_rng(1).random(N_ROWS)
    kept = np.flatnonzero(is_fraud | (draw < 0.1))
    task = prepare(table.take(pa.array(kept)), "is_fraud", time="at")
    weight = np.where(is_fraud[kept], 1.0, 10.0)
    facts = SampleFacts(weight, draw[kept] < 0.1, N_ROWS, int(is_fraud.sum()))
    begin = task.split.periods["test"][0]
    rows = np.flatnonzero(table["at"].to_numpy() >= begin)
    return SampledTask.of(task, facts, AllRows(table, rows))


def test_counts_are_those_of_all_rows(table, sampled):
    n_rows, n_positive = sampled.counts()
    assert (n_rows, n_positive) == (N_ROWS, sum(table["is_fraud"].to_pylist()))
    of_train = sampled.counts(sampled.split.train)
    assert of_train[0] == pytest.approx(
        N_ROWS * sampled.split.train.size / sampled.time.size, rel=0.1
    )
    assert of_train[1] == sampled.is_positive[sampled.split.train].sum()


def test_test_rows_are_all_rows_with_days_counted_from_the_first_of_the_task(sampled):
    rows = sampled.test_rows(None)
    assert rows.is_positive.size > 3 * sampled.split.test.size
    first = sampled.time.min().astype("datetime64[D]")
    assert (first + rows.day == rows.time.astype("datetime64[D]")).all()


def test_probabilities_of_a_sample_are_those_of_all_rows(table, sampled):
    chosen = sampled.split.train
    amount = sampled.features["amount"].to_numpy()
    window = sampled.window(chosen, amount[chosen], None)
    rows = sampled.test_rows(None)

    learned = newest_calibration([window]).probability(rows.suspicion)
    assert learned.sum() == pytest.approx(rows.is_positive.sum(), rel=0.15)
    without = newest_calibration([window._replace(weight=None)]).probability(rows.suspicion)
    assert without.sum() > 5 * rows.is_positive.sum()


def test_windows_with_and_without_weights_make_one_calibration():
    suspicion = np.linspace(0, 1, 200)
    is_positive = np.random.default_rng(0).random(200) < suspicion
    plain = ScoredWindow(is_positive, suspicion)
    twice = plain._replace(weight=np.full(200, 2.0))

    both = newest_calibration([plain, twice])
    weight = np.repeat([1.0, 2.0], 200)[::-1]  # the newest window comes first
    at_once = fit_calibration(np.tile(is_positive, 2), np.tile(suspicion, 2), weight=weight)
    np.testing.assert_array_equal(both.probability(suspicion), at_once.probability(suspicion))


def test_the_windows_of_the_drift_are_the_halves_of_the_test(sampled):
    rows = sampled.test_rows(None)
    first, second = sampled.with_test([], rows, None)
    assert first.time.max() < second.time.min()
    assert first.time.size + second.time.size == rows.time.size
    assert first.weight is None


def test_a_half_without_positives_makes_one_window_of_the_test(sampled):
    rows = sampled.test_rows(None)
    (few,) = np.flatnonzero(rows.is_positive)[-1:]
    only_late = np.arange(rows.is_positive.size) == few
    windows = sampled.with_test([], rows._replace(is_positive=only_late), None)
    assert len(windows) == 1
    assert windows[0].is_positive.sum() == 1


def test_typical_rows_have_the_share_of_positives_of_all_rows(table, sampled):
    share = np.mean(table["is_fraud"].to_pylist())
    assert sampled.is_positive[sampled.typical_rows()].mean() == pytest.approx(share, abs=0.005)
    assert sampled.is_positive.mean() > 5 * share
    of_train = sampled.typical_rows("train")
    assert np.isin(of_train, sampled.split.train).all()


def test_features_and_names_of_test_rows_come_from_all_rows(table, sampled):
    rows = sampled.test_rows(None)
    top = np.argsort(-rows.suspicion)[:3]
    found = sampled.test_features(top)["amount"].to_pylist()
    assert found == rows.suspicion[top].tolist()
    names = sampled.test_names(top)
    assert [table["amount"][int(name.removeprefix("row "))].as_py() for name in names] == found

"""Usual values and probabilities from samples of rows."""

from pytest import approx

from cluster.ranked_rows import LOCALLY, in_parts, suspicion, table, trained
from toprank import BoostedRanker
from toprank.cluster import row_samples


def test_samples_of_large_data_are_every_nth_row_as_on_one_machine(one_worker, monkeypatch):
    X, y = table()
    monkeypatch.setattr(row_samples, "_ROWS_FOR_USUAL", 300)
    monkeypatch.setattr("toprank.rankers.reasons._ROWS_FOR_USUAL", 300)
    monkeypatch.setattr(row_samples, "_ROWS_FOR_CALIBRATION", 500)
    training = trained(one_worker, *in_parts(X, y))
    local = BoostedRanker("ap-exp", **LOCALLY).fit(X, y)
    assert training.usual == local.usual_
    expected = local.probability(X).sum()
    assert training.calibration.probability(suspicion(training, X)).sum() == approx(
        expected, rel=0.1
    )

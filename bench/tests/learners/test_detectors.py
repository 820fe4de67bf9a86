"""Every detector finds a far row, the same one with the same seed; rivals see what is said."""

import numpy as np
import pytest

from toprank_bench.experiment import Method
from toprank_bench.learners import detectors
from toprank_bench.learners.detectors import DETECTORS, Rival, make_detector, why_not_detector

GAUSSIAN = {"kernel": "gaussian"}  # a line cannot enclose anything
FEW = {"n_estimators": 10}
SMALL = {
    **dict.fromkeys(("anomaly-forest", "boosted", "rank-boost", "isolation-forest"), FEW),
    "pyod-inne": {"n_estimators": 50},
    **dict.fromkeys(("rank-svm", "rank-rls"), GAUSSIAN),
}
QUICK = [name for name in DETECTORS if name != "pyod-hbos"]  # which compiles anew in each process


@pytest.fixture(scope="module")
def rows():
    rows = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    rows[-1] = [6.0, -6.0]
    return rows


def made(name, seed=3, bounds=None, **parameters):
    try:
        return make_detector(name, seed, {**SMALL.get(name, {}), **parameters}, bounds)
    except ImportError as error:
        assert "install it with: pip install" in str(error)
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", QUICK)
def test_it_finds_a_far_row_and_the_same_again_with_the_same_seed(name, rows):
    suspicions = []
    for _ in range(2):
        detector = made(name)
        detector.fit(rows)
        suspicions.append(detector.suspicion(rows))
    assert suspicions[0].shape == (200,)
    assert np.count_nonzero(suspicions[0] >= suspicions[0][-1]) <= 3
    np.testing.assert_array_equal(*suspicions)


@pytest.mark.parametrize("name", QUICK)
def test_a_score_depends_on_the_rows_scored_with_it_only_where_that_is_said(name, rows):
    detector = made(name)
    detector.fit(rows)
    with_others = detector.suspicion(rows)[150:]
    is_same = np.allclose(detector.suspicion(rows[150:]), with_others, rtol=1e-4)
    assert is_same != DETECTORS[name].is_relative


def test_ours_get_the_box_and_rivals_do_not():
    bounds = np.array([[0.0, 1.0], [0.0, 2.0]])
    assert made("anomaly-tree", bounds=bounds).bounds is bounds
    assert made("rank-rls", bounds=bounds).bounds is bounds
    tree = made("anomaly-forest", bounds=bounds, tree={"max_bins": 9}).tree
    assert (tree.bounds is bounds, tree.max_bins) == (True, 9)
    assert isinstance(made("isolation-forest", bounds=bounds), Rival)


class Spy:
    """A detector that keeps the rows it learns from."""

    def fit(self, rows):
        self.rows = rows


def spied(rows, seed=0, **settings):
    spy = Spy()
    rival = Rival(spy, lambda _, seen: seen[:, 0], seed, **settings)
    return spy, rival.fit(rows)


def test_a_rival_learns_from_all_rows_as_they_are_or_from_some_drawn_by_the_seed(rows):
    assert spied(rows)[0].rows is rows
    drawn = [spied(rows, seed, most_rows=50)[0].rows for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert {len(each) for each in drawn} == {50}
    assert {tuple(row) for row in drawn[0]} <= {tuple(row) for row in rows}


def test_standardised_columns_have_mean_0_and_deviation_1_and_a_constant_stays(rows):
    uneven = np.column_stack([1_000 * rows[:, 0] + 7, np.full(200, 3.0)]).astype(np.float32)
    spy, rival = spied(uneven, standardised=True)
    np.testing.assert_allclose(spy.rows.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(spy.rows.std(axis=0), [1, 0], atol=1e-5)
    # rows to score are brought where those learned from were
    np.testing.assert_allclose(rival.suspicion(uneven[:3]), spy.rows[:3, 0])


def test_a_missing_package_and_a_wrong_parameter_get_a_sentence(monkeypatch):
    far = detectors.DetectorKind(detectors._pyod("Far"), "far-away")
    monkeypatch.setitem(DETECTORS, "far", far)
    with pytest.raises(ImportError, match="install it with: pip install far-away"):
        make_detector("far", 0, {})
    wrong = Method("mine", "anomaly-tree", {"global_dept": 2})
    assert "detector 'anomaly-tree' cannot be made: " in why_not_detector(wrong)
    assert "method 'mine' is left out: " in why_not_detector(wrong)
    assert why_not_detector(Method("mine", "anomaly-tree")) is None

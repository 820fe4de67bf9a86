"""Detectors side by side: areas, labels, the table, and detectors of others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import check_estimator

import contracts
from rankers.trees.made_payments import payments
from toprank import AnomalyTreeRank, BoostedRanker, metrics
from toprank.metrics import HopelessVolume, Interval
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.borrowed import BorrowedDetector
from toprank.rankers.anomaly.detector import Detector
from toprank.rankers.anomaly.detector_comparison import (
    JudgedDetector,
    as_text,
    default_detectors,
    judge_detectors,
    partial_labels,
)

ISOLATION = IsolationForest(n_estimators=20, random_state=0)


class Distance(Detector):
    """Ranks by distance from the centre, or the wrong way round."""

    def __init__(self, sign=1.0, contamination=0.01):
        self.sign = sign
        self.contamination = contamination

    def fit(self, X, y=None):
        features = self._read(X)
        self.seen_ = features
        return self._judge(self._raw(features))

    def _raw(self, features):
        return self.sign * np.square(features, dtype=np.float64).sum(axis=1)


def blob(n_rows=2000, n_columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def by_name(judged):
    return {each.name: each for each in judged}


def test_the_tighter_detector_has_the_lower_area_and_comes_first():
    judged = judge_detectors({"wrong": Distance(-1.0), "right": Distance()}, blob())
    assert [each.name for each in judged] == ["right", "wrong"]
    right, wrong = judged
    assert right.area.high < 0.2 < 0.8 < wrong.area.low
    assert right.excess_mass > wrong.excess_mass
    assert right.seconds >= 0


def test_an_area_is_that_of_rows_the_detector_did_not_learn_from():
    X = blob(1000)
    fitted = []

    class Spy(Distance):
        def fit(self, X, y=None):
            fitted.append(np.asarray(X))
            return super().fit(X)

    (judged,) = judge_detectors({"spy": Spy()}, X)
    (learned,) = fitted
    assert len(learned) == 500
    is_learned = (X.astype(np.float32)[:, None] == learned).all(axis=2).any(axis=1)
    assert is_learned.sum() == 500
    # the area of a ball is its volume in the box around all rows
    ends = [np.sort(column)[[0, 1, -2, -1]] for column in X.T]
    box = np.prod([(d - a) + (b - a) / 2 + (d - c) / 2 for a, b, c, d in ends])
    radius = np.linalg.norm(X[~is_learned], axis=1)
    whole_in_box = np.pi * radius**2 / box
    assert judged.area.value == approx(whole_in_box.mean(), abs=0.02)


def test_exact_volumes_agree_with_measured_ones():
    class Measured(AnomalyTreeRank):
        mass_volume = property()  # so that it seems to have none

    X = blob(1500)
    box = [[-4, 4]] * 2
    judged = by_name(
        judge_detectors(
            {
                "exact": AnomalyTreeRank(),
                "points": Measured(),
                "own box": AnomalyTreeRank(bounds=box),
            },
            X,
        )
    )
    exact = judged["exact"].area
    assert exact.low == exact.value == exact.high
    for name in ("points", "own box"):
        area = judged[name].area
        assert area.low - 0.005 <= exact.value <= area.high + 0.005
        assert area.low < area.high
    assert judged["points"].excess_mass == approx(judged["exact"].excess_mass, rel=0.1)


def test_volumes_stay_measurable_in_many_columns():
    X = blob(400, n_columns=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (judged,) = judge_detectors({"distance": Distance()}, X, n_points=2000)
    assert 0 < judged.area.low < judged.area.high < 0.01
    assert not judged.is_guess


def test_one_warning_names_all_whose_area_is_a_guess():
    class Spread(Distance):
        def _raw(self, features):
            return np.ptp(features, axis=1).astype(float)

    X = blob(300, 1) + 1e-4 * blob(300, 5)
    with pytest.warns(HopelessVolume, match="ordinary rows are by one, two, so") as caught:
        judged = judge_detectors({"one": Spread(), "two": Spread()}, X)
    assert len(caught) == 1
    assert all(each.is_guess for each in judged)
    assert as_text(judged).count("(a guess)") == 2


def test_any_table_can_be_compared_on():
    frame, is_fraud = payments(300)
    frame = frame.assign(same=1.0, rare=np.where(np.arange(300) == 7, 1.0, np.nan))
    detectors = {
        "tree": AnomalyTreeRank(),
        "forest": AnomalyForest(n_estimators=10),
        "borrowed": ISOLATION,
    }
    judged = judge_detectors(detectors, frame, y=is_fraud, n_points=1000)
    assert {each.name for each in judged} == set(detectors)
    for each in judged:
        assert 0 < each.area.value < 0.5
        assert 0 < each.average_precision <= 1


def test_labels_decide_before_the_area_and_ties_go_to_the_area():
    X = blob(400)
    near = np.linalg.norm(X, axis=1) < 0.5
    y = np.where(np.arange(400) < 50, near.astype(float), np.nan)
    detectors = {"right": Distance(), "wrong": Distance(-1.0), "wrong too": Distance(-2.0)}
    judged = judge_detectors(detectors, X, y=y)
    assert judged[-1].name == "right"
    wrong = by_name(judged)["wrong"]
    labelled = ~np.isnan(y)
    suspicion = -np.square(X).sum(axis=1)[labelled]
    assert wrong.average_precision == approx(metrics.average_precision(y[labelled], suspicion))
    assert wrong.roc_auc == approx(metrics.roc_auc(y[labelled], suspicion))

    tied = judge_detectors({"wrong": Distance(-1.0), "right": Distance()}, X, y=np.ones(400))
    assert [each.average_precision for each in tied] == [None, None]
    assert tied[0].name == "right"


def test_nothing_is_changed_and_a_seed_gives_the_same_figures():
    detector, X = Distance(), blob(300)
    one, other = (judge_detectors({"one": detector}, X, random_state=3)[0] for _ in range(2))
    assert (one.area, one.excess_mass) == (other.area, other.excess_mass)
    assert not hasattr(detector, "seen_")
    another = judge_detectors({"one": detector}, X, random_state=4)[0]
    assert another.area != one.area


@pytest.mark.parametrize(
    ("detectors", "rows", "options", "error", "sentence"),
    [
        ({}, 50, {}, ValueError, "detectors must .* got none"),
        ({"a": BoostedRanker()}, 50, {}, TypeError, "must have fit and score_samples"),
        ({"a": Distance()}, 3, {}, ValueError, "X must have at least 4 rows.* got 3"),
        ({"a": Distance()}, 50, {"n_points": 0}, ValueError, "n_points must be at least 1"),
        ({"a": Distance()}, 50, {"y": [1, 0]}, ValueError, "y must have 50 labels.* got shape"),
    ],
)
def test_what_is_wrong_is_said(detectors, rows, options, error, sentence):
    with pytest.raises(error, match=sentence):
        judge_detectors(detectors, blob(rows), **options)


@pytest.mark.parametrize(
    "y",
    [
        [1, 0, None],
        [True, False, None],
        np.array([1.0, 0.0, np.nan]),
        pd.Series([1, 0, None]),
        pd.Series([1, 0, None], dtype="Int64"),
        pd.Series([True, False, None], dtype="boolean"),
    ],
    ids=repr,
)
def test_partial_labels_come_in_many_forms(y):
    assert np.array_equal(partial_labels(y, 3), [1, 0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["fraud", None, "genuine"], "y must be 1 for positives, .*; got values that are not num"),
        ([1, -1, 0], "missing for rows without a label; got -1 in 1 rows"),
        ([1, 2, 2], "got 2 in 2 rows"),
        ([[1], [0], [1]], r"got shape \(3, 1\)"),
    ],
)
def test_labels_that_are_none_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        partial_labels(y, 3)


def test_the_table_is_aligned_and_shows_labels_where_there_are_any():
    area = Interval(0.031, 0.0305, 0.0315)
    judged = [
        JudgedDetector("forest", area, 4.5, 0.25, 0.5, 1.0),
        JudgedDetector("a long name", area, 10, 12.0),
    ]
    lines = as_text(judged).splitlines()
    assert lines[0].split("  ")[0] == "detector"
    assert lines[1].split() == ["forest", ".0310", "(.0305-.0315)", "4.5", ".500", "1.000", "0.2"]
    assert lines[0].index("area") == lines[2].index(".0310")
    assert lines[0].index("AP") + 2 == lines[1].index(".500") + 4
    assert "AP" not in as_text(judged[1:])


@pytest.mark.parametrize(
    ("area", "shown"),
    [(0.0, ".0000"), (0.5, ".5000"), (0.01234, ".0123"), (1.234e-5, ".0000123"), (1.0, "1.0000")],
)
def test_an_exact_area_shows_three_digits_however_small(area, shown):
    (_, line) = as_text(
        [JudgedDetector("tree", Interval(area, area, area), 1.0, 0.0, is_exact=True)]
    ).splitlines()
    assert f" {shown} exact " in line


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "names"),
    [
        (3, 1000, ["AnomalyForest", "AnomalyRanker", "IsolationForest", "OneClassSVM"]),
        (3, 10**6, ["AnomalyForest", "AnomalyRanker", "IsolationForest"]),
        (50, None, ["AnomalyForest", "IsolationForest"]),
    ],
)
def test_default_detectors_are_those_that_can_do_it(n_columns, n_rows, names):
    found = default_detectors(n_columns, n_rows)
    assert sorted(set(found) - {"AnomalyTreeRank"}) == names
    assert all(isinstance(each, Detector) for each in found.values())


@pytest.mark.filterwarnings("ignore")
def test_a_borrowed_detector_keeps_scikit_learns_contract():
    outcomes = check_estimator(BorrowedDetector(OneClassSVM()), on_fail="raise")
    assert sum(outcome["status"] == "passed" for outcome in outcomes) >= len(outcomes) - 1


def test_a_borrowed_detector_reads_tables():
    frame, _ = payments(200)
    detector = BorrowedDetector(ISOLATION)
    contracts.check_arguments_are_stored(detector)
    fitted = clone(detector).fit(frame)
    contracts.check_scores_are_row_wise(fitted, frame)
    contracts.check_columns_are_found_by_name(fitted, frame)
    contracts.check_unknown_categories_count_as_missing(fitted, frame)


def test_a_borrowed_detector_ranks_as_its_estimator_does():
    X = blob(300)
    mine = BorrowedDetector(ISOLATION).fit(X).suspicion(X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = -clone(ISOLATION).fit(standard).score_samples(standard)
    assert np.corrcoef(mine, theirs)[0, 1] > 0.999


def test_a_borrowed_detector_bears_a_table_of_one_value():
    suspicion = BorrowedDetector(ISOLATION).fit(np.ones((20, 2))).suspicion([[1, 1], [2, 2]])
    assert suspicion[0] == suspicion[1]

"""AnomalyRanker: promises, rows outside, how many points, warnings and files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pytest import approx
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from contracts import (
    check_arguments_are_stored,
    check_columns_are_found_by_name,
    check_scores_are_row_wise,
    check_shares_add_up,
    check_unknown_categories_count_as_missing,
)
from files.boosted import rows_for
from files.mutations import change_parameters, change_state
from files.packing import refused, rewrite
from rankers.trees.made_payments import payments
from toprank import (
    AnomalyRanker,
    AnomalyTreeRank,
    BoostedRanker,
    RankBoost,
    RankForest,
    RankRLS,
    RankSVM,
    TreeRank,
    load,
    metrics,
    save,
)
from toprank.files import ModelFileError
from toprank.rankers import reasons
from toprank.rankers.anomaly.anomaly_ranker import HopelessSampling

BOOSTED = BoostedRanker("log", n_estimators=10, n_jobs=1)
KEEN = RankRLS(kernel="gaussian", n_centres=100)
BASES = [
    BOOSTED,
    TreeRank(),
    RankRLS(),
    *(
        pytest.param(base, marks=pytest.mark.slow)
        for base in (
            RankBoost(n_estimators=20, n_jobs=1),
            RankRLS(kernel="gaussian", n_centres=50),
            RankSVM(kernel="gaussian", n_centres=20),
            RankForest(TreeRank(global_depth=3), n_estimators=4),
        )
    ),
]
EVERY_BASE = pytest.mark.parametrize("base", BASES, ids=str)
pytestmark = pytest.mark.filterwarnings(
    "ignore::toprank.rankers.anomaly.anomaly_ranker.HopelessSampling"
)


def small(base=BOOSTED, **others):
    return AnomalyRanker(base, n_points=500, **others)


def blob(n_rows=600, n_columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def without_frauds(n_rows, seed=0):
    frame, _ = payments(n_rows, seed)
    return frame


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_contract():
    outcomes = check_estimator(AnomalyRanker(RankRLS(), n_points=50), on_fail="raise")
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    assert len(passed) >= len(outcomes) - 1


@EVERY_BASE
def test_it_keeps_the_promises_of_every_ranker(base):
    detector, frame = small(base), without_frauds(150)
    check_arguments_are_stored(detector)
    fitted = clone(detector).fit(frame)
    for check in (
        check_scores_are_row_wise,
        check_shares_add_up,
        check_columns_are_found_by_name,
        check_unknown_categories_count_as_missing,
    ):
        check(fitted, frame)


@pytest.mark.parametrize("sampler", ["box", "rotated"])
def test_shares_of_rows_outside_add_up_too(sampler):
    detector = small(RankRLS(kernel="gaussian"), sampler=sampler).fit(blob())
    rows = np.concatenate([100 * blob(50), 3 * blob(50, seed=1)])
    assert detector.contributions(rows).sum(axis=1) == approx(detector.suspicion(rows), abs=1e-9)


@EVERY_BASE
def test_rows_in_empty_places_are_more_suspicious(base):
    if str(base) == "RankRLS()":
        pytest.skip("a line cannot surround a blob")
    detector = AnomalyRanker(base, n_points=2000).fit(blob(2000))
    usual, unusual = detector.suspicion([[0.0, 0.0], [2.6, -2.6]])
    assert usual < unusual


@pytest.mark.parametrize("sampler", ["box", "rotated"])
@EVERY_BASE
def test_rows_outside_are_more_suspicious_than_any_inside(base, sampler):
    X = blob(300)
    detector = small(base, sampler=sampler).fit(X)
    grid = np.stack(np.meshgrid(*[np.linspace(-6, 6, 80)] * 2), axis=-1).reshape(-1, 2)
    suspicion = detector.suspicion(grid)
    is_outside = detector.space_.outside(grid.astype(np.float32)).any(axis=1)
    assert 0 < is_outside.sum() < is_outside.size
    assert suspicion[is_outside].min() > suspicion[~is_outside].max()


def test_order_above_the_highest_suspicion_seen_is_kept_below_rows_outside():
    detector = small(RankRLS()).fit(blob(200))
    top = detector._top
    capped = detector._capped(top + np.array([-1.0, 0.0, 1e-3, 1.0, 1e6]))
    assert capped[:2].tolist() == [top - 1, top]
    assert (np.diff(capped) > 0).all()
    assert capped[-1] < top + 2


def test_its_area_under_the_mass_volume_curve_is_near_the_best_there_is():
    X, test = blob(1500), blob(1500, seed=1)
    detector = AnomalyRanker(RankRLS(kernel="gaussian")).fit(X)
    points = np.random.default_rng(2).uniform(-4, 4, size=(5000, 2))
    by_density = metrics.area_under_mass_volume((test**2).sum(axis=1), (points**2).sum(axis=1))
    found = metrics.area_under_mass_volume(detector.suspicion(test), detector.suspicion(points))
    assert found < by_density + 0.005


def test_more_points_than_rows_are_still_the_positives():
    detector = AnomalyRanker(BOOSTED, n_points=3000).fit(blob(200))
    assert bool(detector.base_.positive_label_) is True
    assert detector.suspicion([[0, 0]]) < detector.suspicion([[3, 3]])


@pytest.mark.parametrize(
    ("n_rows", "memory_limit", "n_points"),
    [(200, 500.0, 5000), (6000, 500.0, 6000), (6000, 0.024, 1000), (200, 1e-9, 1)],
)
def test_there_are_as_many_points_as_rows_if_memory_allows(n_rows, memory_limit, n_points):
    detector = AnomalyRanker(RankRLS(), memory_limit=memory_limit)
    assert detector.fit(blob(n_rows)).n_points_ == n_points


def test_separation_is_measured_on_rows_and_points_that_are_new():
    detector = AnomalyRanker(BOOSTED, n_points=1000).fit(blob(1000))
    fresh = blob(5000, seed=1)
    points = detector.space_.drawn(fresh, 5000, np.random.default_rng(1))
    is_point = np.arange(10_000) < 5000
    found = metrics.roc_auc(is_point, detector.base_.suspicion(np.concatenate([points, fresh])))
    assert detector.separation_ == approx(found, abs=0.03)
    assert np.isnan(small().fit(blob(99)).separation_)


def test_it_warns_where_points_never_fall_among_rows_and_not_elsewhere():
    generator = np.random.default_rng(0)
    along = generator.normal(size=(500, 1))
    slanted = along + 0.05 * generator.normal(size=(500, 6))
    with pytest.warns(HopelessSampling, match=r"fall among the rows .* sampler='rotated', or use"):
        small(KEEN).fit(slanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(KEEN, sampler="rotated").fit(slanted)
        small(KEEN).fit(blob())


def test_the_warning_offers_only_what_is_not_in_use():
    X = np.column_stack([blob(500, 1)] * 8) + 0.001 * blob(500, 8)
    with pytest.warns(HopelessSampling) as caught:
        small(KEEN, bounds="robust").fit(X)
    assert "bounds" not in str(caught[0].message)
    frame = pd.DataFrame(X).rename(columns=str).assign(country=["FR", "DE"] * 250)
    with pytest.warns(HopelessSampling) as caught:
        small(KEEN).fit(frame)
    assert "rotated" not in str(caught[0].message)
    assert "bounds='robust'" in str(caught[0].message)


def test_a_category_that_no_row_inside_has_is_no_obstacle():
    frame = pd.DataFrame({"amount": [*np.linspace(1, 2, 99), 1e6], "country": ["FR"] * 99 + ["A"]})
    detector = small(bounds="robust").fit(frame)
    suspicion = detector.suspicion(frame)
    assert suspicion.argmax() == 99
    assert np.isfinite(suspicion).all()


def test_reasons_name_the_column_that_is_odd():
    frame = without_frauds(800)
    detector = small(BoostedRanker("log", n_estimators=60, n_jobs=1)).fit(frame)
    odd = frame.iloc[:1].assign(amount=5000.0)
    reason = reasons.explain(detector, odd, n_reasons=1)[0][0]
    assert reason.feature == "amount"
    assert reason.value == "5,000"


@pytest.mark.parametrize(
    ("detector", "error", "sentence"),
    [
        (
            AnomalyRanker(AnomalyTreeRank()),
            TypeError,
            "base must be a ranker.* got AnomalyTreeRank",
        ),
        (AnomalyRanker(RankRLS(positive_label=1)), ValueError, "leave positive_label at None"),
        (AnomalyRanker(n_points=0), ValueError, "n_points must be at least 1"),
        (AnomalyRanker(sampler="cube"), ValueError, "sampler must be one of 'box', 'rotated'"),
        (AnomalyRanker(bounds="wide"), ValueError, "bounds must be one of"),
        (AnomalyRanker(memory_limit=0), ValueError, "memory_limit must be greater than 0"),
        (
            AnomalyRanker(n_points=10**6, memory_limit=1),
            ValueError,
            "n_points must be at most 41,666 for 2 columns in 1 MB; got 1,000,000. Raise mem",
        ),
        (
            AnomalyRanker(bounds=[[50, 60]] * 2),
            ValueError,
            "bounds must .* got none of 20 in the box",
        ),
    ],
)
def test_what_is_wrong_is_said(detector, error, sentence):
    with pytest.raises(error, match=sentence):
        detector.fit(blob(20))


@pytest.mark.parametrize(
    "bounds", ["range", [[0, 500], [0, 0], [0, 1], [0, 100], [-5, 5]]], ids=["range", "given"]
)
@EVERY_BASE
def test_a_file_keeps_it(base, bounds, tmp_path):
    frame = without_frauds(200)
    fitted = AnomalyRanker(base, n_points=100, bounds=bounds).fit(frame)
    save(fitted, tmp_path / "anomalies.toprank")
    again = load(tmp_path / "anomalies.toprank")
    other = without_frauds(60, seed=1)
    assert str(again) == str(fitted)
    assert np.array_equal(again.suspicion(other), fitted.suspicion(other))
    assert np.array_equal(again.contributions(other), fitted.contributions(other))
    assert np.array_equal(again.predict(other), fitted.predict(other))
    assert again.usual_ == fitted.usual_
    assert (again.separation_, again.n_points_) == (fitted.separation_, fitted.n_points_)
    assert np.array_equal(clone(again).fit(frame).suspicion(other), fitted.suspicion(other))


def test_a_file_keeps_a_rotated_box(tmp_path):
    fitted = small(RankRLS(), sampler="rotated").fit(blob())
    save(fitted, tmp_path / "anomalies.toprank")
    rows = 3 * blob(50, seed=1)
    again = load(tmp_path / "anomalies.toprank")
    assert np.array_equal(again.suspicion(rows), fitted.suspicion(rows))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda state: state["base"].update(learner="AnomalyForest"), "base must be a ranker"),
        (lambda state: state["base"].update(learner="Nobody"), "is unknown"),
        (
            lambda state: state["base"]["state"].update(named_columns=False),
            "must read the columns",
        ),
        (lambda state: state.update(top={"$float": "inf"}), "top must .*finite"),
        (lambda state: state.update(n_points=0), "n_points must be at least 1"),
        (lambda state: state.pop("base"), "'base'"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(change, sentence, tmp_path):
    path = tmp_path / "payments.toprank"
    save(small(RankRLS()).fit(without_frauds(60)), path)
    rewrite(path, lambda manifest, members: change(manifest["state"]))
    with refused(f"do not make a AnomalyRanker: .*{sentence}"):
        load(path)


@pytest.mark.parametrize("n_seeds", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_no_broken_file_loads_into_nonsense(n_seeds, tmp_path):
    path, frame = tmp_path / "payments.toprank", without_frauds(120)
    save(small(RankRLS()).fit(frame), path)
    good, n_loaded = path.read_bytes(), 0
    for seed in range(n_seeds):
        path.write_bytes(good)
        (change_state, change_parameters)[seed % 2](path, np.random.default_rng(seed))
        try:
            loaded = load(path)
        except ModelFileError:
            continue
        rows = rows_for(loaded)
        assert np.isfinite(loaded.suspicion(rows)).all()
        assert np.isfinite(loaded.contributions(rows)).all()
        n_loaded += 1
    assert n_loaded < n_seeds

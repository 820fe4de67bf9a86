"""The engines against scikit-learn, XGBoost's own objective and each other."""

import builtins

import numpy as np
import pytest
import xgboost
from pytest import approx

from toprank.data.inputs import TrainingRows
from toprank.losses import ApExp, Gather, Log
from toprank.metrics import average_precision
from toprank.rankers.boosted import paper_engine, xgboost_engine
from toprank.rankers.boosted.objective import Objective
from toprank.rankers.boosted.plan import Plan


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(1500, 5)).astype(np.float32)
    features[generator.random(features.shape) < 0.05] = np.nan
    signal = np.nan_to_num(features[:, 0]) + np.nan_to_num(features[:, 1]) ** 2
    is_positive = signal + 0.5 * generator.normal(size=1500) > 3.2
    return TrainingRows(features, is_positive, None)


def plan_of(loss, n_estimators=30, warm=0, **changes):
    return Plan(loss, n_estimators, warm, batch_fraction=1.0, seed=0, gather=Gather(), **changes)


def train(rows, plan, validation=None, **changes):
    settings = {"max_depth": 3, "learning_rate": 0.2, "nthread": 1}
    options = {"max_bins": 64, "binning": "quantile", "feature_types": ["q"] * 5}
    return xgboost_engine.train(
        rows, plan, validation, settings=settings, **{**options, **changes}
    )


def test_log_loss_comes_first_and_the_loss_takes_over(rows):
    warm = plan_of(ApExp(), n_estimators=10, warm=4)
    assert [(type(p.loss), p.n_trees, p.first) for p in warm.phases()] == [
        (Log, 4, 0),
        (ApExp, 6, 4),
    ]
    assert warm.start(rows) == approx(Log().start(rows.is_positive))
    assert plan_of(ApExp()).start(rows) == 0
    assert [p.n_trees for p in plan_of(ApExp(), warm=30).phases()] == [30]
    assert [p.n_trees for p in plan_of(Log(), warm=7).phases()] == [30]


def test_the_second_phase_continues_from_the_trees_of_the_first(rows):
    log_only = train(rows, plan_of(Log(), n_estimators=12)).booster
    both = train(rows, plan_of(ApExp(), n_estimators=20, warm=12)).booster
    assert both.num_boosted_rounds() == 20
    assert xgboost_engine.predict_raw(both[:12], rows.features) == approx(
        xgboost_engine.predict_raw(log_only, rows.features), abs=1e-5
    )


def test_log_loss_grows_the_trees_of_xgboosts_own_logistic_objective(rows):
    ours = train(rows, plan_of(Log())).booster
    matrix = xgboost.QuantileDMatrix(rows.features, rows.is_positive, max_bin=64)
    start = Log().start(rows.is_positive)
    theirs = xgboost.train(
        {
            "objective": "binary:logistic",
            "base_score": 1 / (1 + np.exp(-start)),
            "max_depth": 3,
            "learning_rate": 0.2,
            "max_bin": 64,
            "nthread": 1,
        },
        matrix,
        30,
    )
    expected = theirs.predict(xgboost.DMatrix(rows.features), output_margin=True)
    assert xgboost_engine.predict_raw(ours, rows.features) == approx(expected, abs=2e-4)


def test_unscaled_gradients_would_teach_nothing(rows, monkeypatch):
    scaled = train(rows, plan_of(ApExp())).booster
    monkeypatch.setattr(Objective, "_row_scale", lambda *_: 1.0)
    unscaled = train(rows, plan_of(ApExp())).booster
    raw = xgboost_engine.predict_raw(scaled, rows.features)
    assert average_precision(rows.is_positive, raw) > 0.8
    assert np.ptp(xgboost_engine.predict_raw(unscaled, rows.features)) < 0.01


@pytest.mark.parametrize("loss", [Log(), ApExp("log"), ApExp("paper")], ids=str)
def test_trees_lower_the_loss_on_the_rows_they_learn(rows, loss):
    values = []
    for n_trees in (1, 10, 40):
        booster = train(rows, plan_of(loss, n_trees)).booster
        raw = xgboost_engine.predict_raw(booster, rows.features)
        values.append(loss.value(rows.is_positive, raw))
    assert values[0] > values[1] > values[2]


def test_the_papers_engine_never_raises_its_loss(rows):
    loss = ApExp("paper")
    previous = loss.value(rows.is_positive, np.zeros(rows.is_positive.size))
    for n_trees in (1, 2, 4, 8):
        training = paper_engine.train(
            rows, plan_of(loss, n_trees), None, max_depth=3, learning_rate=1.0
        )
        raw = xgboost_engine.predict_raw(training.booster, rows.features)
        value = loss.value(rows.is_positive, raw)
        assert value <= previous + 1e-9
        previous = value


def test_the_papers_trees_score_the_same_as_a_booster(rows):
    from sklearn.tree import DecisionTreeRegressor

    target = np.nan_to_num(rows.features).sum(axis=1)
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(rows.features, target)
    booster = paper_engine._as_booster([(tree, 0.5), (tree, -2.0)], 0.25, 5)
    expected = 0.25 - 1.5 * tree.predict(rows.features)
    assert xgboost_engine.predict_raw(booster, rows.features) == approx(expected, abs=1e-5)


def test_rows_on_a_threshold_go_the_way_scikit_learn_sends_them():
    from sklearn.tree import DecisionTreeRegressor

    features = np.array([[0.1], [0.2], [0.3], [0.4]], dtype=np.float32)
    tree = DecisionTreeRegressor().fit(features, [1.0, 5.0, 2.0, 9.0])
    cuts = tree.tree_.threshold[tree.tree_.feature >= 0]
    around = np.concatenate(
        [cuts.astype(np.float32), np.nextafter(cuts.astype(np.float32), np.float32(9))]
    )[:, None]
    booster = paper_engine._as_booster([(tree, 1.0)], 0.0, 1)
    assert xgboost_engine.predict_raw(booster, around) == approx(tree.predict(around))


@pytest.mark.parametrize("engine", ["xgboost", "paper"])
def test_contributions_add_up_to_the_score(rows, engine):
    plan = plan_of(ApExp(), n_estimators=15, warm=5)
    if engine == "xgboost":
        booster = train(rows, plan).booster
    else:
        booster = paper_engine.train(rows, plan, None, max_depth=4, learning_rate=0.5).booster
    shares = xgboost_engine.contributions(booster, rows.features)
    raw = xgboost_engine.predict_raw(booster, rows.features)
    assert shares.sum(axis=1) == approx(raw, abs=1e-4)


def test_the_step_search_finds_the_lowest_of_two_valleys():
    def two_valleys(step):
        return min((step - 0.02) ** 2, (step - 3) ** 2 - 0.5)

    assert paper_engine.best_step(two_valleys, 10.0) == approx(3, abs=1e-2)
    assert paper_engine.best_step(lambda step: step, 10.0) == 0


@pytest.mark.parametrize("engine", ["xgboost", "paper"])
def test_validation_ends_each_phase_by_itself(rows, engine):
    plan = plan_of(ApExp(), n_estimators=100, warm=90, patience=3)
    if engine == "xgboost":
        training = train(rows, plan, rows)
    else:
        training = paper_engine.train(rows, plan, rows, max_depth=3, learning_rate=0.3)
    kept = training.booster.num_boosted_rounds()
    assert kept <= len(training.history) < 100


@pytest.mark.parametrize("engine", ["xgboost", "paper"])
def test_validation_that_contradicts_leaves_one_tree(rows, engine):
    backwards = TrainingRows(rows.features, ~rows.is_positive, None)
    plan = plan_of(ApExp(), n_estimators=60, warm=40, patience=5)
    if engine == "xgboost":
        training = train(rows, plan, backwards)
    else:
        training = paper_engine.train(rows, plan, backwards, max_depth=3, learning_rate=0.3)
    assert training.booster.num_boosted_rounds() == 1
    assert len(training.history) < 60


def test_balanced_bins_split_a_tail_that_quantile_bins_merge():
    generator = np.random.default_rng(0)
    amount = np.concatenate([generator.uniform(0, 100, 20_000), generator.uniform(100, 200, 60)])
    is_positive = amount > 150
    tail = TrainingRows(amount[:, None].astype(np.float32), is_positive, None)
    found = {}
    for binning in ("quantile", "balanced"):
        booster = train(
            tail, plan_of(Log()), max_bins=16, binning=binning, feature_types=["q"]
        ).booster
        raw = xgboost_engine.predict_raw(booster, tail.features)
        found[binning] = average_precision(is_positive, raw)
    assert found["balanced"] > 0.85
    assert found["balanced"] > found["quantile"] + 0.2


def test_a_missing_engine_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def without_xgboost(name, *args, **kwargs):
        if name == "xgboost":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_xgboost)
    with pytest.raises(ImportError, match="pip install xgboost-cpu"):
        xgboost_engine.import_xgboost()


def test_along_the_gradient_the_highest_positive_leaves_the_others_behind():
    is_positive = np.arange(30) < 6
    raw = np.random.default_rng(0).normal(size=30) / 4
    start, loss = raw[:6].copy(), ApExp(form="paper")
    while loss.value(is_positive, raw) > 0.05:
        gradient, _ = loss.gradient_curvature(is_positive, raw)
        raw -= 1e-3 / np.abs(gradient).max() * gradient
    # exp(-f) of all positives falls by the same amount: only the first one gets to 0
    fallen = np.exp(-start) - np.exp(-raw[:6])
    assert fallen == approx(fallen.mean(), rel=0.02)
    share = np.exp(raw) / np.exp(raw).sum()
    assert share[start.argmax()] > 0.6 > 4 * np.sort(share[:6])[-2]


@pytest.mark.parametrize(("learning_rate", "is_taken_over"), [(1.0, True), (0.03, False)])
def test_a_whole_step_gives_the_sum_to_one_pure_leaf(learning_rate, is_taken_over):
    generator = np.random.default_rng(0)
    is_positive = np.arange(400) < 60
    features = generator.normal(size=(400, 2)).astype(np.float32)
    features[:4, 0] += 9  # four positives that one cut separates
    features[4:60, 1] += 0.3
    rows = TrainingRows(features, is_positive, None)
    plan = plan_of(ApExp(), n_estimators=1)
    grown = paper_engine.train(rows, plan, None, max_depth=1, learning_rate=learning_rate)
    raw = xgboost_engine.predict_raw(grown.booster, features)
    gradient, _ = ApExp(form="paper").gradient_curvature(is_positive, raw)
    of_leaf = np.exp(raw[:4]).sum() / np.exp(raw).sum()
    others = np.abs(gradient[4:60]).sum() / np.abs(gradient[:60]).sum()
    assert (of_leaf > 0.9) == is_taken_over
    assert (others < 0.1) == is_taken_over

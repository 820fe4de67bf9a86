"""Every learner learns from a table with gaps and categories; one fit serves many tree counts."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from toprank import BoostedRanker
from toprank.metrics import average_precision
from toprank_bench.experiment import Method
from toprank_bench.learners import rankers as learners
from toprank_bench.learners.rankers import LEARNERS, make_learner, n_cuts, staged_suspicion

FEW = {"n_estimators": 10}
SMALL = {
    "auto": {"n_estimators": 2, "time_limit": 1e-9},
    "metaap-forest": {"tree": {}, **FEW},
    "catboost": {"iterations": 10},
    "sklearn-hgb": {"max_iter": 10, "min_samples_leaf": 5},
    "lightgbm": {"min_child_samples": 5, **FEW},
    **dict.fromkeys(
        ("boosted", "rank-boost", "non-linear-boost", "rank-forest", "cost-boost"), FEW
    ),
    **dict.fromkeys((name for name in LEARNERS if name.startswith("xgboost")), FEW),
    "imblearn-easy-ensemble": {"n_estimators": 2},
}
WITHOUT_GAPS = ("imblearn-easy-ensemble",)  # takes no missing values


@pytest.fixture
def rows(data):
    table = pq.read_table(data / "first.parquet")
    return table.drop_columns(["y", "label", "row"]), table["y"].to_numpy() == 1


@pytest.mark.parametrize("name", LEARNERS)
def test_it_learns_ranks_and_does_the_same_again_with_the_same_seed(name, rows):
    features, is_positive = rows
    if name in WITHOUT_GAPS:
        features = features.set_column(0, "x", features["x"].fill_null(0.0))
    parameters = SMALL.get(name, {})
    try:
        suspicions = [
            make_learner(name, 3, parameters).fit(features, is_positive).suspicion(features)
            for _ in range(2)
        ]
    except ImportError as error:
        assert "install it with: " in str(error)
        pytest.skip(f"{name} is not installed")
    assert average_precision(is_positive, suspicions[0]) > is_positive.mean() + 0.1
    np.testing.assert_array_equal(*suspicions)


def test_a_missing_package_and_a_wrong_parameter_get_a_sentence(monkeypatch):
    monkeypatch.setitem(
        LEARNERS,
        "far",
        learners.Learner(learners._rival("nowhere", "Far"), "pip install far-boost"),
    )
    with pytest.raises(ImportError, match="install it with: pip install far-boost"):
        make_learner("far", 0, {})
    with pytest.raises(ValueError, match=r"learner 'boosted' cannot be made: .*max_dept"):
        make_learner("boosted", 0, {"max_dept": 2})


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("boosted", {"loss": "log", "warm_start_trees": 0}),
        ("boosted", {"loss": "ap-exp", "warm_start_trees": 0, "batch_fraction": 0.5}),
        ("boosted", {"engine": "paper", "warm_start_trees": 0, "batch_fraction": 0.5}),
        ("rank-boost", {}),
        ("non-linear-boost", {}),
        ("xgboost-logistic", {"subsample": 0.5}),
    ],
)
def test_the_first_trees_of_a_fit_are_the_fit_of_fewer_trees(name, parameters, rows):
    assert LEARNERS[name].is_staged(parameters)
    features, is_positive = rows
    whole = make_learner(name, 1, {**parameters, "n_estimators": 8}).fit(features, is_positive)
    counts = (2, 5, 8)
    for count, suspicion in zip(counts, staged_suspicion(whole, features, counts), strict=True):
        alone = make_learner(name, 1, {**parameters, "n_estimators": count})
        alone.fit(features, is_positive)
        np.testing.assert_array_equal(suspicion, alone.suspicion(features))


def test_a_learner_that_begins_with_log_loss_or_stops_early_is_not_staged():
    is_staged = LEARNERS["boosted"].is_staged
    assert not is_staged({"loss": "ap-exp"})
    assert not is_staged({"warm_start_trees": 0, "early_stopping_rounds": 5})
    assert not LEARNERS["xgboost-logistic"].is_staged({"booster": "dart"})


@pytest.mark.parametrize("name", [name for name in LEARNERS if LEARNERS[name].booster])
def test_cuts_are_the_inner_nodes_of_all_trees(name, rows):
    features, is_positive = rows
    ranker = make_learner(name, 1, {"n_estimators": 3, "max_depth": 2})
    ranker.fit(features.select(["x"]), is_positive)
    trees = LEARNERS[name].booster(ranker).get_dump()
    assert n_cuts(name, ranker) == sum(tree.count("yes=") for tree in trees) > 3


@pytest.mark.parametrize("name", ["xgboost-logistic", "sklearn-hgb", "lightgbm", "catboost"])
def test_a_parameter_that_a_rival_would_not_read_is_refused(name):
    pytest.importorskip({"xgboost-logistic": "xgboost", "sklearn-hgb": "sklearn"}.get(name, name))
    with pytest.raises(ValueError, match=r"cannot be made: .* has no parameter 'max_dept'; did"):
        make_learner(name, 0, {"max_dept": 2})
    assert make_learner(name, 3, {"max_depth": 2}).estimator.get_params()["random_state"] == 3


def test_a_learner_that_could_be_made_but_not_fitted_is_reported(monkeypatch):
    method = Method("mine", "boosted", {"loss": "log"})
    assert learners.why_not_learner(method) is None
    monkeypatch.setattr(learners, "find_spec", lambda name: None)
    assert "it needs xgboost, which is not installed" in learners.why_not_learner(method)


def test_ours_run_on_one_thread_with_the_seed_of_the_cell():
    ranker = make_learner("boosted", 7, {})
    assert isinstance(ranker, BoostedRanker)
    assert (ranker.n_jobs, ranker.random_state, ranker.positive_label) == (1, 7, True)

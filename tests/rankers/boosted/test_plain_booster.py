"""The plain booster of a ranker: XGBoost alone gives the same scores from it."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost

from toprank import BoostedRanker, CostBoost, NonLinearBoost, RankBoost
from toprank.calibration import calibration_from_json

N_ROWS = 800


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "amount": random.lognormal(size=N_ROWS),
            "a [<odd>] name": np.where(random.random(N_ROWS) < 0.2, np.nan, 1.0),
            "country": random.choice(["DE", "FR", "IT"], N_ROWS),
        }
    )


@pytest.fixture(scope="module")
def is_fraud(table):
    return (table["amount"] > 2.5) & (table["country"] != "IT")


@pytest.mark.parametrize(
    "learner",
    [BoostedRanker(n_estimators=20), BoostedRanker("ap-exp", n_estimators=10),
     RankBoost(n_estimators=10), CostBoost(n_estimators=5)],
    ids=str,
)  # fmt: skip
def test_it_scores_as_the_ranker_and_survives_xgboosts_own_file(
    learner, table, is_fraud, tmp_path
):
    ranker = learner.fit(table, is_fraud)
    ranker.to_xgboost().save_model(tmp_path / "plain.json")
    booster = xgboost.Booster(model_file=tmp_path / "plain.json")
    rows = xgboost.DMatrix(
        ranker.schema_.encode(table),
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    found = booster.predict(rows)
    assert np.array_equal(found.astype(np.float64), ranker.suspicion(table))
    facts = {name: json.loads(text) for name, text in booster.attributes().items()}
    assert facts["toprank_categories"] == {"country": ["DE", "FR", "IT"]}
    assert facts["toprank_columns"] == list(table.columns)
    calibration = calibration_from_json(facts["toprank_calibration"])
    assert np.array_equal(calibration.probability(found), ranker.probability(table))


def test_the_ranker_is_left_alone_and_odd_names_are_replaced(table, is_fraud):
    ranker = BoostedRanker(n_estimators=2).fit(table, is_fraud)
    plain = ranker.to_xgboost()
    assert plain.feature_names == ["amount", "a __odd>_ name", "country"]
    assert plain.feature_types == ["q", "q", "c"]
    assert ranker.booster_.feature_names is None and not ranker.booster_.attributes()
    twins = table.rename(columns={"amount": "a ___odd>_ name".replace("___", "__")})
    assert BoostedRanker(n_estimators=2).fit(twins, is_fraud).to_xgboost().feature_names == [
        "x0", "x1", "x2",
    ]  # fmt: skip


def test_zeros_of_sparse_rows_are_missing(table, is_fraud):
    rows = np.where(table[["amount"]].to_numpy() > 1, table[["amount"]].to_numpy(), 0.0)
    ranker = BoostedRanker(n_estimators=5).fit(sp.csr_array(rows), is_fraud)
    booster = ranker.to_xgboost()
    assert booster.attr("toprank_zeros_are_missing") == "true"
    found = booster.predict(xgboost.DMatrix(rows, missing=0.0, feature_names=["x0"]))
    assert np.array_equal(found.astype(np.float64), ranker.suspicion(rows))


def test_trees_that_a_booster_cannot_combine_are_refused(table, is_fraud):
    with pytest.raises(TypeError, match="NonLinearBoost combines its trees in latents"):
        NonLinearBoost(n_estimators=2).fit(table, is_fraud).to_xgboost()

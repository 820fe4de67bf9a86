"""One row at a time: the bits and the reasons that a table with the row gets."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from toprank import (
    AnomalyTreeRank,
    AutoRanker,
    BoostedRanker,
    MetaAP,
    NonLinearBoost,
    RankBoost,
    RankForest,
    RankRLS,
    TreeRank,
    load,
    save,
)
from toprank.data import inputs
from toprank.data.inputs import TrainingRows
from toprank.data.tables import TableError
from toprank.decisions import BalanceCascade, CostBoost, SampledRanker, ThresholdedRanker
from toprank.rankers.anomaly.anomaly_forest import AnomalyForest
from toprank.rankers.anomaly.borrowed import BorrowedDetector
from toprank.rankers.auto.boosted import BoostedTrees
from toprank.rankers.auto.forest_member import RandomisedForest
from toprank.rankers.auto.smooth_member import SmoothModel
from toprank.rankers.auto.trial import centre_spread
from toprank.rankers.reasons import explain, score_and_explain

N_SCORED = 25
N_COPIES = 3  # more rows than XGBoost leaves to our own trees
few = {"n_estimators": 10, "n_jobs": 1}

RANKERS = [
    BoostedRanker("log", **few),
    BoostedRanker("ap-exp", warm_start_trees=4, binning="balanced", **few),
    BoostedRanker("ap-exp", engine="paper", **few),
    BoostedRanker("log", subsample=0.5, max_depth=8, **few),
    NonLinearBoost(**few),
    RankBoost(n_estimators=10),
    MetaAP(),
    TreeRank(),
    RankForest(n_estimators=5, n_jobs=1),
    RankRLS(),
    SampledRanker(BoostedRanker(**few)),
    BalanceCascade(BoostedRanker(**few), n_estimators=2),
    CostBoost(n_estimators=5),
]
DETECTORS = [AnomalyForest(n_estimators=5), AnomalyTreeRank()]
BLENDS = {
    "boosted": [BoostedTrees(n_trees=8)],
    "balanced bins": [BoostedTrees("ap-exp", n_trees=10, binning="balanced")],
    "bags": [BoostedTrees(n_trees=6, random_share=0.7, n_bags=3)],
    "forest": [RandomisedForest(20)],
    "linear": [SmoothModel(1)],
    "quadratic": [SmoothModel(2)],
    "blend": [BoostedTrees(n_trees=8), RandomisedForest(20), SmoothModel(2)],
}


def payments(n_rows, seed):
    generator = np.random.default_rng(seed)
    amount = generator.gamma(2.0, 40.0, n_rows).round(2)
    country = generator.choice(["FR", "DE", "US", None], n_rows, p=[0.8, 0.1, 0.05, 0.05])
    online = generator.random(n_rows) < 0.3
    hours = generator.exponential(10, n_rows)
    is_fraud = ((amount > 170) & online) | ((country == "US") & (generator.random(n_rows) < 0.7))
    columns = {
        "amount": amount,
        "country": country.tolist(),
        "online": online,
        "hours": [None if hour < 1 else hour for hour in hours],
    }
    return pa.table(columns), is_fraud


@pytest.fixture(scope="module")
def known():
    return payments(600, seed=0)


@pytest.fixture(scope="module")
def new():
    """Return rows with gaps and a country that nobody has seen."""
    table, _ = payments(N_SCORED, seed=1)
    countries = ["XX", *table["country"].to_pylist()[1:]]
    return table.set_column(1, "country", pa.array(countries))


@pytest.fixture(scope="module")
def ranker(known):
    return BoostedRanker("log", **few).fit(*known)


def check_rows_alone(model, table):
    """Check that every row gets alone and in small tables what it gets in a large one."""
    large = pa.concat_tables([table] * N_COPIES)
    suspicion, reasons = model.suspicion(large)[:N_SCORED], explain(model, table)
    for begin, size in ((0, N_SCORED), (3, 7), (11, 2)):
        few_rows = model.suspicion(table.slice(begin, size))
        assert few_rows.tolist() == suspicion[begin : begin + size].tolist()
    rows = table.to_pylist()
    assert [model.score_one(row) for row in rows] == suspicion.tolist()
    each = [model.explain_one(row) for row in rows]
    assert [one.suspicion for one in each] == suspicion.tolist()
    assert [one.reasons for one in each] == reasons
    if hasattr(model, "calibration_"):
        assert [one.probability for one in each] == model.probability(large)[:N_SCORED].tolist()
    else:
        assert {one.probability for one in each} == {None}
    assert each == score_and_explain(model, table)


@pytest.mark.parametrize("unfitted", RANKERS, ids=str)
def test_a_row_gets_alone_what_it_gets_in_a_table(known, new, unfitted):
    check_rows_alone(clone(unfitted).fit(*known), new)


@pytest.mark.parametrize("unfitted", DETECTORS, ids=str)
def test_a_row_gets_alone_what_a_detector_gives_it_in_a_table(known, new, unfitted):
    check_rows_alone(clone(unfitted).fit(known[0]), new)


@pytest.mark.parametrize("name", BLENDS)
def test_a_row_gets_alone_what_each_kind_of_member_gives_it_in_a_table(known, new, name):
    ranker = AutoRanker(n_estimators=5, time_limit=1e-6, n_jobs=1).fit(*known)
    rows = TrainingRows(ranker.schema_.encode(known[0]), known[1], None)
    columns = ranker.schema_.columns
    ranker.members_ = [each.fit(rows, columns, seed=0, n_threads=1) for each in BLENDS[name]]
    ranker.scales_ = [centre_spread(member.raw(rows.features)) for member in ranker.members_]
    check_rows_alone(ranker, new)


def test_a_threshold_leaves_single_rows_to_its_ranker(known, new):
    model = ThresholdedRanker(BoostedRanker(**few), cv=2).fit(*known)
    row = new.to_pylist()[3]
    assert model.score_one(row) == model.suspicion(new.slice(3, 1))[0]
    assert model.explain_one(row, 2) == model.ranker_.explain_one(row, 2)
    assert not hasattr(ThresholdedRanker(LogisticRegression()), "score_one")


def test_models_without_contributions_of_features_give_no_reasons():
    X = np.random.default_rng(0).normal(size=(100, 2))
    detector = BorrowedDetector(IsolationForest(n_estimators=5, random_state=0)).fit(X)
    one = detector.explain_one({"x0": 1.0, "x1": 9.0})
    assert one == (detector.suspicion([[1.0, 9.0]])[0], None, [])


def test_a_model_from_a_file_and_a_copy_score_the_same(ranker, new, tmp_path):
    save(ranker, tmp_path / "model.toprank")
    row = new.to_pylist()[0]
    expected = ranker.explain_one(row)
    assert load(tmp_path / "model.toprank").explain_one(row) == expected
    assert pickle.loads(pickle.dumps(ranker)).explain_one(row) == expected


def test_a_ranker_fitted_again_does_not_score_with_its_old_trees(known, new):
    ranker, row = BoostedRanker("log", **few).fit(*known), new.to_pylist()[0]
    before = ranker.score_one(row)
    ranker.set_params(n_estimators=20).fit(*known)
    assert ranker.score_one(row) == ranker.suspicion(new)[0] != before


def test_as_many_reasons_as_requested(ranker, new):
    row = new.to_pylist()[0]
    assert len(ranker.explain_one(row, 2).reasons) == 2
    assert ranker.explain_one(row, 0).reasons == []
    with pytest.raises(ValueError, match="n_reasons must be at least 0; got -1"):
        ranker.explain_one(row, -1)


def test_a_row_may_have_more_than_the_columns_but_not_fewer(ranker, new):
    row = new.to_pylist()[0]
    assert ranker.score_one({**row, "id": "p-1", "time": object()}) == ranker.score_one(row)
    with pytest.raises(TableError, match="column 'hours' is not in the row"):
        ranker.score_one({name: cell for name, cell in row.items() if name != "hours"})


def test_an_unfitted_ranker_says_so():
    for call in (BoostedRanker().score_one, MetaAP().explain_one, AnomalyForest().score_one):
        with pytest.raises(NotFittedError):
            call({"amount": 1.0})


def test_nothing_warns(ranker, new):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in new.to_pylist():
            ranker.explain_one(row)


def test_two_threads_at_once_get_what_one_gets(known, new):
    ranker, rows = BoostedRanker("log", n_estimators=60, n_jobs=1).fit(*known), new.to_pylist()
    with ThreadPoolExecutor(4) as pool:  # the first rows meet while the trees are made ready
        together = list(pool.map(ranker.explain_one, rows * 20))
    assert together == [ranker.explain_one(row) for row in rows] * 20


def test_encoded_rows_and_their_table_have_the_same_reasons(ranker, new):
    encoded = inputs.Encoded(ranker.schema_.encode(new))
    assert explain(ranker, encoded) == explain(ranker, new)

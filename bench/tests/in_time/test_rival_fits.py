"""Other libraries: settings by the latest labelled rows, then a fit on all of them."""

from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from toprank.metrics import average_precision
from toprank_bench.experiment import Method
from toprank_bench.in_time.rival_fits import fitted_rival
from toprank_bench.in_time.time_tables import plain_table
from toprank_bench.learners import rankers
from toprank_bench.learners.rankers import Learner

BOOSTERS = {
    "lightgbm": ("n_estimators", "lightgbm"),
    "xgboost-logistic": ("n_estimators", "xgboost"),
    "catboost": ("n_estimators", "catboost"),
    "sklearn-hgb": ("max_iter", "sklearn"),
}


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(600, 3))
    y = x[:, 0] + generator.normal(size=600) > 1
    moments = np.datetime64("2025-01-01", "us") + np.arange(600) * np.timedelta64(1, "h")
    return plain_table(pa.table(dict(zip("abc", x.T, strict=True))), y, moments, 5)


@pytest.mark.parametrize("learner", BOOSTERS)
def test_a_booster_stops_on_the_latest_rows_and_has_as_many_trees_on_all(learner, table):
    trees, package = BOOSTERS[learner]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    method = Method("booster", learner, {trees: 200, "learning_rate": 0.3}, {"max_depth": (2, 3)})
    ranker, parameters = fitted_rival(method, table, 0)
    assert 1 <= parameters[trees] < 200
    later = table.features.slice(table.first_later)
    assert average_precision(table.is_positive[table.first_later :], ranker.suspicion(later)) > 0.3


class Spy:
    """A learner whose scores are good on the judged rows for one setting alone."""

    fits: list = []  # noqa: RUF012

    def __init__(self, seed, sign):
        self.sign = sign

    def fit(self, features, is_positive):
        Spy.fits.append((self.sign, features.num_rows))
        return self

    def suspicion(self, features):
        return self.sign * features["a"].to_numpy()


def test_the_setting_that_is_best_on_the_judged_rows_learns_from_all_labelled_rows(
    table, monkeypatch
):
    monkeypatch.setitem(rankers.LEARNERS, "spy", Learner(Spy))
    monkeypatch.setattr(Spy, "fits", [])
    ranker, parameters = fitted_rival(Method("spy", "spy", {}, {"sign": (-1, 1)}), table, 0)
    n_earlier = table.earlier_and_judged(0)[0].size
    assert Spy.fits == [(-1, n_earlier), (1, n_earlier), (1, table.n_labelled)]
    assert parameters == {"sign": 1} and ranker.sign == 1


def test_a_single_setting_is_fitted_once(table, monkeypatch):
    monkeypatch.setitem(rankers.LEARNERS, "spy", Learner(Spy))
    monkeypatch.setattr(Spy, "fits", [])
    fitted_rival(Method("spy", "spy", {"sign": 1}), table, 0)
    assert Spy.fits == [(1, table.n_labelled)]

"""Boosted trees grown on sparse rows: what is not stored is read as missing."""

import numpy as np
import pytest
import scipy.sparse as sp
from pytest import approx
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from toprank import BoostedRanker, explain, load, save

N_ROWS, N_COLUMNS = 1500, 30


@pytest.fixture(scope="module")
def dense():
    random = np.random.default_rng(0)
    rows = random.normal(size=(N_ROWS, N_COLUMNS))
    rows[random.random(rows.shape) < 0.9] = 0
    return rows


@pytest.fixture(scope="module")
def is_positive(dense):
    return dense[:, 0] + dense[:, 1] > 1


@pytest.fixture(scope="module", params=["log", "ap-exp"])
def fitted(request, dense, is_positive):
    return BoostedRanker(request.param, n_estimators=20).fit(sp.csr_array(dense), is_positive)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array, np.asarray])
@pytest.mark.parametrize("n_rows", [5, N_ROWS], ids=["few", "all"])
def test_the_same_rows_have_the_same_scores_in_any_form(fitted, dense, form, n_rows):
    expected = fitted.suspicion(sp.csr_array(dense))[:n_rows]
    assert np.array_equal(fitted.suspicion(form(dense[:n_rows])), expected)
    chance = fitted.probability(sp.csr_array(dense))[:n_rows]
    assert np.array_equal(fitted.probability(form(dense[:n_rows])), chance)


def test_trees_of_sparse_rows_rank_as_well_as_those_of_dense_ones(fitted, dense, is_positive):
    other = BoostedRanker(fitted.loss, n_estimators=20).fit(dense, is_positive)
    at_random = is_positive.mean()
    assert fitted.score(sp.csr_array(dense), is_positive) > 20 * at_random
    assert fitted.score(dense, is_positive) == approx(other.score(dense, is_positive), abs=0.03)


def test_a_ranker_of_dense_rows_reads_what_is_not_stored_as_zero(dense, is_positive):
    ranker = BoostedRanker(n_estimators=5).fit(dense, is_positive)
    assert np.array_equal(ranker.suspicion(sp.csc_array(dense)), ranker.suspicion(dense))


def test_fitting_again_on_dense_rows_reads_zeros_as_numbers(dense, is_positive):
    ranker = BoostedRanker(n_estimators=5).fit(sp.csr_array(dense), is_positive)
    again = ranker.fit(dense, is_positive).suspicion(dense)
    assert np.array_equal(
        again, BoostedRanker(n_estimators=5).fit(dense, is_positive).suspicion(dense)
    )


def test_a_file_keeps_how_zeros_are_read(fitted, dense, tmp_path):
    save(fitted, tmp_path / "sparse.toprank")
    again = load(tmp_path / "sparse.toprank")
    assert np.array_equal(again.suspicion(dense), fitted.suspicion(dense))


def test_shares_add_up_and_reasons_show_zeros_as_zeros(fitted, dense):
    rows = sp.csr_array(dense[:50])
    assert fitted.contributions(rows).sum(axis=1) == approx(fitted.suspicion(rows), abs=1e-4)
    row = {f"x{j}": 0.0 for j in range(N_COLUMNS)} | {"x1": 2.5}
    found = {reason.feature: reason for reason in fitted.explain_one(row).reasons}
    assert found["x1"].value == "2.50" and found["x1"].contribution > 0
    assert found["x0"].value == "0"
    assert explain(fitted, rows[:3], 2) == explain(fitted, dense[:3], 2)


def test_weights_early_stopping_and_calibration_take_sparse_rows(dense, is_positive):
    rows = sp.csr_array(dense)
    weight = np.where(np.arange(N_ROWS) % 3 == 0, 0.0, 2.0)
    ranker = BoostedRanker(n_estimators=10).fit(rows, is_positive, weight)
    kept = weight > 0
    other = BoostedRanker(n_estimators=10).fit(rows[kept], is_positive[kept], weight[kept])
    assert np.array_equal(ranker.suspicion(rows), other.suspicion(rows))
    stopped = BoostedRanker(n_estimators=200, early_stopping_rounds=5).fit(
        rows, is_positive, eval_set=(rows[:500], is_positive[:500])
    )
    assert 0 < stopped.n_trees_ < 200
    by_dense = BoostedRanker(n_estimators=200, early_stopping_rounds=5).fit(
        rows, is_positive, eval_set=(dense[:500], is_positive[:500])
    )
    assert by_dense.history_ == stopped.history_
    before = stopped.suspicion(rows)
    stopped.calibrate(rows, is_positive)
    assert np.array_equal(stopped.suspicion(rows), before)


def test_rows_of_a_one_hot_encoder_need_no_dense_copy(is_positive):
    shops = np.where(is_positive, 7, np.arange(N_ROWS) % 400)
    table = np.column_stack([shops, np.arange(N_ROWS) % 5])
    encoder = ColumnTransformer([("shop", OneHotEncoder(handle_unknown="ignore"), [0, 1])])
    model = make_pipeline(encoder, BoostedRanker(n_estimators=10)).fit(table, is_positive)
    assert sp.issparse(encoder.fit_transform(table))
    assert model.score(table, is_positive) > 0.9


def test_what_sparse_rows_cannot_say_is_refused(fitted, dense, is_positive):
    gaps = sp.csr_array(dense)
    gaps.data[0] = np.nan
    with pytest.raises(
        ValueError, match=r"missing values would be zeros; impute them, or pass X.to"
    ):
        BoostedRanker(n_estimators=2).fit(gaps, is_positive)
    with pytest.raises(ValueError, match="missing values would be zeros"):
        fitted.suspicion(gaps)
    with pytest.raises(TypeError, match=r"X is sparse, and BoostedRanker reads dense rows only"):
        BoostedRanker(engine="paper", n_estimators=2).fit(sp.csr_array(dense), is_positive)
    with pytest.raises(ValueError, match="features"):
        fitted.suspicion(sp.csr_array(dense[:, :5]))

"""A model of a folder learns from a sample, and its figures are those of all test rows."""

import numpy as np
import pyarrow as pa
import pytest

from payments.feature_folder.folder_payments import SETTINGS, write_days
from payments.payment_days import ROLES, joined, made_days, new_model
from toprank import metrics
from toprank.payments.feature_folder import FeatureFolder, make_features
from toprank.payments.feature_folder.folder_training import days_of_test
from toprank.payments.feature_folder.row_sample import chances_of, sampled_rows
from toprank.payments.payment_model import PaymentModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty days of payments with their features."""
    place = tmp_path_factory.mktemp("months")
    source = write_days(place / "payments", joined(made_days()))
    return make_features(source, place / "features", SETTINGS).folder


@pytest.fixture(scope="module")
def fitted(folder):
    """A model of a sample of the rows."""
    return new_model(delay="2d").fit_folder(folder, most_rows=3_000)


def test_a_sample_has_all_positives_and_weights_that_add_up_to_all_rows(folder):
    sample = sampled_rows(folder, 3_000, seed=0)
    is_positive = np.array(sample.table["is_fraud"].to_pylist())
    n_positive = sum(each.n_positives for each in folder.days)

    assert is_positive.sum() == n_positive
    assert abs(sample.table.num_rows - 3_000) < 200
    assert sample.weight.sum() == pytest.approx(folder.n_rows, rel=0.05)
    typical = is_positive[sample.is_typical]
    assert typical.mean() == pytest.approx(n_positive / folder.n_rows, abs=0.02)
    again = sampled_rows(folder, 3_000, seed=0)
    assert again.table.equals(sample.table)


def test_a_sample_of_fewer_rows_than_positives_samples_these_too(folder):
    n_positive = sum(each.n_positives for each in folder.days)
    chances = chances_of(folder, n_positive)
    assert chances.positive == pytest.approx(0.5)
    sample = sampled_rows(folder, n_positive, seed=0)
    assert sample.weight.sum() == pytest.approx(folder.n_rows, rel=0.15)


def test_where_all_rows_fit_all_are_learned_from(folder):
    sample = sampled_rows(folder, 10**9, seed=0)
    assert sample.table.num_rows == folder.n_rows
    assert (sample.weight == 1).all()
    assert sample.is_typical.all()


def test_figures_are_of_all_rows_of_the_test_days(folder, fitted):
    days = days_of_test(folder)
    rows = pa.concat_tables(folder.batches(list(days)))
    before = fitted.training_.chosen
    suspicion = before.ranker.suspicion(rows)
    is_positive = np.array(rows["is_fraud"].to_pylist())

    assert before.test.is_positive.size == rows.num_rows
    found = before.test.average_precision.value
    assert found == pytest.approx(metrics.average_precision(is_positive, suspicion))


@pytest.fixture(scope="module")
def of_all_rows(folder):
    """A model of all rows of the folder."""
    return new_model(delay="2d").fit_folder(folder, most_rows=10**9)


def test_probabilities_of_a_sample_add_up_to_as_many_frauds_as_those_of_all_rows(
    fitted, of_all_rows
):
    few, many = (each.training_.chosen.test.probability.sum() for each in (fitted, of_all_rows))
    # without weights, positives would be three times as frequent
    assert few == pytest.approx(many, rel=0.4)


def test_where_all_rows_fit_the_model_is_that_of_fit(of_all_rows):
    in_memory = new_model(delay="2d").fit(joined(made_days())).training_
    from_folder = of_all_rows.training_

    for one, other in zip(in_memory.candidates, from_folder.candidates, strict=True):
        np.testing.assert_array_equal(one.test.suspicion, other.test.suspicion)
    assert from_folder.task.counts() == in_memory.task.counts()


def test_a_model_of_a_folder_ranks_its_latest_day_after_a_round_trip(tmp_path, folder, fitted):
    path = tmp_path / "months.toprank"
    fitted.save(path)
    model = PaymentModel.load(path)
    day = list(folder.batches([folder.days[-1].day]))
    alerts, before = model.rank(day, 5), fitted.rank(day, 5)

    assert alerts.row_numbers.tolist() == before.row_numbers.tolist()
    assert len(set(alerts.rows["card"].to_pylist())) == 5
    assert model.folder_settings_ == folder.settings
    assert alerts.reason_texts(0) == before.reason_texts(0)


def test_a_model_of_a_folder_takes_no_history(tmp_path, fitted):
    path = tmp_path / "months.toprank"
    fitted.save(path)
    with pytest.raises(ValueError, match="has no history"):
        PaymentModel.load(path, history=tmp_path)


def test_other_columns_than_those_of_the_folder_are_refused(folder):
    with pytest.raises(ValueError, match="`amount` must be 'amount'"):
        new_model(**(ROLES | {"amount": "paid"})).fit_folder(folder)


def test_a_folder_of_few_days_is_refused(tmp_path):
    source = write_days(tmp_path / "payments", joined(made_days()[:3]))
    folder = make_features(source, tmp_path / "features", SETTINGS).folder
    with pytest.raises(ValueError, match="at least 4 days"):
        new_model(delay="2d").fit_folder(folder)


def test_an_unfinished_folder_says_how_to_finish_it(tmp_path):
    (tmp_path / "_work").mkdir()
    with pytest.raises(FileNotFoundError, match="run the same toprank features again"):
        FeatureFolder.open(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"it has no features\.json"):
        FeatureFolder.open(tmp_path / "elsewhere")

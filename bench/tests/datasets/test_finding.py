"""A name is looked for place after place, and the sentence for a missing one says where."""

import numpy as np
import pytest

from toprank_bench import datasets
from toprank_bench.datasets import bundled


@pytest.mark.parametrize("name", bundled.names())
def test_sets_of_scikit_learn_come_with_it(name):
    dataset = datasets.load(name)
    assert dataset.source.startswith("scikit-learn's load_")
    assert dataset.metadata.column_names == ["label"]
    label = dataset.metadata["label"].to_numpy()
    assert len(set(label[dataset.is_positive])) == 1
    assert not set(label[dataset.is_positive]) & set(label[~dataset.is_positive])


def test_payments_are_made_up_the_same_each_time():
    first, second = datasets.load("simulated_payments"), datasets.load("simulated_payments")
    assert first.features.equals(second.features)
    assert 0.001 < np.mean(first.is_positive) < 0.02
    assert "is_fraud" not in first.features.column_names
    assert first.roles == {
        "time": "paid_at", "card": "card", "terminal": "terminal", "amount": "amount"
    }  # fmt: skip
    assert not {"paid_at", "card", "terminal"} & set(first.X.column_names)
    assert "amount" in first.X.column_names


def test_names_are_sorted_and_say_where_each_can_come_from(tmp_path):
    found = datasets.names(folder=tmp_path)
    assert list(found) == sorted(found)
    assert found["simulated_payments"] == ["made up"]
    assert found["sklearn_digits_8"] == ["scikit-learn"]
    assert found["handbook_transactions"] == []
    assert found["ulb_creditcard"] == ["OpenML"]


def test_a_missing_name_gets_one_sentence_with_the_places_and_the_ways_out(tmp_path):
    with pytest.raises(datasets.DatasetNotFoundError) as caught:
        datasets.load("handbook_transactions")
    assert str(caught.value) == (
        "data set 'handbook_transactions' was not found; looked in no folder (TOPRANK_DATA is not "
        "set), scikit-learn's own sets, the sets known of OpenML, the made-up sets; "
        "set TOPRANK_DATA to a folder with handbook_transactions.parquet."
    )
    with pytest.raises(datasets.DatasetNotFoundError) as caught:
        datasets.load("handbook_transactions", folder=tmp_path)
    assert f"looked in the folder {tmp_path}," in str(caught.value)
    assert str(caught.value).endswith("; put handbook_transactions.parquet into that folder.")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("handbook_transaction", "handbook_transactions"),
        ("metaap_pima.parquet", "metaap_pima"),
        ("simulate_payments", "simulated_payments"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(name, nearest):
    with pytest.raises(datasets.DatasetNotFoundError, match=f"; did you mean '{nearest}'\\?$"):
        datasets.load(name)


def test_a_name_must_be_a_text():
    with pytest.raises(TypeError, match="name must be the name of a data set; got 7"):
        datasets.load(7)

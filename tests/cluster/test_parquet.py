"""Parquet files as Dask collections."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

from cluster.ranked_rows import LOCALLY, suspicion, table, trained
from toprank import BoostedRanker, cluster
from toprank.cluster.parquet import check_same_columns
from toprank.data.tables import Schema, TableError, TableWarning


def test_parquet_files_become_features_labels_and_weights(one_worker, tmp_path):
    X, y = table(400)
    whole = pa.Table.from_pandas(X.assign(y=y.where(y.index != 7), value=1.5, id=y.index))
    for start in range(0, 400, 50):
        pq.write_table(whole.slice(start, 50), tmp_path / f"{start:03}.parquet")
    features, labels, weight = cluster.read_parquet(tmp_path, "y", weight="value", drop=["id"])
    assert list(features.columns) == list(X.columns)
    assert len(labels) == 400 - 1
    training = trained(one_worker, features, labels, weight)
    assert training.schema == Schema.of(X)
    assert suspicion(training, X) == approx(
        BoostedRanker("ap-exp", **LOCALLY)
        .fit(X.drop(7), y.drop(7), np.full(399, 1.5))
        .suspicion(X),
        abs=1e-5,
    )
    with pytest.raises(TableError, match=r"column 'vale' is not in .*; did you mean 'value'"):
        cluster.read_parquet(tmp_path, "y", weight="vale")
    with pytest.raises(FileNotFoundError, match="there is no Parquet file at"):
        cluster.read_parquet(tmp_path / "*.pq", "y")


def test_what_pandas_wrote_as_an_index_is_a_column_like_others(tmp_path):
    frame = pd.DataFrame({"amount": [9.5, 3.0], "is_fraud": [True, False]}, index=[7, 8])
    frame.rename_axis("payment_id").to_parquet(tmp_path / "payments.parquet")
    features, _, _ = cluster.read_parquet(tmp_path, "is_fraud")
    assert sorted(features.columns) == ["amount", "payment_id"]
    features, _, _ = cluster.read_parquet(tmp_path, "is_fraud", drop=["payment_id"])
    assert list(features.columns) == ["amount"]


@pytest.mark.parametrize("odd", ["0.parquet", "1.parquet"])
def test_files_with_different_columns_are_refused_by_name(tmp_path, odd):
    frame = pd.DataFrame({"amount": [9.5, 3.0], "is_fraud": [True, False]})
    for name in ("0.parquet", "1.parquet"):
        columns = frame.assign(other=1) if name == odd else frame
        columns.to_parquet(tmp_path / name)
    with pytest.raises(TableError, match=r"[01]\.parquet has no 'other', which .*parquet has"):
        check_same_columns(tmp_path, ["amount", "other"])
    with pytest.warns(TableWarning, match="column 'other' of .*parquet is left out"):
        check_same_columns(f"{tmp_path}/*.parquet", ["amount", "is_fraud"])


def test_a_column_of_the_first_file_alone_is_refused_unless_it_is_dropped(tmp_path):
    frame = pd.DataFrame({"amount": [9.5, 3.0], "is_fraud": [True, False]})
    frame.assign(other=1).to_parquet(tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet")
    with pytest.raises(TableError, match="must have the same columns"):
        cluster.read_parquet(tmp_path, "is_fraud")
    with pytest.warns(TableWarning, match="column 'other' of"):
        features, _, _ = cluster.read_parquet(tmp_path, "is_fraud", drop=["other"])
    assert list(features.columns) == ["amount"]


def test_names_of_folders_are_columns_that_no_file_needs(tmp_path):
    frame = pd.DataFrame({"amount": [9.5, 3.0], "is_fraud": [True, False], "month": [1, 2]})
    frame.to_parquet(tmp_path / "payments", partition_cols=["month"])
    features, _, _ = cluster.read_parquet(tmp_path / "payments", "is_fraud")
    assert set(features.columns) == {"amount", "month"}

"""Rows that are read, collected or refused before any estimator sees them."""

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from toprank import RankForest
from toprank.data.accepted_rows import accepted, sparse_rows

ROWS = np.array([[1.0, 0.0], [0.0, 2.0]])
COLUMNS = {"a": [1.0, 0.0], "b": [0.0, 2.0]}


@pytest.mark.parametrize(
    "rows",
    [ROWS, ROWS.tolist(), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)],
    ids=lambda rows: type(rows).__name__,
)
def test_arrays_and_tables_come_back_themselves(rows):
    assert accepted(rows) is rows


def test_a_lazy_frame_of_polars_is_collected():
    lazy = pl.LazyFrame(COLUMNS).filter(pl.col("a") > 0)
    assert accepted(lazy).to_dict(as_series=False) == {"a": [1.0], "b": [0.0]}


def test_other_lazy_tables_are_refused():
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    lazy = dask.from_pandas(pd.DataFrame(COLUMNS), npartitions=1)
    with pytest.raises(
        TypeError, match="collect it into pandas, polars or pyarrow, and pass that"
    ):
        accepted(lazy)


def test_arrays_of_other_libraries_are_refused():
    with pytest.raises(TypeError, match=r"array of array_api_strict.*numpy\.from_dlpack\(X\)"):
        accepted(array_api_strict.asarray(ROWS))


def test_the_refusal_of_sparse_rows_says_how_large_dense_ones_are():
    rows = sp.csr_array((1_000_000, 250), dtype=float)
    with pytest.raises(TypeError, match=r"RankForest reads dense.*X\.toarray\(\) \(2\.0 GB\)"):
        accepted(rows, RankForest())
    assert accepted(rows, sparse=True) is rows


def test_sparse_rows_hold_what_is_not_zero_once():
    twice = sp.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    rows = sparse_rows(twice)
    assert rows.nnz == 1
    assert rows.toarray().tolist() == [[0.0, 3.0], [0.0, 0.0]]
    assert twice.nnz == 3, "the rows that were given are left alone"


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e60])
def test_sparse_rows_must_be_finite_in_float32(value):
    with pytest.raises(ValueError, match="sparse X must hold finite numbers"):
        sparse_rows(sp.csr_array([[value, 1.0]]))

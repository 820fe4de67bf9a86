"""What the rows given to an estimator may be, and the way out for everything else.

Tables of any library and dense arrays of NumPy are read as they are; what can be turned into one
of them without guessing is. Sparse rows come back as CSR where the learner takes them.
"""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

_READ_AS_THEY_ARE = (np.ndarray, pa.Table, pa.RecordBatch, list, tuple)


def accepted(X: Any, learner: Any = None, *, sparse: bool = False) -> Any:
    """Return `X` as the readers take it, or raise a TypeError that says what to pass instead.

    A LazyFrame of polars is collected. Sparse rows are refused unless `sparse`. `learner` is the
    estimator that is named in errors.

    >>> import polars as pl
    >>> accepted(pl.LazyFrame({"amount": [9.5]})).shape
    (1, 1)
    """
    if isinstance(X, _READ_AS_THEY_ARE) and not isinstance(X, np.matrix):
        return X
    if issparse(X):
        if not sparse:
            raise TypeError(_no_sparse_rows(X, learner))
        return X
    if nw.dependencies.is_polars_lazyframe(X):
        return X.collect()
    if isinstance(X, np.matrix):
        raise TypeError("X is an np.matrix, which NumPy gives up; pass np.asarray(X).")
    if hasattr(X, "__array_namespace__"):
        raise TypeError(
            f"X is an array of {_library(X)}, but models run on the CPU with NumPy; pass "
            "numpy.from_dlpack(X), or numpy.asarray(X) where that is not supported."
        )
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise TypeError(
            f"X is a lazy table of {_library(X)}; collect it into pandas, polars or pyarrow, "
            "and pass that. Tables larger than memory are for toprank.cluster.fit."
        )
    return X


def sparse_rows(X: Any) -> Any:
    """Return sparse rows as CSR in float32 whose stored values are those other than zero.

    >>> from scipy.sparse import csr_array
    >>> sparse_rows(csr_array([[0.0, 2.0]])).data
    array([2.], dtype=float32)
    """
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        rows = csr_matrix(X, dtype=np.float32, copy=True)  # XGBoost scores no csr_array
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        raise ValueError(
            "sparse X must hold finite numbers: trees read what is not stored as missing, so that "
            "missing values would be zeros; impute them, or pass X.toarray()."
        )
    return rows


def with_missing_zeros(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return dense rows as trees grown on sparse ones read them: every zero missing."""
    return np.where(features == 0, np.float32(np.nan), features)


def _no_sparse_rows(X: Any, learner: Any) -> str:
    n_rows, n_columns = X.shape
    who = "this learner" if learner is None else type(learner).__name__
    return (
        f"X is sparse, and {who} reads dense rows only. Sparse rows are for BoostedRanker. "
        f"Otherwise pass X.toarray() ({_size(n_rows * n_columns * 8)}), or make what encodes "
        "them dense, such as OneHotEncoder(sparse_output=False) and "
        "ColumnTransformer(sparse_threshold=0); text columns of a table need no encoder."
    )


def _size(n_bytes: int) -> str:
    """Return a size in words.

    >>> _size(2880), _size(8_000_000_000)
    ('2.9 kB', '8.0 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes / 1000:.1f} kB"


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]

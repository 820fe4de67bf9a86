"""Rivals' tables: a column per category, the same for every one of them."""

from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank import BoostedRanker
from toprank.data.tables import Schema
from toprank_bench.learners.early_stopping import EarlyStopping


def one_hot(table: pa.Table, schema: Schema) -> NDArray[np.float32]:
    """Return numbers as they are, NaN where missing, and a column of 0 and 1 per category.

    A category that `schema` does not know is 0 everywhere.

    >>> table = pa.table({"amount": [1.5, None], "country": ["FR", "DE"]})
    >>> one_hot(table, Schema.of(table)).tolist()
    [[1.5, 0.0, 1.0], [nan, 1.0, 0.0]]
    """
    encoded = schema.encode(table)
    columns = []
    for place, column in enumerate(schema.columns):
        values = encoded[:, place]
        codes = range(len(column.categories))
        columns += [values == code for code in codes] if column.categories else [values]
    return np.column_stack(columns).astype(np.float32)


class OneHotRanker:
    """An estimator of another library that learns from one-hot columns and ranks.

    `suspicion` is its probability of a positive or, of a ranker, what it predicts.
    """

    def __init__(self, estimator: Any, *, has_queries: bool = False) -> None:
        self.estimator = estimator
        self.has_queries = has_queries

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to rank the positive rows first."""
        self.schema_ = Schema.of(features)
        columns, y = one_hot(features, self.schema_), is_positive.astype(int)
        # all rows are one list
        queries = {"qid": np.zeros(y.size, dtype=int)} if self.has_queries else {}
        self.estimator.fit(columns, y, **queries)
        return self

    def fit_judged(
        self,
        stopping: EarlyStopping,
        features: pa.Table,
        is_positive: NDArray[np.bool_],
        judged: pa.Table,
        is_judged_positive: NDArray[np.bool_],
    ) -> int:
        """Learn until the judged rows gain no more; return the number of trees."""
        self.schema_ = Schema.of(features)
        rows, others = (
            (one_hot(table, self.schema_), labels.astype(int))
            for table, labels in ((features, is_positive), (judged, is_judged_positive))
        )
        return stopping.fit(self.estimator, rows, others)

    def suspicion(self, features: pa.Table, *, n_trees: int | None = None) -> NDArray[np.float64]:
        """Return one score per row, higher for what is more suspicious.

        Given `n_trees`, it is that of the first so many trees, of an estimator of XGBoost.
        """
        columns = one_hot(features, self.schema_)
        first = {} if n_trees is None else {"iteration_range": (0, n_trees)}
        if hasattr(self.estimator, "suspicion"):
            return self.estimator.suspicion(columns)
        if hasattr(self.estimator, "predict_proba"):
            return np.asarray(self.estimator.predict_proba(columns, **first)[:, 1], dtype=float)
        return np.asarray(self.estimator.predict(columns, **first), dtype=float)


class OneHotBoosted:
    """A BoostedRanker on one-hot columns, for engine="paper", which takes categories as numbers.

    Parameters are those of BoostedRanker.
    """

    def __init__(self, seed: int, **parameters: Any) -> None:
        options = {**parameters, "positive_label": True, "random_state": seed, "n_jobs": 1}
        self.ranker = BoostedRanker(**options)

    def fit(self, features: pa.Table, is_positive: NDArray[np.bool_]) -> Self:
        """Learn to rank the positive rows first."""
        self.schema_ = Schema.of(features)
        self.ranker.fit(one_hot(features, self.schema_), is_positive)
        return self

    def suspicion(self, features: pa.Table) -> NDArray[np.float64]:
        """Return one score per row, higher for what is more suspicious."""
        return self.ranker.suspicion(one_hot(features, self.schema_))

    @property
    def n_trees_(self) -> int:
        return self.ranker.n_trees_

    @property
    def booster_(self) -> Any:
        return self.ranker.booster_

    @booster_.setter
    def booster_(self, booster: Any) -> None:
        self.ranker.booster_ = booster

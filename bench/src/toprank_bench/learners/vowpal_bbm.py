"""Vowpal Wabbit's boosting by majority over small networks, as an online learner.

It learns from the same rows as ours do: numbers scaled by what was seen of them so far, which
its networks need (on raw numbers they hardly learn), and a column of 0 and 1 per category. What
is missing is left out.
"""

from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from toprank.data.tables import Schema
from toprank_bench.learners.one_hot import one_hot

_LARGEST = 5.0  # standard deviations, as in our learners


class VowpalBBM:
    """`--boosting n_learners --alg BBM --nn 2`, each weak learner a network of two units."""

    def __init__(
        self, seed: int, n_learners: int = 20, learning_rate: float = 0.5, edge: float = 0.1
    ) -> None:
        self._vowpal = import_module("vowpalwabbit")
        self.options = (
            f"--boosting {n_learners} --alg BBM --gamma {edge} --nn 2 --loss_function logistic "
            f"--learning_rate {learning_rate} --random_seed {seed} --quiet"
        )

    def score_then_learn(
        self, features: pa.Table | NDArray[np.float64], is_positive: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Learn from all rows in their order; return the votes each had before it was learned."""
        table = _as_table(features)
        self._schema = Schema.of(table)
        values = one_hot(table, self._schema).astype(np.float64)
        self._is_number = _numbers_of(self._schema)
        means, spreads = _moments_so_far(values[:, self._is_number])
        self._last = means[-1], spreads[-1]
        workspace = self._workspace = self._vowpal.Workspace(self.options)
        votes = []
        for line, label in zip(self._lines(values, means, spreads), is_positive, strict=True):
            example = workspace.parse(f"{1 if label else -1} {line}")
            workspace.learn(example)  # predicts first, and keeps that prediction
            votes.append(example.get_simplelabel_prediction())
            workspace.finish_example(example)
        return np.array(votes)

    def suspicion(self, features: pa.Table | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes of rows; nothing is learned from them."""
        values = one_hot(_as_table(features), self._schema).astype(np.float64)
        return np.array(
            [self._workspace.predict(line) for line in self._lines(values, *self._last)]
        )

    def _lines(
        self, values: NDArray[np.float64], means: NDArray[Any], spreads: NDArray[Any]
    ) -> list[str]:
        """Return rows in the format of Vowpal Wabbit, without labels."""
        scaled = values.copy()
        apart = values[:, self._is_number] - means
        deviations = np.divide(apart, spreads, out=np.zeros_like(apart), where=spreads > 0)
        scaled[:, self._is_number] = deviations.clip(-_LARGEST, _LARGEST)
        return [
            "| " + " ".join(f"{place}:{row[place]:.7g}" for place in np.flatnonzero(has_value))
            for row, has_value in zip(scaled, np.nan_to_num(scaled) != 0, strict=True)
        ]


def _as_table(features: pa.Table | NDArray[np.float64]) -> pa.Table:
    if isinstance(features, pa.Table):
        return features
    return pa.table({f"x{place}": column for place, column in enumerate(features.T)})


def _numbers_of(schema: Schema) -> NDArray[np.bool_]:
    """Return which of the one-hot columns are numbers."""
    kinds = [[not column.categories] * max(1, len(column.categories)) for column in schema.columns]
    return np.concatenate([np.array(each, dtype=bool) for each in kinds])


def _moments_so_far(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and standard deviation of each column up to each row, NaN skipped."""
    if not values.size:
        return values, values
    is_there = ~np.isnan(values)
    first = np.take_along_axis(values, is_there.argmax(axis=0)[np.newaxis], axis=0)
    shifted = np.where(is_there, values - first, 0.0)  # so that squares do not cancel
    counts = np.maximum(is_there.cumsum(axis=0), 1)
    means = shifted.cumsum(axis=0) / counts
    squares = (shifted**2).cumsum(axis=0) / counts
    return means + first, np.sqrt(np.maximum(squares - means**2, 0.0))

"""The rows of one partition, checked and encoded, and of several together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.data.inputs import TrainingRows
from toprank.data.tables import Schema


def counted_rows(
    frame: Any, labels: Any, weight: Any
) -> tuple[NDArray, NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return labels and weights of the rows with a positive weight, and which rows those are."""
    if len(labels) != len(frame):
        raise ValueError(
            "X and y must have the same rows in every partition; got one with "
            f"{len(frame)} rows and {len(labels)} labels. Take both from one frame."
        )
    n_missing = int(labels.isna().sum())
    if n_missing:
        raise ValueError(
            f"y must have a label in every row; got a partition with {n_missing} of {len(labels)} "
            "missing. Drop those rows from X and y."
        )
    values = np.asarray(labels)
    if weight is None:
        return values, None, np.ones(len(values), dtype=bool)
    weights = checks.finite_vector(weight, "sample_weight")
    if len(weights) != len(frame):
        raise ValueError(
            "X and sample_weight must have the same rows in every partition; got one with "
            f"{len(frame)} rows and {len(weights)} weights. Take both from one frame."
        )
    if weights.min(initial=0) < 0:
        raise ValueError(f"sample_weight must not be negative; got {weights.min():g}.")
    chosen = weights > 0
    return values[chosen], weights[chosen], chosen


def encoded(frame: Any, labels: Any, weight: Any, schema: Schema, positive: Any) -> TrainingRows:
    """Return the rows of one partition, without those of zero weight."""
    values, weights, chosen = counted_rows(frame, labels, weight)
    features = schema.encode(frame)
    return TrainingRows(
        features if weights is None else features[chosen], values == positive, weights
    )


def all_rows(parts: list[TrainingRows]) -> TrainingRows:
    """Return the rows of several partitions together."""
    if len(parts) == 1:
        return parts[0]
    weight = None
    if parts[0].weight is not None:
        weight = np.concatenate([part.weight for part in parts])
    return TrainingRows(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.is_positive for part in parts]),
        weight,
    )

"""Categories as numbers: each one's share of positives among the rows learned from."""

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.rankers.auto.blend import Columns

_PRIOR_ROWS = 2.0
"""A category's share of positives is smoothed by this many rows with the overall share."""


def category_orders(rows: TrainingRows, columns: Columns) -> dict[int, NDArray[np.float32]]:
    """Return, for each category column, every category's share of positives."""
    weight = np.ones(rows.is_positive.size) if rows.weight is None else rows.weight
    prior = float(np.average(rows.is_positive, weights=weight))
    orders = {}
    for number, column in enumerate(columns):
        if column.kind == "category":
            code = rows.features[:, number]
            known = ~np.isnan(code)
            codes = code[known].astype(np.intp)
            n_codes = len(column.categories)
            total = np.bincount(codes, weight[known], n_codes)
            positive = np.bincount(codes, (weight * rows.is_positive)[known], n_codes)
            share = (positive + _PRIOR_ROWS * prior) / (total + _PRIOR_ROWS)
            orders[number] = share.astype(np.float32)
    return orders


def orders_by_column(joined: NDArray, columns: Columns) -> dict[int, NDArray[np.float32]]:
    """Return the numbers of all categories, as saved, column by column."""
    sizes = {
        number: len(column.categories)
        for number, column in enumerate(columns)
        if column.kind == "category"
    }
    if joined.shape != (sum(sizes.values()),) or joined.dtype != np.float32:
        raise ValueError(
            f"orders must be {sum(sizes.values())} float32 numbers, one per category; got "
            f"{joined.dtype} of shape {joined.shape}."
        )
    if not np.isfinite(joined).all():
        raise ValueError("orders must be finite.")
    by_column = np.split(joined, np.cumsum(list(sizes.values()))[:-1])
    return dict(zip(sizes, by_column, strict=False))


def ordered(
    features: NDArray[np.float32], orders: dict[int, NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the features with each category's code replaced by its number in the order."""
    if not orders:
        return features
    replaced = features.copy()
    for number, order in orders.items():
        known = ~np.isnan(features[:, number])
        replaced[known, number] = order[features[known, number].astype(np.intp)]
    return replaced

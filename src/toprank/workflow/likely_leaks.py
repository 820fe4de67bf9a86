"""Columns that give the label away: each by itself ranks nearly all positives first.

Such a column is usually filled in once the label is known, such as the date of a chargeback, and
is empty for the payments of today.
"""

import numpy as np
from numpy.typing import NDArray

from toprank import metrics
from toprank.data.tables import Schema

LEAST_AP = 0.98
_LEAST_POSITIVES = 5
_MOST_NEGATIVES = 20_000
_FEW_VALUES = 50  # numbers so few are looked at as categories, too


def likely_leaks(
    schema: Schema,
    train: tuple[NDArray[np.float32], NDArray[np.bool_]],
    validation: tuple[NDArray[np.float32], NDArray[np.bool_]],
) -> dict[str, float]:
    """Return the columns that alone rank the validation rows nearly without fault, with their AP.

    Numbers are tried in both directions, and so is whether a value is missing; values that are few
    are ranked by their share of positives in `train`.
    """
    features, is_positive = _thinned(*validation)
    n_positive = int(np.count_nonzero(is_positive))
    if n_positive < _LEAST_POSITIVES or 2 * n_positive >= is_positive.size:
        return {}
    found = {}
    for j, column in enumerate(schema.columns):
        scores = _scores(features[:, j], train[0][:, j], train[1], column.kind == "category")
        best = max((_quick_ap(is_positive, each) for each in scores), default=0.0)
        if best >= LEAST_AP:
            found[column.name] = best
    return found


def _thinned(
    features: NDArray[np.float32], is_positive: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return all positives and at most so many negatives, every k-th."""
    negatives = np.flatnonzero(~is_positive)
    step = max(-(-negatives.size // _MOST_NEGATIVES), 1)
    rows = np.sort(np.concatenate([np.flatnonzero(is_positive), negatives[::step]]))
    return features[rows], is_positive[rows]


def _scores(
    values: NDArray[np.float32],
    train_values: NDArray[np.float32],
    train_is_positive: NDArray[np.bool_],
    is_category: bool,
) -> list[NDArray[np.float64]]:
    """Return the rankings that a column may give by itself."""
    is_missing = np.isnan(values)
    scores = []
    if is_missing.any():
        scores += [is_missing.astype(np.float64), (~is_missing).astype(np.float64)]
    known, codes = np.unique(train_values[~np.isnan(train_values)], return_inverse=True)
    if not known.size:
        return scores
    if is_category or known.size <= _FEW_VALUES:
        labels = train_is_positive[~np.isnan(train_values)]
        n_rows = np.bincount(codes, minlength=known.size)
        share = np.bincount(codes, weights=labels, minlength=known.size) / n_rows
        place = np.minimum(np.searchsorted(known, values), known.size - 1)
        is_known = known[place] == values
        scores.append(np.where(is_known, share[place], train_is_positive.mean()))
    if not is_category:
        lowest = float(np.nanmin(values)) - 1 if not is_missing.all() else 0.0
        highest = float(np.nanmax(values)) + 1 if not is_missing.all() else 0.0
        scores += [
            np.where(is_missing, lowest, values).astype(np.float64),
            -np.where(is_missing, highest, values).astype(np.float64),
        ]
    return scores


def _quick_ap(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """Return the average precision; 0 where it is clearly below what would be a leak."""
    n_positive = int(np.count_nonzero(is_positive))
    # a leak has most positives above nearly all negatives
    highest_negatives = np.partition(scores[~is_positive], -n_positive)[-n_positive:]
    if np.median(scores[is_positive]) <= highest_negatives.min():
        return 0.0
    return metrics.average_precision(is_positive, scores)

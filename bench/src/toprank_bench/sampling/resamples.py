"""AUC, F1 and AP under the same resamples of the test rows for every method.

Rows keep these figures, so that any two methods can be compared row for row afterwards, though
their scores are gone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_RESAMPLES = 200
_PARTS = 1e4  # figures are kept in whole ten-thousandths


class ResampledDifference(NamedTuple):
    """The mean lead of one method over another, with its 95 % interval."""

    value: float
    low: float
    high: float


class Resamples:
    """How often each test row is drawn in each of the resamples; the same for all methods."""

    def __init__(self, is_positive: NDArray[np.bool_]) -> None:
        self.is_positive = is_positive
        self.counts = _counts(is_positive)  # one column per resample

    def figures(self, suspicion: NDArray[np.float64], threshold: float) -> dict[str, list[int]]:
        """Return each metric under every resample, in ten-thousandths; F1 is at `threshold`.

        >>> is_positive = np.arange(50) < 5
        >>> of_all = Resamples(is_positive).figures(-np.arange(50.0), threshold=-4.0)
        >>> {name: set(values) for name, values in of_all.items()}
        {'roc_auc': {10000}, 'f1': {10000}, 'average_precision': {10000}}
        """
        falling = np.argsort(-suspicion, kind="stable")
        ordered, is_positive = suspicion[falling], self.is_positive[falling]
        begins = _group_begins(ordered, is_positive, threshold)
        counts = self.counts[falling]
        drawn = np.add.reduceat(counts, begins, axis=0, dtype=np.int64)
        positives = np.add.reduceat(counts * is_positive[:, None], begins, axis=0, dtype=np.int64)
        found, false = np.cumsum(positives, axis=0), np.cumsum(drawn - positives, axis=0)
        n_called = int((ordered[begins] >= threshold).sum())
        values = {
            "roc_auc": _area(found, false),
            "f1": _f1(found, false, n_called),
            "average_precision": _average_precision(found, false),
        }
        return {name: np.rint(_PARTS * each).astype(int).tolist() for name, each in values.items()}


def difference(
    values: Mapping[int, float],
    resampled: Mapping[int, ArrayLike],
    other_values: Mapping[int, float],
    other_resampled: Mapping[int, ArrayLike],
) -> ResampledDifference:
    """Return the mean lead over the seeds that both have; a resample draws rows and seeds.

    Figures and their resamples are given by seed.

    >>> difference({1: 0.75}, {1: [7400, 7600]}, {1: 0.5}, {1: [5000, 5000]}).value
    0.25
    """
    seeds = sorted(values.keys() & other_values.keys())
    if not seeds:
        raise ValueError("two methods must share a seed to be compared; they share none.")
    value = np.mean([values[seed] - other_values[seed] for seed in seeds])
    lead = np.array([np.subtract(resampled[seed], other_resampled[seed]) for seed in seeds])
    n_seeds, n_resamples = lead.shape
    drawn = np.random.default_rng(0).integers(n_seeds, size=lead.shape)
    means = lead[drawn, np.arange(n_resamples)].mean(axis=0) / _PARTS
    low, high = np.quantile(means, [0.025, 0.975])
    return ResampledDifference(float(value), float(low), float(high))


def _counts(is_positive: NDArray[np.bool_]) -> NDArray[np.uint8]:
    generator = np.random.default_rng(0)
    counts = generator.poisson(1.0, (is_positive.size, N_RESAMPLES)).astype(np.uint8)
    while True:
        both = counts[is_positive].any(axis=0) & counts[~is_positive].any(axis=0)
        if both.all():
            return counts
        # no metric exists for one class; few positives are at times all left out
        again = generator.poisson(1.0, (is_positive.size, np.count_nonzero(~both)))
        counts[:, ~both] = again.astype(np.uint8)


def _group_begins(
    ordered: NDArray[np.float64], is_positive: NDArray[np.bool_], threshold: float
) -> NDArray[np.int64]:
    """Return where groups of equal suspicion begin; neighbours without positives are made one.

    That changes no metric, as long as the groups on the two sides of the threshold stay apart.
    """
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    has_positive = np.add.reduceat(is_positive, begins, dtype=np.int64) > 0
    is_called = ordered[begins] >= threshold
    is_border = has_positive[1:] | has_positive[:-1] | (is_called[1:] != is_called[:-1])
    return begins[np.append(True, is_border)]


def _area(found: NDArray[np.int64], false: NDArray[np.int64]) -> NDArray[np.float64]:
    new = np.diff(false, axis=0, prepend=0)
    above = found - np.diff(found, axis=0, prepend=0) / 2  # a tie counts as half
    return (new * above).sum(axis=0) / (found[-1] * false[-1])


def _f1(found: NDArray[np.int64], false: NDArray[np.int64], n_called: int) -> NDArray[np.float64]:
    """Return F1 of calling the first groups positive."""
    if n_called == 0:
        return np.zeros(found.shape[1])
    return 2 * found[n_called - 1] / (found[-1] + found[n_called - 1] + false[n_called - 1])


def _average_precision(found: NDArray[np.int64], false: NDArray[np.int64]) -> NDArray[np.float64]:
    new = np.diff(found, axis=0, prepend=0)
    return (new * found / np.maximum(found + false, 1)).sum(axis=0) / found[-1]

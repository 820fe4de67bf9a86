"""Curves of a ranking, and of probabilities against what happened."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks as check
from toprank.metrics.points import found_checked, roc_points
from toprank.metrics.ranking import Ranking
from toprank.metrics.resampling import Seed, percentile_band, resamples
from toprank.metrics.shares import wilson_bounds


class PrecisionRecallCurve(NamedTuple):
    """Precision and recall of calling positive what has `suspicion >= threshold`."""

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    threshold: NDArray[np.float64]


class RocCurve(NamedTuple):
    """Rates of calling positive what has `suspicion >= threshold`, from nothing to everything."""

    false_positive_rate: NDArray[np.float64]
    true_positive_rate: NDArray[np.float64]
    threshold: NDArray[np.float64]


class ChecksCurve(NamedTuple):
    """Precision and recall after a number of checks, each with its bootstrap interval."""

    checks: NDArray[np.int64]
    precision: NDArray[np.float64]
    precision_low: NDArray[np.float64]
    precision_high: NDArray[np.float64]
    recall: NDArray[np.float64]
    recall_low: NDArray[np.float64]
    recall_high: NDArray[np.float64]


class CalibrationCurve(NamedTuple):
    """Mean predicted probability and observed share of positives per bin, lowest bin first.

    `low` and `high` are the 95 % Wilson interval of the observed share.
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_rows: NDArray[np.int64]


def precision_recall_curve(y: ArrayLike, suspicion: ArrayLike) -> PrecisionRecallCurve:
    """Return precision and recall at every distinct suspicion, the highest first.

    The average precision is the sum of precision times the step in recall.

    >>> curve = precision_recall_curve([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    >>> curve.recall.tolist(), curve.threshold.tolist()
    ([0.5, 1.0, 1.0], [0.9, 0.5, 0.1])
    """
    ranking = Ranking.of(y, suspicion)
    recall = ranking.found / ranking.total_positive
    return PrecisionRecallCurve(ranking.found / ranking.checked, recall, ranking.threshold)


def roc_curve(y: ArrayLike, suspicion: ArrayLike) -> RocCurve:
    """Return the ROC curve, from (0, 0) at an infinite threshold to (1, 1).

    >>> curve = roc_curve([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    ranking = Ranking.of(y, suspicion)
    false_positives, found = roc_points(ranking)
    return RocCurve(
        false_positives / ranking.total_negative,
        found / ranking.total_positive,
        np.append(np.inf, ranking.threshold),
    )


def checks_curve(
    y: ArrayLike,
    suspicion: ArrayLike,
    *,
    checks: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
) -> ChecksCurve:
    """Return precision and recall by number of checks, most suspicious rows first.

    `checks` are the numbers to report, in any order; without it about 60 from 1 to all rows,
    evenly spaced on a log scale. Ties count in expectation, as in `precision_at_k`.

    >>> curve = checks_curve([1, 0, 1, 0], [4, 3, 2, 1], checks=[1, 2, 4])
    >>> curve.precision.tolist(), curve.recall.tolist()
    ([1.0, 0.5, 0.5], [0.5, 0.5, 1.0])
    """
    ranking = Ranking.of(y, suspicion).merged()
    budgets = numbers_of_checks(checks, ranking.n_rows)
    drawn = [
        _precision_recall_at(each, budgets)
        for each in resamples(ranking, n_resamples, random_state)
    ]
    precision, recall = _precision_recall_at(ranking, budgets)
    low, high = percentile_band(np.array(drawn), level)
    return ChecksCurve(budgets, precision, low[0], high[0], recall, low[1], high[1])


def calibration_curve(y: ArrayLike, probability: ArrayLike, n_bins: int = 10) -> CalibrationCurve:
    """Return how often positives happened where a probability was predicted.

    Rows are put into `n_bins` bins of about equal count, equal probabilities into the same bin.
    Neighbouring bins are then merged, lowest first, until each expects at least 5 positives; if
    all rows together expect fewer, one bin is left.

    >>> curve = calibration_curve([0, 0, 0, 1] * 40, [0.25] * 160)
    >>> curve.predicted.tolist(), curve.observed.tolist(), curve.n_rows.tolist()
    ([0.25], [0.25], [160])
    """
    probability = check.finite_vector(probability, "probability")
    is_positive = check.positives(y, like=probability)
    if probability.min() < 0 or probability.max() > 1:
        raise ValueError(
            "probability must be between 0 and 1; "
            f"got {probability.min():g} to {probability.max():g}."
        )
    bins = _equal_count_bins(probability, check.whole_number(n_bins, "n_bins", 1))
    expected = np.bincount(bins, weights=probability)
    bins = _enough_expected(expected)[bins]
    n_rows = np.bincount(bins)
    predicted = np.bincount(bins, probability) / n_rows
    observed = np.bincount(bins, is_positive) / n_rows
    low, high = wilson_bounds(observed, n_rows)
    return CalibrationCurve(predicted, observed, low, high, n_rows)


def numbers_of_checks(checks: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    """Return the numbers of checks to report, rising; None is about 60 on a log scale.

    >>> numbers_of_checks([4, 1], n_rows=4).tolist()
    [1, 4]
    """
    if checks is None:
        return np.unique(np.geomspace(1, n_rows, 60).round().astype(np.int64))
    numbers = [check.whole_number(each, "checks", 1, n_rows) for each in np.ravel(checks)]
    if not numbers:
        raise ValueError("checks must contain at least one number; got none.")
    return np.unique(numbers)


def _precision_recall_at(ranking, budgets):
    found, checked = found_checked(ranking, budgets)
    return found / checked, found / ranking.total_positive


def _equal_count_bins(probability: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    """Return the bin of each row; bins left empty by ties are not numbered."""
    rows_below = np.searchsorted(np.sort(probability), probability)
    return np.unique(rows_below * n_bins // probability.size, return_inverse=True)[1]


def _enough_expected(expected: NDArray, least: float = 5.0) -> NDArray[np.int64]:
    """Return the merged bin of each bin; a last bin of too few joins the one before it."""
    merged = np.zeros(expected.size, dtype=np.int64)
    current, in_bin = 0, 0.0
    for i, more in enumerate(expected):
        if in_bin >= least and expected[i:].sum() >= least:
            current, in_bin = current + 1, 0.0
        merged[i] = current
        in_bin += more
    return merged

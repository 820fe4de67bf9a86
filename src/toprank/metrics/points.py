"""One number for a ranking: how well suspicion puts the positives first.

Every function takes labels and suspicions, one per row; a higher suspicion is more suspicious.
No metric depends on the order in which tied rows are given.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.metrics.ranking import Ranking


class BestFBeta(NamedTuple):
    """The highest F-beta and its threshold: call positive what has `suspicion >= threshold`."""

    value: float
    threshold: float


def average_precision(
    y: ArrayLike, suspicion: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the average precision: the mean over positives of the precision at their suspicion.

    Tied rows are counted once, as one group, as scikit-learn does. A random order scores about
    the share of positives, a perfect one 1. With `sample_weight`, a row of weight 2 counts as two.

    >>> round(average_precision([0, 0, 0, 1, 1], [5, 4, 3, 2, 1]), 3)
    0.325
    """
    return _average_precision(Ranking.of(y, suspicion, sample_weight))


def prevalence_adjusted_ap(y: ArrayLike, suspicion: ArrayLike, prevalence: float) -> float:
    """Return the average precision as it would be if positives were `prevalence` of the rows.

    Negatives are reweighted, so that samples with different shares of positives can be compared.

    >>> round(prevalence_adjusted_ap([1, 0, 1, 0], [4, 3, 2, 1], prevalence=0.01), 3)
    0.51
    """
    prevalence = _share(prevalence, "prevalence")
    return _prevalence_adjusted_ap(Ranking.of(y, suspicion), prevalence)


def found_at_k(y: ArrayLike, suspicion: ArrayLike, k: int) -> float:
    """Return how many positives `k` checks find when the most suspicious rows are checked first.

    Where the k-th row is tied with others, this is the expected number over all their orders.

    >>> found_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], k=2)
    1.5
    """
    ranking = Ranking.of(y, suspicion)
    return _found_at_k(ranking, _budget(k, ranking))


def precision_at_k(y: ArrayLike, suspicion: ArrayLike, k: int) -> float:
    """Return the share of positives among the `k` most suspicious rows, ties in expectation.

    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], k=2)
    0.75
    """
    ranking = Ranking.of(y, suspicion)
    return _precision_at_k(ranking, _budget(k, ranking))


def recall_at_k(y: ArrayLike, suspicion: ArrayLike, k: int) -> float:
    """Return the share of all positives that the first `k` checks find, ties in expectation.

    >>> recall_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], k=1)
    0.5
    """
    ranking = Ranking.of(y, suspicion)
    return _recall_at_k(ranking, _budget(k, ranking))


def positives_at_top(y: ArrayLike, suspicion: ArrayLike) -> float:
    """Return the share of positives ranked strictly above the highest negative.

    >>> positives_at_top([1, 1, 0, 1], [0.9, 0.5, 0.5, 0.1])
    0.3333333333333333
    """
    return _positives_at_top(Ranking.of(y, suspicion))


def roc_auc(y: ArrayLike, suspicion: ArrayLike) -> float:
    """Return the chance that a random positive is ranked above a random negative, a tie as half.

    >>> roc_auc([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    0.875
    """
    return _roc_auc(Ranking.of(y, suspicion))


def partial_roc_auc(y: ArrayLike, suspicion: ArrayLike, max_fpr: float) -> float:
    """Return the mean true positive rate over false positive rates from 0 to `max_fpr`.

    That is the raw area under the ROC curve left of `max_fpr`, divided by `max_fpr`: 1 is perfect
    and a random order scores `max_fpr / 2`. The curve is interpolated linearly at `max_fpr`.

    >>> partial_roc_auc([1, 0, 1, 0], [4, 3, 2, 1], max_fpr=0.5)
    0.5
    """
    max_fpr = checks.number_above(max_fpr, "max_fpr", 0, 1)
    return _partial_roc_auc(Ranking.of(y, suspicion), max_fpr)


def f_beta(y: ArrayLike, suspicion: ArrayLike, threshold: float, beta: float = 1.0) -> float:
    """Return F-beta of calling positive what has `suspicion >= threshold`.

    It is `(1 + beta^2) precision recall / (beta^2 precision + recall)`, and 0 if nothing is found.

    >>> round(f_beta([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], threshold=0.5), 3)
    0.8
    """
    threshold = _finite_number(threshold, "threshold")
    beta = checks.number_above(beta, "beta", 0)
    return _f_beta(Ranking.of(y, suspicion), threshold, beta)


def best_f_beta(y: ArrayLike, suspicion: ArrayLike, beta: float = 1.0) -> BestFBeta:
    """Return the highest F-beta of any threshold, and the highest threshold that reaches it.

    >>> best_f_beta([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    BestFBeta(value=0.8, threshold=0.5)
    """
    beta = checks.number_above(beta, "beta", 0)
    ranking = Ranking.of(y, suspicion)
    values = _f_beta_of(ranking.found, ranking.checked, ranking, beta)
    best = int(np.argmax(values))
    return BestFBeta(float(values[best]), float(ranking.threshold[best]))


def matthews_correlation(y: ArrayLike, suspicion: ArrayLike, threshold: float) -> float:
    """Return the correlation of `y` with `suspicion >= threshold`; 0 if all fall on one side.

    >>> matthews_correlation([1, 0, 1, 0], [4, 3, 2, 1], threshold=2)
    0.5773502691896258
    """
    threshold = _finite_number(threshold, "threshold")
    return _matthews_correlation(Ranking.of(y, suspicion), threshold)


def precision_recall_gain(y: ArrayLike, suspicion: ArrayLike) -> float:
    """Return the area under the precision-recall-gain curve (Flach and Kull, 2015).

    With share of positives `p`, the gain of a precision or recall `v` is `(v - p) / ((1 - p) v)`:
    0 at the level of calling everything positive, 1 when perfect. The area covers recall gains
    from 0 to 1. What is at a negative recall gain (recall below `p`) is left out: the curve
    starts at recall gain 0, on the straight line between the two ROC points around it.
    Negative precision gains count, so a ranking worse than random can score below 0.

    >>> precision_recall_gain([1, 1, 0, 0], [4, 3, 2, 1])
    1.0
    """
    return _precision_recall_gain(Ranking.of(y, suspicion))


def found_checked(
    ranking: Ranking, budgets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the expected positives and the rows checked within each of the rising `budgets`.

    A budget beyond the number of rows stops at the last row.
    """
    return _walk_down(ranking.n_positive, ranking.n_negative, budgets)


def roc_points(ranking: Ranking) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return false and true positives of every prefix of groups, from none to all."""
    found = np.append(0.0, ranking.found)
    return np.append(0.0, ranking.checked) - found, found


def _average_precision(ranking, negative_weight=1.0):
    return float(_mean_precision(ranking.n_positive, ranking.n_negative, negative_weight))


def _prevalence_adjusted_ap(ranking, prevalence):
    odds = ranking.total_positive / ranking.total_negative
    return _average_precision(ranking, odds * (1 - prevalence) / prevalence)


def _found_at_k(ranking, k):
    found, _ = found_checked(ranking, np.array([k]))
    return float(found[0])


def _precision_at_k(ranking, k):
    found, checked = found_checked(ranking, np.array([k]))
    return float(found[0] / checked[0])


def _recall_at_k(ranking, k):
    return _found_at_k(ranking, k) / ranking.total_positive


def _positives_at_top(ranking):
    first_with_negative = np.argmax(ranking.n_negative > 0)
    found = ranking.found[first_with_negative] - ranking.n_positive[first_with_negative]
    return float(found / ranking.total_positive)


def _roc_auc(ranking):
    found_halfway = ranking.found - ranking.n_positive / 2
    pairs = ranking.total_positive * ranking.total_negative
    return float((ranking.n_negative * found_halfway).sum() / pairs)


def _partial_roc_auc(ranking, max_fpr):
    false_positives, found = roc_points(ranking)
    end = max_fpr * ranking.total_negative
    inside = false_positives <= end
    area = np.trapezoid(
        np.append(found[inside], np.interp(end, false_positives, found)),
        np.append(false_positives[inside], end),
    )
    return float(area / (end * ranking.total_positive))


def _f_beta(ranking, threshold, beta=1.0):
    return _f_beta_of(*_called_positive(ranking, threshold), ranking, beta)


def _best_f_beta(ranking, beta=1.0):
    return float(_f_beta_of(ranking.found, ranking.checked, ranking, beta).max())


def _f_beta_of(found, checked, ranking, beta):
    return (1 + beta**2) * found / (beta**2 * ranking.total_positive + checked)


def _matthews_correlation(ranking, threshold):
    found, checked = _called_positive(ranking, threshold)
    covariance = found * ranking.n_rows - checked * ranking.total_positive
    scale = ranking.total_positive * ranking.total_negative * checked * (ranking.n_rows - checked)
    return covariance / scale**0.5 if scale else 0.0


def _precision_recall_gain(ranking):
    false_positives, found = roc_points(ranking)
    # With share p, recall = p exactly when p P positives are found: there the recall gain is 0.
    start = ranking.total_positive**2 / ranking.n_rows
    inside = found >= start
    false_positives = np.append(np.interp(start, found, false_positives), false_positives[inside])
    found = np.append(start, found[inside])
    odds = ranking.total_positive / ranking.total_negative
    precision_gain = 1 - odds * false_positives / found
    recall_gain = 1 - odds * (ranking.total_positive - found) / found
    return float(np.trapezoid(precision_gain, recall_gain))


# The same metrics as functions of a ranking, for resampling. They take the options of the public
# function of that name, already checked.
FORMULAS: dict[str, Callable[..., float]] = {
    "average_precision": _average_precision,
    "best_f_beta": _best_f_beta,
    "f_beta": _f_beta,
    "found_at_k": _found_at_k,
    "matthews_correlation": _matthews_correlation,
    "partial_roc_auc": _partial_roc_auc,
    "positives_at_top": _positives_at_top,
    "precision_at_k": _precision_at_k,
    "precision_recall_gain": _precision_recall_gain,
    "prevalence_adjusted_ap": _prevalence_adjusted_ap,
    "recall_at_k": _recall_at_k,
    "roc_auc": _roc_auc,
}


def _called_positive(ranking: Ranking, threshold: float) -> tuple[float, float]:
    """Return positives and rows with `suspicion >= threshold`."""
    above = ranking.threshold >= threshold
    found = float(ranking.n_positive[above].sum())
    return found, found + float(ranking.n_negative[above].sum())


def _budget(k: int, ranking: Ranking) -> int:
    return checks.whole_number(k, "k", 1, ranking.n_rows)


def _share(value: float, name: str) -> float:
    value = checks.number_above(value, name, 0, 1)
    if value == 1:
        raise ValueError(f"{name} must be less than 1; got 1.")
    return value


def _finite_number(value: float, name: str) -> float:
    value = checks.number_above(value, name, -np.inf)
    if value == np.inf:
        raise ValueError(f"{name} must be finite; got inf.")
    return value


@njit(cache=True)
def _mean_precision(n_positive, n_negative, negative_weight):
    found, passed, total = 0.0, 0.0, 0.0
    for group in range(n_positive.size):
        found += n_positive[group]
        passed += n_negative[group]
        if n_positive[group] > 0:
            total += n_positive[group] * found / (found + negative_weight * passed)
    return total / found


@njit(cache=True)
def _walk_down(n_positive, n_negative, budgets):
    found, checked = np.zeros(budgets.size), np.zeros(budgets.size)
    found_before, checked_before, group = 0.0, 0.0, 0
    for i in range(budgets.size):
        while group < n_positive.size:
            size = n_positive[group] + n_negative[group]
            if checked_before + size >= budgets[i]:
                break
            found_before += n_positive[group]
            checked_before += size
            group += 1
        found[i], checked[i] = found_before, checked_before
        if group < n_positive.size:
            # The budget ends inside this group, whose rows come in any order.
            found[i] += (budgets[i] - checked_before) * n_positive[group] / size
            checked[i] = budgets[i]
    return found, checked

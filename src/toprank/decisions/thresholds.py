"""The threshold that turns suspicions into alerts, and what to expect of it.

Every threshold here is half-way between two neighbouring scores, so that a rounding difference
between two machines never moves a row across it.

A threshold looks best on the rows it was chosen on. So its figures are corrected (Efron's
optimism bootstrap): it is chosen anew on resamples, and its figures there are compared with
those on all rows; the mean of these differences is subtracted from the figures and their
intervals.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks
from toprank.metrics import Interval
from toprank.metrics.ranking import Ranking
from toprank.metrics.resampling import Seed, percentile_band, resamples

AIMS = ("f_beta", "mcc", "precision", "alerts")

_VALUES_AT_ONCE = 1 << 21  # of resamples times groups: about 100 MB at the peak


class Threshold(NamedTuple):
    """Alert what has `suspicion >= threshold`, with the figures to expect.

    `threshold_low` and `threshold_high` span the middle `level` of thresholds chosen on
    resamples. `value` is the metric that the aim maximises: F-beta, MCC, or the
    recall for the aims "precision" and "alerts". `value`, `precision` and `recall` are corrected
    for having been chosen on the same rows; `n_alerts` is counted on them.
    """

    threshold: float
    threshold_low: float
    threshold_high: float
    value: Interval
    precision: Interval
    recall: Interval
    n_alerts: int


class FBetaCurve(NamedTuple):
    """F-beta of alerting what has `suspicion >= threshold`, the highest threshold first."""

    threshold: NDArray[np.float64]
    value: NDArray[np.float64]


def choose_threshold(
    y: ArrayLike,
    suspicion: ArrayLike,
    aim: str = "f_beta",
    *,
    beta: float = 1.0,
    least_precision: float | None = None,
    budget: int | None = None,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
) -> Threshold:
    """Return the best threshold for `aim`, on rows that the ranker has not learned from.

    Aims are the highest "f_beta" or "mcc" (Matthews correlation), "precision", the most recall
    with a precision of at least `least_precision`, and "alerts", the lowest threshold with at
    most `budget` alerts; rows that are tied are alerted together or not at all. All distinct
    scores are tried; of equally good thresholds the highest is taken.

    With few positives the correction removes most of the optimism, not all of it; the interval
    is for the value of the threshold on new rows.

    >>> y, suspicion = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> choose_threshold(y, suspicion).threshold
    4.5
    >>> choose_threshold(y, suspicion, "precision", least_precision=0.9).threshold
    6.5
    >>> choose_threshold(y, suspicion, "alerts", budget=3).n_alerts
    3
    """
    goal = _Aim(aim, beta, least_precision, budget)
    groups = goal.groups(Ranking.of(y, suspicion))
    chosen = goal.chosen(groups)
    best = np.array([chosen])
    apparent = goal.values(_counts(groups, best))[0]
    cuts, optimism = _chosen_on_resamples(goal, groups, n_resamples, random_state)
    drawn = goal.values(_drawn_tables(groups, chosen, n_resamples, random_state))
    low, high = percentile_band(drawn, level)
    value, precision, recall = (
        _corrected(*four, lowest=-1.0 if goal.name == "mcc" and i == 0 else 0.0)
        for i, four in enumerate(zip(apparent, low, high, optimism, strict=True))
    )
    threshold = float(groups.threshold[chosen])
    threshold_low, threshold_high = map(float, percentile_band(cuts, level))
    return Threshold(
        threshold,
        min(threshold_low, threshold),
        max(threshold_high, threshold),
        value,
        precision,
        recall,
        int(groups.checked[chosen]),
    )


def f_beta_by_threshold(
    y: ArrayLike, suspicion: ArrayLike, beta: float = 1.0, n_points: int = 500
) -> FBetaCurve:
    """Return F-beta at up to `n_points` thresholds, the best one among them.

    Between two positives, only the two ends of the run of negatives are kept.

    >>> curve = f_beta_by_threshold([1, 0, 0, 1], [4, 3, 2, 1])
    >>> curve.threshold.tolist(), curve.value.round(2).tolist()
    ([3.5, 1.5, 0.5], [0.67, 0.4, 0.67])
    """
    beta = checks.number_above(beta, "beta", 0)
    n_points = checks.whole_number(n_points, "n_points", 2)
    groups = _halfway(Ranking.of(y, suspicion)).merged()
    total, n_rows = float(groups.total_positive), float(groups.n_rows)
    value = _f_beta(_ThresholdCounts(groups.found, groups.checked, total, n_rows), beta)
    kept = np.linspace(0, value.size - 1, min(n_points - 1, value.size)).round().astype(int)
    kept = np.union1d(kept, value.argmax())
    return FBetaCurve(groups.threshold[kept], value[kept])


def check_options(
    aim: str, beta: float, least_precision: float | None, budget: int | None
) -> None:
    """Raise unless these are consistent options of `choose_threshold`.

    >>> check_options("alerts", beta=1.0, least_precision=None, budget=None)
    Traceback (most recent call last):
        ...
    ValueError: budget must be given for the aim 'alerts'; got None.
    """
    checks.one_of(aim, "aim", AIMS)
    checks.number_above(beta, "beta", 0)
    _check_belongs(least_precision, "least_precision", aim, "precision")
    _check_belongs(budget, "budget", aim, "alerts")
    if least_precision is not None:
        checks.number_above(least_precision, "least_precision", 0, 1)
    if budget is not None:
        checks.whole_number(budget, "budget", 1)


def halfway_cuts(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the threshold between each of the falling, distinct `scores` and the next one.

    The last threshold is below all scores, by half the distance of the two lowest.

    >>> halfway_cuts(np.array([8.0, 4.0, 2.0])).tolist()
    [6.0, 3.0, 1.0]
    """
    distance = scores[-2] - scores[-1] if scores.size > 1 else 1.0
    below = np.append(scores[1:], scores[-1] - distance)
    cuts = scores / 2 + below / 2
    # no float is between two neighbouring ones: the cut is the upper one
    return np.where((cuts > below) & (cuts <= scores), cuts, scores)


class _ThresholdCounts(NamedTuple):
    """Alerted positives and rows, and all positives and rows."""

    found: NDArray[np.float64]
    checked: NDArray[np.float64]
    total_positive: NDArray[np.float64] | float
    n_rows: NDArray[np.float64] | float


class _Aim:
    """An aim with checked options: what is maximised, and what is reported."""

    def __init__(
        self, aim: str, beta: float, least_precision: float | None, budget: int | None
    ) -> None:
        check_options(aim, beta, least_precision, budget)
        self.name, self.beta = aim, beta
        self.least_precision = 0.0 if least_precision is None else least_precision
        self.budget = 0 if budget is None else budget

    def groups(self, ranking: Ranking) -> Ranking:
        """Return the ranking's groups with their cuts, merged where no cut can be best."""
        ranking = _halfway(ranking)
        if self.name != "alerts":
            # more negatives at the end make F-beta, MCC and precision lower
            return ranking.merged()
        if self.budget > ranking.n_rows:
            raise ValueError(
                f"budget must be at most {ranking.n_rows}, the number of rows; got {self.budget}."
            )
        # the budget's last alert moves by about sqrt(budget) rows between resamples
        apart = 6 * self.budget**0.5 + 1
        return _merged(ranking, np.abs(ranking.checked - self.budget) <= apart)

    def chosen(self, groups: Ranking) -> int:
        """Return the best group to end with; raises ValueError if the aim cannot be reached."""
        every = np.arange(groups.threshold.size)
        counts = _counts(groups, every)
        chosen = int(np.argmax(self.objective(counts, groups.n_rows)))
        found, checked = int(groups.found[chosen]), int(groups.checked[chosen])
        if self.name == "alerts" and checked > self.budget:
            raise ValueError(
                f"budget must be at least {checked}, the number of rows tied at the highest "
                f"suspicion; got {self.budget}."
            )
        if found / checked < self.least_precision:
            raise ValueError(
                f"least_precision must be at most {_rounded_down(found / checked)}, the best "
                f"possible ({found} positives in {checked} alerts); got {self.least_precision:g}."
            )
        return chosen

    def objective(self, counts: _ThresholdCounts, n_rows: int) -> NDArray[np.float64]:
        """Return what to maximise; `n_rows` is the number of rows that the budget is for."""
        if self.name == "f_beta":
            score = _f_beta(counts, self.beta)
        elif self.name == "mcc":
            score = _mcc(counts)
        elif self.name == "precision":
            # 1 + recall where the precision is high enough; elsewhere precision, at most 1
            precision = counts.found / np.maximum(counts.checked, 1)
            recall = counts.found / counts.total_positive
            score = np.where(precision >= self.least_precision, 1 + recall, precision)
        else:
            allowed = counts.checked <= self.budget * (counts.n_rows / n_rows)
            score = np.where(allowed, counts.checked, -counts.checked)
        return np.where(counts.checked > 0, score, -np.inf)

    def values(self, counts: _ThresholdCounts) -> NDArray[np.float64]:
        """Return value, precision and recall as columns."""
        precision, recall = counts.found / counts.checked, counts.found / counts.total_positive
        value = recall
        if self.name == "f_beta":
            value = _f_beta(counts, self.beta)
        elif self.name == "mcc":
            value = _mcc(counts)
        return np.column_stack([value, precision, recall])


def _check_belongs(value: float | None, name: str, aim: str, owner: str) -> None:
    if value is None and aim == owner:
        raise ValueError(f"{name} must be given for the aim {aim!r}; got None.")
    if value is not None and aim != owner:
        raise ValueError(f"{name} must be None unless the aim is {owner!r}; got aim {aim!r}.")


def _halfway(ranking: Ranking) -> Ranking:
    return Ranking(halfway_cuts(ranking.threshold), ranking.n_positive, ranking.n_negative)


def _merged(ranking: Ranking, kept: NDArray[np.bool_]) -> Ranking:
    """Return the ranking with neighbouring groups of negatives merged, except those kept."""
    single = kept | (ranking.n_positive > 0)
    starts = np.flatnonzero(np.append(True, single[1:] | single[:-1]))
    ends = np.append(starts[1:], single.size) - 1
    return Ranking(
        ranking.threshold[ends],
        np.add.reduceat(ranking.n_positive, starts),
        np.add.reduceat(ranking.n_negative, starts),
    )


def _counts(groups: Ranking, chosen: NDArray[np.intp]) -> _ThresholdCounts:
    """Return the counts of ending with each of the chosen groups."""
    found, checked = groups.found[chosen], groups.checked[chosen]
    return _ThresholdCounts(
        found.astype(float), checked.astype(float), float(groups.total_positive), groups.n_rows
    )


def _chosen_on_resamples(
    goal: _Aim, groups: Ranking, n_resamples: int, random_state: Seed
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the threshold chosen on each resample, and their mean optimism."""
    chosen, promised = [], []
    for counts in _resampled_counts(groups, n_resamples, random_state):
        best = goal.objective(counts, groups.n_rows).argmax(axis=1)
        chosen.append(best)
        rows = np.arange(best.size)
        totals = np.ravel(counts.total_positive), np.ravel(counts.n_rows)
        at_best = _ThresholdCounts(counts.found[rows, best], counts.checked[rows, best], *totals)
        promised.append(goal.values(at_best))
    best = np.concatenate(chosen)
    kept = goal.values(_counts(groups, best))
    return groups.threshold[best], (np.concatenate(promised) - kept).mean(axis=0)


def _resampled_counts(
    groups: Ranking, n_resamples: int, random_state: Seed
) -> Iterator[_ThresholdCounts]:
    """Yield the counts at every group for batches of resamples, one row each."""
    at_once = max(_VALUES_AT_ONCE // groups.threshold.size, 1)
    drawn = list[Ranking]()
    for number, each in enumerate(resamples(groups, n_resamples, random_state), start=1):
        drawn.append(each)
        if len(drawn) == at_once or number == n_resamples:
            n_positive = np.array([each.n_positive for each in drawn], dtype=float)
            n_negative = np.array([each.n_negative for each in drawn], dtype=float)
            found = n_positive.cumsum(axis=1)
            checked = (n_positive + n_negative).cumsum(axis=1)
            yield _ThresholdCounts(found, checked, found[:, -1:], checked[:, -1:])
            drawn = []


def _drawn_tables(
    groups: Ranking, chosen: int, n_resamples: int, random_state: Seed
) -> _ThresholdCounts:
    """Return counts at one threshold drawn from their posterior with Jeffreys' prior.

    The four cells of the table are drawn from gamma distributions with half a row more than was
    seen: unlike with resampled rows, an empty cell does not stay empty.
    """
    found, checked = int(groups.found[chosen]), int(groups.checked[chosen])
    missed = groups.total_positive - found
    cells = np.array([found, checked - found, missed, groups.n_rows - checked - missed])
    generator = np.random.default_rng(random_state)
    n_draws = max(n_resamples, 2000)  # they cost almost nothing
    true, false, missed, rest = generator.standard_gamma(cells[:, None] + 0.5, (4, n_draws))
    return _ThresholdCounts(true, true + false, true + missed, true + false + missed + rest)


def _corrected(value: float, low: float, high: float, optimism: float, lowest: float) -> Interval:
    """Return the interval without the optimism, within the range of the metric."""
    value, low, high = np.clip(np.array([value, low, high]) - optimism, lowest, 1).tolist()
    return Interval(value, min(low, value), max(high, value))


def _f_beta(counts: _ThresholdCounts, beta: float) -> NDArray[np.float64]:
    return (1 + beta**2) * counts.found / (beta**2 * counts.total_positive + counts.checked)


def _mcc(counts: _ThresholdCounts) -> NDArray[np.float64]:
    found, checked, total, n_rows = counts
    spread = (total * checked) * ((n_rows - total) * (n_rows - checked))
    covariance = found * n_rows - checked * total
    # all rows on one side: no correlation
    return np.where(spread > 0, covariance / np.sqrt(np.maximum(spread, 1e-300)), 0.0)


def _rounded_down(share: float) -> str:
    return f"{np.floor(share * 1000) / 1000:g}"

"""The cost of alerts and missed positives, and the money that a list of alerts saves.

Savings are relative to no alerts at all: the cost of letting every row through, minus the cost
with alerts.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks as check
from toprank.decisions.thresholds import halfway_cuts
from toprank.metrics import Interval
from toprank.metrics.curves import numbers_of_checks
from toprank.metrics.ranking import Ranking
from toprank.metrics.resampling import Seed, percentile_band, resamples

Cost = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """The cost of each outcome: one number for all rows, or one per row; a gain is negative.

    An alert is a true or a false positive, a row let through a false or a true negative.
    """

    true_positive: Cost
    false_positive: Cost
    false_negative: Cost
    true_negative: Cost

    def __post_init__(self) -> None:
        for name in ("true_positive", "false_positive", "false_negative", "true_negative"):
            object.__setattr__(self, name, _cost(getattr(self, name), name))
        self._check_lengths()
        _check_reasonable(self)

    @classmethod
    def of_checks(cls, amount: ArrayLike, check_cost: ArrayLike) -> Self:
        """Return the costs where an alert costs a check and a missed positive its amount.

        >>> costs = CostMatrix.of_checks(amount=[20.0, 500.0], check_cost=5.0)
        >>> costs.if_positive().tolist(), costs.if_negative().tolist()
        ([15.0, 495.0], [-5.0, -5.0])
        """
        amount, check_cost = _cost(amount, "amount"), _cost(check_cost, "check_cost")
        _check_not_negative(amount, "amount", "Leave refunds out, or set them to 0.")
        _check_not_negative(check_cost, "check_cost", "")
        return cls(check_cost, check_cost, amount, 0.0)

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if no cost is given per row."""
        return max((np.size(cost) for cost in self._all() if np.ndim(cost)), default=None)

    def if_positive(self) -> NDArray[np.float64]:
        """Return what an alert saves on a row that is positive."""
        return self._per_row(np.subtract(self.false_negative, self.true_positive))

    def if_negative(self) -> NDArray[np.float64]:
        """Return what an alert saves on a row that is negative; usually below 0."""
        return self._per_row(np.subtract(self.true_negative, self.false_positive))

    def _all(self) -> tuple[Cost, Cost, Cost, Cost]:
        return (self.true_positive, self.false_positive, self.false_negative, self.true_negative)

    def _per_row(self, saved: NDArray[np.float64]) -> NDArray[np.float64]:
        return saved if self.n_rows is None else np.broadcast_to(saved, self.n_rows)

    def _check_lengths(self) -> None:
        sizes = sorted({np.size(cost) for cost in self._all() if np.ndim(cost)})
        if len(sizes) > 1:
            raise ValueError(
                f"costs must have one value per row; got lengths {' and '.join(map(str, sizes))}."
            )


class SavingsCurve(NamedTuple):
    """Money saved by a number of checks, most suspicious rows first, each with its interval."""

    checks: NDArray[np.int64]
    savings: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class BestSavings(NamedTuple):
    """Alert what has `suspicion >= threshold`, and the money that saves.

    `threshold_low` and `threshold_high` span the middle `level` of thresholds chosen on
    resamples. `savings` are corrected for having been chosen on the same rows; `n_alerts` is
    counted on them, and 0 where no threshold saves anything.
    """

    threshold: float
    threshold_low: float
    threshold_high: float
    savings: Interval
    n_alerts: int


def expected_savings(probability: ArrayLike, costs: CostMatrix) -> NDArray[np.float64]:
    """Return what an alert is expected to save on each row, below 0 where it would lose.

    >>> costs = CostMatrix.of_checks(amount=[20.0, 500.0], check_cost=5.0)
    >>> expected_savings([0.1, 0.1], costs).tolist()
    [-3.0, 45.0]
    """
    chance = _probability(probability, costs)
    return chance * costs.if_positive() + (1 - chance) * costs.if_negative()


def minimum_risk(probability: ArrayLike, costs: CostMatrix) -> NDArray[np.bool_]:
    """Return the rows to alert: those where an alert is expected to cost less than none.

    With `CostMatrix.of_checks` these are the rows with probability times amount above the cost of
    a check. The probabilities must be calibrated.

    >>> minimum_risk([0.1, 0.1], CostMatrix.of_checks(amount=[20.0, 500.0], check_cost=5.0))
    array([False,  True])
    """
    return expected_savings(probability, costs) > 0


def savings_curve(
    y: ArrayLike,
    suspicion: ArrayLike,
    costs: CostMatrix,
    checks: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
) -> SavingsCurve:
    """Return the money saved by number of checks, most suspicious rows first.

    `checks` are the numbers to report, in any order; without it about 60 from 1 to all rows,
    evenly spaced on a log scale. Where the last check is among tied rows, savings are the mean
    over all their orders. The interval spans the middle `level` of resamples.

    >>> costs = CostMatrix.of_checks(amount=[80.0, 10.0, 10.0, 30.0], check_cost=5.0)
    >>> savings_curve([1, 0, 0, 1], [0.9, 0.5, 0.5, 0.1], costs, checks=[1, 2, 4]).savings
    array([75., 70., 90.])
    """
    steps = _steps_of(y, suspicion, costs)
    budgets = numbers_of_checks(checks, steps.rows.n_rows)
    drawn = [
        _saved_at(steps, each, budgets)
        for each in resamples(steps.rows, n_resamples, random_state)
    ]
    low, high = percentile_band(np.array(drawn), level)
    return SavingsCurve(budgets, _saved_at(steps, steps.rows, budgets), low, high)


def expected_savings_curve(
    probability: ArrayLike,
    costs: CostMatrix,
    suspicion: ArrayLike | None = None,
    checks: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
) -> SavingsCurve:
    """Return the money to expect by number of checks, on rows whose labels are not known.

    Rows are checked by falling `suspicion` or, without it, by falling expected saving, which is
    the best order. The interval covers only the chance of each row being positive or not: it
    assumes that the probabilities are right. `checks` and ties are as in `savings_curve`.

    >>> costs = CostMatrix.of_checks(amount=[20.0, 500.0], check_cost=5.0)
    >>> expected_savings_curve([0.1, 0.1], costs, checks=[1, 2]).savings
    array([45., 42.])
    """
    saving = expected_savings(probability, costs)
    chance = np.asarray(probability, dtype=float)
    order = saving if suspicion is None else check.finite_vector(suspicion, "suspicion")
    if order.size != saving.size:
        raise ValueError(f"suspicion must have {saving.size} values; got {order.size}.")
    budgets = numbers_of_checks(checks, saving.size)
    falling = np.argsort(-order, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(order[falling]) != 0, True))
    rates, positive, negative = (
        np.broadcast_to(each, saving.size)[falling]
        for each in (chance, costs.if_positive(), costs.if_negative())
    )
    checked = np.arange(1, saving.size + 1)
    generator = np.random.default_rng(random_state)
    drawn = []
    for _ in range(check.whole_number(n_resamples, "n_resamples", 2)):
        saved = np.where(generator.random(rates.size) < rates, positive, negative)
        drawn.append(_within(budgets, checked, saved.cumsum(), ends))
    low, high = percentile_band(np.array(drawn), level)
    expected = _within(budgets, checked, saving[falling].cumsum(), ends)
    return SavingsCurve(budgets, expected, low, high)


def best_savings(
    y: ArrayLike,
    suspicion: ArrayLike,
    costs: CostMatrix,
    *,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Seed = 0,
) -> BestSavings:
    """Return the threshold that saves most, on rows that the ranker has not learned from.

    All distinct scores are tried, and no alerts at all. As in `choose_threshold`, the threshold
    is half-way between two scores and its figure is corrected for having been chosen. Where a
    few large amounts make up most of the savings, the interval is too narrow.

    >>> costs = CostMatrix.of_checks(amount=[80.0, 10.0, 10.0, 30.0], check_cost=5.0)
    >>> best = best_savings([1, 0, 1, 0], [4, 3, 2, 1], costs)
    >>> best.threshold, best.n_alerts
    (3.5, 1)
    """
    steps = _steps_of(y, suspicion, costs)
    _check_alerts_pay(costs)
    saved = _saved_by_cut(steps, steps.rows)
    chosen = int(saved.argmax())
    at_chosen, cuts, promised = [], [], []
    for each in resamples(steps.rows, n_resamples, random_state):
        drawn = _saved_by_cut(steps, each)
        best = int(drawn.argmax())
        at_chosen.append(drawn[chosen])
        cuts.append(steps.cuts[best])
        promised.append(drawn[best] - saved[best])
    low, high = percentile_band(np.array(at_chosen), level)
    # alerting nothing saves nothing: there is no optimism to correct
    optimism = float(np.mean(promised)) if chosen else 0.0
    value, low, high = (float(each) - optimism for each in (saved[chosen], low, high))
    threshold = float(steps.cuts[chosen])
    cut_low, cut_high = map(float, percentile_band(np.array(cuts), level))
    return BestSavings(
        threshold,
        min(cut_low, threshold),
        max(cut_high, threshold),
        Interval(value, min(low, value), max(high, value)),
        int(steps.rows.checked[steps.ends[chosen - 1]]) if chosen else 0,
    )


class _Steps(NamedTuple):
    """Rows by falling suspicion; equivalent rows are one step.

    `rows` are the positives and negatives of each step, `gain` is what an alert on one of them
    saves. Groups of steps end at `ends`: within a group the rows are tied, or all save the same.
    `cuts` are the thresholds above the first group and below each.
    """

    rows: Ranking
    gain: NDArray[np.float64]
    ends: NDArray[np.intp]
    cuts: NDArray[np.float64]


def _steps_of(y: ArrayLike, suspicion: ArrayLike, costs: CostMatrix) -> _Steps:
    suspicion = check.finite_vector(suspicion, "suspicion")
    is_positive = check.positives(y, like=suspicion)
    _check_rows(costs, suspicion.size)
    gain = np.where(is_positive, costs.if_positive(), costs.if_negative())
    order = np.lexsort((gain, -suspicion))
    score, gain = suspicion[order], gain[order]
    is_end = np.append(np.diff(score) != 0, True)
    is_alone = is_end & np.append(True, is_end[:-1])
    # tied rows that save the same are one step, and so are consecutive rows without ties that
    # save the same: no cut between them is best
    is_joined = (~is_end[:-1] | (is_alone[:-1] & is_alone[1:])) & (np.diff(gain) == 0)
    starts = np.flatnonzero(np.append(True, ~is_joined))
    lasts = np.append(starts[1:], score.size) - 1
    n_positive = np.add.reduceat(is_positive[order], starts, dtype=np.int64)
    rows = Ranking(score[lasts], n_positive, lasts + 1 - starts - n_positive)
    ends = np.flatnonzero(is_end[lasts])
    cuts = _cuts_above_and_below(score[is_end])
    is_kept = np.append(~is_joined, True)[is_end]
    return _Steps(rows, gain[starts], ends, np.append(cuts[0], cuts[1:][is_kept]))


def _cuts_above_and_below(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    distance = scores[0] - scores[1] if scores.size > 1 else 1.0
    above = max(scores[0] + distance / 2, np.nextafter(scores[0], np.inf))
    return np.append(above, halfway_cuts(scores))


def _saved_at(steps: _Steps, rows: Ranking, budgets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the savings within each budget, of the rows themselves or of resampled ones."""
    size = rows.n_positive + rows.n_negative
    return _within(budgets, size.cumsum(), (size * steps.gain).cumsum(), steps.ends)


def _saved_by_cut(steps: _Steps, rows: Ranking) -> NDArray[np.float64]:
    """Return the savings of no alerts, and of alerting down to the end of each group."""
    saved = ((rows.n_positive + rows.n_negative) * steps.gain).cumsum()
    return np.append(0.0, saved[steps.ends])


def _within(
    budgets: NDArray[np.int64],
    checked: NDArray[np.int64],
    saved: NDArray[np.float64],
    ends: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the savings within each budget, from the checks and savings after each step.

    In the group where a budget ends, each check saves the mean.
    """
    budgets = np.minimum(budgets, checked[-1])
    group = np.searchsorted(ends, np.searchsorted(checked, budgets))
    end, before = ends[group], ends[group - 1]
    checked_before = np.where(group > 0, checked[before], 0)
    saved_before = np.where(group > 0, saved[before], 0.0)
    share = (budgets - checked_before) / (checked[end] - checked_before)
    return saved_before + share * (saved[end] - saved_before)


def _cost(value: ArrayLike, name: str) -> Cost:
    """Return a cost as a finite number or a finite vector."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(check.finite_vector(array[None], name)[0])
    return check.finite_vector(array, name)


def _check_not_negative(cost: Cost, name: str, way_out: str) -> None:
    n_negative = np.count_nonzero(np.asarray(cost) < 0)
    if n_negative:
        raise ValueError(
            f"{name} must not be negative; {n_negative} of {np.size(cost)} are, down to "
            f"{np.min(cost):g}. {way_out}".rstrip()
        )


def _check_reasonable(costs: CostMatrix) -> None:
    """Raise if the same costs for all rows make one decision right for every row.

    Costs per row may do so for the given rows, e.g. if all amounts are small.
    """
    if np.ndim(costs.true_positive) == np.ndim(costs.false_negative) == 0:
        _check_alerts_pay(costs)
    is_plain = np.ndim(costs.false_positive) == np.ndim(costs.true_negative) == 0
    if is_plain and costs.false_positive < costs.true_negative:
        raise ValueError(
            "false_positive must cost at least as much as true_negative; got "
            f"{costs.false_positive:g} and {costs.true_negative:g}. Were they swapped?"
        )


def _check_alerts_pay(costs: CostMatrix) -> None:
    if costs.if_positive().max() <= 0:
        raise ValueError(
            "false_negative must cost more than true_positive on at least one row, or no alert "
            "saves anything. Were they swapped, or is no amount above the cost of a check?"
        )


def _check_rows(costs: CostMatrix, n_rows: int) -> None:
    if costs.n_rows is not None and costs.n_rows != n_rows:
        raise ValueError(
            f"costs must have one value for each of the {n_rows} rows; got {costs.n_rows}."
        )


def _probability(probability: ArrayLike, costs: CostMatrix) -> NDArray[np.float64]:
    chance = check.finite_vector(probability, "probability")
    _check_rows(costs, chance.size)
    if chance.size and (chance.min() < 0 or chance.max() > 1):
        raise ValueError(
            f"probability must be between 0 and 1; got {chance.min():g} to {chance.max():g}."
        )
    return chance

"""How well a ranking serves people with time for so many checks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from toprank import metrics, splits
from toprank.calibration import bounded_range, count_range
from toprank.data import checks, tables
from toprank.metrics import Interval
from toprank.notebook_views import ShownInNotebooks
from toprank.wording import noun_of


class Cards(NamedTuple):
    """Whose row each is, and how much it moved; a missing amount counts as 0."""

    card: NDArray
    amount: NDArray[np.float64] | None = None


class CardFigures(NamedTuple):
    """Cards checked day by day, those found being blocked: see `metrics.card_precision_at_k`.

    `by_day` is what the checks of each day came to; `money` what they caught, and what was lost
    in all.
    """

    by_day: metrics.CardChecks
    precision: Interval
    ceiling: float
    recall: float
    money: tuple[float, float] | None


@dataclass(frozen=True)
class Evaluation(ShownInNotebooks):
    """The figures of one ranking of labelled rows.

    `day` splits the rows into one list per day; without it they are one list. The budget is the
    number of checks of a list. With `cards`, cards can be checked instead of rows. `noun`
    is what the positives are called.
    """

    is_positive: NDArray[np.bool_]
    suspicion: NDArray[np.float64]
    probability: NDArray[np.float64]
    budget: int
    day: NDArray[np.int64] | None = None
    cards: Cards | None = None
    noun: str = "positives"

    @cached_property
    def average_precision(self) -> Interval:
        """AP over all rows."""
        return metrics.interval("average_precision", self.is_positive, self.suspicion)

    @cached_property
    def positives_at_top(self) -> Interval:
        """Share of the positives above the first false alarm, over all rows."""
        return metrics.interval("positives_at_top", self.is_positive, self.suspicion)

    @cached_property
    def roc_auc(self) -> Interval:
        """Area under the ROC curve over all rows."""
        return metrics.interval("roc_auc", self.is_positive, self.suspicion)

    @cached_property
    def found(self) -> Interval:
        """Positives in the budget's checks of the average list, with its 95 % interval."""
        value = float(self._found_in_lists.mean())
        mean, variance = self._one_list
        low, high = bounded_range(mean, variance / len(self._lists), 0.0, self._most_checks, 0.95)
        return Interval(value, min(low, value), max(high, value))

    @cached_property
    def likely(self) -> Interval:
        """Positives to expect in one more list, with the range of nine lists out of ten.

        Wider than `found`, which is about the average list: one list also varies by chance.
        """
        mean, variance = self._one_list
        # the chance in the new list, and that in the mean it is compared with
        low, high = count_range(mean, variance * (1 + 1 / len(self._lists)), self._most_checks)
        value, average_low, average_high = self.found
        # on short lists, rounding to whole numbers could leave the average list outside
        low, high = min(low, np.floor(average_low)), max(high, np.ceil(average_high))
        return Interval(value, float(low), float(high))

    @cached_property
    def card_checks(self) -> CardFigures | None:
        """What checking cards comes to, the budget's a day; None without cards and days."""
        if self.cards is None or self.day is None:
            return None
        of_rows = self.is_positive, self.suspicion, self.cards.card, self.day
        by_day = metrics.checks_by_day(*of_rows, self.budget, self.cards.amount)
        money = None
        if self.cards.amount is not None:
            money = float(by_day.money.sum()), float(self.cards.amount[self.is_positive].sum())
        return CardFigures(
            by_day,
            metrics.card_precision_interval(*of_rows, self.budget),
            metrics.card_precision_ceiling(self.is_positive, *of_rows[2:], self.budget),
            metrics.card_recall(*of_rows, self.budget),
            money,
        )

    def found_with(self, n_checks: int) -> float:
        """Return the positives in `n_checks` checks of a list (the average list of the days)."""
        checks.whole_number(n_checks, "n_checks", 1)
        return float(np.mean([_found(*rows, n_checks) for rows in self._lists]))

    @cached_property
    def longest_list(self) -> int:
        """Rows of the longest list: more checks than these find nothing more."""
        return max(suspicion.size for _, suspicion in self._lists)

    @cached_property
    def _lists(self) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Labels and suspicions of each list: the days, or all rows as one."""
        if self.day is None:
            return [(self.is_positive, self.suspicion)]
        order = np.argsort(self.day, kind="stable")
        borders = np.flatnonzero(np.diff(self.day[order])) + 1
        parts = np.split(order, borders)
        return [(self.is_positive[rows], self.suspicion[rows]) for rows in parts]

    @cached_property
    def _found_in_lists(self) -> NDArray[np.float64]:
        return np.array([_found(*rows, self.budget) for rows in self._lists])

    @property
    def _most_checks(self) -> int:
        """The budget, or the rows of the longest list if they are fewer."""
        return min(self.budget, self.longest_list)

    @cached_property
    def _one_list(self) -> tuple[float, float]:
        """Mean and variance of what one list finds.

        Among the checked rows of a list the positives fall as by tossing a coin, so that the
        variance is a binomial's; or that between the lists, where they differ by more.
        """
        found = self._found_in_lists
        # Jeffreys' estimate: lists that found nothing so far do not promise nothing for ever
        rate = (found.sum() + 0.5) / (found.size * self._most_checks + 1)
        by_chance = self._most_checks * rate * (1 - rate)
        between = found.var(ddof=1) if found.size > 1 else 0.0
        return float(rate * self._most_checks), float(max(by_chance, between))


def evaluate(
    is_positive: ArrayLike,
    suspicion: ArrayLike,
    probability: ArrayLike,
    budget: int,
    day: ArrayLike | None = None,
    cards: Cards | None = None,
) -> Evaluation:
    """Return the figures of a ranking; `budget` is the number of checks of a list.

    >>> figures = evaluate([1, 0, 1, 0, 0], [5, 4, 3, 2, 1], [.9, .5, .5, .1, .1], budget=2)
    >>> figures.found.value
    1.0
    """
    suspicion = checks.finite_vector(suspicion, "suspicion")
    return Evaluation(
        checks.positives(is_positive, "is_positive", like=suspicion),
        suspicion,
        _one_a_row(checks.finite_vector(probability, "probability"), "probability", suspicion),
        checks.whole_number(budget, "budget", 1),
        None if day is None else _one_a_row(np.asarray(day), "day", suspicion),
        cards,
    )


def evaluate_rows(
    ranker: Any,
    known: pa.Table,
    suspicion: NDArray[np.float64],
    *,
    label: str,
    time: str | None,
    budget: int,
    card: str | None = None,
    amount: str | None = None,
) -> Evaluation:
    """Return the figures of a ranker on rows it has scored; those without a label are left out.

    `known` holds their label, and time, card and amount where they are named.
    """
    labels = tables.fitted_label(known, label, ranker.positive_label_, ranker.classes_.tolist())
    day = None
    if time is not None:
        day = splits.days(tables.time_column(known, time))[labels.known]
    cards = None
    if card is not None:
        cards = cards_of(known, card, amount, np.flatnonzero(labels.known))
    suspicion = suspicion[labels.known]
    probability = ranker.calibration_.probability(suspicion)
    figures = evaluate(
        labels.is_positive[labels.known], suspicion, probability, budget, day, cards
    )
    return replace(figures, noun=noun_of(label))


def cards_of(table: pa.Table, card: str, amount: str | None, rows: NDArray[np.intp]) -> Cards:
    """Return the cards and amounts of these rows."""
    amounts = None
    if amount is not None:
        tables.check_columns([amount], table.column_names)
        amounts = np.nan_to_num(tables.exact_numbers(table[amount], amount)[rows])
    return Cards(tables.key_codes(table, card)[rows], amounts)


def _one_a_row(values: NDArray, name: str, suspicion: NDArray[np.float64]) -> NDArray:
    if values.shape != suspicion.shape:
        raise ValueError(
            f"{name} must have {suspicion.size} values, one per score; got shape {values.shape}."
        )
    return values


def _found(is_positive: NDArray[np.bool_], suspicion: NDArray[np.float64], n_checks: int) -> float:
    if not is_positive.any():
        return 0.0
    if is_positive.all() or n_checks >= is_positive.size:
        share = min(n_checks / is_positive.size, 1.0)
        return float(is_positive.sum()) * share
    return metrics.found_at_k(is_positive, suspicion, n_checks)

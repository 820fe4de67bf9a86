"""Frauds that the list missed, and its recall, from cards that were drawn at random.

The unit is a card-day: a card that paid in the day before a draw. Each such card with a fraud in
that day is one of three things. It was on the list, or known, when the draw was made: then it was
found by a check or reported by others, and both are counted. Or it could be drawn, and was missed:
of these only a sample is known, and each fraud in it represents `weight` card-days, the inverse of
the chance with which it was drawn and checked.

    missed = sum of weight over the frauds of the sample         (Horvitz and Thompson)
    recall = found / (found + reported + missed)

The interval is one for small counts: see docs/decisions/0026-figures-that-hold.md.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import gammainc

from toprank.metrics.intervals import Interval

LEVEL = 0.95
"""Share of cases in which an interval contains the true figure."""


class DrawnDay(NamedTuple):
    """The card-days of one draw; frauds are those known by now.

    Attributes
    ----------
    n_cards, n_drawn
        Cards that could be drawn, and those that were.
    n_settled, n_settled_frauds
        Drawn cards that something else than their place brought up before they were checked: a
        new suspicious payment, or a label. All of them become known, so they are weighted by the
        draw alone.
    n_checked, n_checked_frauds
        The other drawn cards that were checked.
    n_found, n_reported
        Cards with a fraud that could not be drawn, since they were listed or known: those found
        by a check, and those only reported by others.
    n_known
        Cards with a fraud that could be drawn and are known by now, drawn or not.
    """

    day: int
    n_cards: int
    n_drawn: int
    n_settled: int
    n_settled_frauds: int
    n_checked: int
    n_checked_frauds: int
    n_found: int
    n_reported: int
    n_known: int

    @property
    def is_usable(self) -> bool:
        """Whether the sample says anything: none of it was checked if nobody came to it."""
        return self.n_drawn > 0 and (self.n_checked > 0 or self.n_settled == self.n_drawn)


class SampledFrauds(NamedTuple):
    """Sampled cards that represent `weight` each: how many there are, and their frauds."""

    weight: float
    n_sampled: int
    n_frauds: int


class MissedFrauds(NamedTuple):
    """What the days with random checks say, in card-days over all of them.

    `missed.value` is the estimate from the sample alone, which is right on average; its range
    never excludes what is known. `recall` is None if there was no fraud at all.
    """

    n_days: int
    n_sampled: int
    n_sampled_frauds: int
    n_found: int
    n_reported: int
    n_known: int
    missed: Interval
    recall: Interval | None

    @property
    def missed_per_day(self) -> Interval:
        """The missed card-days of one day; at least those that are known."""
        value, low, high = self.missed
        return Interval(*(each / self.n_days for each in (max(value, self.n_known), low, high)))


def missed_frauds(days: Sequence[DrawnDay], level: float = LEVEL) -> MissedFrauds | None:
    """Return missed frauds and recall over the days with random checks; None without any.

    >>> day = DrawnDay(1, 1_000, 10, 0, 0, 10, 1, n_found=100, n_reported=0, n_known=1)
    >>> found = missed_frauds([day])
    >>> found.missed.value, found.missed.low < 10, found.missed.high > 400
    (100.0, True, True)
    """
    days = [each for each in days if each.is_usable]
    if not days:
        return None
    strata = [stratum for day in days for stratum in _strata(day)]
    n_found, n_reported, n_known = (
        sum(getattr(each, name) for each in days) for name in ("n_found", "n_reported", "n_known")
    )
    value, low, high = missed_total(strata, level)
    missed = Interval(value, max(low, n_known), max(high, n_known))
    return MissedFrauds(
        len(days),
        sum(each.n_sampled for each in strata),
        sum(each.n_frauds for each in strata),
        n_found,
        n_reported,
        n_known,
        missed,
        _recall(n_found, n_reported, missed, strata),
    )


def _strata(day: DrawnDay) -> list[SampledFrauds]:
    """Return a day's sample by weight: cards that were settled, and those that were checked.

    Of the cards that were not settled, those checked are a random sample, since places in the
    queue are drawn; the chance of being checked is their share.
    """
    by_draw = day.n_cards / day.n_drawn
    found = [SampledFrauds(by_draw, day.n_settled, day.n_settled_frauds)]
    if day.n_checked:
        weight = by_draw * (day.n_drawn - day.n_settled) / day.n_checked
        found.append(SampledFrauds(weight, day.n_checked, day.n_checked_frauds))
    return [each for each in found if each.n_sampled]


def missed_total(strata: Sequence[SampledFrauds], level: float = LEVEL) -> Interval:
    """Return the estimated number of frauds among all cards, with a mid-P interval.

    Frauds that are not in the sample follow, in one stratum, the negative binomial distribution
    with mean (weight - 1) f and variance weight (weight - 1) f of the f frauds found, or of one
    more. Sums over strata are taken as gamma distributed with the same mean and variance.
    """
    weight, n_sampled, n_frauds = np.array(strata, dtype=float).T
    mean, variance = _moments(weight, n_frauds)
    # one fraud more would be of a stratum in proportion to how many cards it has in the sample
    more = [each / n_sampled.sum() for each in _moments(weight, n_sampled)]
    upper = (mean + more[0], variance + more[1])
    tail = (1 - level) / 2

    def below(count: float) -> float:
        return (_gamma_below(count, mean, variance) + _gamma_below(count, *upper)) / 2

    seen = float(n_frauds.sum())
    low = _where(below, tail, upper)
    return Interval(seen + mean, seen + low, seen + _where(below, 1 - tail, upper))


def _moments(weight: NDArray[np.float64], n: NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and variance of the frauds outside of a sample with so many frauds."""
    return float((weight - 1) @ n), float((weight * (weight - 1)) @ n)


def _gamma_below(count: float, mean: float, variance: float) -> float:
    if mean <= 0:
        return 1.0
    return float(gammainc(mean**2 / variance, max(count, 0.0) * mean / variance))


def _where(below: Callable[[float], float], share: float, upper: tuple[float, float]) -> float:
    """Return the count that this share is below."""
    mean, variance = upper
    if mean <= 0 or below(0.0) >= share:
        return 0.0
    end = mean + 10 * np.sqrt(variance)
    while below(end) < share:
        end *= 2
    return float(brentq(lambda count: below(count) - share, 0.0, end))


def _recall(
    n_found: int, n_reported: int, missed: Interval, strata: Sequence[SampledFrauds]
) -> Interval | None:
    known = n_found + n_reported
    if not known:
        return None if missed.value == 0 else Interval(0.0, 0.0, 0.0)
    share = n_found / known
    low, high = (share * known / (known + each) for each in (missed.high, missed.low))
    value = share * _share_known(known, missed.value, _typical_weight(strata))
    return Interval(min(max(value, low), high), low, high)


def _share_known(known: float, missed: float, weight: float) -> float:
    """Return known / (known + missed), corrected: the mean of a ratio is not that of its parts.

    With f frauds of this weight in the sample, a Poisson number, 1 / (known + weight f) is on
    average 1 / total + weight missed / total^3 + ...; adding weight (1 - share) to the total takes
    that away. The share that is corrected with itself solves a quadratic equation.
    """
    if weight <= 0:
        return known / (known + missed)
    half = (known + missed + weight) / 2
    return float((half - np.sqrt(max(half**2 - weight * known, 0.0))) / weight)


def _typical_weight(strata: Sequence[SampledFrauds]) -> float:
    """Return what a fraud of the sample represents: by frauds, or by cards if there is none."""
    weight, n_sampled, n_frauds = np.array(strata, dtype=float).T
    n = n_frauds if n_frauds.any() else n_sampled
    # without the part that the sample itself is: a full sample needs no correction
    return float((weight * (weight - 1)) @ n / (weight @ n))

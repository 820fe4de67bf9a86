"""How many positives the next checks hold, corrected by what the last days' checks have found.

All log-odds of a day are off by a shift: a level, and a part of the day's own. The level stays,
wanders a little, or jumps with a small chance every day, since fraud changes at once and not by
degrees: so the range is narrow while nothing changes, and follows a change within days. How much
days differ is not known; a few values are averaged by their evidence. In the end, the share of
cases that the range is made for is moved so that the share in which it holds is kept (adaptive
conformal inference): each day outside widens it, each day inside narrows it a little.

Unlike `list_drift`, which learns from a backtest how far a model strays as it ages, this needs
nothing but days that have been checked: docs/decisions/0026-figures-that-hold.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from toprank.calibration.counts import mid_range
from toprank.calibration.shift_grid import (
    SHIFTS,
    Matrix,
    ShiftedCounts,
    Vector,
    inner,
    likelihood,
    normal,
    steps,
)
from toprank.metrics import Interval

LEVEL = 0.8
"""Share of cases in which the frauds found are meant to be within the range."""

_NOISES = (0.0, 0.15, 0.3, 0.6)  # standard deviations of a day's own part
_BEFORE = (0.35, 0.35, 0.2, 0.1)  # how probable each is before any day is seen
_START = 0.3  # standard deviation of the level on the first day
_WANDERS = 0.055  # of its way per day
_JUMPS, _JUMP = 0.08, 1.0  # chance of a jump per day, and the spread of where it ends
_RATE = 0.1  # by which a day outside the range moves the level; a day inside by a quarter
_NARROWEST, _WIDEST = 0.5, 0.99
_NEGLIGIBLE = 1e-5
_FINE, _TOGETHER = 0.01, 5  # shifts less likely than this are counted in fives


class CheckedList(NamedTuple):
    """The rows that were checked on a day: their probabilities, and how many were positive."""

    probability: Vector
    found: float


@dataclass(frozen=True)
class DailyShift:
    """How likely each shift of log-odds is on the next day; made by `start`, moved by `after`.

    >>> shift = DailyShift.start()
    >>> sure = CheckedList(np.full(100, 0.5), 20)  # far fewer than the 50 that were expected
    >>> before, after = (each.expected([0.5] * 10) for each in (shift, shift.after(sure)))
    >>> round(before.value, 1), after.value < 3.5, after.low < before.low
    (5.0, True, True)
    """

    levels: Matrix
    evidence: Vector
    made_for: float = LEVEL

    @classmethod
    def start(cls) -> Self:
        """Return what is likely before any day is known."""
        levels = np.tile(normal(0.0, _START**2), (len(_NOISES), 1))
        return cls(levels, np.log(_BEFORE))

    @classmethod
    def followed(cls, days: Iterable[CheckedList]) -> Self:
        """Return what is likely after these days, which are in order."""
        shift = cls.start()
        for day in days:
            shift = shift.after(day)
        return shift

    def after(self, day: CheckedList) -> Self:
        """Return what is likely after a day that is over: range and coverage follow it."""
        if not len(day.probability):
            return self
        miss = 0.0 if self.holds(day) else 1.0
        moved = self.made_for + _RATE * (miss - (1 - LEVEL))
        return replace(self.seen(day), made_for=float(np.clip(moved, _NARROWEST, _WIDEST)))

    def seen(self, day: CheckedList) -> Self:
        """Return what is likely after some checks, which may be of a day that is not over."""
        if not len(day.probability):
            return self
        probability = inner(day.probability)
        chances = [likelihood(probability, day.found, noise**2) for noise in _NOISES]
        levels = self.levels @ _moves() * np.array(chances)
        likely = levels.sum(axis=1)
        return replace(
            self, levels=levels / likely[:, None], evidence=self.evidence + np.log(likely)
        )

    def expected(self, probability: ArrayLike) -> Interval:
        """Return how many positives to expect among rows, and the range of `LEVEL` of cases."""
        rows = inner(probability)
        if not rows.size:
            return Interval(0.0, 0.0, 0.0)
        counts, weight = self._counts(rows)
        value = float(weight @ counts.mean)

        def below(count: float) -> float:
            return counts.below(count, weight)

        return Interval(value, *mid_range(below, rows.size, value, self.made_for))

    def chance_within(self, probability: ArrayLike, low: float, high: float) -> float:
        """Return the chance that between `low` and `high` of the rows are positive.

        That of the range of `expected` is more than `LEVEL` where few are: counts are whole.

        >>> shift = DailyShift.start()
        >>> _, low, high = shift.expected([0.1] * 10)
        >>> low, high, round(shift.chance_within([0.1] * 10, low, high), 2)
        (0.0, 2.0, 0.9)
        """
        rows = inner(probability)
        if not rows.size:
            return 1.0
        counts, weight = self._counts(rows)
        return counts.below(high, weight) - counts.below(low - 1, weight)

    def holds(self, day: CheckedList) -> bool:
        """Return whether what was found is in the middle of what was to be expected."""
        counts, weight = self._counts(inner(day.probability))
        below, up_to = (counts.below(count, weight) for count in (day.found - 1, day.found))
        return abs((below + up_to) / 2 - 0.5) <= self.made_for / 2

    @property
    def mean(self) -> float:
        """The shift to expect."""
        shifts, weight = self._likely
        return float(weight @ shifts)

    def _counts(self, rows: Vector) -> tuple[ShiftedCounts, Vector]:
        """Return the counts at each shift that is likely at all, and how likely it is."""
        shifts, weight = self._likely
        return ShiftedCounts.of(rows, shifts), weight

    @cached_property
    def _likely(self) -> tuple[Vector, Vector]:
        """Shifts of the next day and how likely each is; unlikely ones are taken together."""
        weight = self._weight()
        place = np.arange(weight.size)
        _, group = np.unique(
            np.where(weight > _FINE, place, -1 - place // _TOGETHER), return_inverse=True
        )
        total = np.bincount(group, weight)
        kept = total > _NEGLIGIBLE
        shifts = np.bincount(group, weight * SHIFTS)[kept] / total[kept]
        return shifts, total[kept] / total[kept].sum()

    def _weight(self) -> Vector:
        """Return how likely each shift of the grid is on the next day."""
        share = np.exp(self.evidence - self.evidence.max())
        share /= share.sum()
        moved = self.levels @ _moves()
        return np.sum(
            [
                part * row @ _own_part(noise)
                for part, row, noise in zip(share, moved, _NOISES, strict=True)
            ],
            axis=0,
        )


@cache
def _moves() -> Matrix:
    """Return the matrix that takes the level to the next day."""
    return (1 - _JUMPS) * steps(SHIFTS, _WANDERS**2) + _JUMPS * normal(0.0, _JUMP**2)


@cache
def _own_part(noise: float) -> Matrix:
    """Return the matrix that adds a day's own part to the level."""
    return steps(SHIFTS, noise**2)

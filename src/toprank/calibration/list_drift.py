"""How far what is found strays from what was promised as time passes.

Calibrated probabilities p are right for rows like those they were learned from. Later days differ:
their log-odds are all off by a shift, which has a slow part and one of each day's own:

    logit p'(day) = logit p + mean + level(age) + noise(day)
    level         wanders off from around 0 as the model ages, and forgets where it was in time:
                  a(age) = exp(-age / memory); its variance goes from `start` to `reach`,
                  start a(age)^2 + reach (1 - a(age)^2)
    found         each row of the list by chance, at p'

Given the shift, the chance of finding F frauds in a list is known up to a factor: F frauds are
exp(F shift) / prod(1 - p + p exp(shift)) times as likely as without it. So a backtest's lists say
how large shifts were, and how they grew. The level is followed on a grid, day by day; what is not
known (where it starts, how far and how fast it wanders, how much days differ) is averaged over a
few values of each, by the evidence of the lists. In the end all shifts are scaled so that the
ranges would have held nine in ten of the lists (a conformal correction).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from toprank.calibration.counts import mid_range
from toprank.calibration.shift_grid import (
    SHIFTS,
    STEP,
    Matrix,
    ShiftedCounts,
    Vector,
    inner,
    likelihoods,
    normal,
    steps,
)
from toprank.metrics import Interval

# standard deviations of log-odds: of a list's own noise, of the level at the start, and of the
# level at the greatest age that was seen; its memory is in units of that age
_NOISES = (0.0, 0.15, 0.3, 0.6, 1.0, 1.5)
_STARTS = (0.05, 0.2, 0.5)
_WAYS = (0.0, 0.2, 0.5, 1.0, 2.0)
_MEMORIES = (0.1, 0.5, 3.0)
_MEANS = (-1.0, -0.6, -0.3, -0.1, 0.0, 0.1, 0.3, 0.6, 1.0)  # whole steps of the grid
_ORDER = tuple(product(_NOISES, _STARTS, _MEANS))  # all at once: a level moves alike in each
# not below .7: whole counts of short lists are inside whatever the range
_SCALES = (0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
_LEVEL, _LEAST_LISTS = 0.9, 20
_PRIOR_OF_MEAN, _PRIOR_OF_SPREAD = 0.5, 1.0
_LARGEST = 100.0


class ListDay(NamedTuple):
    """The rows of a list that are of one day: their probabilities, and the model's age then.

    `doubt` is the variance of their expected number due to the calibration; `found` says how many
    were positive, once it is known.
    """

    probability: Vector
    age: float
    doubt: float = 0.0
    found: float = math.nan


@dataclass(frozen=True)
class Drift:
    """The shift of log-odds to expect, by age: see the formulas above.

    `level` and its variance `start` are those at the age `since`: at first 0, later what labels
    have shown. `oldest` is the greatest age that was backtested.

    >>> drift = Drift(mean=-0.2, start=0.04, reach=0.3, memory=30.0, noise=0.02, oldest=30.0)
    >>> promised = drift.expected([ListDay(np.full(50, 0.7), age=10.0)])
    >>> promised.value < 35, promised.low < 28, promised.high > 36
    (True, True, True)
    """

    mean: float
    start: float
    reach: float
    memory: float
    noise: float
    oldest: float
    level: float = 0.0
    since: float = 0.0

    def expected(self, days: Sequence[ListDay], level: float = 0.9) -> Interval:
        """Return how many positives to expect in a list, and the range of `level` of cases.

        The rows of the list come in groups of one day each.
        """
        return self.likely([days], level)

    def likely(self, lists: Sequence[Sequence[ListDay]], level: float = 0.9) -> Interval:
        """Return how many positives to expect in a list like one of these, and the range."""
        chances = [self._chances(days) for days in lists]
        value = float(np.mean([weight @ counts.mean for counts, weight in chances]))
        longest = max(counts.n_rows for counts, _ in chances)

        def below(count: float) -> float:
            return float(np.mean([counts.below(count, weight) for counts, weight in chances]))

        return Interval(value, *mid_range(below, longest, value, level))

    def holds(self, day: ListDay, level: float = 0.9) -> bool:
        """Return whether what was found is in the middle `level` of what was to be expected."""
        counts, weight = self._chances([day])
        middle = (counts.below(day.found - 1, weight) + counts.below(day.found, weight)) / 2
        return abs(middle - 0.5) <= level / 2

    def scaled(self, scale: float) -> Self:
        """Return a drift whose shifts differ from their mean this many times as much."""
        start, reach, noise = (scale**2 * each for each in (self.start, self.reach, self.noise))
        return replace(self, start=start, reach=reach, noise=noise)

    def after(self, lists: Iterable[ListDay]) -> Self:
        """Return the drift as it is known once these lists' labels have arrived.

        The level is where the lists put it; from there, it wanders on.
        """
        level, since = normal(self.level, self.start), self.since
        for day in sorted(lists, key=lambda each: each.age):
            level = level @ self._moves(day.age - since)
            level *= _moved(_chances(day, [self.noise])[0], self.mean)
            level /= level.sum()
            since = max(day.age, since)
        mean = float(level @ SHIFTS)
        variance = float(level @ (SHIFTS - mean) ** 2)
        return replace(self, level=mean, start=variance, since=since)

    def _chances(self, days: Sequence[ListDay]) -> tuple[ShiftedCounts, Vector]:
        """Return the counts of a list at each shift, and how likely each shift is.

        The shift of a list is that of its days, each by how far its rows can move.
        """
        groups = [inner(day.probability) for day in days]
        slope = np.array([(each * (1 - each)).sum() for each in groups])
        share = slope / slope.sum()
        age = np.maximum([day.age - self.since for day in days], 0.0)
        kept = np.exp(-age / self.memory)
        first = np.minimum.outer(age, age)
        kept_until_first = np.exp(-2 * first / self.memory)
        variance = self.start * kept_until_first + self.reach * (1 - kept_until_first)
        together = variance * np.exp(-np.abs(np.subtract.outer(age, age)) / self.memory)
        spread = share @ (together + self.noise * np.eye(age.size)) @ share
        # the calibration is off in the same way on all days
        doubt = np.sum([np.sqrt(day.doubt) for day in days]) ** 2 / slope.sum() ** 2
        centre = self.mean + self.level * float(share @ kept)
        return ShiftedCounts.of(np.concatenate(groups)), normal(centre, float(spread + doubt))

    def _moves(self, days: float) -> Matrix:
        """Return the matrix that takes the level some days further."""
        return _kernel(math.exp(-max(days, 0.0) / self.memory), self.reach)

    def to_json(self) -> dict[str, float]:
        """Return the drift as plain numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return the drift that `to_json` wrote; ValueError if it is not valid."""
        drift = cls(**{name: float(plain[name]) for name in cls.__dataclass_fields__})
        for name in ("mean", "level"):
            if not abs(getattr(drift, name)) < _LARGEST:
                raise ValueError(f"{name} of a drift must be finite; got {plain[name]}.")
        for name in ("start", "reach", "noise"):
            if not 0 <= getattr(drift, name) < _LARGEST:
                raise ValueError(f"{name} of a drift must be at least 0; got {plain[name]}.")
        ages = (drift.oldest, drift.since)
        if not (all(0 <= each < np.inf for each in ages) and 0 < drift.memory < np.inf):
            raise ValueError(f"ages of a drift must be at least 0; got {drift}.")
        return drift


UNSEEN_DRIFT = Drift(
    mean=0.0, start=_PRIOR_OF_SPREAD**2, reach=0.0, memory=1.0, noise=0.0, oldest=0.0
)
"""What is thought of a drift before any list is seen."""


def fit_drift(paths: Sequence[Sequence[ListDay]]) -> Drift | None:
    """Return the drift that the lists of a backtest show; None if there are none.

    Each path holds the lists of one model, in order of age: several paths tell what models have
    in common from what happened to one of them.
    """
    paths = [sorted(path, key=lambda each: each.age) for path in paths if path]
    if not paths:
        return None
    oldest = max(path[-1].age for path in paths)
    chances = [[_in_order(day) for day in path] for path in paths]
    settings, evidence = [], []
    for way, memory in _wanderings(oldest):
        reach = way**2 / -math.expm1(-2 * oldest / memory) if way else 0.0
        found = [
            _evidence(path, chance, reach, memory)
            for path, chance in zip(paths, chances, strict=True)
        ]
        prior = [_log_prior(*each, way) for each in _ORDER]
        evidence.append(np.add(prior, np.sum(found, axis=0)))
        settings += [(mean, start**2, reach, memory, noise**2) for noise, start, mean in _ORDER]
    drift = _averaged(np.array(settings), np.concatenate(evidence), oldest)
    return _conformal(drift, [day for path in paths for day in path])


def _conformal(drift: Drift, lists: Sequence[ListDay]) -> Drift:
    """Return the drift with the least spread whose ranges hold nine in ten of these lists.

    Shifts are not normal: a few large ones would widen the range of all other lists. With few
    lists, the drift is returned as it is.
    """
    if len(lists) < _LEAST_LISTS:
        return drift
    needed = math.ceil(_LEVEL * (len(lists) + 1))

    def holds(scale: float) -> bool:
        scaled = drift.scaled(scale)
        return sum(scaled.holds(day) for day in lists) >= needed

    return drift.scaled(_SCALES[bisect_left(_SCALES, True, hi=len(_SCALES) - 1, key=holds)])


def _wanderings(oldest: float) -> list[tuple[float, float]]:
    """Return how far and how fast the level may wander; a level that stays has one memory."""
    unit = oldest if oldest > 0 else 1.0
    ways = _WAYS if oldest > 0 else _WAYS[:1]
    return [
        (way, memory * unit) for way in ways for memory in (_MEMORIES if way else _MEMORIES[-1:])
    ]


def _averaged(settings: Matrix, evidence: Vector, oldest: float) -> Drift:
    """Return the mean of the drifts by their evidence; of the memories, the likeliest."""
    weight = np.exp(evidence - evidence.max())
    memories = settings[:, 3]
    memory = max(np.unique(memories), key=lambda each: weight[memories == each].sum())
    # those that forget faster or slower count by where the level is at the oldest age
    kept = np.exp(-2 * oldest / memories)
    there = settings[:, 2] * (1 - kept)
    mean, start, noise, way = np.average(
        np.column_stack([settings[:, [0, 1, 4]], there]), axis=0, weights=weight
    ).tolist()
    start += float(np.average((settings[:, 0] - mean) ** 2, weights=weight))
    reach = way / -math.expm1(-2 * oldest / memory) if way else 0.0
    return Drift(mean, start, reach, float(memory), noise, oldest)


def _evidence(
    path: Sequence[ListDay], chances: Sequence[Matrix], reach: float, memory: float
) -> Vector:
    """Return the log-evidence of one model's lists, for each noise, start and mean in turn."""
    at_start = np.repeat([normal(0.0, start**2) for start in _STARTS], len(_MEANS), axis=0)
    levels = np.tile(at_start, (len(_NOISES), 1))
    total, age = np.zeros(len(levels)), 0.0
    for day, chance in zip(path, chances, strict=True):
        moves = _kernel(math.exp(-max(day.age - age, 0.0) / memory), reach)
        levels = levels @ moves
        levels *= chance
        likely = levels.sum(axis=1)
        levels /= likely[:, None]
        total += np.log(likely)
        age = day.age
    return total


def _in_order(day: ListDay) -> Matrix:
    """Return how likely what was found is at each level, in the order of the settings."""
    at_means = _chances(day, [noise**2 for noise in _NOISES])[:, _beside_means()]
    return np.repeat(at_means, len(_STARTS), axis=0).reshape(len(_ORDER), -1)


@cache
def _beside_means() -> NDArray[np.intp]:
    """Return the place on the grid of each level moved by each mean; beyond the ends, the end."""
    moved = np.rint(np.add.outer(_MEANS, SHIFTS - SHIFTS[0]) / STEP)
    return np.clip(moved, 0, SHIFTS.size - 1).astype(np.intp)


def _moved(chance: Vector, mean: float) -> Vector:
    """Return how likely what was found is at each level, beside this mean."""
    return np.interp(SHIFTS + mean, SHIFTS, chance)


def _log_prior(noise: float, start: float, mean: float, way: float) -> float:
    """Return how probable such a drift is before any list is seen: small ones are likelier."""
    spread = start**2 + way**2 + noise**2
    return -((mean / _PRIOR_OF_MEAN) ** 2) / 2 - spread / _PRIOR_OF_SPREAD**2 / 2


def _chances(day: ListDay, noises: Iterable[float]) -> Matrix:
    """Return how likely what was found is at each level, for each noise: up to a common factor."""
    probability = inner(day.probability)
    slope = float((probability * (1 - probability)).sum())
    doubt = day.doubt / slope**2
    return likelihoods(probability, day.found, [noise + doubt for noise in noises])


@lru_cache(maxsize=512)
def _kernel(kept: float, reach: float) -> Matrix:
    """Return the matrix that moves levels: each keeps a share of itself, and wanders."""
    return steps(kept * SHIFTS, reach * (1 - kept**2))

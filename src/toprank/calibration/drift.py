"""How far what is found strays from what was promised as time passes.

Calibrated probabilities p are right for rows like those they were learned from. Later days differ:
their log-odds are all off by a shift, which has a slow part and one of each day's own:

    logit p'(day) = logit p + level(age) + noise(day)
    level         a random walk over the model's age, which starts anywhere around `mean`
    found         each row of the list by chance, at p'

Given the shift, the chance of finding F frauds in a list is known up to a factor: F frauds are
exp(F shift) / prod(1 - p + p exp(shift)) times as likely as without it. So a backtest's lists say
how large shifts were, and how fast they grew. The level is followed on a grid of shifts, day by
day; what is not known (where it starts, how fast it moves, how much days differ) is averaged over
a few values of each, by the evidence of the lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, expit, logit

from toprank.calibration.counts import mid_range
from toprank.data import checks
from toprank.metrics import Interval

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_STEP = 0.1
_SHIFTS = _STEP * np.arange(-50, 51)
# standard deviations of log-odds: of a list's own noise, of the level at the start, and of the
# level's way over the longest age that was seen
_NOISES = (0.0, 0.15, 0.3, 0.6, 1.0, 1.5)
_STARTS = (0.05, 0.2, 0.5)
_WAYS = (0.0, 0.2, 0.5, 1.0, 2.0)
_MEANS = (-1.0, -0.6, -0.3, -0.1, 0.0, 0.1, 0.3, 0.6, 1.0)
_PRIOR_OF_MEAN, _PRIOR_OF_SPREAD = 0.5, 1.0
_LEAST_CHANCE = 1e-9
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
    """The shift of log-odds to expect, by age: its mean, and what its variance is made of.

    `start` is the level's variance at the age `since`, `growth` what each unit of age adds, and
    `noise` that of one list. `oldest` is the greatest age that was backtested.

    >>> drift = Drift(mean=-0.2, start=0.04, growth=0.01, noise=0.02, oldest=30.0)
    >>> promised = drift.expected([ListDay(np.full(50, 0.7), age=10.0)])
    >>> promised.value < 35, promised.low < 28, promised.high > 36
    (True, True, True)
    """

    mean: float
    start: float
    growth: float
    noise: float
    oldest: float
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

    def after(self, lists: Iterable[ListDay]) -> Self:
        """Return the drift as it is known once these lists' labels have arrived, in order of age.

        The level is where the lists put it; from there, it may move on.
        """
        level, since = _normal(self.mean, self.start), self.since
        for each in sorted(lists, key=lambda day: day.age):
            grown = max(each.age - since, 0.0) * self.growth
            level = level @ _kernel(grown) * _chance(each, self.noise)
            level /= level.sum()
            since = max(each.age, since)
        mean = float(level @ _SHIFTS)
        variance = float(level @ (_SHIFTS - mean) ** 2)
        return type(self)(mean, variance, self.growth, self.noise, self.oldest, since)

    def _chances(self, days: Sequence[ListDay]) -> tuple[_Counts, Vector]:
        """Return the counts of a list at each shift, and how likely each shift is.

        The shift of a list is that of its days, each by how far its rows can move.
        """
        groups = [_inner(day.probability) for day in days]
        slope = np.array([(each * (1 - each)).sum() for each in groups])
        share = slope / slope.sum()
        age = np.maximum([day.age - self.since for day in days], 0.0)
        together = self.start + self.growth * np.minimum.outer(age, age)
        variance = share @ (together + self.noise * np.eye(age.size)) @ share
        # the calibration is off in the same way on all days
        doubt = np.sum([np.sqrt(day.doubt) for day in days]) ** 2 / slope.sum() ** 2
        return _Counts.of(np.concatenate(groups)), _normal(self.mean, float(variance + doubt))

    def to_json(self) -> dict[str, float]:
        """Return the drift as plain numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return the drift that `to_json` wrote; ValueError if it is not valid."""
        drift = cls(**{name: float(plain[name]) for name in cls.__dataclass_fields__})
        checks.number_above(drift.mean + 2 * _LARGEST, "mean of a drift", _LARGEST, 3 * _LARGEST)
        for name in ("start", "growth", "noise"):
            value = getattr(drift, name)
            if not 0 <= value < _LARGEST:
                raise ValueError(f"{name} of a drift must be from 0 to {_LARGEST}; got {value}.")
        if not (0 <= drift.oldest < np.inf and 0 <= drift.since < np.inf):
            raise ValueError(f"ages of a drift must be at least 0; got {drift}.")
        return drift


def fit_drift(paths: Sequence[Sequence[ListDay]]) -> Drift | None:
    """Return the drift that the lists of a backtest show; None if there are none.

    Each path holds the lists of one model, in order of age: several paths tell what models have
    in common from what happened to one of them.
    """
    paths = [sorted(path, key=lambda each: each.age) for path in paths if path]
    if not paths:
        return None
    oldest = max(path[-1].age for path in paths)
    starts = [(mean, start**2) for start in _STARTS for mean in _MEANS]
    levels = np.array([_normal(*each) for each in starts])
    settings, evidence = [], []
    for noise in _NOISES:
        chances = [[_chance(each, noise**2) for each in path] for path in paths]
        for way in _WAYS:
            growth = way**2 / oldest if oldest > 0 else 0.0
            prior = [_log_prior(mean, variance, way, noise) for mean, variance in starts]
            found = [_evidence(*each, levels, growth) for each in zip(paths, chances, strict=True)]
            settings += [(*each, growth, noise**2) for each in starts]
            evidence.append(np.add(prior, np.sum(found, axis=0)))
    weight = np.exp(np.concatenate(evidence) - np.max(evidence))
    mean, start, growth, noise = np.average(settings, axis=0, weights=weight).tolist()
    start += float(np.average((np.array(settings)[:, 0] - mean) ** 2, weights=weight))
    return Drift(mean, start, growth, noise, oldest)


def _evidence(
    path: Sequence[ListDay], chances: Sequence[Vector], levels: Matrix, growth: float
) -> Vector:
    """Return the log-evidence of one model's lists, for each of these levels to start from."""
    total, age = np.zeros(len(levels)), 0.0
    for each, chance in zip(path, chances, strict=True):
        levels = levels @ _kernel(growth * max(each.age - age, 0.0)) * chance
        likely = levels.sum(axis=1)
        total += np.log(likely)
        levels, age = levels / likely[:, None], each.age
    return total


def _log_prior(mean: float, start: float, way: float, noise: float) -> float:
    """Return how probable such a drift is before any list is seen: small ones are likelier."""
    spread = start + way**2 + noise**2
    return -((mean / _PRIOR_OF_MEAN) ** 2) / 2 - spread / _PRIOR_OF_SPREAD**2 / 2


def _chance(day: ListDay, noise: float) -> Vector:
    """Return how likely what was found is at each level, up to a common factor."""
    probability = _inner(day.probability)
    # 1 - p + p exp(s), taken together so that neither tail loses digits
    total = np.log1p(np.multiply.outer(probability, np.expm1(_SHIFTS))).sum(axis=0)
    height = day.found * _SHIFTS - total
    slope = float((probability * (1 - probability)).sum())
    chance = np.exp(height - height.max()) @ _kernel(noise + day.doubt / slope**2)
    return np.maximum(chance, _LEAST_CHANCE)


@lru_cache(maxsize=512)
def _kernel(variance: float) -> Matrix:
    """Return the matrix that moves shifts by a random step of this variance."""
    if variance < _STEP**2:  # too small for the grid: to the neighbours, as often as it takes
        aside = variance / _STEP**2 / 2
        near = np.abs(np.subtract.outer(_SHIFTS, _SHIFTS)) < 1.5 * _STEP
        matrix = np.where(near, aside, 0.0)
        np.fill_diagonal(matrix, 1 - 2 * aside)
    else:
        matrix = np.exp(-(np.subtract.outer(_SHIFTS, _SHIFTS) ** 2) / (2 * variance))
    return matrix / matrix.sum(axis=1, keepdims=True)


def _normal(mean: float, variance: float) -> Vector:
    """Return the chance of each shift on the grid."""
    height = (_SHIFTS - mean) ** 2 / (2 * max(variance, (_STEP / 2) ** 2))
    weight = np.exp(height.min() - height)
    return weight / weight.sum()


def _inner(probability: ArrayLike) -> Vector:
    """Return probabilities that are neither 0 nor 1."""
    return np.clip(np.asarray(probability, np.float64), _LEAST_CHANCE, 1 - _LEAST_CHANCE)


class _Counts(NamedTuple):
    """Mean and variance of a list's count at each shift of the grid."""

    mean: Vector
    variance: Vector
    n_rows: int

    @classmethod
    def of(cls, probability: Vector) -> Self:
        moved = expit(np.add.outer(_SHIFTS, logit(probability)))
        return cls(moved.sum(axis=1), (moved * (1 - moved)).sum(axis=1), probability.size)

    def below(self, count: float, weight: Vector) -> float:
        """Return the chance of at most `count`, over the shifts by their weight.

        At each shift the count is nearly binomial, with the number of trials and the chance that
        give its mean and variance; where most rows are positive, the others are counted.
        """
        is_many = 2 * self.mean > self.n_rows
        mean = np.where(is_many, self.n_rows - self.mean, self.mean)
        chance = np.clip(1 - self.variance / mean, 1e-12, 1.0)
        trials = mean / chance
        of_few = _binomial_below(count, trials, chance)
        of_many = 1 - _binomial_below(self.n_rows - count - 1, trials, chance)
        return float(weight @ np.where(is_many, of_many, of_few))


def _binomial_below(count: float, trials: Vector, chance: Vector) -> Vector:
    """Return the chance of at most `count` successes; the trials need not be a whole number."""
    if count < 0:
        return np.zeros(trials.size)
    left = np.maximum(trials - count, 1e-300)
    return np.where(count >= trials, 1.0, betainc(left, count + 1, 1 - chance))

"""What a reservoir remembers: which rows it keeps, and how much each of them counts.

A row has a key, which rises with its age or stays as it is, and depends on the row's own chance u
between 0 and 1. A full pool keeps the rows with the lowest keys. So a row of a given age is kept
with the probability that its key is below the limit, which only falls:

    memory    key              kept with probability      counts
    all       u                limit                      1
    window    u, while young   limit                      1 up to an age of `span`, then 0
    decay     log2 u + a/span  2^(limit - a/span)         2^(-a/span)
    by-age    u a              limit / a                  span / a, at most 1

with a the age in labelled rows. In the fit a row has the weight `counts / probability`: sums over
the kept rows are then, on average, those over all rows, each as much as it counts (Horvitz and
Thompson's estimator). For the last two memories the ratio is about the same for all rows.

Rows may be favoured: one with the favour f has the chance u / f, and is kept f times as often, as
long as the probability is below 1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MEMORIES = ("all", "window", "decay", "by-age")

_STEP = np.uint64(0x9E3779B97F4A7C15)  # the generator is splitmix64, which needs no state
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Memory(NamedTuple):
    """One of `MEMORIES`, and its span in labelled rows, which "all" does not use."""

    kind: str
    span: float

    def keys(self, chance: NDArray[np.float64], age: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the key of rows; those with the lowest are kept."""
        if self.kind == "window":
            return np.where(age <= self.span, chance, np.inf)
        if self.kind == "decay":
            return np.log2(chance) + age / self.span
        if self.kind == "by-age":
            return chance * age
        return chance

    def kept_share(
        self, age: NDArray[np.int64], limit: float, favour: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the probability that a row of this age and favour has a key below the limit."""
        if self.kind == "decay":
            share = np.exp2(np.minimum(limit - age / self.span, 0.0))
        elif self.kind == "by-age":
            share = limit / age
        else:
            share = np.full(age.size, limit)
        return np.minimum(favour * share, 1.0)

    def importance(self, age: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much rows of this age count."""
        if self.kind == "window":
            return (age <= self.span).astype(np.float64)
        if self.kind == "decay":
            return np.exp2(-age / self.span)
        if self.kind == "by-age":
            return np.minimum(self.span / age, 1.0)
        return np.ones(age.size)


def chances(numbers: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return the chance of rows by their numbers: above 0, below 1, the same on every call.

    >>> chances(np.array([1, 2, 3]), seed=0).round(3)
    array([0.883, 0.432, 0.026])
    """
    with np.errstate(over="ignore"):  # it is meant to wrap around
        mixed = (numbers.astype(np.uint64) + (np.uint64(seed) << np.uint64(32))) * _STEP
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

"""Weights of known frauds that make up for those that are not known yet.

Of the frauds of the last weeks, only some are known: those that a check found, and those whose
holder has claimed already. A model that learns from recent payments as they are would see too few
frauds among them, and fewer the more recent they are. So each known fraud represents all frauds
that had the same chance to be known by now, and weighs the inverse of that chance (the estimate of
Horvitz and Thompson).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 10.0
"""The largest weight: a few frauds that were hardly likely to be known must not decide alone."""

FEWEST_DELAYS = 20
"""With fewer claims to learn the delays from, all claims count as made at once."""


def share_claimed(age: ArrayLike, delays: ArrayLike) -> NDArray[np.float64]:
    """Return the share of claims that have been made when frauds are of this age.

    `delays` are the times from payment to claim of frauds so old that whoever claims has done so.

    >>> day = np.timedelta64(1, "D")
    >>> share_claimed(np.array([0, 2, 9]) * day, np.repeat([1, 2, 4, 8], 10) * day)
    array([0. , 0.5, 1. ])
    """
    age, ordered = np.asarray(age), np.sort(np.asarray(delays))
    if ordered.size < FEWEST_DELAYS:
        return np.ones(age.shape)
    return np.searchsorted(ordered, age, side="right") / ordered.size


def fraud_weights(
    check_chance: ArrayLike, age: ArrayLike, delays: ArrayLike, largest: float = LARGEST
) -> NDArray[np.float64]:
    """Return for each known fraud the number of frauds that it represents.

    A fraud is known by now if its card was checked, or else if it has been claimed.

    Parameters
    ----------
    check_chance
        The chance with which the card of each was checked: 1 if it was on the list, that of the
        draw if it was not, 0 where nobody checks.
    age
        The time since each was paid.
    delays
        What `share_claimed` takes.
    largest
        The largest weight.

    >>> day = np.timedelta64(1, "D")
    >>> delays = np.repeat([1, 2, 4, 8], 10) * day
    >>> fraud_weights([1.0, 0.0, 0.0], np.array([2, 2, 9]) * day, delays)
    array([1., 2., 1.])
    """
    missed = (1 - np.asarray(check_chance, np.float64)) * (1 - share_claimed(age, delays))
    return 1 / np.maximum(1 - missed, 1 / largest)


def effective_number(weights: ArrayLike) -> float:
    """Return how many equal weights would give an average as certain as these (Kish).

    >>> effective_number([1, 1, 1, 1]), effective_number([4, 0, 0, 0])
    (4.0, 1.0)
    """
    weights = np.asarray(weights, np.float64)
    total = float(np.sum(weights**2))
    return float(np.sum(weights)) ** 2 / total if total else 0.0

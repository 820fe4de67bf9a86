"""Weights of labels for training, so that no one person decides what a model learns."""

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.data import checks


def label_weights(
    who: ArrayLike, cap: float, without: Collection[str] = ()
) -> NDArray[np.float64]:
    """Return a weight per label: 1, or less for people who gave more than a share of them.

    `who` has the person who gave each label as a verdict, and an empty text for labels of other
    sources, whose weight is 1. After weighting, no person has more than `cap` of the verdicts'
    total weight. If that cannot be, since there are too few people, all of them count the same.
    Verdicts of the people in `without` have the weight 0.

    >>> label_weights(["anna"] * 6 + ["ben", "cleo", ""], cap=0.5).round(2).tolist()
    [0.33, 0.33, 0.33, 0.33, 0.33, 0.33, 1.0, 1.0, 1.0]
    """
    cap = checks.number_above(cap, "cap", 0, 1)
    people, places, counts = np.unique(
        np.asarray(who, dtype=str), return_inverse=True, return_counts=True
    )
    is_left_out = np.isin(people, list(without))
    is_person = (people != "") & ~is_left_out
    weight = np.where(is_left_out, 0.0, 1.0)
    given = counts[is_person].astype(float)
    if given.size:
        weight[is_person] = np.minimum(_most(given, cap) / given, 1.0)
    return weight[places.reshape(-1)]


def _most(given: NDArray[np.float64], cap: float) -> float:
    """Return the largest weight t of one person with t <= cap * sum(min(given, t))."""
    falling = np.sort(given)[::-1]
    if given.size * cap < 1:
        return float(falling[-1])  # too few people: all count as whoever gave least
    rest = given.sum() - np.cumsum(falling)  # what all but the first so many people gave
    for n_capped in range(falling.size + 1):
        largest = falling[n_capped] if n_capped < falling.size else 0.0
        others = given.sum() if n_capped == 0 else rest[n_capped - 1]
        if n_capped * cap >= 1:
            break
        # n people at the limit t: t = cap * (n t + others)
        limit = cap * others / (1 - n_capped * cap)
        if limit >= largest:
            return float(limit) if n_capped else float(falling[0])
    return float(falling[-1])

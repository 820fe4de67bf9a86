"""The leaves of a local tree in order of suspicion, merged into two unions.

    ap     order: (1 - precision) / recall, rising      cut: AP_left of the prefix is largest
    auc    order: positive share / negative share, falling      cut: TPR - FPR is largest

AP_left is the average precision of the list that ranks the prefix first and all others after it.
"""

import numpy as np
from numba import njit

AP, AUC = range(2)
MERGES = {"ap": AP, "auc": AUC}


@njit(cache=True, nogil=True)
def merge(starts, mass, hits, aim):
    """Return which leaves are in the left union; those of root r are starts[r] to starts[r + 1].

    A root whose leaves are best kept together has all of them on the left.
    """
    is_left = np.ones(mass.size, np.bool_)
    for root in range(starts.size - 1):
        begin, end = starts[root], starts[root + 1]
        if end - begin < 2:
            continue
        m, h = mass[begin:end], hits[begin:end]
        all_mass, all_hits = m.sum(), h.sum()
        order = np.argsort(_steepness(m, h, aim), kind="mergesort")
        best, n_left = -np.inf, end - begin
        left_mass, left_hits = 0.0, 0.0
        for i in range(order.size):
            left_mass += m[order[i]]
            left_hits += h[order[i]]
            if i == order.size - 1:  # sums may differ from the totals by rounding
                left_mass, left_hits = all_mass, all_hits
            score = _prefix_score(left_mass, left_hits, all_mass, all_hits, aim)
            if score > best + 1e-12:
                best, n_left = score, i + 1
        for i in range(n_left, order.size):
            is_left[begin + order[i]] = False
    return is_left


@njit(cache=True, nogil=True)
def _steepness(mass, hits, aim):
    """The sort key of the leaves, lowest for the most suspicious."""
    keys = np.full(mass.size, np.inf)
    for leaf in range(mass.size):
        if hits[leaf] <= 0:
            continue
        if aim == AP:
            # (1 - precision) / recall, in a form in which equal leaves stay equal
            keys[leaf] = (mass[leaf] - hits[leaf]) / (mass[leaf] * hits[leaf])
        else:
            keys[leaf] = (mass[leaf] - hits[leaf]) / hits[leaf]
    return keys


@njit(cache=True, nogil=True)
def _prefix_score(left_mass, left_hits, all_mass, all_hits, aim):
    if aim == AP:
        return left_hits * left_hits / (all_hits * left_mass) + (all_hits - left_hits) / all_mass
    return left_hits / all_hits - (left_mass - left_hits) / (all_mass - all_hits)

"""Paths of rows through trees of trees: to one leaf, or softly to several."""

import numpy as np
from numba import njit

_LEAST_SHARE = 1e-4  # of a row: smaller shares are dropped


@njit(cache=True, nogil=True)
def leaves(features, root, column, threshold, is_missing_left, set_start, goes_left, left, right):
    """Return the last node of every row's path, a leaf that leads to a group."""
    found = np.empty(features.shape[0], np.int32)
    for row in range(features.shape[0]):
        node = root
        while left[node] >= 0:
            j = column[node]
            if j < 0:
                node = left[node]
                continue
            value = features[row, j]
            if _is_left(value, node, threshold, is_missing_left, set_start, goes_left):
                node = left[node]
            else:
                node = right[node]
        found[row] = node
    return found


@njit(cache=True, nogil=True)
def _is_left(value, node, threshold, is_missing_left, set_start, goes_left):
    if np.isnan(value):
        return is_missing_left[node]
    if set_start[node] >= 0:
        return goes_left[set_start[node] + np.int64(value)]
    return value <= threshold[node]


@njit(cache=True, nogil=True)
def _share_to_left(value, node, threshold, is_missing_left, set_start, goes_left, width):
    if np.isnan(value) or set_start[node] >= 0 or np.isinf(threshold[node]):
        to_left = _is_left(value, node, threshold, is_missing_left, set_start, goes_left)
        return 1.0 if to_left else 0.0
    away = (value - threshold[node]) / width
    return 1.0 / (1.0 + np.exp(min(away, 700.0)))


@njit(cache=True, nogil=True)
def soft_means(
    features, root, column, threshold, is_missing_left, set_start, goes_left, left, right, width,
    value,
):  # fmt: skip
    """Return the mean of the leaves' values, by how much of a row reaches each.

    A cut sends 1 / (1 + exp((x - threshold) / width)) of what reaches it to the left; `width` is
    one number per column. Categories and missing values go to one side as a whole.
    """
    means = np.empty(features.shape[0])
    share = np.zeros(column.size)
    for row in range(features.shape[0]):
        least, total, reached = _LEAST_SHARE, 0.0, 0.0
        while reached == 0:  # if no share is large, none is dropped
            share[root] = 1.0
            for node in range(root, column.size):
                here = share[node]
                if here == 0:
                    continue
                share[node] = 0.0
                if here < least:
                    continue
                j = column[node]
                if j >= 0:
                    to_left = here * _share_to_left(
                        features[row, j], node, threshold, is_missing_left, set_start, goes_left,
                        width[j],
                    )  # fmt: skip
                    share[left[node]] += to_left
                    share[right[node]] += here - to_left
                elif left[node] >= 0:
                    share[left[node]] += here
                else:
                    total += here * value[node]
                    reached += here
            least = 0.0
        means[row] = total / reached
    return means


@njit(cache=True, nogil=True)
def add_contributions(
    features, root, column, threshold, is_missing_left, set_start, goes_left, left, right, value,
    contributions,
):  # fmt: skip
    """Add to every row, column by column, the changes in value at the cuts of its path."""
    for row in range(features.shape[0]):
        node = root
        while left[node] >= 0:
            j = column[node]
            if j < 0:
                node = left[node]
                continue
            x = features[row, j]
            if _is_left(x, node, threshold, is_missing_left, set_start, goes_left):
                onward = left[node]
            else:
                onward = right[node]
            contributions[row, j] += value[onward] - value[node]
            node = onward


@njit(cache=True, nogil=True)
def add_soft_contributions(
    features, root, column, threshold, is_missing_left, set_start, goes_left, left, right, width,
    value, contributions,
):  # fmt: skip
    """The same for the soft path: each cut counts by how much of the row reaches it."""
    n_nodes = column.size
    share = np.zeros(n_nodes)
    for row in range(features.shape[0]):
        share[root] = 1.0
        for node in range(root, n_nodes):
            here = share[node]
            if here == 0:
                continue
            share[node] = 0.0
            if left[node] < 0:
                continue
            j = column[node]
            if j < 0:
                share[left[node]] += here
                continue
            to_left = here * _share_to_left(
                features[row, j], node, threshold, is_missing_left, set_start, goes_left, width[j]
            )
            share[left[node]] += to_left
            share[right[node]] += here - to_left
            moved = to_left * value[left[node]] + (here - to_left) * value[right[node]]
            contributions[row, j] += moved - here * value[node]


@njit(cache=True, nogil=True)
def means_below(column, left, right, mass, value):
    """Return for every node the mean of the values of the groups' leaves that it leads to."""
    means = value.copy()
    for node in range(column.size - 1, -1, -1):
        if left[node] < 0:
            continue
        if column[node] < 0:
            means[node] = means[left[node]]
        else:
            both = mass[left[node]] + mass[right[node]]
            to_left = mass[left[node]] / both
            means[node] = to_left * means[left[node]] + (1 - to_left) * means[right[node]]
    return means


@njit(cache=True, nogil=True)
def shrunk_shares(parent, mass, hits, prior_mass):
    """Return every node's share of hits, shrunk to that of the node above by `prior_mass`."""
    share = np.empty(mass.size)
    for node in range(mass.size):
        if parent[node] < 0:
            share[node] = hits[node] / mass[node]
        else:
            above = share[parent[node]]
            share[node] = (hits[node] + prior_mass * above) / (mass[node] + prior_mass)
    return share


@njit(cache=True, nogil=True)
def border_distances(
    features, root, column, threshold, is_missing_left, set_start, goes_left, left, right, mass,
    hits, is_whole_path,
):  # fmt: skip
    """Return each row's distance to the nearest cut on its path, the cut's column, and the leaf.

    This is the whole path, or its part in the last local tree. The distance is above 0 if most of
    the leaf's rows are positives, below 0 if few are, 0 for half. The column is -1 if only
    categories and missing values decided.
    """
    distances = np.zeros(features.shape[0])
    columns, found = np.empty((2, features.shape[0]), np.int32)
    for row in range(features.shape[0]):
        node = root
        nearest, nearest_column = np.inf, -1
        while left[node] >= 0:
            j = column[node]
            if j < 0:
                node = left[node]
                if not is_whole_path:
                    nearest, nearest_column = np.inf, -1
                continue
            value = features[row, j]
            if not np.isnan(value) and set_start[node] < 0:
                distance = abs(value - threshold[node])
                if distance < nearest:
                    nearest, nearest_column = distance, j
            if _is_left(value, node, threshold, is_missing_left, set_start, goes_left):
                node = left[node]
            else:
                node = right[node]
        columns[row], found[row] = nearest_column, node
        if nearest_column >= 0:
            distances[row] = nearest * np.sign(2 * hits[node] - mass[node])
    return distances, columns, found

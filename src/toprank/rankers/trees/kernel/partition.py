"""Rows moved to their nodes: rows = [node 0 | node 1 | ...], in their original order in each."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def split_rows(
    codes, is_category, rows, target, weight, root, begins, ends, sums, seeds, places, numbers,
    sides,
):  # fmt: skip
    """Move the rows of each node that is cut to the two sides of its cut; return the children.

    rows[begin:end] = [left | right], both in their former order; target and weight are moved too.
    Of the children, left and right in pairs: root, begin, end, sums, what they carry, seed.
    """
    n_cut, largest = 0, 0
    for node in range(begins.size):
        if places[node, 0] >= 0:
            n_cut += 1
            largest = max(largest, ends[node] - begins[node])
    moved = (
        np.empty(largest, rows.dtype),
        np.empty(largest, target.dtype),
        np.empty(largest if weight.size else 0),
    )
    roots = np.empty(2 * n_cut, np.int32)
    bounds = np.empty((2, 2 * n_cut), np.int64)
    child_sums = np.zeros((2 * n_cut, 3))
    carried = np.empty(2 * n_cut)
    child_seeds = np.empty(2 * n_cut, np.uint64)
    child = 0
    for node in range(begins.size):
        if places[node, 0] < 0:
            continue
        begin, end = begins[node], ends[node]
        middle = _split_node(
            codes[places[node, 0]], is_category[places[node, 0]], rows, target, weight, begin,
            end, places[node], sides[node], *moved,
        )  # fmt: skip
        for side in range(2):
            at = child + side
            roots[at], carried[at] = root[node], numbers[node, 3 + side]
            bounds[0, at] = middle if side else begin
            bounds[1, at] = end if side else middle
            child_sums[at, 0] = bounds[1, at] - bounds[0, at]
            child_seeds[at] = (seeds[node] ^ np.uint64(side + 1)) * np.uint64(0xD6E8FEB86659FD93)
        if (
            weight.size
        ):  # a difference of sums would leave rounding errors of rows that are not there
            for side in range(2):
                at = child + side
                for i in range(bounds[0, at], bounds[1, at]):
                    child_sums[at, 1] += weight[i]
                    child_sums[at, 2] += weight[i] * target[i]
        else:
            for k in range(1, 3):
                child_sums[child, k] = numbers[node, k]
                child_sums[child + 1, k] = sums[node, k] - numbers[node, k]
        child += 2
    return roots, bounds[0], bounds[1], child_sums, carried, child_seeds


@njit(cache=True, nogil=True)
def _split_node(
    codes, is_category, rows, target, weight, begin, end, place, sides, kept_rows, kept_target,
    kept_weight,
):  # fmt: skip
    """Return where the right side begins, after the rows are moved."""
    last_left, is_missing_left, missing = place[1], place[3] == 1, place[4]
    left, n_kept = begin, 0
    for i in range(begin, end):
        code = codes[rows[i]]
        if is_category:
            is_left = sides[code] == 1
        else:
            is_left = code <= last_left or (is_missing_left and code == missing)
        if is_left:
            rows[left], target[left] = rows[i], target[i]
            if weight.size:
                weight[left] = weight[i]
            left += 1
        else:
            kept_rows[n_kept], kept_target[n_kept] = rows[i], target[i]
            if weight.size:
                kept_weight[n_kept] = weight[i]
            n_kept += 1
    for i in range(n_kept):
        rows[left + i], target[left + i] = kept_rows[i], kept_target[i]
        if weight.size:
            weight[left + i] = kept_weight[i]
    return left


@njit(cache=True, nogil=True)
def arrange(rows, target, weight, begins, ends, order, at):
    """Move whole blocks of rows: block order[0] goes to `at[0]`, the next to `at[1]`, ..."""
    old_rows, old_target, old_weight = rows.copy(), target.copy(), weight.copy()
    for i in range(order.size):
        moved = at[i] - begins[order[i]]
        for row in range(begins[order[i]], ends[order[i]]):
            rows[row + moved], target[row + moved] = old_rows[row], old_target[row]
            if weight.size:
                weight[row + moved] = old_weight[row]


@njit(cache=True, nogil=True)
def totals(target, weight, begins, ends):
    """Return rows, mass and hits of each block."""
    sums = np.zeros((begins.size, 3))
    for node in range(begins.size):
        for i in range(begins[node], ends[node]):
            mass = weight[i] if weight.size else 1.0
            sums[node, 1] += mass
            sums[node, 2] += mass * target[i]
        sums[node, 0] = ends[node] - begins[node]
    return sums

"""The best cut of every node of a level.

A column of a node is first summed up by code: the mass of its rows (1 or the weight of each) and
the mass of their hits, the positives. A scan over these sums then tries every cut between
neighbouring codes, with missing values on either side. Categories are first sorted by their share
of hits in the node; those with a mass below five there go with the missing ones, since their share
says little.

Criteria, with m the mass and h the hits of a side, H and M those of the node, g = m - h:

    gini      (g^2 + h^2) / m, summed over both sides
    entropy   g log(g / m) + h log(h / m), summed over both sides
    ap        m_l AP_left + m_r AP_right with AP_left = h_l^2 / (H m_l) + h_r / M and its mirror:
              the average precision of a list that ranks one side first
    error     weight of the correctly classified rows when one side is called positive

The hits of gini, entropy and error are multiplied by a factor per local tree, which gives both
classes the same mass at its root. Entropy is convex where a run of codes holds one class only: no
cut inside such a run is better than both its ends, so the logarithms of inner ones are not
computed.
"""

import numpy as np
from numba import njit

GINI, ENTROPY, AP, ERROR = range(4)

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "ap": AP, "error": ERROR}

_MARGIN = 1e-12  # of the node's mass: what rounding may add to a gain
_LITTLE_OF_A_CATEGORY = 5.0
_SORT_BELOW = 8  # with rows times this below the number of bins, sorting is cheaper than binning
_MOST_SORTED = 4096
_ROW = 1 << 32  # one row in [number of rows | number of hits], 32 bits each


@njit(cache=True, nogil=True)
def best_cuts(
    codes, starts, is_category, rows, target, weight, begins, ends, totals, factors, carried,
    seeds, criterion, n_tried, min_leaf,
):  # fmt: skip
    """Return the best cut of each node, and what it sends to the left.

    places: column (-1 without a cut), last code on the left, first code on the right, whether
            missing values go left, their code. numbers: gain over no cut, mass and hits of the
            left side, what children carry under ap. sides: which categories go left.
    A node's rows are rows[begin:end]; target and weight are in the order of `rows`.
    """
    n_nodes, n_columns = begins.size, starts.size - 1
    is_counted = weight.size == 0
    widest, widest_category = 1, 0
    for column in range(n_columns):
        widest = max(widest, starts[column + 1] - starts[column])
        if is_category[column]:
            widest_category = max(widest_category, starts[column + 1] - starts[column])
    places = np.full((n_nodes, 5), -1, np.int64)
    numbers = np.zeros((n_nodes, 5))
    sides = np.zeros((n_nodes, widest_category), np.uint8)
    sums, counts = np.zeros((widest, 2)), np.zeros(widest, np.int64)
    groups = np.empty((max(widest, 2), 2))
    group_codes = np.empty(max(widest, 2), np.int64)
    keys = np.empty(_MOST_SORTED, np.uint32)
    row_counts = np.empty(_largest(begins, ends) if is_counted else 0, np.int64)
    columns = np.arange(n_columns)
    for node in range(n_nodes):
        begin, end = begins[node], ends[node]
        mass, hits = totals[node, 1], totals[node, 2]
        if end - begin < 2 or mass < 2 * min_leaf:
            continue
        # one class only, except for rounding errors of the other's weights
        if not _MARGIN * mass < hits < mass - _MARGIN * mass:
            continue
        if is_counted:
            for i in range(begin, end):
                row_counts[i - begin] = _ROW + np.int64(target[i])
        for column in range(n_columns):
            columns[column] = column
        state = seeds[node]
        best = -np.inf
        for turn in range(n_columns):
            if n_tried < n_columns:
                if turn >= n_tried and places[node, 0] >= 0:
                    break
                state = _next(state)
                chosen = turn + (state >> np.uint64(33)) % np.uint64(n_columns - turn)
                columns[turn], columns[chosen] = columns[chosen], columns[turn]
            column = columns[turn]
            n_bins = starts[column + 1] - starts[column] - 1
            if n_bins < 1:
                continue
            n_groups, missing_mass, missing_hits = _summed(
                codes[column], rows, target, weight, begin, end, n_bins, sums, row_counts, counts,
                keys, groups, group_codes,
            )  # fmt: skip
            if is_category[column]:
                n_groups, rare_mass, rare_hits = _in_order_of_hits(groups, group_codes, n_groups)
                missing_mass, missing_hits = missing_mass + rare_mass, missing_hits + rare_hits
            score, at, is_missing_left, left_mass, left_hits = _scan(
                groups, n_groups, missing_mass, missing_hits, mass, hits, factors[node],
                criterion, min_leaf,
            )  # fmt: skip
            if not score > best + _MARGIN * mass:
                continue
            best = score
            places[node, 0], places[node, 1] = column, group_codes[at]
            places[node, 2] = group_codes[at + 1] if at + 1 < n_groups else n_bins
            places[node, 3], places[node, 4] = is_missing_left, n_bins
            numbers[node, 0] = score - _score_uncut(criterion, mass, hits, factors[node])
            numbers[node, 1], numbers[node, 2] = left_mass, left_hits
            if is_category[column]:
                for code in range(n_bins + 1):
                    sides[node, code] = is_missing_left
                for group in range(n_groups):
                    sides[node, group_codes[group]] = group <= at
        if criterion == AP and places[node, 0] >= 0:
            left, right = _ap_left_out(numbers[node, 1], numbers[node, 2], mass, hits)
            share = numbers[node, 1] / mass
            if carried[node] - (share * left + (1 - share) * right) < -_MARGIN:
                places[node, 0] = -1  # ranks worse than the cut above promised
            numbers[node, 3], numbers[node, 4] = left, right
    return places, numbers, sides


@njit(cache=True, nogil=True)
def _largest(begins, ends):
    largest = 0
    for node in range(begins.size):
        largest = max(largest, ends[node] - begins[node])
    return largest


@njit(cache=True, nogil=True)
def _next(state):
    """One step of SplitMix64: states that differ in one bit give unrelated numbers."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) + np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _summed(
    codes, rows, target, weight, begin, end, n_bins, sums, row_counts, counts, keys, groups,
    group_codes,
):  # fmt: skip
    """Sum up the node's rows by code; return how many codes occur, and the missing ones' sums."""
    n = end - begin
    if n * _SORT_BELOW < n_bins and n <= _MOST_SORTED:
        return _summed_by_sorting(
            codes, rows, target, weight, begin, n, n_bins, keys, groups, group_codes
        )
    if row_counts.size:
        return _counted(codes, rows[begin:end], row_counts, n_bins, counts, groups, group_codes)
    return _added(codes, rows, target, weight, begin, end, n_bins, sums, groups, group_codes)


@njit(cache=True, nogil=True)
def _counted(codes, rows, row_counts, n_bins, counts, groups, group_codes):
    """The same for rows of weight 1, whose number and hits are added up in one number."""
    for i in range(rows.size):
        counts[codes[np.uint32(rows[i])]] += row_counts[i]
    n_groups = 0
    for code in range(n_bins):
        count = counts[code]
        counts[code] = 0
        group_codes[n_groups] = code
        groups[n_groups, 0], groups[n_groups, 1] = count >> 32, count & (_ROW - 1)
        n_groups += count > 0
    count = counts[n_bins]
    counts[n_bins] = 0
    return n_groups, float(count >> 32), float(count & (_ROW - 1))


@njit(cache=True, nogil=True)
def _added(codes, rows, target, weight, begin, end, n_bins, sums, groups, group_codes):
    """The same for rows of any weight."""
    for i in range(begin, end):
        code = codes[rows[i]]
        sums[code, 0] += weight[i]
        sums[code, 1] += weight[i] * target[i]
    n_groups = 0
    for code in range(n_bins):
        if sums[code, 0] > 0:
            group_codes[n_groups] = code
            groups[n_groups, 0], groups[n_groups, 1] = sums[code, 0], sums[code, 1]
            sums[code, 0], sums[code, 1] = 0.0, 0.0
            n_groups += 1
    missing_mass, missing_hits = sums[n_bins, 0], sums[n_bins, 1]
    sums[n_bins, 0], sums[n_bins, 1] = 0.0, 0.0
    return n_groups, missing_mass, missing_hits


@njit(cache=True, nogil=True)
def _summed_by_sorting(
    codes, rows, target, weight, begin, n, n_bins, keys, groups, group_codes,
):  # fmt: skip
    """The same for few rows and many bins. keys = [code | place among the node's rows]."""
    for i in range(n):
        keys[i] = np.uint32(codes[rows[begin + i]]) << np.uint32(16) | np.uint32(i)
    _sort(keys, n)
    n_groups, last = 0, np.int64(-1)
    missing_mass, missing_hits = 0.0, 0.0
    for i in range(n):
        code = np.int64(keys[i] >> np.uint32(16))
        row = begin + np.int64(keys[i] & np.uint32(0xFFFF))
        mass = weight[row] if weight.size else 1.0
        hit = mass * target[row]
        if code == n_bins:
            missing_mass, missing_hits = missing_mass + mass, missing_hits + hit
            continue
        if code != last:
            last = code
            group_codes[n_groups] = code
            groups[n_groups, 0], groups[n_groups, 1] = 0.0, 0.0
            n_groups += 1
        groups[n_groups - 1, 0] += mass
        groups[n_groups - 1, 1] += hit
    return n_groups, missing_mass, missing_hits


@njit(cache=True, nogil=True)
def _sort(keys, n):
    """Shell sort of the first n keys: fast for few keys, and it compiles quickly."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            at = i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3


@njit(cache=True, nogil=True)
def _in_order_of_hits(groups, group_codes, n_groups):
    """Sort categories by their share of hits; return the sums of the rare ones."""
    rare_mass, rare_hits = 0.0, 0.0
    n_kept = 0
    for group in range(n_groups):
        mass, hits, code = groups[group, 0], groups[group, 1], group_codes[group]
        if mass < _LITTLE_OF_A_CATEGORY:
            rare_mass, rare_hits = rare_mass + mass, rare_hits + hits
            continue
        at = n_kept
        while at > 0 and groups[at - 1, 1] * mass > hits * groups[at - 1, 0]:
            groups[at, 0], groups[at, 1] = groups[at - 1, 0], groups[at - 1, 1]
            group_codes[at] = group_codes[at - 1]
            at -= 1
        groups[at, 0], groups[at, 1], group_codes[at] = mass, hits, code
        n_kept += 1
    return n_kept, rare_mass, rare_hits


@njit(cache=True, nogil=True)
def _scan(
    groups, n_groups, missing_mass, missing_hits, mass, hits, factor, criterion, min_leaf,
):  # fmt: skip
    """Return score, last group on the left, side of the missing, and the left side's sums."""
    best, best_at, best_missing = -np.inf, 0, 0
    best_mass, best_hits = 0.0, 0.0
    for is_missing_left in range(2 if missing_mass > 0 else 1):
        left_mass, left_hits = missing_mass * is_missing_left, missing_hits * is_missing_left
        # with all groups on the left, it is a cut only if missing values go right
        has_missing_right = missing_mass > 0 and not is_missing_left
        n_cuts = n_groups if has_missing_right else n_groups - 1
        for group in range(n_cuts):
            before = left_mass
            left_mass += groups[group, 0]
            left_hits += groups[group, 1]
            if left_mass < min_leaf:
                continue
            if mass - left_mass < min_leaf:
                break
            # the first and the last possible cut are ends of a run, too
            if (
                criterion == ENTROPY
                and before > 0
                and before >= min_leaf
                and group + 2 < n_groups + has_missing_right
                and mass - left_mass - groups[group + 1, 0] >= min_leaf
                and _are_alike(groups, group)
            ):
                continue
            score = _score(criterion, left_mass, left_hits, mass, hits, factor)
            if score > best + _MARGIN * mass:
                best, best_at, best_missing = score, group, is_missing_left
                best_mass, best_hits = left_mass, left_hits
    if missing_mass == 0:  # any that come later go with the majority
        best_missing = 1 if best_mass * 2 > mass else 0
    return best, best_at, best_missing, best_mass, best_hits


@njit(cache=True, nogil=True)
def _are_alike(groups, group):
    """Whether this group and the next are both of one and the same class."""
    hits, next_hits = groups[group, 1], groups[group + 1, 1]
    if hits == 0:
        return next_hits == 0
    return hits == groups[group, 0] and next_hits == groups[group + 1, 0]


@njit(cache=True, nogil=True)
def _score(criterion, left_mass, left_hits, mass, hits, factor):
    right_mass, right_hits = mass - left_mass, hits - left_hits
    if criterion == AP:
        squares = (left_hits * left_hits + right_hits * right_hits) * mass
        return (squares + (left_mass * right_hits + right_mass * left_hits) * hits) / (hits * mass)
    left_others, right_others = left_mass - left_hits, right_mass - right_hits
    left_hits, right_hits = factor * left_hits, factor * right_hits
    if criterion == GINI:
        left = (left_hits * left_hits + left_others * left_others) / (left_hits + left_others)
        right = right_hits * right_hits + right_others * right_others
        return left + right / (right_hits + right_others)
    if criterion == ENTROPY:
        return _entropy(left_hits, left_others) + _entropy(right_hits, right_others)
    return max(left_hits + right_others, right_hits + left_others)


@njit(cache=True, nogil=True)
def _score_uncut(criterion, mass, hits, factor):
    if criterion == AP:
        return hits
    others, hits = mass - hits, factor * hits
    if criterion == GINI:
        return (hits * hits + others * others) / (hits + others)
    if criterion == ENTROPY:
        return _entropy(hits, others)
    return max(hits, others)


@njit(cache=True, nogil=True)
def _entropy(hits, others):
    # rounding may leave it slightly below 0
    if hits <= 0 or others <= 0:
        return 0.0
    mass = hits + others
    return hits * np.log(hits / mass) + others * np.log(others / mass)


@njit(cache=True, nogil=True)
def _ap_left_out(left_mass, left_hits, mass, hits):
    """One minus the average precision that ranks the left side first, then the right side."""
    right_mass, right_hits = mass - left_mass, hits - left_hits
    left = left_hits * left_hits / (hits * left_mass) + right_hits / mass
    right = right_hits * right_hits / (hits * right_mass) + left_hits / mass
    return 1 - left, 1 - right

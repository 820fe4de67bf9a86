"""Slow, obvious twins of the package's kernels and metrics, to compare with on small input."""

from itertools import permutations, product
from math import factorial

import numpy as np
from scipy.special import expit, logsumexp

# Metrics: labels are a bool vector, a higher suspicion is more suspicious.


def average_precision(is_positive, suspicion, negative_weight=1.0):
    weight = np.where(is_positive, 1.0, negative_weight)
    precisions = []
    for score in suspicion[is_positive]:
        above = suspicion >= score
        precisions.append(weight[above & is_positive].sum() / weight[above].sum())
    return np.mean(precisions)


def prevalence_adjusted_ap(is_positive, suspicion, prevalence):
    wanted_odds = prevalence / (1 - prevalence)
    present_odds = is_positive.sum() / (~is_positive).sum()
    return average_precision(is_positive, suspicion, present_odds / wanted_odds)


def found_at_k(is_positive, suspicion, k):
    """Sum, over the positives, the chance of being among the first k."""
    found = 0.0
    for score in suspicion[is_positive]:
        places_left = k - np.sum(suspicion > score)
        found += np.clip(places_left / np.sum(suspicion == score), 0, 1)
    return found


def found_at_k_over_all_orders(is_positive, suspicion, k):
    """Break the ties in every possible way and take the mean."""
    found = []
    for order in map(list, permutations(range(suspicion.size))):
        first = np.argsort(-suspicion[order], kind="stable")[:k]
        found.append(is_positive[order][first].sum())
    return np.mean(found)


def positives_at_top(is_positive, suspicion):
    return np.mean(suspicion[is_positive] > suspicion[~is_positive].max())


def roc_auc(is_positive, suspicion):
    ahead = suspicion[is_positive][:, None] - suspicion[~is_positive]
    return np.mean((ahead > 0) + (ahead == 0) / 2)


def partial_roc_auc(is_positive, suspicion, max_fpr):
    """Average the curve's height over many evenly spaced false positive rates."""
    false_positives, found = _roc_points(is_positive, suspicion)
    rates = max_fpr * _midpoints()
    heights = np.interp(rates * np.sum(~is_positive), false_positives, found)
    return np.mean(heights) / is_positive.sum()


def precision_recall_gain(is_positive, suspicion):
    """Average the precision gain over many evenly spaced recall gains."""
    false_positives, found = _roc_points(is_positive, suspicion)
    share = is_positive.mean()
    recall = share / (1 - (1 - share) * _midpoints())  # has the midpoint as its gain
    found_there = recall * is_positive.sum()
    wrong_there = np.interp(found_there, found, false_positives)
    precision = found_there / (found_there + wrong_there)
    return np.mean((precision - share) / ((1 - share) * precision))


def best_f_beta(is_positive, suspicion, beta):
    return max(f_beta(is_positive, suspicion >= score, beta) for score in suspicion)


def f_beta(is_positive, called, beta):
    if not np.any(is_positive & called):
        return 0.0
    precision, recall = is_positive[called].mean(), called[is_positive].mean()
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def resampled_values(metric, is_positive, suspicion, n_resamples, seed):
    """Measure the metric on rows that are each repeated a Poisson(1) number of times."""
    generator = np.random.default_rng(seed)
    values = []
    while len(values) < n_resamples:
        rows = np.repeat(np.arange(suspicion.size), generator.poisson(1, suspicion.size))
        if 0 < is_positive[rows].sum() < rows.size:
            values.append(metric(is_positive[rows], suspicion[rows]))
    return np.array(values)


def _roc_points(is_positive, suspicion):
    thresholds = [np.inf, *np.unique(suspicion)[::-1]]
    called = [suspicion >= threshold for threshold in thresholds]
    false_positives = [np.sum(each & ~is_positive) for each in called]
    return false_positives, [np.sum(each & is_positive) for each in called]


def _midpoints(n=40_000):
    return (np.arange(n) + 0.5) / n


# Losses: the sums written out, row by row.


def log_loss(is_positive, raw, weight=None):
    """The logistic loss, summed over rows."""
    weight = np.ones(len(raw)) if weight is None else weight
    total = 0.0
    for positive, score, w in zip(is_positive, raw, weight, strict=True):
        total += w * np.logaddexp(0.0, -score if positive else score)
    return total


def ap_exp_log(is_positive, raw, weight=None):
    """-log of the positives' share of sum w exp(f)."""
    weight = np.ones(len(raw)) if weight is None else weight
    terms = np.asarray(raw, dtype=float) + np.log(weight)
    return np.logaddexp.reduce(terms) - np.logaddexp.reduce(terms[np.asarray(is_positive)])


def ap_exp_paper(is_positive, raw, weight=None):
    """The negatives' share of sum w exp(f)."""
    weight = np.ones(len(raw)) if weight is None else weight
    terms = np.asarray(raw, dtype=float) + np.log(weight)
    return np.exp(
        np.logaddexp.reduce(terms[~np.asarray(is_positive)]) - np.logaddexp.reduce(terms)
    )


def ap_sigmoid(is_positive, raw, weight=None, alpha=1.0):
    """The positives' mean of N / (R + N), by weight."""
    weight = np.ones(len(raw)) if weight is None else weight
    above, peers = _above_and_peers(is_positive, raw, weight, alpha)
    return np.average(above / (peers + above), weights=weight[is_positive])


def ap_sigmoid_gradient(is_positive, raw, weight=None, alpha=1.0):
    """The gradient, and for each row the sum of its absolute terms."""
    weight = np.ones(len(raw)) if weight is None else weight
    above, peers = _above_and_peers(is_positive, raw, weight, alpha)
    share = weight[is_positive] / weight[is_positive].sum()
    u, v = (share * part / (peers + above) ** 2 for part in (peers, above))
    x = alpha * (raw[is_positive][:, None] - raw)
    d = alpha * expit(x) * expit(-x) * weight  # a row per positive, a column per row
    d[np.arange(above.size), np.flatnonzero(is_positive)] = 0.0
    push, pull = d[:, ~is_positive], d[:, is_positive]
    gradient, absolute = np.empty(len(raw)), np.empty(len(raw))
    gradient[~is_positive] = absolute[~is_positive] = u @ push
    lifted, carried, held = u * push.sum(1), v * pull.sum(1), v @ pull
    gradient[is_positive] = carried - lifted - held
    absolute[is_positive] = carried + lifted + held
    return gradient, absolute


def ap_lambda_weights(is_positive, raw, weight=None, alpha=1.0):
    """The weight of each positive's pairs: w u."""
    weight = np.ones(len(raw)) if weight is None else weight
    above, peers = _above_and_peers(is_positive, raw, weight, alpha)
    share = weight[is_positive] / weight[is_positive].sum()
    return share * peers / (peers + above) ** 2


def ap_lambda(is_positive, raw, weight=None, alpha=1.0, pair_weights=None):
    """The softplus of all pairs, weighted at the given scores unless `pair_weights` are."""
    if pair_weights is None:
        pair_weights = ap_lambda_weights(is_positive, raw, weight, alpha)
    weight = np.ones(len(raw)) if weight is None else weight
    ahead = raw[~is_positive] - raw[is_positive][:, None]
    return pair_weights @ np.logaddexp(0.0, alpha * ahead) @ weight[~is_positive] / alpha


def ap_lambda_gradient(is_positive, raw, weight=None, alpha=1.0):
    """The gradient and the curvature of `ap_lambda` with its pairs' weights fixed."""
    pair_weights = ap_lambda_weights(is_positive, raw, weight, alpha)
    weight = np.ones(len(raw)) if weight is None else weight
    ahead = alpha * (raw[~is_positive] - raw[is_positive][:, None])
    pairs = pair_weights[:, None] * weight[~is_positive]
    slope, bend = pairs * expit(ahead), alpha * pairs * expit(ahead) * expit(-ahead)
    gradient, curvature = np.empty(len(raw)), np.empty(len(raw))
    gradient[is_positive], gradient[~is_positive] = -slope.sum(1), slope.sum(0)
    curvature[is_positive], curvature[~is_positive] = bend.sum(1), bend.sum(0)
    return gradient, curvature


def ap_card(is_positive, raw, groups, of_cards, temperature, weight=None):
    """The loss of the cards, each with a smooth maximum of its rows; group -1 is on no list."""
    weight = np.ones(len(raw)) if weight is None else weight
    labels, scores, weights = [], [], []
    for group in sorted(set(groups.tolist()) - {-1}):
        rows = (groups == group) & (weight > 0)
        if rows.any():
            labels.append(is_positive[rows].any())
            scores.append(temperature * np.logaddexp.reduce(raw[rows] / temperature))
            weights.append(weight[rows].max())
    if len(set(labels)) < 2:
        return 0.0
    return of_cards(np.array(labels), np.array(scores), np.array(weights))


def _above_and_peers(is_positive, raw, weight, alpha):
    """N and R of each positive."""
    over = expit(alpha * (raw - raw[is_positive][:, None])) * weight
    return over[:, ~is_positive].sum(1), over[:, is_positive].sum(1)


def auc_exp(is_positive, raw, weight=None):
    """log of the sum over pairs of w_i w_j exp(f_j - f_i)."""
    weight = np.ones(len(raw)) if weight is None else weight
    pairs = [
        np.log(weight[i]) + logsumexp(raw[~is_positive] - raw[i], b=weight[~is_positive])
        for i in np.flatnonzero(is_positive)
    ]
    return logsumexp(pairs)


def auc_hinge(is_positive, raw, weight=None, tau=0.7, p=2.0):
    """The pairs' mean of max(0, tau - f_i + f_j)^p, by weight."""
    weight = np.ones(len(raw)) if weight is None else weight
    total = 0.0
    for i in np.flatnonzero(is_positive):
        hinge = np.maximum(0.0, tau - raw[i] + raw[~is_positive])
        total += weight[i] * np.average(hinge**p, weights=weight[~is_positive])
    return total / weight[is_positive].sum()


def auc_hinge_gradient(is_positive, raw, weight=None, tau=0.7, p=2.0):
    """The gradient of `auc_hinge` and the diagonal of its Hessian."""
    weight = np.ones(len(raw)) if weight is None else weight
    margin = tau - raw[is_positive][:, None] + raw[~is_positive]
    pairs = np.outer(weight[is_positive], weight[~is_positive])
    pairs = pairs / pairs.sum() * (margin > 0)
    margin = np.where(margin > 0, margin, 1.0)
    slope, bend = pairs * p * margin ** (p - 1), pairs * p * (p - 1) * margin ** (p - 2)
    gradient, curvature = np.empty(len(raw)), np.empty(len(raw))
    gradient[is_positive], gradient[~is_positive] = -slope.sum(1), slope.sum(0)
    curvature[is_positive], curvature[~is_positive] = bend.sum(1), bend.sum(0)
    return gradient, curvature


# Weak rankers: every pair written out, every cut tried.


def pairs_exp(is_positive, raw, weight):
    """w_i w_j exp(f_j - f_i) of every positive i (a row) and negative j (a column)."""
    ahead = raw[~is_positive] - raw[is_positive][:, None]
    return np.outer(weight[is_positive], weight[~is_positive]) * np.exp(ahead)


def rank_boost(features, is_positive, weight, n_rounds, depth):
    """The scores of RankBoost after so many rounds; ahead are rows of h = 1."""
    raw = np.zeros(is_positive.size)
    for _ in range(n_rounds):
        is_ahead = best_weak_ranker(features, is_positive, raw, weight, depth)
        r = weak_ranker_earns(is_ahead, is_positive, raw, weight)
        raw += np.log((1 + r) / (1 - r)) / 2 * is_ahead
    return raw


def weak_ranker_earns(is_ahead, is_positive, raw, weight):
    """r: the mean over pairs, by their distribution, of h_i - h_j."""
    pairs = pairs_exp(is_positive, raw, weight)
    gained = is_ahead[is_positive][:, None].astype(float) - is_ahead[~is_positive]
    return np.sum(pairs * gained) / pairs.sum()


def best_weak_ranker(features, is_positive, raw, weight, depth):
    """Which rows a greedily grown tree puts ahead, each cut the one that adds most to r."""

    def earns(part):
        return max(weak_ranker_earns(part, is_positive, raw, weight), 0.0)

    def grown(part, levels):
        cuts = [below for column in features.T for below in _every_cut(column)] if levels else []
        halves = [(part & below, part & ~below) for below in cuts]
        worth = [earns(left) + earns(right) for left, right in halves]
        if max(worth, default=0.0) <= earns(part) + 1e-9:
            return part & (earns(part) > 0)
        left, right = halves[int(np.argmax(worth))]
        return grown(left, levels - 1) | grown(right, levels - 1)

    return grown(np.ones(is_positive.size, dtype=bool), depth)


def _every_cut(column):
    """Which values are below each threshold, with the missing ones on either side."""
    for threshold in [*np.unique(column[~np.isnan(column)]), np.inf]:
        yield column < threshold
        yield (column < threshold) | np.isnan(column)


# Non-linear boosting: the latents of given trees, row by row.


def non_linear_boost(heights, is_positive, weight, n_latents, learning_rate):
    """F after each tree; `heights` has one row per tree: its value at every data row."""
    total, positive = weight.sum(), weight[is_positive].sum()
    log_odds = np.log((positive + 0.5) / (total - positive + 0.5))
    n_pairs = (n_latents + 1) // 2
    thresholds = np.linspace(-1, 3, n_latents // 2) if n_latents > 3 else np.ones(n_latents // 2)
    thresholds = [*(log_odds + thresholds), *[log_odds - 10] * (n_latents % 2)]
    sides = [(c, side) for c in thresholds for side in (1, -1)][:n_latents]
    a = np.array([side / n_pairs for _, side in sides])
    b = np.zeros((n_latents, 0))

    def score(a, b):
        """F of every row, and each latent's u."""
        u = [
            [side * (log_odds - c) + b_p @ h[: b_p.size] for h in heights.T]
            for (c, side), b_p in zip(sides, b, strict=True)
        ]
        return np.mean(thresholds) + a @ np.maximum(u, 0), np.array(u)

    def newton(raw, move):
        """The Newton step on a weight whose change by 1 moves each row's score by `move`."""
        probability = expit(raw)
        slope = np.sum(weight * (probability - is_positive) * move)
        bend = np.sum(weight * probability * (1 - probability) * move**2)
        return -slope / bend if bend > 0 else 0.0

    staged = []
    for t, h in enumerate(heights, start=1):
        b = np.column_stack([b, [side for _, side in sides]])
        raw, u = score(a, b)
        for p in range(n_latents):
            b[p, -1] += np.clip(
                learning_rate / n_pairs * newton(raw, a[p] * h * (u[p] > 0)), -1, 1
            )
        raw, u = score(a, b)
        steps = [newton(raw, np.maximum(u_p, 0)) for u_p in u]
        a = a + np.clip(learning_rate / n_pairs / t * np.array(steps), -1 / n_pairs, 1 / n_pairs)
        staged.append(score(a, b)[0])
    return np.array(staged)


# Ranking trees: every cut tried, every leaf put in order, every path walked.
# A side's hits are the mass of its positives.


def cut_score(criterion, is_left, target, weight, factor=1.0):
    """What the cut is worth, a positive counting `factor` times; every row on one side: no cut."""
    if criterion == "ap":
        if is_left.all():
            return np.sum(weight * target)
        mass_left, mass_right = weight[is_left].sum(), weight[~is_left].sum()
        return mass_left * ap_of_first(is_left, target, weight) + mass_right * ap_of_first(
            ~is_left, target, weight
        )
    weight = np.where(target > 0, factor * weight, weight)
    parts = [(weight[s] @ target[s], weight[s] @ (1 - target[s])) for s in (is_left, ~is_left)]
    if criterion == "error":
        (hits_left, others_left), (hits_right, others_right) = parts
        return max(hits_left + others_right, hits_right + others_left)
    return -sum(_impurity(criterion, *part) for part in parts)


def impurity(criterion, groups, is_positive, weight):
    """The mass of every group times its gini index or its entropy, summed."""
    total = 0.0
    for group in np.unique(groups):
        w, y = weight[groups == group], is_positive[groups == group]
        total += w.sum() if criterion == "gini" else 0.0
        total += _impurity(criterion, w @ y, w @ ~y)
    return total


def _impurity(criterion, hits, others):
    """Of gini without the mass, which all cuts have in common."""
    shares = [share for share in (hits, others) if share > 0]
    if criterion == "gini":
        return -sum(share**2 for share in shares) / sum(shares) if shares else 0.0
    return -sum(share * np.log(share / sum(shares)) for share in shares)


def ap_of_first(is_first, target, weight):
    """The average precision of the list that ranks these rows first, the others after them."""
    found = weight @ target
    found_first = weight[is_first] @ target[is_first]
    precision = found_first / weight[is_first].sum()
    return found_first / found * precision + (found - found_first) / weight.sum()


def sides_of_cuts(column, is_category, target, weight):
    """Which rows go left, for every cut of a column; those of no known value to either side."""
    is_known = ~np.isnan(column)
    steps = [column == value for value in np.unique(column[is_known])]
    if is_category:
        steps = [step for step in steps if weight[step].sum() >= 5]
        steps.sort(key=lambda step: (weight[step] @ target[step]) / weight[step].sum())
        is_known = np.any([*steps, np.zeros(column.size, bool)], axis=0)
    for unknown_left in (False, True):
        is_left = ~is_known & unknown_left
        for step in steps:
            is_left = is_left | step
            if 0 < is_left.sum() < column.size:
                yield is_left


def best_cut(features, is_category, target, weight, criterion, min_leaf=1, factor=1.0):
    """The best score and the rows it sends left, the first of equals; None without any cut."""
    best = None
    if np.unique(target).size < 2:
        return best
    for j, column in enumerate(features.T):
        for is_left in sides_of_cuts(column, is_category[j], target, weight):
            # a limit of one row is none, however little a row weighs
            if min(weight[is_left].sum(), weight[~is_left].sum()) < min_leaf * (min_leaf > 1):
                continue
            score = cut_score(criterion, is_left, target, weight, factor)
            if best is None or score > best[0] + 1e-12 * weight.sum():
                best = score, is_left
    return best


def is_refused(is_left, target, weight, carried):
    """ap's rule: the halves' mean AP must not be below what the cut above promised this node."""
    share = weight[is_left].sum() / weight.sum()
    left, right = (1 - ap_of_first(side, target, weight) for side in (is_left, ~is_left))
    return carried - (share * left + (1 - share) * right) < -1e-12


def local_tree(rows, features, is_category, target, weight, growth):
    """The rows of every leaf, from left to right."""
    positive_mass = weight[rows] @ target[rows]
    is_weighed = growth.is_balanced and positive_mass > 0
    factor = (weight[rows].sum() - positive_mass) / positive_mass if is_weighed else 1.0

    def grown(rows, levels, carried):
        x, y, w = features[rows], target[rows], weight[rows]
        cut = best_cut(x, is_category, y, w, growth.criterion, growth.min_leaf, factor)
        if levels == 0 or cut is None:
            return [rows]
        left = cut[1]
        if growth.criterion != "ap":
            promised = 0.0, 0.0
        elif is_refused(left, y, w, carried):
            return [rows]
        else:
            promised = 1 - ap_of_first(left, y, w), 1 - ap_of_first(~left, y, w)
        return [
            *grown(rows[left], levels - 1, promised[0]),
            *grown(rows[~left], levels - 1, promised[1]),
        ]

    return grown(rows, growth.depth, 1 - positive_mass / weight[rows].sum())


def first_leaves(leaves, is_positive, weight, aim):
    """Which leaves make up the left union: a prefix of their order, the shortest of the best."""
    mass = np.array([weight[leaf].sum() for leaf in leaves])
    hits = np.array([weight[leaf] @ is_positive[leaf] for leaf in leaves])
    recall = hits / hits.sum()
    with np.errstate(divide="ignore"):
        # (1 - precision) / recall but for a constant; one division keeps equal leaves equal
        rising = {"ap": (mass - hits) / (mass * hits), "auc": (mass - hits) / hits}[aim]
    order = np.argsort(rising, kind="stable")
    worth = []
    for n in range(1, order.size + 1):
        first = order[:n]
        found, wrong = hits[first].sum(), (mass - hits)[first].sum()
        if aim == "ap":
            precise = found / (found + wrong)
            worth.append(
                precise * recall[first].sum() + (1 - recall[first].sum()) * hits.sum() / mass.sum()
            )
        else:
            worth.append(found / hits.sum() - wrong / (mass - hits).sum())
    n_first = 1 + next(i for i, each in enumerate(worth) if each >= max(worth) - 1e-12)
    return np.isin(np.arange(order.size), order[:n_first])


def ranking_tree(features, is_category, is_positive, weight, growth, global_depth, aim):
    """The rank of every row's group, 0 the most suspicious: MetaAP and TreeRank."""

    def groups(rows, levels):
        if levels == 0 or np.unique(is_positive[rows]).size < 2:
            return [rows]
        target = is_positive.astype(float)
        leaves = local_tree(rows, features, is_category, target, weight, growth)
        first = first_leaves(leaves, is_positive, weight, aim)
        if first.all():
            return [rows]
        halves = [
            np.concatenate([leaf for leaf, is_first in zip(leaves, side, strict=True) if is_first])
            for side in (first, ~first)
        ]
        return [*groups(halves[0], levels - 1), *groups(halves[1], levels - 1)]

    rank = np.empty(is_positive.size, dtype=int)
    for number, rows in enumerate(groups(np.arange(is_positive.size), global_depth)):
        rank[rows] = number
    return rank


def goes_left(tree, node, row):
    """Whether a row goes left at a cut."""
    nodes = tree.nodes
    value = row[nodes.column[node]]
    if np.isnan(value):
        return bool(nodes.is_missing_left[node])
    if nodes.set_start[node] >= 0:
        return bool(tree.goes_left[nodes.set_start[node] + int(value)])
    return bool(value <= nodes.threshold[node])


def path_of(tree, row, number=0):
    """The nodes a row passes, cuts and leaves of local trees, down to the leaf of its group."""
    nodes, node = tree.nodes, tree.roots[number]
    path = [node]
    while nodes.left[node] >= 0:
        is_leaf = nodes.column[node] < 0
        node = nodes.left[node] if is_leaf or goes_left(tree, node, row) else nodes.right[node]
        path.append(node)
    return path


def soft_mean(tree, row, width, value):
    """The mean of leaves' values on the soft path, no part of a row being too small to count."""
    nodes = tree.nodes

    def mean(node):
        if nodes.column[node] < 0:
            return value[node] if nodes.left[node] < 0 else mean(nodes.left[node])
        x = row[nodes.column[node]]
        is_hard = np.isnan(x) or nodes.set_start[node] >= 0 or np.isinf(nodes.threshold[node])
        if is_hard:
            share = float(goes_left(tree, node, row))
        else:
            share = expit(-(x - nodes.threshold[node]) / width[nodes.column[node]])
        return share * mean(nodes.left[node]) + (1 - share) * mean(nodes.right[node])

    return mean(tree.roots[0])


def border_distance(tree, row, is_whole_path=False):
    """The distance to the path's nearest cut, signed by the leaf's majority, and its column."""
    nodes = tree.nodes
    path = path_of(tree, row)
    cuts = []
    for node in path[:-1]:
        if nodes.column[node] >= 0:
            cuts.append(node)
        elif not is_whole_path:
            cuts = []  # those of the last local tree alone
    distances = [
        (abs(row[nodes.column[node]] - nodes.threshold[node]), nodes.column[node])
        for node in cuts
        if nodes.set_start[node] < 0
    ]
    finite = [each for each in distances if np.isfinite(each[0])]
    nearest, column = min(finite, key=lambda each: each[0], default=(0.0, -1))
    return nearest * np.sign(2 * nodes.hits[path[-1]] - nodes.mass[path[-1]]), column


# Trees of XGBoost, as the dicts it writes: the shares of features by the definition of Shapley.


def xgboost_shares(trees, row):
    """Return each feature's share of the sum of the trees, and last the mean of all rows."""
    shares = np.zeros(row.size + 1)
    for tree in trees:
        used = {
            tree["split_indices"][i] for i, left in enumerate(tree["left_children"]) if left > 0
        }
        for order in permutations(used):
            known = set()
            for column in order:
                before = _mean_knowing(tree, row, known, 0)
                known.add(column)
                gain = _mean_knowing(tree, row, known, 0) - before
                shares[column] += gain / factorial(len(used))
        shares[-1] += _mean_knowing(tree, row, set(), 0)
    return shares


def xgboost_path_shares(trees, row):
    """Return what the cuts on the row's paths change in the mean, and last where they begin."""
    shares = np.zeros(row.size + 1)
    for tree in trees:
        node = 0
        shares[-1] += _mean_knowing(tree, row, set(), node)
        while tree["left_children"][node] >= 0:
            child = _xgboost_child(tree, row, node)
            gain = _mean_knowing(tree, row, set(), child) - _mean_knowing(tree, row, set(), node)
            shares[tree["split_indices"][node]] += gain
            node = child
    return shares


def _mean_knowing(tree, row, known, node):
    """Return the mean leaf below a node where only some features of the row are known."""
    left, right = tree["left_children"][node], tree["right_children"][node]
    if left < 0:
        return tree["split_conditions"][node]
    if tree["split_indices"][node] in known:
        return _mean_knowing(tree, row, known, _xgboost_child(tree, row, node))
    cover = tree["sum_hessian"]
    below = [_mean_knowing(tree, row, known, side) for side in (left, right)]
    if cover[node] == 0:
        return np.mean(below)
    return (below[0] * cover[left] + below[1] * cover[right]) / cover[node]


def _xgboost_child(tree, row, node):
    value = row[tree["split_indices"][node]]
    if np.isnan(value):
        goes_left = tree["default_left"][node]
    elif tree["split_type"][node]:
        place = list(tree["categories_nodes"]).index(node)
        first, size = tree["categories_segments"][place], tree["categories_sizes"][place]
        goes_left = int(value) not in tree["categories"][first : first + size]
    else:
        goes_left = value < np.float32(tree["split_conditions"][node])
    return tree["left_children" if goes_left else "right_children"][node]


# Histograms of scores: the possible orders of rows that share a bin.


def binned(scores):
    """Keep the sign, the exponent and 7 bits behind the first of each number's mantissa."""
    mantissa, exponent = np.frexp(np.float32(scores))
    return np.ldexp(np.trunc(mantissa * 256), exponent)


def values_over_all_orders_within(metric, is_positive, bins):
    """Order the rows of each bin in every possible way, ties included, and measure each time."""
    places = product(range(bins.size), repeat=bins.size)
    levels = np.unique(bins, return_inverse=True)[1] * bins.size
    return [metric(is_positive, levels + np.array(place)) for place in places]


# Online boosting: every past row, label and weight is kept and processed again.


class OnlineTwin:
    """An online booster in plain matrices, which begins with the weights it is given.

    `units` is (input, unit), its first rows those of buckets; `parts` holds the rest by name.
    `coin(n_rows, learner)` gives the numbers in [0, 1) that AdaBoost.OL samples by.
    """

    def __init__(self, rule, units, parts, n_buckets, coin=None, **settings):
        self.rule, self.n_buckets, self.coin = rule, n_buckets, coin
        self.update = settings.get("update", "full")
        self.rate, self.step = settings.get("rate", 0.1), settings.get("step", 1.0)
        self.edge, self.is_averaged = settings.get("edge", 0.1), settings.get("averaged", False)
        self.is_balanced = settings.get("balanced", False)
        self.loss = settings.get("loss", "log")
        self.weights = {"units": units.copy(), **{name: parts[name].copy() for name in parts}}
        self.is_wide = settings.get("wide", False)
        n_outputs = parts["output bias"].shape[1]
        self.weights["wide"] = np.zeros((len(units), n_outputs))  # stays 0 if it is not wide
        self.squares = {name: np.zeros_like(self.weights[name]) for name in self.weights}
        self.inputs = []  # of the row at hand
        self.rows, self.labels, self.scores, self.kept = [], [], [], []
        self.mistakes = np.zeros(self.n_learners)
        self.slope_start = np.array([1.0, 0.0])
        self.calibration_squares = np.zeros(2)

    @property
    def n_learners(self):
        return self.weights["output bias"].shape[0]

    @property
    def n_outputs(self):
        return self.weights["output bias"].shape[1]

    def grow(self, parts):
        """Add outputs, with the weights that they would have had from the start."""
        n_inputs, n_outputs = len(self.weights["units"]), parts["output bias"].shape[1]
        for name, new in {**parts, "wide": np.zeros((n_inputs, n_outputs))}.items():
            for weights in (self.weights, self.squares, *self.kept):
                grown = np.zeros_like(new) if weights is self.squares else new.copy()
                grown[..., : weights[name].shape[-1]] = weights[name]
                weights[name] = grown

    def learn(self, values, buckets, label, weight=1.0):
        before = self.score(values, buckets)
        if self.n_outputs == 1:
            self._calibrate(before[0], label, weight)
        self.rows.append(values)
        self.labels.append(label)
        if self.is_balanced:
            counts = np.bincount(self.labels, minlength=self.n_outputs + 1)
            counts = counts + 100  # rows of each class before the first
            weight = weight * counts.sum() / (counts.size * counts[label])
        if self.loss == "ap":
            weight = weight * self._precision_of_the_list(before[0])
        self.scores.append(before[0])
        self.inputs = inputs = self._inputs(values, buckets)
        hidden, outputs = self._forward(inputs, self.weights)
        of_outputs, gradients = self._gradients(outputs, label, weight)
        gradients |= self._network_gradients(hidden, of_outputs)
        of_units = gradients["unit bias"][:, 0]
        for place, amount in inputs:  # one by one: two columns may share a bucket
            self._move("units", weight * amount * of_units, place)
            if self.is_wide:
                self._move("wide", weight * amount * gradients["constant"][0], place)
        for name, gradient in gradients.items():
            self._move(name, weight * gradient)
        self.kept.append({name: self.weights[name].copy() for name in self.weights})

    def score(self, values, buckets):
        """The raw scores by the weights as they are, or by their mean where row i counts i^8."""
        if not self.rows:
            return np.zeros(self.n_outputs)
        weights = dict(self.weights)
        if self.is_averaged:
            counts = np.arange(1.0, len(self.kept) + 1) ** 8
            for name in weights:
                if name not in ("alpha", "trust", "shrinkage"):
                    past = [kept[name] for kept in self.kept]
                    weights[name] = np.average(past, axis=0, weights=counts)
        self.inputs = self._inputs(values, buckets)
        outputs = self._forward(self.inputs, weights)[1]
        return self.combined(outputs, weights)

    def loss_of_first(self, n_first, inputs, label, weights):
        """The log-loss of the model restricted to its first learners."""
        outputs = self._forward(inputs, weights)[1]
        raw = self.combined(outputs, weights, n_first)
        return logsumexp(np.append(0, raw)) - np.append(0, raw)[label]

    def combined(self, outputs, weights, n_first=None):
        n_first = self.n_learners if n_first is None else n_first
        outputs = outputs[:n_first]
        votes = np.sign(outputs[:, 0])
        if self.rule == "non-linear":
            latents = self._latents(outputs, weights)
            straight = sum(
                (each * weights["wide"][place] for place, each in self.inputs), start=0.0
            )
            of_latents = np.sum(weights["latent"] * np.maximum(latents, 0), 0)
            return weights["constant"][0] + straight + of_latents
        if self.rule == "linear":
            return weights["constant"][0] + np.sum(weights["share"][:n_first] * outputs, axis=0)
        if self.rule == "majority":
            return np.array([votes.sum() + np.tanh(outputs.mean()) / 2])
        if self.rule == "importance":
            return np.array([weights["alpha"][:, 0] @ votes])
        if self.rule == "adaptive":
            of_experts = np.cumsum(weights["alpha"][:, 0] * votes)
            trust = np.exp(self.mistakes.min() - self.mistakes)
            return np.array([trust @ of_experts / trust.sum()])
        shrinkages = weights.get("shrinkage", np.zeros((self.n_learners, 1)))[:, 0]
        raw = 0.0
        for output, shrinkage in zip(outputs[:, 0], shrinkages, strict=False):
            raw = (1 - self.step * shrinkage) * raw + self.step * output
        return np.array([raw])

    def active(self, values, buckets):
        """The inputs of a row after it has updated the statistics of the columns."""
        self.rows.append(values)
        return self._inputs(values, buckets)

    def _inputs(self, values, buckets):
        """Pairs of place and amount; numbers in standard deviations from the mean of all seen."""
        inputs = []
        for j, (value, bucket) in enumerate(zip(values, buckets, strict=True)):
            if bucket >= 0:
                inputs.append((int(bucket), 1.0))
                continue
            past = [row[j] for row in self.rows if j < len(row) and not np.isnan(row[j])]
            if np.isin([*past, value], (0, 1)).all():
                amount = value
            elif len(past) < 2 or np.ptp(past) == 0:
                amount = 0.0
            else:
                away = (value - np.mean(past)) / np.std(past)
                amount = np.arcsinh(away) if self.is_wide else np.clip(away, -5, 5)
            inputs.append((self.n_buckets + j, amount))
        return [(place, amount) for place, amount in inputs if amount]

    def _forward(self, inputs, weights):
        hidden = weights["unit bias"][:, 0].copy()
        for place, amount in inputs:
            hidden += amount * weights["units"][place]
        hidden = np.maximum(hidden, 0)
        by_learner = hidden.reshape(self.n_learners, -1)
        last = weights["output"].reshape(*by_learner.shape, self.n_outputs)
        return hidden, weights["output bias"] + np.einsum("tk,tkj->tj", by_learner, last)

    def _latents(self, outputs, weights):
        projection = weights["projection"][: len(outputs)]
        return weights["latent bias"] + np.einsum("tpj,tj->pj", projection, outputs)

    def _slope(self, outputs, label, n_first=None):
        """Probability minus truth of the model restricted to its first learners."""
        raw = np.append(0, self.combined(outputs, self.weights, n_first))
        return np.exp(raw - logsumexp(raw))[1:] - (np.arange(1, raw.size) == label)

    def _gradients(self, outputs, label, weight):
        """The gradients of the outputs and of what combines them."""
        if self.rule in ("non-linear", "linear"):
            return self._gradients_of_stages(outputs, label)
        side = 2 * label - 1
        of_weak = expit(outputs) - label  # of the log-loss of each weak learner alone
        votes = np.sign(outputs[:, 0])
        if self.rule == "majority":
            return majority_weights(side * votes, self.edge)[:, None] * of_weak, {}
        if self.rule in ("adaptive", "importance"):
            return self._follow_votes(side * votes, weight)[:, None] * of_weak, {}
        return self._follow_residuals(outputs[:, 0], label, weight), {}

    def _gradients_of_stages(self, outputs, label):
        n_learners = self.n_learners
        stages = [n_learners] * n_learners if self.update == "full" else range(1, n_learners + 1)
        of_outputs = np.zeros_like(outputs)
        shared = [name for name in ("constant", "latent", "latent bias") if name in self.weights]
        own = "projection" if self.rule == "non-linear" else "share"
        gradients = {name: np.zeros_like(self.weights[name]) for name in [*shared, own]}
        for t, n_first in enumerate(stages):
            slope = self._slope(outputs, label, n_first)
            gradients["constant"][0] += slope / n_learners
            through = slope
            if self.rule == "non-linear":
                latents = self._latents(outputs[:n_first], self.weights)
                through = slope * self.weights["latent"] * (latents > 0)
                gradients["latent"] += slope * np.maximum(latents, 0) / n_learners
                gradients["latent bias"] += through / n_learners
            gradients[own][t] = through * outputs[t]
            own_through = (through * self.weights[own][t]).reshape(-1, self.n_outputs)
            of_outputs[t] = own_through.sum(axis=0)
            if self.update == "residual":
                residual = -self._slope(outputs, label, t)
                of_outputs[t] = 2 * (outputs[t] - residual)
        return of_outputs, gradients

    def _follow_votes(self, rights, weight):
        """AdaBoost's weights of the row, one per learner; moves alpha and counts mistakes."""
        n_rows, alpha = len(self.labels), self.weights["alpha"][:, 0]
        sums = np.cumsum(alpha * rights)
        weights = expit(-np.append(0, sums[:-1]))
        alpha += 4 * weight / np.sqrt(n_rows) * rights * expit(-sums)
        np.clip(alpha, -2, 2, out=alpha)
        self.mistakes = self.mistakes + weight * (sums <= 0)
        self.weights["trust"][:, 0] = self.mistakes.min() - self.mistakes
        if self.rule == "importance":
            return weights
        return np.array([float(self.coin(n_rows, t) < w) for t, w in enumerate(weights)])

    def _follow_residuals(self, outputs, label, weight):
        """The gradient of the square loss to the residuals; moves the shrinkages."""
        shrinkages = self.weights.get("shrinkage", np.zeros((self.n_learners, 1)))[:, 0]
        raw, gradient = 0.0, np.zeros((outputs.size, 1))
        for t, output in enumerate(outputs):
            residual, shrinkage = label - expit(raw), shrinkages[t]
            gradient[t] = 2 * (output - residual)
            if self.rule == "gradient":
                moved = shrinkage - weight * residual * raw / np.sqrt(len(self.labels))
                shrinkages[t] = np.clip(moved, 0, 1)
            raw = (1 - self.step * shrinkage) * raw + self.step * output
        return gradient

    def _network_gradients(self, hidden, of_outputs):
        width = hidden.size // self.n_learners
        of_own = np.repeat(of_outputs, width, axis=0)  # (unit, output)
        through = np.sum(of_own * self.weights["output"], axis=1, keepdims=True)
        return {
            "output bias": of_outputs,
            "output": hidden[:, None] * of_own,
            "unit bias": through * (hidden > 0)[:, None],
        }

    def _move(self, name, gradient, place=slice(None)):
        """Adagrad."""
        self.squares[name][place] += gradient**2
        length = np.sqrt(self.squares[name][place]) + 1e-6
        self.weights[name][place] -= self.rate * gradient / length

    def _calibrate(self, raw, label, weight):
        slope, start = self.slope_start
        gradient = weight * (expit(slope * raw + start) - label) * np.array([raw, 1])
        self.calibration_squares += gradient**2
        self.slope_start -= 0.3 * gradient / (np.sqrt(self.calibration_squares) + 1e-6)
        self.slope_start[0] = max(self.slope_start[0], 1e-3)

    def _precision_of_the_list(self, raw):
        """The precision, drawn to 1 by a tenth, of the past rows in this score's bin or above."""
        places = np.clip(np.floor(np.array([*self.scores, raw]) / 0.25), -48, 47)
        is_listed = places[:-1] >= places[-1]
        age = np.arange(len(self.scores))[::-1]
        count = (1 - 1 / 50_000) ** age * is_listed
        if sum(self.labels) < 20 or not count.any():
            return 1.0
        return 0.1 + 0.9 * np.sum(count * np.array(self.labels[:-1])) / np.sum(count)


def majority_weights(rights, edge):
    """How likely each vote is to decide, by trying all votes to come; likeliest case 1.

    `rights` is 1 where a vote was right, -1 where it was wrong; even votes are a wrong outcome.
    """
    weights = []
    for t in range(len(rights)):
        n_left, ahead = len(rights) - t - 1, sum(rights[:t])
        chances = [
            _chance_to_decide(n_left, other, edge) for other in range(-n_left - 1, n_left + 2)
        ]
        weights.append(_chance_to_decide(n_left, ahead, edge) / max(chances))
    return np.array(weights)


def _chance_to_decide(n_left, ahead, edge):
    chance = 0.0
    for votes in product((1, -1), repeat=n_left):
        is_decided_here = ahead - 1 + sum(votes) <= 0 < ahead + 1 + sum(votes)
        chance += is_decided_here * np.prod([(1 + vote * edge) / 2 for vote in votes])
    return chance


def coin(seed, n_rows, learner):
    """SplitMix64's mixing of a seed, the rows seen and the learner, as a number in [0, 1)."""
    odd, whole = 0x9E3779B97F4A7C15, 2**64
    z = ((seed * odd + n_rows) * 0xD1342543DE82EF95 + (learner + 1) * odd) % whole
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % whole
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % whole
    return ((z ^ (z >> 31)) >> 11) / 2**53


# Rankers of streams


def split_mix(number, seed):
    """Return splitmix64's value for a row's number, between 0 and 1."""
    mask = 2**64 - 1
    z = (number + (seed << 32)) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    z ^= z >> 31
    return ((z >> 11) + 0.5) * 2.0**-53


def corrected_leaves(leaves, is_positive, weight, start, values, curvature):
    """Correct the leaves of trees row by row; return their values and curvatures.

    `leaves` are the numbers of the leaves that each row falls into, one per tree.
    """
    values, curvature = np.array(values, dtype=float), np.array(curvature, dtype=float)
    for own, positive, w in zip(leaves, is_positive, weight, strict=True):
        chance = expit(start + values[own].sum())
        n_trees = len(own)
        mean = n_trees / (1 / curvature[own]).sum()
        n_rows = mean / (chance * (1 - chance))
        odds_before = chance / (1 - chance)
        odds_after = (n_rows * chance + w * positive) / (
            n_rows * (1 - chance) + w * (not positive)
        )
        step = np.log(odds_after / odds_before)
        values[own] += step * mean / curvature[own] / n_trees
        curvature[own] += w * chance * (1 - chance)
    return values, curvature

"""Slow, obvious twins of the package's kernels and metrics, to compare with on small input."""

from itertools import permutations

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
    above, beside = _above_and_beside(is_positive, raw, weight, alpha)
    return np.average(above / (beside + above), weights=weight[is_positive])


def ap_sigmoid_gradient(is_positive, raw, weight=None, alpha=1.0):
    """The gradient, and for each row the sum of its absolute terms."""
    weight = np.ones(len(raw)) if weight is None else weight
    above, beside = _above_and_beside(is_positive, raw, weight, alpha)
    share = weight[is_positive] / weight[is_positive].sum()
    u, v = (share * part / (beside + above) ** 2 for part in (beside, above))
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
    """What each positive's pairs count: w u."""
    weight = np.ones(len(raw)) if weight is None else weight
    above, beside = _above_and_beside(is_positive, raw, weight, alpha)
    share = weight[is_positive] / weight[is_positive].sum()
    return share * beside / (beside + above) ** 2


def ap_lambda(is_positive, raw, weight=None, alpha=1.0, pair_weights=None):
    """The softplus of all pairs, weighed at the scores given unless `pair_weights` are."""
    if pair_weights is None:
        pair_weights = ap_lambda_weights(is_positive, raw, weight, alpha)
    weight = np.ones(len(raw)) if weight is None else weight
    ahead = raw[~is_positive] - raw[is_positive][:, None]
    return pair_weights @ np.logaddexp(0.0, alpha * ahead) @ weight[~is_positive] / alpha


def ap_lambda_gradient(is_positive, raw, weight=None, alpha=1.0):
    """The gradient and the curvature of `ap_lambda` with its pairs' weights held."""
    pair_weights = ap_lambda_weights(is_positive, raw, weight, alpha)
    weight = np.ones(len(raw)) if weight is None else weight
    ahead = alpha * (raw[~is_positive] - raw[is_positive][:, None])
    pairs = pair_weights[:, None] * weight[~is_positive]
    slope, bend = pairs * expit(ahead), alpha * pairs * expit(ahead) * expit(-ahead)
    gradient, curvature = np.empty(len(raw)), np.empty(len(raw))
    gradient[is_positive], gradient[~is_positive] = -slope.sum(1), slope.sum(0)
    curvature[is_positive], curvature[~is_positive] = bend.sum(1), bend.sum(0)
    return gradient, curvature


def _above_and_beside(is_positive, raw, weight, alpha):
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
    """Which values lie below each threshold, with the missing ones on either side."""
    for threshold in [*np.unique(column[~np.isnan(column)]), np.inf]:
        yield column < threshold
        yield (column < threshold) | np.isnan(column)


# Non-linear boosting: the latents of given trees, row by row.


def non_linear_boost(heights, is_positive, weight, n_latents, learning_rate):
    """F after each tree; `heights` has a row a tree, its value at every row of the data."""
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

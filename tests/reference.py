"""Slow, obvious twins of the package's kernels and metrics, to compare with on small input."""

from itertools import permutations

import numpy as np

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

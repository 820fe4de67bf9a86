"""Pairwise rankers with every pair written out."""

import numpy as np
from scipy.optimize import minimize

import reference


def pair_differences(points, is_positive, weight):
    """Return x_i - x_j of every pair of a positive and a negative, and the pairs' weights."""
    gaps = points[is_positive][:, None] - points[~is_positive]
    pairs = np.outer(weight[is_positive], weight[~is_positive])
    return gaps.reshape(-1, points.shape[1]), pairs.ravel() / pairs.sum()


def least_squares_line(points, is_positive, weight, regularization):
    """The line with the least mean of (1 - v.(x_i - x_j))^2 and the norm's share."""
    gaps, share = pair_differences(points, is_positive, weight)
    scatter = gaps.T @ (gaps * share[:, None])
    return np.linalg.solve(scatter + regularization * np.eye(points.shape[1]), share @ gaps)


def least_squares_bumps(kernel, is_positive, weight, regularization):
    """Heights a of bumps around all rows, for K a to have the least squares over pairs."""
    gaps, share = pair_differences(kernel, is_positive, weight)
    scatter = gaps.T @ (gaps * share[:, None]) + regularization * kernel
    return np.linalg.lstsq(scatter, share @ gaps, rcond=1e-13)[0]


def balanced_ridge(points, is_positive, weight, regularization):
    """Line and intercept of the ridge towards 1/2 and -1/2, rows weighing what they are given."""
    design = np.column_stack([points, np.ones(len(points))])
    penalty = regularization * np.diag([1.0] * points.shape[1] + [0.0])
    target = np.where(is_positive, 0.5, -0.5)
    return np.linalg.solve(
        design.T @ (design * weight[:, None]) + penalty, design.T @ (weight * target)
    )


def hinge_line(points, is_positive, weight, C):
    """The line with the least v'v / 2 + C times the mean squared hinge."""

    def cost(line):
        return line @ line / 2 / C + reference.auc_hinge(is_positive, points @ line, weight, 1.0)

    return minimize(cost, np.zeros(points.shape[1]), options={"gtol": 1e-7}).x


def gaussian_kernel(points, centres, gamma):
    return np.array([[np.exp(-gamma * np.sum((x - c) ** 2)) for c in centres] for x in points])

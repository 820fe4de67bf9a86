"""Stochastic gradient boosting as the SGBAP paper writes it (Algorithm 1).

Each round draws a batch, fits a regression tree to the batch's negative gradients and moves
along it by the step that minimises the batch's loss. It is the reference the XGBoost engine is
compared with: exact cuts, no penalty, and slow. The finished trees are handed over as an
XGBoost booster, so that both engines score, explain and save in the same way.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeRegressor

from toprank.boosting.early_stopping import RoundVote
from toprank.boosting.objective import Objective
from toprank.boosting.plan import Phase, Plan, Rows, Training
from toprank.boosting.xgboost_engine import import_xgboost

_LARGEST_STEP = 10.0
"""No score moves further than this in one round: a pure leaf's best step is infinite."""

Step = tuple[DecisionTreeRegressor, float]


def train(
    rows: Rows, plan: Plan, validation: Rows | None, *, max_depth: int, learning_rate: float
) -> Training:
    """Return the booster of Algorithm 1; a `learning_rate` of 1 is the paper's."""
    import_xgboost()  # the trees are handed over to it at the end: better to know now
    start = plan.start(rows)
    steps: list[Step] = []
    history: list[float] = []
    for phase in plan.phases():
        grown = _one_phase(rows, plan, phase, validation, start, steps, max_depth, learning_rate)
        steps += grown.kept
        history += grown.history
    return Training(_as_booster(steps, start, rows.features.shape[1]), history)


class _Grown(NamedTuple):
    kept: list[Step]
    history: list[float]


def _one_phase(
    rows: Rows,
    plan: Plan,
    phase: Phase,
    validation: Rows | None,
    start: float,
    before: list[Step],
    max_depth: int,
    learning_rate: float,
) -> _Grown:
    """Return the trees that one phase adds to those before it."""
    raw = start + _sum_of(before, rows.features)
    vote, held_out = None, np.empty(0)
    if validation is not None and plan.patience is not None:
        vote = RoundVote(validation.is_positive, validation.weight, plan.patience, plan.seed)
        held_out = start + _sum_of(before, validation.features)
        vote.see(held_out)
    objective, steps = plan.objective(phase, rows), []
    for round_ in range(phase.first, phase.first + phase.n_trees):
        tree, length = _one_round(rows, objective, raw, round_, max_depth)
        step = (tree, learning_rate * length)
        steps.append(step)
        raw += _sum_of([step], rows.features)
        plan.report(round_ + 1)
        if vote is not None and validation is not None:
            held_out += _sum_of([step], validation.features)
            vote.see(held_out)
            if vote.is_over:
                break
    if vote is None:
        return _Grown(steps, [])
    # as with XGBoost, a model has one tree at least
    return _Grown(steps[: max(vote.best, 1 - len(before))], vote.history[1:])


def _sum_of(steps: list[Step], features: NDArray[np.float32]) -> NDArray[np.float64]:
    total = np.zeros(len(features))
    for tree, length in steps:
        total += length * tree.predict(features)
    return total


def _one_round(
    rows: Rows, objective: Objective, raw: NDArray, round_: int, max_depth: int
) -> Step:
    """Return the round's tree and its step; the step is 0 when the batch has one class only."""
    weight = objective.batch_weight(round_)
    weight = np.ones(raw.size) if weight is None else weight
    batch = np.flatnonzero(weight)
    tree = DecisionTreeRegressor(max_depth=max_depth, random_state=objective.seed + round_)
    labels = rows.is_positive[batch]
    if not labels.any() or labels.all():
        return tree.fit(rows.features[:1], [0.0]), 0.0
    loss, weight, before = objective.loss, weight[batch], raw[batch]
    # a row of weight w stands for w rows, each with its part of the gradient
    residual = -loss.gradient_curvature(labels, before, weight)[0] / weight
    # about 1 a row: scikit-learn does not cut where the variance is below its rounding error
    residual /= np.average(np.abs(residual), weights=weight) or 1.0
    tree.fit(rows.features[batch], residual, sample_weight=weight)
    direction = tree.predict(rows.features[batch])
    reach = np.abs(direction).max()

    def loss_after(length: float) -> float:
        return loss.value(labels, before + length * direction, weight)

    return tree, best_step(loss_after, _LARGEST_STEP / reach) if reach > 0 else 0.0


def best_step(loss_after: Callable[[float], float], largest: float) -> float:
    """Return the step in [0, largest] with the lowest loss.

    The loss along a direction need not be convex, so a coarse look over four orders of
    magnitude finds the valley before Brent's method goes down it.
    """
    looks = np.concatenate([[0.0], largest * np.logspace(-4, 0, 17)])
    losses = [loss_after(step) for step in looks]
    lowest = int(np.argmin(losses))
    low, high = looks[max(lowest - 1, 0)], looks[min(lowest + 1, looks.size - 1)]
    found = minimize_scalar(loss_after, bounds=(low, high), method="bounded")
    return float(found.x if found.fun < losses[lowest] else looks[lowest])


def _as_booster(steps: list[Step], start: float, n_features: int):
    """Return an XGBoost booster of these trees, each scaled by its step."""
    xgboost = import_xgboost()
    empty = xgboost.DMatrix(np.zeros((1, n_features), dtype=np.float32))
    model = json.loads(xgboost.Booster({"base_score": start}, [empty]).save_raw("json"))
    trees = [_as_xgboost_tree(tree, step, i, n_features) for i, (tree, step) in enumerate(steps)]
    forest = model["learner"]["gradient_booster"]["model"]
    forest["gbtree_model_param"]["num_trees"] = str(len(trees))
    forest["tree_info"] = [0] * len(trees)
    forest["iteration_indptr"] = list(range(len(trees) + 1))
    forest["trees"] = trees
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps(model).encode()))
    return booster


def _as_xgboost_tree(tree: DecisionTreeRegressor, step: float, number: int, n_features: int):
    nodes = tree.tree_
    order, parents = _level_order(nodes.children_left, nodes.children_right)
    place = np.argsort(order)
    left, right = nodes.children_left[order], nodes.children_right[order]
    is_leaf = left < 0
    value = step * nodes.value[order, 0, 0]
    return {
        "base_weights": value.tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": nodes.missing_go_to_left[order].astype(int).tolist(),
        "id": number,
        "left_children": np.where(is_leaf, -1, place[left]).tolist(),
        "right_children": np.where(is_leaf, -1, place[right]).tolist(),
        "loss_changes": _gains(nodes)[order].tolist(),
        "parents": parents,
        "split_conditions": np.where(is_leaf, value, _strict(nodes.threshold[order])).tolist(),
        "split_indices": np.where(is_leaf, 0, nodes.feature[order]).tolist(),
        "split_type": [0] * order.size,
        "sum_hessian": nodes.weighted_n_node_samples[order].tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(n_features),
            "num_nodes": str(order.size),
            "size_leaf_vector": "1",
        },
    }


def _level_order(left: NDArray, right: NDArray) -> tuple[NDArray[np.intp], list[int]]:
    """Return the nodes level by level, siblings side by side, and each one's parent's place.

    XGBoost's contributions take a right child to stand just behind the left one.
    """
    order, parents = [0], [2**31 - 1]
    for place, node in enumerate(order):  # grows while it is walked
        if left[node] >= 0:
            order += [left[node], right[node]]
            parents += [place, place]
    return np.array(order), parents


def _gains(nodes) -> NDArray[np.float64]:
    """Return the fall in squared error that each cut brought."""
    error = nodes.impurity * nodes.weighted_n_node_samples
    children = error[nodes.children_left] + error[nodes.children_right]
    return np.where(nodes.children_left < 0, 0.0, error - children)


def _strict(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return cuts c such that `x < c` for XGBoost is `x <= threshold` for scikit-learn."""
    rounded = threshold.astype(np.float32)
    below = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return np.nextafter(below, np.float32(np.inf))

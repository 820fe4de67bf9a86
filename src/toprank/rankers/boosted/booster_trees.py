"""Single trees in and out of XGBoost boosters, in XGBoost's own JSON.

XGBoost grows trees and scores them; a learner that weights, changes or supplies trees works on
this form: one dict per tree, one list per property, one entry per node.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.rankers.boosted.xgboost_engine import import_xgboost

if TYPE_CHECKING:
    from xgboost import Booster

Tree = dict[str, Any]


def trees_of(booster: Booster) -> list[Tree]:
    """Return the trees of a booster."""
    model = json.loads(booster.save_raw("json"))
    return model["learner"]["gradient_booster"]["model"]["trees"]


def start_of(booster: Booster) -> float:
    """Return the raw score of a booster before its first tree."""
    model = json.loads(booster[:1].save_raw("json"))
    written = json.loads(model["learner"]["learner_model_param"]["base_score"])
    return float(written[0] if isinstance(written, list) else written)


def booster_of(trees: list[Tree], start: float, n_features: int) -> Booster:
    """Return the booster whose raw score is `start` plus the sum of these trees."""
    xgboost = import_xgboost()
    empty = xgboost.DMatrix(np.zeros((1, n_features), dtype=np.float32))
    model = json.loads(xgboost.Booster({"base_score": start}, [empty]).save_raw("json"))
    forest = model["learner"]["gradient_booster"]["model"]
    forest["gbtree_model_param"]["num_trees"] = str(len(trees))
    forest["tree_info"] = [0] * len(trees)
    forest["iteration_indptr"] = list(range(len(trees) + 1))
    forest["trees"] = [{**tree, "id": number} for number, tree in enumerate(trees)]
    booster = xgboost.Booster()
    booster.load_model(bytearray(json.dumps(model).encode()))
    return booster


def leaf_values(tree: Tree) -> NDArray[np.float64]:
    """Return the value of every leaf by its node's number; NaN at inner nodes."""
    is_leaf = np.array(tree["left_children"]) < 0
    return np.where(is_leaf, np.array(tree["split_conditions"], dtype=np.float64), np.nan)


def with_leaf_values(tree: Tree, values: ArrayLike) -> Tree:
    """Return the tree with other values in its leaves; `values` has one entry per node.

    Inner nodes take the cover-weighted mean of the leaves below them, which is what XGBoost's
    contributions read there.
    """
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    means = np.array(values, dtype=np.float64)
    for node in reversed(range(left.size)):  # children come after their parents
        if left[node] >= 0:
            both = [left[node], right[node]]
            weight = cover[both] if cover[both].sum() > 0 else np.ones(2)
            means[node] = np.average(means[both], weights=weight)
    conditions = np.where(left < 0, means, np.array(tree["split_conditions"]))
    return {**tree, "base_weights": means.tolist(), "split_conditions": conditions.tolist()}


def xgboost_tree(nodes: Any, value: NDArray[np.float64], n_features: int) -> Tree:
    """Return a scikit-learn tree (its `tree_`) in XGBoost's form, with one value per node."""
    order, parents = _level_order(nodes.children_left, nodes.children_right)
    place = np.argsort(order)
    left, right = nodes.children_left[order], nodes.children_right[order]
    is_leaf, value = left < 0, value[order]
    return {
        "base_weights": value.tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": nodes.missing_go_to_left[order].astype(int).tolist(),
        "id": 0,
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
    """Return the nodes level by level, siblings side by side, and the place of each one's parent.

    XGBoost's contributions assume that a right child directly follows the left one.
    """
    order, parents = [0], [2**31 - 1]
    for place, node in enumerate(order):  # `order` grows during the loop
        if left[node] >= 0:
            order += [left[node], right[node]]
            parents += [place, place]
    return np.array(order), parents


def _gains(nodes) -> NDArray[np.float64]:
    """Return the reduction in squared error of each cut."""
    error = nodes.impurity * nodes.weighted_n_node_samples
    children = error[nodes.children_left] + error[nodes.children_right]
    return np.where(nodes.children_left < 0, 0.0, error - children)


def _strict(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return cuts c such that `x < c` for XGBoost is `x <= threshold` for scikit-learn."""
    rounded = threshold.astype(np.float32)
    below = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return np.nextafter(below, np.float32(np.inf))

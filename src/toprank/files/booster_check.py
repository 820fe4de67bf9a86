"""Checks of a saved XGBoost model, made before XGBoost sees its bytes.

XGBoost trusts what it loads: a child index out of range reads stray memory and a cycle never
ends. So everything it would follow is checked here, and only what a ranker needs is accepted:
plain boosted trees with one score per row. Every known key must be present and valid; others are
allowed, since a later XGBoost may write more and this one does not read them.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toprank.files import ubjson
from toprank.files.faults import shown

# Known objectives turn the sum of leaves into the prediction without further state.
_OBJECTIVES = ("binary:logistic", "binary:logitraw", "reg:squarederror")
_FEATURE_TYPES = ("c", "float", "i", "int", "q")
_NO_PARENT = 2**31 - 1  # what XGBoost writes as the root's parent,
_DELETED = 2**31 - 1  # and as the feature of a node that pruning took out

# XGBoost walks a tree by recursion when it explains a row; 1,000 levels fit on its stack.
_DEEPEST_TREE = 1_000
_LARGEST_CATEGORY = 2**24 - 1  # XGBoost's own limit: codes are sent as float32
# A split keeps one bit per category code up to its largest: 512 MiB in all.
_MOST_CATEGORY_BITS = 2**32
_MOST_FEATURES = 1_000_000  # XGBoost allocates a row of that many values per thread
_LARGEST_SUM = float(np.finfo(np.float32).max) / 2

_NODE_ARRAYS: dict[str, type[np.generic]] = {
    "base_weights": np.float32,
    "default_left": np.uint8,
    "left_children": np.int32,
    "loss_changes": np.float32,
    "parents": np.int32,
    "right_children": np.int32,
    "split_conditions": np.float32,
    "split_indices": np.int32,
    "split_type": np.uint8,
    "sum_hessian": np.float32,
}
_CATEGORY_ARRAYS: dict[str, type[np.generic]] = {
    "categories": np.int32,
    "categories_nodes": np.int32,
    "categories_segments": np.int64,
    "categories_sizes": np.int64,
}
_WHOLE = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?", re.ASCII)


def check_booster(raw: bytes, n_features: int | None) -> None:
    """Raise ValueError unless `raw` is a valid tree model: `booster.save_raw("ubj")`.

    `n_features` is how many features it must have been trained on; None accepts any number.

    >>> check_booster(b"{}", n_features=4)
    Traceback (most recent call last):
        ...
    ValueError: the booster must have learner, version; got nothing.
    """
    model = _object(ubjson.read(raw), "the booster", ("learner", "version"))
    _check_version(model["version"])
    learner = _object(
        model["learner"],
        "learner",
        (
            "attributes",
            "feature_names",
            "feature_types",
            "gradient_booster",
            "learner_model_param",
            "objective",
        ),
    )
    objective = _checked_objective(learner["objective"])
    n_features = _checked_n_features(learner["learner_model_param"], n_features)
    base_score = _checked_base_score(learner["learner_model_param"]["base_score"], objective)
    _check_attributes(learner["attributes"])
    _check_features(learner["feature_names"], learner["feature_types"], n_features)
    largest_sum = _check_trees(learner["gradient_booster"], n_features)
    if abs(base_score) + largest_sum > _LARGEST_SUM:
        raise ValueError("leaf values must add up to a finite score; theirs may overflow.")


def _check_version(version: Any) -> None:
    if not isinstance(version, list) or [type(part) for part in version] != [int] * 3:
        raise ValueError("version must be a list of three whole numbers.")
    if not (3 <= version[0] < 1_000 and all(0 <= part < 1_000_000 for part in version)):
        raise ValueError(f"version must be that of XGBoost 3 or later; got {version}.")


def _checked_objective(objective: Any) -> str:
    name = objective.get("name") if isinstance(objective, dict) else None
    if name not in _OBJECTIVES:
        raise ValueError(f"objective must be one of {', '.join(_OBJECTIVES)}; got {shown(name)}.")
    objective = _object(objective, "objective", ("name", "reg_loss_param"))
    parameters = _strings(objective["reg_loss_param"], "reg_loss_param", ("scale_pos_weight",))
    _number(parameters["scale_pos_weight"], "scale_pos_weight")
    return objective["name"]


def _checked_n_features(parameters: Any, expected: int | None) -> int:
    names = ("base_score", "boost_from_average", "num_class", "num_feature", "num_target")
    parameters = _strings(parameters, "learner_model_param", names)
    _whole(parameters["boost_from_average"], "boost_from_average", 0, 1)
    _whole(parameters["num_class"], "num_class", 0, 0)
    _whole(parameters["num_target"], "num_target", 1, 1)
    n_features = _whole(parameters["num_feature"], "num_feature", 1, _MOST_FEATURES)
    if expected is not None and n_features != expected:
        raise ValueError(f"num_feature must be {expected}; got {n_features}.")
    return n_features


def _checked_base_score(text: Any, objective: str) -> float:
    if isinstance(text, str) and text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    base_score = _number(text, "base_score")
    if objective.startswith("binary:") and not 0 < base_score < 1:
        raise ValueError(f"base_score of {objective} must be between 0 and 1; got {base_score:g}.")
    return base_score


def _check_attributes(attributes: Any) -> None:
    if not isinstance(attributes, dict) or not _all_are(str, list(attributes.values())):
        raise ValueError("attributes must be an object of strings.")


def _check_features(names: Any, types: Any, n_features: int) -> None:
    for where, values in (("feature_names", names), ("feature_types", types)):
        if not isinstance(values, list) or not _all_are(str, values):
            raise ValueError(f"{where} must be a list of strings.")
        if len(values) not in (0, n_features):
            raise ValueError(f"{where} must have {n_features} strings; got {len(values)}.")
    unknown = set(types).difference(_FEATURE_TYPES)
    if unknown:
        raise ValueError(
            f"feature_types must be among {', '.join(_FEATURE_TYPES)}; got {shown(min(unknown))}."
        )


def _check_trees(gradient_booster: Any, n_features: int) -> float:
    """Return the largest score, sign aside, that the trees can add up to."""
    name = gradient_booster.get("name") if isinstance(gradient_booster, dict) else None
    if name != "gbtree":
        raise ValueError(f"gradient_booster must be 'gbtree'; got {shown(name)}.")
    gradient_booster = _object(gradient_booster, "gradient_booster", ("model", "name"))
    model = _object(
        gradient_booster["model"],
        "model",
        ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"),
    )
    _check_no_category_names(model["cats"])
    n_trees = _checked_n_trees(model)
    _check_iterations(model["iteration_indptr"], n_trees)
    if not isinstance(model["tree_info"], list) or model["tree_info"] != [0] * n_trees:
        raise ValueError(f"tree_info must be {n_trees} zeros, since all trees share one score.")
    largest_sum, n_bits = 0.0, 0
    for index, tree in enumerate(model["trees"]):
        largest_leaf, tree_bits = _check_tree(tree, index, n_features)
        largest_sum += largest_leaf
        n_bits += tree_bits
        if n_bits > _MOST_CATEGORY_BITS:
            raise ValueError(f"category codes must be smaller; by tree {index} they fill 512 MiB.")
    return largest_sum


def _check_no_category_names(cats: Any) -> None:
    names = ("enc", "feature_segments", "sorted_idx")
    cats = _object(cats, "cats", names)
    if not all(hasattr(cats[name], "__len__") and len(cats[name]) == 0 for name in names):
        raise ValueError("cats must be empty: train on category codes, not on a data frame.")


def _checked_n_trees(model: dict[str, Any]) -> int:
    names = ("num_parallel_tree", "num_trees")
    parameters = _strings(model["gbtree_model_param"], "gbtree_model_param", names)
    if not isinstance(model["trees"], list):
        raise ValueError("trees must be a list.")
    n_trees = len(model["trees"])
    _whole(parameters["num_trees"], "num_trees", n_trees, n_trees)
    _whole(parameters["num_parallel_tree"], "num_parallel_tree", 1, max(n_trees, 1))
    return n_trees


def _check_iterations(starts: Any, n_trees: int) -> None:
    """Raise unless starts are valid: iteration i has the trees from starts[i] to starts[i + 1]."""
    if not isinstance(starts, list) or not starts or not _all_are(int, starts):
        raise ValueError("iteration_indptr must be a list of whole numbers.")
    if starts[0] != 0 or starts[-1] != n_trees or sorted(set(starts)) != starts:
        raise ValueError(f"iteration_indptr must rise from 0 to {n_trees}, the number of trees.")


def _check_tree(tree: Any, index: int, n_features: int) -> tuple[float, int]:
    """Return the largest leaf value, sign aside, and the bits its categories need."""
    where = f"tree {index}"
    tree = _object(tree, where, ("id", "tree_param", *_NODE_ARRAYS, *_CATEGORY_ARRAYS))
    if type(tree["id"]) is not int or tree["id"] != index:
        raise ValueError(f"id of {where} must be its position; got {shown(tree['id'])}.")
    n_nodes, n_deleted = _checked_tree_param(tree["tree_param"], where, n_features)
    for name, dtype in (_NODE_ARRAYS | _CATEGORY_ARRAYS).items():
        _check_array(tree[name], f"{name} of {where}", dtype)
        if name in _NODE_ARRAYS and tree[name].size != n_nodes:
            raise ValueError(
                f"{name} of {where} must have {n_nodes} nodes; got {tree[name].size}."
            )
    _check_shape(tree, where, n_deleted)
    _check_splits(tree, where, n_features)
    _check_cover(tree, where)
    is_leaf = tree["left_children"] < 0
    return float(np.abs(tree["split_conditions"][is_leaf]).max()), _check_categories(tree, where)


def _checked_tree_param(parameters: Any, where: str, n_features: int) -> tuple[int, int]:
    names = ("num_deleted", "num_feature", "num_nodes", "size_leaf_vector")
    parameters = _strings(parameters, f"tree_param of {where}", names)
    _whole(parameters["num_feature"], f"num_feature of {where}", n_features, n_features)
    _whole(parameters["size_leaf_vector"], f"size_leaf_vector of {where}", 0, 1)
    n_nodes = _whole(parameters["num_nodes"], f"num_nodes of {where}", 1, _NO_PARENT - 1)
    n_deleted = _whole(parameters["num_deleted"], f"num_deleted of {where}", 0, n_nodes - 1)
    return n_nodes, n_deleted


def _check_array(values: Any, where: str, dtype: type[np.generic]) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != dtype:
        raise ValueError(f"{where} must be a typed array of {np.dtype(dtype).name}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{where} must contain finite numbers.")


def _check_shape(tree: dict[str, Any], where: str, n_deleted: int) -> None:
    """Raise unless every node is the root, deleted, or below the root on exactly one path."""
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    is_deleted = tree["split_indices"] == _DELETED
    is_split = left >= 0
    if ((right >= 0) != is_split).any() or min(left.min(), right.min()) < -1:
        raise ValueError(f"a node of {where} must have two children or none.")
    # XGBoost goes right by adding 1 to the left child.
    if (right[is_split] != left[is_split] + 1).any():
        raise ValueError(f"a right child of {where} must directly follow the left one.")
    if np.count_nonzero(is_deleted) != n_deleted or is_deleted[0] or is_deleted[is_split].any():
        raise ValueError(f"{where} must have {n_deleted} deleted nodes, all without children.")
    children = np.concatenate([left[is_split], right[is_split]])
    if not np.array_equal(np.sort(children), np.flatnonzero(~is_deleted)[1:]):
        raise ValueError(f"every node of {where} but its root must be one node's child.")
    if (
        parents[0] != _NO_PARENT
        or (parents[children] != np.tile(np.flatnonzero(is_split), 2)).any()
    ):
        raise ValueError(f"parents of {where} must be the nodes they are children of.")
    # XGBoost looks up the parent of a deleted node too.
    if ((parents[1:] < 0) | (parents[1:] >= left.size)).any():
        raise ValueError(f"parents of {where} must be between 0 and {left.size - 1}.")
    if _n_reached(left, right, where) != left.size - n_deleted:
        raise ValueError(f"every node of {where} must be below its root; some form a cycle.")


def _check_cover(tree: dict[str, Any], where: str) -> None:
    """Raise unless covers fall: XGBoost divides a child's by its parent's to explain a row."""
    cover, left = tree["sum_hessian"].astype(np.float64), tree["left_children"]
    is_split = left >= 0
    below = np.maximum(cover[left[is_split]], cover[tree["right_children"][is_split]])
    if (cover < 0).any() or (cover[is_split] <= 0).any() or (below > 1.01 * cover[is_split]).any():
        raise ValueError(f"sum_hessian of {where} must fall from each node to its children.")


def _n_reached(left: NDArray[np.int32], right: NDArray[np.int32], where: str) -> int:
    """Return how many nodes are below the root, counted level by level; each has one parent."""
    level, n_reached = np.zeros(1, dtype=np.int32), 0
    for _ in range(_DEEPEST_TREE):
        n_reached += level.size
        splits = level[left[level] >= 0]
        if not splits.size:
            return n_reached
        level = np.concatenate([left[splits], right[splits]])
    raise ValueError(f"{where} must have at most {_DEEPEST_TREE} levels.")


def _check_splits(tree: dict[str, Any], where: str, n_features: int) -> None:
    indices = tree["split_indices"]
    is_live = indices != _DELETED
    if indices.min() < 0 or indices[is_live].max() >= n_features:
        raise ValueError(f"split_indices of {where} must be between 0 and {n_features - 1}.")
    for name in ("default_left", "split_type"):
        if tree[name].max() > 1:
            raise ValueError(f"{name} of {where} must be 0 or 1; got {tree[name].max()}.")


def _check_categories(tree: dict[str, Any], where: str) -> int:
    """Return the bits the categories need: one per code up to the largest of each split.

    The codes of all splits are concatenated: categories = [first split | second split | ...].
    """
    codes, sizes, starts = (
        tree["categories"],
        tree["categories_sizes"],
        tree["categories_segments"],
    )
    if not np.array_equal(tree["categories_nodes"], np.flatnonzero(tree["split_type"])):
        raise ValueError(f"categories_nodes of {where} must be the nodes whose split_type is 1.")
    if sizes.size != tree["categories_nodes"].size or starts.size != sizes.size:
        raise ValueError(f"{where} must have one categories_sizes and _segments per such node.")
    if not sizes.size and not codes.size:
        return 0
    if not sizes.size or sizes.min() < 1 or sizes.max() > codes.size or sizes.sum() != codes.size:
        raise ValueError(f"categories_sizes of {where} must be above 0 and sum to {codes.size}.")
    if not np.array_equal(starts, np.cumsum(sizes) - sizes):
        raise ValueError(f"categories_segments of {where} must follow one another.")
    if codes.min() < 0 or codes.max() > _LARGEST_CATEGORY:
        raise ValueError(f"categories of {where} must be between 0 and {_LARGEST_CATEGORY}.")
    return int(np.maximum.reduceat(codes, starts).sum(dtype=np.int64)) + sizes.size


def _object(value: Any, where: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return `value` if it is an object with these keys, whatever others it has."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object; got {type(value).__name__}.")
    if not value.keys() >= set(names):
        found = ", ".join(sorted(value))[:200] or "nothing"
        raise ValueError(f"{where} must have {', '.join(sorted(names))}; got {found}.")
    return value


def _strings(value: Any, where: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return `value` if it is an object with these keys and nothing but strings in it.

    XGBoost keeps the numbers of its parameters as strings, and reads the unknown ones as such too.
    """
    value = _object(value, where, names)
    for name, text in value.items():
        if name not in names and not isinstance(text, str):
            raise ValueError(f"{shown(name)} of {where} must be a string; got {shown(text)}.")
    return value


def _whole(text: Any, where: str, low: int, high: int) -> int:
    """Return the whole number that XGBoost wrote as a string."""
    if not isinstance(text, str) or not _WHOLE.fullmatch(text):
        raise ValueError(f"{where} must be a whole number; got {shown(text)}.")
    number = int(text)
    if not low <= number <= high:
        bounds = f"{low}" if low == high else f"between {low} and {high}"
        raise ValueError(f"{where} must be {bounds}; got {number}.")
    return number


def _number(text: Any, where: str) -> float:
    """Return the finite number that XGBoost wrote as a string."""
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise ValueError(f"{where} must be a number; got {shown(text)}.")
    number = float(text)
    if abs(number) > _LARGEST_SUM:
        raise ValueError(f"{where} must be a number that float32 can hold; got {shown(text)}.")
    return number


def _all_are(kind: type, values: list[Any]) -> bool:
    return all(type(value) is kind for value in values)

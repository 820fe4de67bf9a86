"""Fitted rankers as ONNX models, which score without Python.

The graph begins with the columns as they come: one input per column where the ranker knows its
columns by name (float32 for numbers, text for categories), or one matrix `X`. It ends with two
columns of doubles, `suspicion` and `probability`.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from toprank import __version__
from toprank.data import inputs
from toprank.integrations.onnx_calibration import probability
from toprank.integrations.onnx_graph import ML, OnnxGraph
from toprank.integrations.onnx_trees import booster_sum, everywhere, forest_sum
from toprank.rankers.auto.blend import Member
from toprank.rankers.auto.boosted import BoostedMember
from toprank.rankers.auto.forest_member import ForestMember
from toprank.rankers.auto.smooth_member import FURTHEST, SmoothDesign, SmoothMember, pairs
from toprank.rankers.trees.scoring import LEAST_SHARE, doubted

_WITHOUT_ONNX = {
    "NonLinearBoost": "combines its trees in latents",
    "MetaAP": "moves rows within a group along soft paths",
    "TreeRank": "moves rows within a group along soft paths",
}


def to_onnx(model: Any) -> Any:
    """Return a fitted ranker as an `onnx.ModelProto` with the same suspicion and probability.

    Exported are BoostedRanker, RankBoost, CostBoost, RankForest, and AutoRanker where it blends
    boosted trees, forests, linear and quadratic models. A text that no training row had counts as
    missing, as in the ranker, and so does an empty one; a missing number is NaN.

    >>> import onnxruntime
    >>> from toprank import BoostedRanker
    >>> X = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    >>> ranker = BoostedRanker(n_estimators=20).fit(X, X[:, 0] > 1.5)
    >>> session = onnxruntime.InferenceSession(to_onnx(ranker).SerializeToString())
    >>> suspicion, probability = session.run(None, {"X": X})
    >>> bool(np.abs(suspicion[:, 0] - ranker.suspicion(X)).max() < 1e-5)
    True
    """
    raw_of = _raw_of(model)
    inputs.check_fitted(model)
    _check_names(model)
    graph = OnnxGraph()
    features = _features(graph, model)
    raw = raw_of(graph, features, model)
    outputs = {"suspicion": raw, "probability": probability(graph, raw, model.calibration_)}
    return graph.model(outputs, _facts(model))


def _raw_of(model: Any) -> Callable[[OnnxGraph, str, Any], str]:
    """Return what builds the raw score of such a model from its features in double."""
    known = {
        "AutoRanker": _blended,
        "BoostedRanker": _boosted,
        "CostBoost": _boosted,
        "RankBoost": _boosted,
        "RankForest": _forest,
    }
    name = type(model).__name__
    if name in known:
        return known[name]
    names = ", ".join(known)
    if not hasattr(model, "suspicion"):
        last = " to_onnx(pipeline[-1]) exports the ranker alone." if name == "Pipeline" else ""
        raise TypeError(f"to_onnx takes a fitted {names}; got {name}.{last}")
    why = f", which {_WITHOUT_ONNX[name]}" if name in _WITHOUT_ONNX else ""
    raise TypeError(
        f"a {name}{why} has no ONNX form; those of {names} have one. A .toprank file, or MLflow's "
        "pyfunc around it, serves every ranker from Python."
    )


def _check_names(model: Any) -> None:
    taken = {"suspicion", "probability"} & set(model.schema_.names)
    if taken:
        raise ValueError(
            f"no column may be called like an output of the ONNX model; {min(taken)!r} is: rename "
            "it and fit again."
        )


def _features(graph: OnnxGraph, model: Any) -> str:
    """Return the encoded rows in double."""
    columns = model.schema_.columns
    if not hasattr(model, "feature_names_in_"):
        features = graph.input("X", "float", len(columns))
    else:
        parts = [_column(graph, column) for column in columns]
        features = graph.node("Concat", *parts, axis=1)
    features = graph.cast(features, "double")
    if getattr(model, "zeros_are_missing_", False):
        is_zero = graph.node("Equal", features, graph.constant([[0.0]]))
        features = graph.node("Where", is_zero, graph.constant([[np.nan]]), features)
    return features


def _column(graph: OnnxGraph, column: Any) -> str:
    """Return the input of one column, as the trees read it."""
    if column.kind != "category":
        return graph.input(column.name, "float", 1)
    return graph.node(
        "LabelEncoder",
        graph.input(column.name, "string", 1),
        domain=ML,
        keys_strings=list(column.categories),
        values_floats=[float(code) for code in range(len(column.categories))],
        default_float=float("nan"),
    )


def _boosted(graph: OnnxGraph, features: str, model: Any) -> str:
    return booster_sum(graph, features, model.booster_)


def _forest(graph: OnnxGraph, features: str, model: Any) -> str:
    """Return the log-odds of the mean share of positives, with doubt mixed in."""
    total = forest_sum(graph, features, model.trees_, model._leaf_values())
    # the doubted share is a line in the share: two of its points give it
    at_none, at_all = (float(doubted(share, model._average())) for share in (0.0, 1.0))
    slope = (at_all - at_none) / model.trees_.n_trees
    share = graph.node("Mul", total, graph.constant([[slope]]))
    share = graph.node("Add", share, graph.constant([[at_none]]))
    return _logit(graph, share, LEAST_SHARE)


def _blended(graph: OnnxGraph, features: str, model: Any) -> str:
    total = None
    for member, (centre, spread) in zip(model.members_, model.scales_, strict=True):
        raw = graph.node("Sub", _member(graph, features, member), graph.constant([[centre]]))
        part = graph.node("Div", raw, graph.constant([[spread * len(model.members_)]]))
        total = part if total is None else graph.node("Add", total, part)
    assert total is not None
    return total


def _member(graph: OnnxGraph, features: str, member: Member) -> str:
    if isinstance(member, BoostedMember):
        return booster_sum(graph, features, member.booster)
    if isinstance(member, ForestMember):
        share = booster_sum(graph, _ordered(graph, features, member), member.booster)
        return _logit(graph, share, 0.5 / member.booster.num_boosted_rounds())
    if isinstance(member, SmoothMember):
        return _smooth(graph, features, member)
    raise TypeError(
        "this AutoRanker blends a kernel model, for which ONNX has no operator; fit a "
        "BoostedRanker or a RankForest instead, or the AutoRanker on more than 5,000 rows, where "
        "it tries no kernel model."
    )


def _ordered(graph: OnnxGraph, features: str, member: ForestMember) -> str:
    """Return the features with each category's code replaced by its number in the order."""
    if not member.orders:
        return features
    n_columns = member.booster.num_features()
    parts = []
    for number in range(n_columns):
        column = graph.columns(features, [number])
        if number in member.orders:
            order = member.orders[number].astype(np.float64)
            is_missing = graph.node("IsNaN", column)
            code = graph.node("Where", is_missing, graph.constant([[0.0]]), column)
            place = graph.cast(code, "int64")
            found = graph.node("Gather", graph.constant(order), place, axis=0)
            column = graph.node("Where", is_missing, column, found)
        parts.append(column)
    return graph.node("Concat", *parts, axis=1)


def _smooth(graph: OnnxGraph, features: str, member: SmoothMember) -> str:
    """Return the weighted sum of the terms, in the order of SmoothDesign."""
    design = member.design
    blocks, products = _numeric_terms(graph, features, design)
    if design.category_column.size:
        codes = graph.columns(features, design.category_column)
        is_code = graph.node("Equal", codes, graph.constant([design.category_code]))
        blocks.append(graph.cast(is_code, "double"))
    if not blocks:
        return everywhere(graph, features, member.intercept)
    terms = graph.node("Concat", *blocks, *products, axis=1)
    total = graph.node("MatMul", terms, graph.constant(member.weights[:, None]))
    return graph.node("Add", total, graph.constant([[member.intercept]]))


def _numeric_terms(graph: OnnxGraph, features: str, design: SmoothDesign) -> tuple[list, list]:
    """Return the standardised columns and which are missing, and the products of two."""
    if not design.numeric.size:
        return [], []
    values = graph.columns(features, design.numeric)
    is_missing = graph.node("IsNaN", values)
    away = graph.node("Sub", values, graph.constant([design.centre]))
    away = graph.node("Div", away, graph.constant([design.spread]))
    ends = graph.constant(-FURTHEST), graph.constant(FURTHEST)
    clipped = graph.node("Clip", away, *ends)
    standard = graph.node("Where", is_missing, graph.constant([[0.0]]), clipped)
    blocks, products = [standard], []
    if design.has_missing.any():
        some = graph.columns(graph.cast(is_missing, "double"), np.flatnonzero(design.has_missing))
        blocks.append(some)
    if design.degree == 2:
        left, right = (graph.columns(standard, side) for side in pairs(design.numeric.size))
        products.append(graph.node("Mul", left, right))
    return blocks, products


def _logit(graph: OnnxGraph, share: str, least: float) -> str:
    """Return the log-odds of shares, clipped."""
    share = graph.node("Clip", share, graph.constant(least), graph.constant(1 - least))
    other = graph.node("Sub", graph.constant([[1.0]]), share)
    return graph.node("Log", graph.node("Div", share, other))


def _facts(model: Any) -> dict[str, str]:
    """Return what a reader of the ONNX file may want to know."""
    return {
        "toprank": __version__,
        "learner": type(model).__name__,
        "classes": json.dumps(model.classes_.tolist()),
        "positive_label": json.dumps(model.classes_.tolist()[int(model._positive_is_last())]),
        "columns": json.dumps(model.schema_.to_json()["columns"]),
    }

"""Calibrations as nodes of an ONNX graph: from raw scores to probabilities."""

from typing import Any

import numpy as np

from toprank.calibration import (
    BetaCalibration,
    IsotonicCalibration,
    SigmoidCalibration,
    SmoothCalibration,
)
from toprank.integrations.onnx_graph import OnnxGraph


def probability(graph: OnnxGraph, raw: str, calibration: Any) -> str:
    """Return the calibrated probability of raw scores, one column each."""
    return graph.node("Sigmoid", _log_odds(graph, raw, calibration))


def _log_odds(graph: OnnxGraph, raw: str, calibration: Any) -> str:
    if isinstance(calibration, SigmoidCalibration):
        scaled = graph.node("Mul", raw, graph.constant([[calibration.slope]]))
        return graph.node("Add", scaled, graph.constant([[calibration.intercept]]))
    if isinstance(calibration, IsotonicCalibration):
        step = _n_up_to(graph, raw, calibration.begins[1:])
        return graph.node("Gather", graph.constant(calibration.values), step, axis=0)
    line = _log_odds(graph, raw, calibration.line)
    if isinstance(calibration, SmoothCalibration):
        return _broken_line(graph, line, calibration.knots, calibration.rising)
    if isinstance(calibration, BetaCalibration):
        below, above, constant = calibration.theta
        of_positive = graph.node("Neg", _softplus(graph, graph.node("Neg", line)))
        parts = [
            graph.node("Mul", of_positive, graph.constant([[below]])),
            graph.node("Mul", _softplus(graph, line), graph.constant([[above]])),
        ]
        return graph.node("Add", graph.node("Add", *parts), graph.constant([[constant]]))
    raise TypeError(
        f"a {type(calibration).__name__} cannot be exported to ONNX; calibrate the ranker anew, "
        "for example with ranker.calibrate(X, y, method='smooth')."
    )


def _broken_line(graph: OnnxGraph, at: str, knots: Any, values: Any) -> str:
    """Return the line through the values at the knots; its first and last piece have no end."""
    slopes = np.diff(values) / np.diff(knots)
    piece = _n_up_to(graph, at, knots[1:-1])
    begin, value, slope = (
        graph.node("Gather", graph.constant(each), piece, axis=0)
        for each in (knots[:-1], values[:-1], slopes)
    )
    return graph.node("Add", value, graph.node("Mul", graph.node("Sub", at, begin), slope))


def _n_up_to(graph: OnnxGraph, at: str, borders: Any) -> str:
    """Return, for every row, how many of the borders are not above its value."""
    is_passed = graph.node("GreaterOrEqual", at, graph.constant([borders]))
    axis = graph.constant([1], np.int64)
    return graph.node("ReduceSum", graph.cast(is_passed, "int64"), axis, keepdims=1)


def _softplus(graph: OnnxGraph, value: str) -> str:
    """Return log(1 + exp(value)), which never overflows this way."""
    small = graph.node("Exp", graph.node("Neg", graph.node("Abs", value)))
    more = graph.node("Log", graph.node("Add", small, graph.constant([[1.0]])))
    return graph.node("Add", graph.node("Max", value, graph.constant([[0.0]])), more)

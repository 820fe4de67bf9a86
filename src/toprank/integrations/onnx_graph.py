"""A graph of ONNX that is built node by node.

Values are known by their names. Boosters add up floats, as XGBoost does; all else is in doubles.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toprank.integrations.optional_library import imported

OPSET = 18
ML_OPSET = 5  # the first whose trees take doubles and sets of categories
_IR_VERSION = 10  # what runtimes since 2024 read
ML = "ai.onnx.ml"

# Modes of a TreeEnsemble's nodes.
LESS, MEMBER = 1, 6
_SUM, _NO_TRANSFORM = 1, 0


class Cuts(NamedTuple):
    """Inner nodes: a row whose cut holds goes to `yes`, another one to `no`.

    `mode` says how the value of the column is compared with `cut`; sets of categories are in
    `sets`, by node. Where it is missing, `is_missing_yes` decides. Targets are the numbers of
    other inner nodes, or ~leaf: -1 for the first leaf, -2 for the second.
    """

    column: NDArray[np.int64]
    mode: NDArray[np.uint8]
    cut: NDArray[np.float64]
    is_missing_yes: NDArray[np.bool_]
    yes: NDArray[np.int64]
    no: NDArray[np.int64]
    sets: dict[int, list[int]]

    def and_constants(self, leaves: NDArray[np.int64]) -> "Cuts":
        """Return the cuts followed by one for each of these ~leaf, whose sides are the same."""
        size = leaves.size
        return Cuts(
            np.append(self.column, np.zeros(size, self.column.dtype)),
            np.append(self.mode, np.full(size, LESS, self.mode.dtype)),
            np.append(self.cut, np.zeros(size, self.cut.dtype)),
            np.append(self.is_missing_yes, np.zeros(size, dtype=bool)),
            np.append(self.yes, leaves),
            np.append(self.no, leaves),
            self.sets,
        )


class OnnxGraph:
    """Nodes and constants so far."""

    def __init__(self, prefix: str = "") -> None:
        self._onnx = imported("onnx", "onnx", "an ONNX model")
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []

    def input(self, name: str, kind: str, width: int) -> str:
        """Add an input of `width` columns; `kind` is "float" or "string"."""
        kinds = self._onnx.TensorProto
        element = kinds.FLOAT if kind == "float" else kinds.STRING
        tensor = self._onnx.helper.make_tensor_value_info(name, element, ["rows", width])
        self._inputs.append(tensor)
        return name

    def constant(self, values: ArrayLike, dtype: Any = np.float64) -> str:
        """Return a constant of the graph."""
        name = f"{self._prefix}constant_{len(self._constants)}"
        array = np.asarray(values, dtype=dtype)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node and return its output."""
        name = f"{self._prefix}{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(
                operator, list(inputs), [name], name=name, domain=domain, **attributes
            )
        )
        return name

    def cast(self, value: str, kind: str) -> str:
        """Return a value as "double", "float" or "int64"."""
        return self.node("Cast", value, to=getattr(self._onnx.TensorProto, kind.upper()))

    def columns(self, value: str, numbers: ArrayLike) -> str:
        """Return some columns of a matrix."""
        return self.node("Gather", value, self.constant(numbers, np.int64), axis=1)

    def trees(self, features: str, roots: ArrayLike, cuts: Cuts, leaves: NDArray) -> str:
        """Return the sum of all trees' leaves in their order, as one column, all in floats."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto

        def floats(name: str, values: Any) -> Any:
            values = np.asarray(values, dtype=np.float32)
            return helper.make_tensor(name, kinds.FLOAT, values.shape, values)

        # sets = [codes of the first such node | NaN | codes of the second | NaN | ...]
        members = [
            value
            for node in np.flatnonzero(cuts.mode == MEMBER)
            for value in (*cuts.sets[int(node)], np.nan)
        ]
        # nodes_modes is a tensor of single bytes
        modes = helper.make_tensor(
            "modes", kinds.UINT8, cuts.mode.shape, cuts.mode.tobytes(), raw=True
        )
        return self.node(
            "TreeEnsemble",
            features,
            domain=ML,
            n_targets=1,
            aggregate_function=_SUM,
            post_transform=_NO_TRANSFORM,
            tree_roots=np.asarray(roots, np.int64).tolist(),
            nodes_featureids=cuts.column.tolist(),
            nodes_modes=modes,
            nodes_splits=floats("splits", cuts.cut),
            nodes_missing_value_tracks_true=cuts.is_missing_yes.astype(int).tolist(),
            nodes_truenodeids=_targets(cuts.yes).tolist(),
            nodes_trueleafs=(cuts.yes < 0).astype(int).tolist(),
            nodes_falsenodeids=_targets(cuts.no).tolist(),
            nodes_falseleafs=(cuts.no < 0).astype(int).tolist(),
            leaf_targetids=[0] * len(leaves),
            leaf_weights=floats("leaves", leaves),
            **({"membership_values": floats("members", members)} if members else {}),
        )

    def repeated(self, start: str, most: int, step: Callable[["OnnxGraph", str], str]) -> str:
        """Return whole numbers after `most` steps; `step` makes the new ones of the last.

        A step may use all values of this graph.
        """
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        body = OnnxGraph(f"step_{len(self._nodes)}_")
        last = step(body, "last")
        go_on = body.node("Identity", "go_on")

        def value(name: str, kind: int, shape: list | None) -> Any:
            return helper.make_tensor_value_info(name, kind, shape)

        graph = helper.make_graph(
            body._nodes,
            "step",
            [
                value("number", kinds.INT64, []),
                value("go_on", kinds.BOOL, []),
                value("last", kinds.INT64, None),
            ],
            [value(go_on, kinds.BOOL, []), value(last, kinds.INT64, None)],
            body._constants,
        )
        number, yes = self.constant(most, np.int64), self.constant(True, np.bool_)
        return self.node("Loop", number, yes, start, body=graph)

    def model(self, outputs: dict[str, str], facts: dict[str, str]) -> Any:
        """Return the checked model, whose outputs are columns of doubles under new names."""
        helper = self._onnx.helper
        nodes = [
            helper.make_node("Identity", [value], [name], name=f"as_{name}")
            for name, value in outputs.items()
        ]
        double = self._onnx.TensorProto.DOUBLE
        graph = helper.make_graph(
            [*self._nodes, *nodes],
            "toprank",
            self._inputs,
            [helper.make_tensor_value_info(name, double, ["rows", 1]) for name in outputs],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="toprank")
        model.ir_version = _IR_VERSION
        helper.set_model_props(model, facts)
        self._onnx.checker.check_model(model)
        return model


def _targets(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(nodes < 0, ~nodes, nodes)

"""Scores and contributions of one booster's trees in latent combinations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.files.faults import shown
from toprank.rankers.boosted import booster_trees
from toprank.rankers.boosted.latents import LARGEST_MIXING, Matrix, Vector, add_tree, combined
from toprank.rankers.boosted.xgboost_engine import import_xgboost

if TYPE_CHECKING:
    from xgboost import Booster

_VALUES_PER_BLOCK = 1 << 22
# so large that no sum of leaves times it, calibrated, can overflow
_LARGEST_WEIGHT = 1e50


class Combination(NamedTuple):
    """How P latents combine T trees: the letters are those of `latents.py`."""

    intercept: float
    biases: Vector
    """One per latent."""
    mixing: Matrix
    """b: one row per latent, one column per tree."""
    weights: Matrix
    """a after each tree: one row per tree, one column per latent. The last row is final."""

    def check(self, n_latents: int, n_trees: int) -> None:
        """Raise a ValueError if the arrays do not fit this number of latents and trees."""
        shapes = {
            "biases": (n_latents,),
            "mixing": (n_latents, n_trees),
            "weights": (n_trees, n_latents),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.dtype != np.float64 or array.shape != shape:
                raise ValueError(
                    f"{name} must be float64 of shape {shape}; got {shown(array.shape)} of "
                    f"{array.dtype}."
                )
            largest = LARGEST_MIXING if name == "mixing" else _LARGEST_WEIGHT
            if not (np.abs(array) <= largest).all():
                raise ValueError(f"{name} must be between {-largest:g} and {largest:g}.")
        if not abs(self.intercept) <= _LARGEST_WEIGHT:
            raise ValueError(f"intercept must be finite; got {self.intercept}.")


class LatentTrees:
    """A booster and the combination of its trees."""

    def __init__(
        self, booster: Booster, combination: Combination, feature_types: list[str]
    ) -> None:
        self._booster = booster
        self._combination = combination
        self._feature_types = feature_types
        self._trees = booster_trees.trees_of(booster)
        self._leaf_values = [booster_trees.leaf_values(tree) for tree in self._trees]

    def raw(self, features: NDArray[np.float32]) -> Vector:
        """Return F of every row."""
        weights = self._combination.weights[-1]
        raw = np.empty(len(features))
        for block, inputs in self._blocks_of_inputs(features):
            raw[block] = combined(inputs, weights, self._combination.intercept)
        return raw

    def outputs(self, features: NDArray[np.float32]) -> Matrix:
        """Return relu(u_p), one column per latent."""
        outputs = np.empty((len(features), self._combination.biases.size))
        for block, inputs in self._blocks_of_inputs(features):
            outputs[block] = np.maximum(inputs, 0.0).T
        return outputs

    def staged(self, features: NDArray[np.float32]) -> Matrix:
        """Return F after each tree, one column per tree."""
        weights, intercept = self._combination.weights, self._combination.intercept
        staged = np.empty((len(features), len(self._trees)))
        for block in self._blocks(features):
            for tree, inputs in enumerate(self._growing_inputs(features[block])):
                staged[block, tree] = combined(inputs, weights[tree], intercept)
        return staged

    def contributions(self, features: NDArray[np.float32]) -> Matrix:
        """Return each feature's share of F; the last column is the common start.

        u_p is a sum of trees, and its shares, which lead from its mean to its value, are exact.
        On that way relu(u_p) rises by a fraction of what u_p does: all of it where the latent is
        open at both ends, none where it is closed at both. Shares of u_p are scaled by it.
        """
        matrix = self._matrix(features)
        shares = np.zeros((len(features), features.shape[1] + 1))
        shares[:, -1] = self._combination.intercept
        for latent, booster in enumerate(self._latent_boosters):
            weight = self._combination.weights[-1, latent]
            own = booster.predict(matrix, pred_contribs=True, validate_features=False)
            own = own.astype(np.float64)
            mean = self._combination.biases[latent] + own[:, -1]
            way = own[:, :-1].sum(axis=1)
            start = np.maximum(mean, 0.0)
            rise = np.maximum(mean + way, 0.0) - start
            part = np.divide(rise, way, out=np.zeros(way.size), where=way != 0)
            shares[:, :-1] += (weight * part)[:, None] * own[:, :-1]
            shares[:, -1] += weight * start
        return shares

    @cached_property
    def _latent_boosters(self) -> list[Booster]:
        """The booster of each u_p without its bias; built when a row is first explained."""
        return [self._mixed(mixing) for mixing in self._combination.mixing]

    def _mixed(self, mixing: Vector) -> Booster:
        """Return the booster of all trees with these weights."""
        trees = [
            booster_trees.with_leaf_values(tree, weight * values)
            for tree, weight, values in zip(self._trees, mixing, self._leaf_values, strict=True)
        ]
        return booster_trees.booster_of(trees, 0.0, self._booster.num_features())

    def _blocks_of_inputs(self, features: NDArray[np.float32]) -> Iterator[tuple[slice, Matrix]]:
        """Yield blocks of rows and their u_p with all trees added."""
        for block in self._blocks(features):
            *_, inputs = self._growing_inputs(features[block])
            yield block, inputs

    def _growing_inputs(self, features: NDArray[np.float32]) -> Iterator[Matrix]:
        """Yield the u_p, one row per latent, after each tree; the array is reused."""
        leaves = self._booster.predict(
            self._matrix(features), pred_leaf=True, validate_features=False
        ).reshape(len(features), -1)
        inputs = np.repeat(self._combination.biases[:, None], len(features), axis=1)
        for tree, values in enumerate(self._leaf_values):
            heights = values[leaves[:, tree].astype(np.intp)]
            add_tree(inputs, heights, self._combination.mixing[:, tree])
            yield inputs

    def _blocks(self, features: NDArray[np.float32]) -> list[slice]:
        """Return blocks of rows that take 16 MiB each: a leaf per row and tree, and a matrix.

        XGBoost's matrix stores the column number with every value.
        """
        n_rows, n_features = features.shape
        size = max(_VALUES_PER_BLOCK // (len(self._trees) + 2 * n_features), 1)
        return [slice(begin, begin + size) for begin in range(0, n_rows, size)]

    def _matrix(self, features: NDArray[np.float32]) -> Any:
        return import_xgboost().DMatrix(
            features, feature_types=self._feature_types, enable_categorical=True
        )

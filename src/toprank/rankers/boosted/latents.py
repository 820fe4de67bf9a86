"""Latent combinations of shared trees: how they start, score and learn.

P latents combine the same trees h_1 .. h_T, each with weights of its own:

    F(x) = intercept + sum_p a_p relu(u_p(x)),    u_p(x) = bias_p + sum_t b_pt h_t(x).

A latent is open at a row where u_p > 0. A closed one adds nothing there and learns nothing.

**The start is linear boosting.** Latents come in pairs k = 1..K that look at one line from both
sides of a threshold c_k: a = (+1/K, -1/K), b = (+1, -1) for every tree, and biases (s - c_k,
c_k - s) with s the log-odds before the first tree. As relu(v) - relu(-v) = v, whatever v is, the
pair adds (s + z - c_k) / K, z the plain sum of the trees. With the mean of the c_k as intercept,
F = s + z exactly, whatever the thresholds. They matter once the steps below are taken: they
are where a tree's weight may change as the score rises. They are spread from 1 below s to 3
above it, as rare positives climb far above the base rate and others fall little below it.
An odd latent has no partner: it is the upper side of a threshold 10 below s. It is open, and its
part is linear, at every row whose odds are above e^-10 of the base rate's.

**The steps.** A tree starts with b = +-1. One Newton step is then taken on each b_pt of the new
tree, and one on each a_p. All P are taken at once, and at the start K latents are open at any row.
For K of them (sum_p x_p)^2 <= K sum_p x_p^2, so that the joint curvature is at most K times its
diagonal: 1/K of each latent's own step never overshoots together what it would not alone. So a
step on b is learning_rate / K of Newton's, and the t-th step on a learning_rate / (K t) of it: a b
is learned once and an a after every tree, and where trees separate the training rows perfectly,
steps that did not shrink would raise every a without end. No b moves by more than 1, so no latent
reverses a tree, and no a by more than 1/K at a time: a latent closed at nearly every row has
almost no curvature.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toprank.data.inputs import TrainingRows
from toprank.losses import Log
from toprank.losses.gather import HERE

LARGEST_MIXING = 2.0
"""The largest weight of a tree in a latent: 1 at the start, and one step of at most 1."""

_THRESHOLDS = (-1.0, 3.0)
_UNPAIRED_THRESHOLD = -10.0

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


class Start(NamedTuple):
    """The latents before the first tree; `signs` are the b that every tree starts with."""

    intercept: float
    biases: Vector
    signs: Vector
    weights: Vector
    n_pairs: int


class Slopes(NamedTuple):
    """First and second derivatives of the loss by one weight of each latent."""

    gradient: Vector
    curvature: Vector


def linear_start(n_latents: int, log_odds: float) -> Start:
    """Return latents whose sum is `log_odds` plus the plain sum of the trees.

    >>> start = linear_start(2, log_odds=-3.0)
    >>> start.biases.tolist(), start.signs.tolist(), start.weights.tolist()
    ([-1.0, 1.0], [1.0, -1.0], [1.0, -1.0])
    >>> combined(start.biases[:, None], start.weights, start.intercept).tolist()
    [-3.0]
    """
    n_whole, n_odd = divmod(n_latents, 2)
    # a single pair is placed in the middle
    lowest, highest = _THRESHOLDS if n_whole > 1 else 2 * (np.mean(_THRESHOLDS),)
    above = np.append(np.linspace(lowest, highest, n_whole), [_UNPAIRED_THRESHOLD] * n_odd)
    pair = np.arange(n_latents) // 2  # latents = [pair 0 | pair 1 | ... | the odd one]
    signs = np.where(np.arange(n_latents) % 2, -1.0, 1.0)
    return Start(
        intercept=float(log_odds + above.mean()),
        biases=-signs * above[pair],
        signs=signs,
        weights=signs / above.size,
        n_pairs=above.size,
    )


def add_tree(inputs: Matrix, tree: Vector, mixing: Vector) -> None:
    """Add a tree to the inputs of every latent: `inputs` has one row u_p per latent."""

    def add(block: slice) -> None:
        inputs[:, block] += mixing[:, None] * tree[block]

    HERE.run(add, tree.size)


def combined(inputs: Matrix, weights: Vector, intercept: float) -> Vector:
    """Return F of every row.

    Latent by latent, and not as one product of matrices: a row's score must not depend on the
    other rows of the batch, not even in its last digit.
    """
    raw = np.full(inputs.shape[1], intercept)
    for latent, weight in zip(inputs, weights, strict=True):
        raw += weight * np.maximum(latent, 0.0)
    return raw


class TrainingLatents:
    """The latents of the training rows, learned tree by tree; `raw` is F so far."""

    def __init__(self, rows: TrainingRows, n_latents: int, learning_rate: float) -> None:
        log_odds = Log().start(rows.is_positive, rows.weight)
        self.start = linear_start(n_latents, log_odds)
        self.weights = self.start.weights
        self.inputs = np.repeat(self.start.biases[:, None], rows.is_positive.size, axis=1)
        self.raw = np.full(rows.is_positive.size, log_odds)
        self._rows = rows
        self._damping = learning_rate / self.start.n_pairs
        self._n_trees = 0

    def learn(self, tree: Vector) -> Vector:
        """Add a tree, given as its value at every row, and return its b in each latent."""
        self._n_trees += 1
        add_tree(self.inputs, tree, self.start.signs)
        mixing_step = _step(self.mixing_slopes(tree), self._damping, LARGEST_MIXING - 1)
        add_tree(self.inputs, tree, mixing_step)
        self.weights = self.weights + _step(
            self.weight_slopes(), self._damping / self._n_trees, 1 / self.start.n_pairs
        )
        self.raw = combined(self.inputs, self.weights, self.start.intercept)
        return self.start.signs + mixing_step

    def mixing_slopes(self, tree: Vector) -> Slopes:
        """Return the slopes of the loss by each latent's b of `tree`, the last one added."""

        def change(block: slice) -> Matrix:
            is_open = self.inputs[:, block] > 0
            return np.where(is_open, self.weights[:, None] * tree[block], 0.0)

        return self._slopes(change)

    def weight_slopes(self) -> Slopes:
        """Return the slopes of the loss by each latent's a."""
        return self._slopes(lambda block: np.maximum(self.inputs[:, block], 0.0))

    def _slopes(self, change: Callable[[slice], Matrix]) -> Slopes:
        """Return the slopes by weights, `change` of a block being dF / d weight at its rows."""
        is_positive, weight = self._rows.is_positive, self._rows.weight

        def sums(block: slice) -> Matrix:
            raw = combined(self.inputs[:, block], self.weights, self.start.intercept)
            gradient, curvature = Log().gradient_curvature(
                is_positive[block], raw, None if weight is None else weight[block]
            )
            moves = change(block)
            return np.array([moves @ gradient, np.square(moves) @ curvature])

        return Slopes(*np.sum(HERE.run(sums, is_positive.size), axis=0))


def _step(slopes: Slopes, damping: float, largest: float) -> Vector:
    """Return the damped Newton step; 0 for a latent closed everywhere."""
    gradient, curvature = slopes
    unmoved = np.zeros(gradient.size)
    with np.errstate(over="ignore"):  # an infinite step is clipped to the largest, too
        newton = np.divide(-gradient, curvature, out=unmoved, where=curvature > 0)
    return np.clip(damping * newton, -largest, largest)

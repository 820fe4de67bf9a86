"""The weights of an online booster: layout in memory, initial values, growth.

Every part is drawn by its own generator, seeded with its purpose. So the weights of a column or
of an output are the same whenever it is added.
"""

from math import prod, sqrt
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toprank.rankers.online import online_kernel

_LATENT_SCALE = 0.316

# the purposes of generators
_BUCKETS, _COLUMNS, _RENEWED = range(3)


class Part(NamedTuple):
    """A part of the head: its sizes, the last of them that of the outputs, or 1."""

    name: str
    sizes: tuple[int, ...]
    start: float
    """The initial weight; if `is_random`, the largest distance from 0."""
    is_random: bool
    per_learner: int
    """How many entries of the first axis belong to one weak learner; 0 for shared parts."""


def parts_of(shape: online_kernel.Shape) -> list[Part]:
    """Return the parts of the head, in their order."""
    n_learners, width = shape.n_learners, shape.width
    n_latents, n_outputs = shape.n_latents, shape.n_outputs
    network = [
        Part("unit bias", (n_learners * width, 1), 0.0, False, width),
        Part("output", (n_learners * width, n_outputs), _output_scale(width), True, width),
        Part("output bias", (n_learners, n_outputs), 0.0, False, 1),
    ]
    if shape.rule == online_kernel.NON_LINEAR:
        return [
            *network,
            Part("constant", (1, n_outputs), 0.0, False, 0),
            Part("latent", (n_latents, n_outputs), _LATENT_SCALE, True, 0),
            Part("latent bias", (n_latents, n_outputs), 0.0, False, 0),
            Part("projection", (n_learners, n_latents, n_outputs), 1.0, True, 1),
        ]
    if shape.rule == online_kernel.LINEAR:
        constant = Part("constant", (1, n_outputs), 0.0, False, 0)
        return [*network, constant, Part("share", (n_learners, n_outputs), 1.0, False, 1)]
    if shape.rule in (online_kernel.ADAPTIVE, online_kernel.IMPORTANCE):
        alpha = Part("alpha", (n_learners, 1), 0.0, False, 1)
        return [*network, alpha, alpha._replace(name="trust")]
    if shape.rule == online_kernel.GRADIENT:
        return [*network, Part("shrinkage", (n_learners, 1), 0.0, False, 1)]
    return network


def views(head: NDArray[np.float64], shape: online_kernel.Shape) -> dict[str, NDArray[np.float64]]:
    """Return the parts of a head by name; they are views that share its memory."""
    parts, start = {}, 0
    for part in parts_of(shape):
        parts[part.name] = head[start : start + prod(part.sizes)].reshape(part.sizes)
        start += prod(part.sizes)
    return parts


def head_size(shape: online_kernel.Shape) -> int:
    """Return how many numbers a head holds."""
    return sum(prod(part.sizes) for part in parts_of(shape))


def unit_scale(n_columns: int) -> float:
    """Return the largest initial weight of units, such that a unit's variance is about 1."""
    return sqrt(3 / max(n_columns, 1))


def fresh(shape: online_kernel.Shape, names: list[str], scale: float) -> online_kernel.Weights:
    """Return the initial weights of a booster for rows of these columns."""
    generator = np.random.default_rng([shape.seed, _BUCKETS])
    n_units = shape.n_learners * shape.width
    buckets = generator.uniform(-scale, scale, (shape.n_buckets, n_units))
    units = np.concatenate([buckets, _column_units(shape, names, scale)])
    head = np.concatenate([_beginning(part, shape).ravel() for part in parts_of(shape)])
    wide = _no_wide(shape, len(units))
    return online_kernel.Weights(
        units,
        np.zeros_like(units),
        np.zeros_like(units),
        head,
        np.zeros_like(head),
        np.zeros_like(head),
        wide,
        np.zeros_like(wide),
        np.zeros_like(wide),
    )


def with_columns(
    weights: online_kernel.Weights, shape: online_kernel.Shape, new: list[str], scale: float
) -> online_kernel.Weights:
    """Return the weights with units for new columns."""
    units = _column_units(shape, new, scale)
    zeros, wide = np.zeros_like(units), _no_wide(shape, len(new))
    return weights._replace(
        units=np.concatenate([weights.units, units]),
        units_squares=np.concatenate([weights.units_squares, zeros]),
        units_past=np.concatenate([weights.units_past, zeros]),
        wide=np.concatenate([weights.wide, wide]),
        wide_squares=np.concatenate([weights.wide_squares, wide]),
        wide_past=np.concatenate([weights.wide_past, wide]),
    )


def with_outputs(
    weights: online_kernel.Weights, before: online_kernel.Shape, shape: online_kernel.Shape
) -> online_kernel.Weights:
    """Return the weights with outputs for new classes."""
    head = np.concatenate([_beginning(part, shape).ravel() for part in parts_of(shape)])
    heads = [head, np.zeros_like(head), np.zeros_like(head)]
    olds = (weights.head, weights.head_squares, weights.head_past)
    for new, old in zip(heads, olds, strict=True):
        kept = views(old, before)
        for name, part in views(new, shape).items():
            part[..., : kept[name].shape[-1]] = kept[name]
    more = ((0, 0), (0, shape.n_outputs - before.n_outputs))
    names = ("wide", "wide_squares", "wide_past")
    wide = {name: np.pad(getattr(weights, name), more) for name in names}
    return weights._replace(head=heads[0], head_squares=heads[1], head_past=heads[2], **wide)


def renew_learner(
    weights: online_kernel.Weights,
    shape: online_kernel.Shape,
    learner: int,
    scale: float,
    n_renewed: int,
) -> None:
    """Reset one weak learner to newly drawn weights."""
    generator = np.random.default_rng([shape.seed, _RENEWED, n_renewed])
    own = slice(learner * shape.width, (learner + 1) * shape.width)
    drawn = generator.uniform(-scale, scale, weights.units[:, own].shape)
    for array in (weights.units_squares, weights.units_past):
        array[:, own] = 0
    weights.units[:, own] = drawn
    own_heads = (weights.head, weights.head_squares, weights.head_past)
    heads = [views(head, shape) for head in own_heads]
    for part in parts_of(shape):
        if part.per_learner:
            own = slice(learner * part.per_learner, (learner + 1) * part.per_learner)
            for head in heads:
                head[part.name][own] = 0
            now = heads[0][part.name][own]
            now[:] = _drawn(part, generator, now.shape)


def _no_wide(shape: online_kernel.Shape, n_inputs: int) -> NDArray[np.float64]:
    """Return the initial weights of the wide part, which are 0; no rows without a wide part."""
    return np.zeros((n_inputs if shape.is_wide else 0, shape.n_outputs))


def _output_scale(width: int) -> float:
    """Return the largest initial output weight: 1 for two units, less for more."""
    return min(1.0, sqrt(2 / width))


def _column_units(
    shape: online_kernel.Shape, names: list[str], scale: float
) -> NDArray[np.float64]:
    n_units = shape.n_learners * shape.width
    rows = [
        np.random.default_rng(
            [shape.seed, _COLUMNS, crc32(name.encode("utf-8", "surrogatepass"))]
        ).uniform(-scale, scale, n_units)
        for name in names
    ]
    return np.array(rows).reshape(len(names), n_units)


def _beginning(part: Part, shape: online_kernel.Shape) -> NDArray[np.float64]:
    """Return a part's initial values; each output has its own generator."""
    own = crc32(part.name.encode())
    columns = [
        _drawn(part, np.random.default_rng([shape.seed, own, j]), part.sizes[:-1])
        for j in range(part.sizes[-1])
    ]
    return np.stack(columns, axis=-1)


def _drawn(part: Part, generator: np.random.Generator, sizes: tuple[int, ...]) -> NDArray:
    if part.is_random:
        return generator.uniform(-part.start, part.start, sizes)
    return np.full(sizes, part.start)

"""Designs whose rare positives are in small boxes, drawn anew with every seed.

A design is named like "6 of 1000, 2 dimensions". Its law:

- The rows are in the unit cube. Four boxes, cubes of side 0.1 in 2 dimensions and 1/3 in 5, are
  drawn with every seed: a centre is uniform where its box is inside the cube, and is drawn again
  when the box would meet one before it.
- A positive is uniform in a box, each box as likely as another. A negative is uniform in the cube
  outside the boxes' cores, a core being the box shrunk to three quarters of its side: at the
  boxes' margins there are both.
- The rows to learn from hold exactly as many positives as the name says. The test has 2,000
  positives and 10,000 negatives of the same law and boxes.
"""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NAME = re.compile(r"(\d+) of (\d+), (\d+) dimensions")
_N_BOXES = 4
_SIDES = {2: 0.1, 5: 1 / 3}
_CORE = 0.75
_TEST_POSITIVES, _TEST_NEGATIVES = 2_000, 10_000


class BoxDesign(NamedTuple):
    """How many rows there are to learn from, how many of them positive, and their dimensions."""

    n_positive: int
    n_rows: int
    n_dimensions: int


class BoxSample(NamedTuple):
    """Rows and which of them are positive."""

    features: pa.Table
    is_positive: NDArray[np.bool_]


def design_of(name: str) -> BoxDesign:
    """Return the design of this name.

    >>> design_of("6 of 1000, 2 dimensions")
    BoxDesign(n_positive=6, n_rows=1000, n_dimensions=2)
    """
    match = _NAME.fullmatch(name)
    design = BoxDesign(*map(int, match.groups())) if match else None
    if design is None or design.n_dimensions not in _SIDES or not _has_both(design):
        known = " or ".join(map(str, _SIDES))
        raise ValueError(
            "a design must be named like '6 of 1000, 2 dimensions', with rows of both classes in "
            f"{known} dimensions; got {name!r}."
        )
    return design


def drawn(design: BoxDesign, seed: int) -> tuple[BoxSample, BoxSample]:
    """Return the rows to learn from and those of the test, with boxes of this seed.

    >>> train, test = drawn(BoxDesign(6, 1_000, 2), seed=1)
    >>> train.is_positive.sum(), test.features.shape
    (np.int64(6), (12000, 2))
    """
    generator = np.random.default_rng([seed, design.n_positive, design.n_dimensions])
    centres = _boxes(generator, design.n_dimensions)
    train = _sample(generator, centres, design.n_positive, design.n_rows - design.n_positive)
    return train, _sample(generator, centres, _TEST_POSITIVES, _TEST_NEGATIVES)


def _has_both(design: BoxDesign) -> bool:
    return 0 < design.n_positive < design.n_rows


def _boxes(generator: np.random.Generator, n_dimensions: int) -> NDArray[np.float64]:
    """Return the centres of boxes that do not meet, one row each."""
    side = _SIDES[n_dimensions]
    centres = np.empty((0, n_dimensions))
    while len(centres) < _N_BOXES:
        centre = generator.uniform(side / 2, 1 - side / 2, n_dimensions)
        if not _is_inside(centre[None], centres, 2 * side).any():
            centres = np.vstack([centres, centre])
    return centres


def _sample(
    generator: np.random.Generator, centres: NDArray, n_positive: int, n_negative: int
) -> BoxSample:
    """Return positives of the boxes, then negatives from outside their cores."""
    n_dimensions = centres.shape[1]
    side = _SIDES[n_dimensions]
    of_box = centres[generator.integers(_N_BOXES, size=n_positive)]
    positives = of_box + generator.uniform(-side / 2, side / 2, of_box.shape)
    negatives = np.empty((0, n_dimensions))
    while len(negatives) < n_negative:
        anywhere = generator.random((n_negative, n_dimensions))
        outside = ~_is_inside(anywhere, centres, _CORE * side)
        negatives = np.vstack([negatives, anywhere[outside]])[:n_negative]
    rows = np.vstack([positives, negatives]).astype(np.float32)
    features = pa.table({f"x{place + 1}": column for place, column in enumerate(rows.T)})
    return BoxSample(features, np.arange(len(rows)) < n_positive)


def _is_inside(points: NDArray, centres: NDArray, side: float) -> NDArray[np.bool_]:
    distance = np.abs(points[:, None] - centres[None]).max(axis=2)
    return (distance < side / 2).any(axis=1)

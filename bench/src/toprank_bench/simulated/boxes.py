"""Designs whose rare positives are in small boxes, drawn anew with every seed or fixed.

A design is named like "6 of 1000, 2 dimensions". Its law:

- The rows are in the unit cube. Four boxes, cubes of side 0.1 in 2 dimensions and 1/3 in 5, are
  drawn with every seed: a centre is uniform where its box is inside the cube, and is drawn again
  when the box would meet one before it.
- A positive is uniform in a box, each box as likely as another. A negative is uniform in the cube
  outside the boxes' cores, a core being the box shrunk to three quarters of its side: at the
  boxes' margins there are both.
- The rows to learn from hold exactly as many positives as the name says. The test has 2,000
  positives and 10,000 negatives of the same law and boxes.

One named like "6 of 1000, 2 dimensions, 4 fixed boxes of 0.15, core 0.75" has other boxes: the
same with every seed, of that side and core, in pairs that mirror each other in the centre of the
cube, a quarter away from it in every dimension. A linear score then has an AUC of 1/2.
"""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NAME = re.compile(
    r"(\d+) of (\d+), (\d+) dimensions(?:, (\d) fixed boxes of (0\.\d+), core (0|0\.\d+))?"
)
_N_BOXES = 4
_SIDES = {2: 0.1, 5: 1 / 3}
_CORE = 0.75
_OFF_CENTRE = 0.25
_DIRECTIONS = np.array([[1, 1, 1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, -1, 1], [1, -1, -1, 1, 1]])
_TEST_POSITIVES, _TEST_NEGATIVES = 2_000, 10_000


class FixedBoxes(NamedTuple):
    """How many boxes there are, their side, and the share of it that the core has."""

    n_boxes: int
    side: float
    core: float


class BoxDesign(NamedTuple):
    """How many rows there are to learn from, how many of them positive, and their dimensions.

    Boxes are drawn with every seed unless they are `fixed`.
    """

    n_positive: int
    n_rows: int
    n_dimensions: int
    fixed: FixedBoxes | None = None

    @property
    def side(self) -> float:
        return _SIDES[self.n_dimensions] if self.fixed is None else self.fixed.side

    @property
    def core_side(self) -> float:
        """The side of the cube inside a box that has no negatives."""
        return self.side * (_CORE if self.fixed is None else self.fixed.core)


class BoxSample(NamedTuple):
    """Rows and which of them are positive."""

    features: pa.Table
    is_positive: NDArray[np.bool_]


def design_of(name: str) -> BoxDesign:
    """Return the design of this name.

    >>> design_of("6 of 1000, 2 dimensions")
    BoxDesign(n_positive=6, n_rows=1000, n_dimensions=2, fixed=None)
    """
    match = _NAME.fullmatch(name)
    design = None
    if match is not None:
        n_positive, n_rows, n_dimensions, n_boxes, side, core = match.groups()
        fixed = None if n_boxes is None else FixedBoxes(int(n_boxes), float(side), float(core))
        design = BoxDesign(int(n_positive), int(n_rows), int(n_dimensions), fixed)
    if design is None or design.n_dimensions not in _SIDES or not _is_possible(design):
        known = " or ".join(map(str, _SIDES))
        raise ValueError(
            "a design must be named like '6 of 1000, 2 dimensions', with rows of both classes in "
            f"{known} dimensions, or like that with ', 4 fixed boxes of 0.15, core 0.75', of 2 or "
            f"4 boxes, in 5 dimensions also of 6 or 8, and sides up to 0.5; got {name!r}."
        )
    return design


def drawn(design: BoxDesign, seed: int) -> tuple[BoxSample, BoxSample]:
    """Return the rows to learn from and those of the test, with boxes of this seed.

    >>> train, test = drawn(BoxDesign(6, 1_000, 2), seed=1)
    >>> train.is_positive.sum(), test.features.shape
    (np.int64(6), (12000, 2))
    """
    generator = np.random.default_rng([seed, design.n_positive, design.n_dimensions])
    fixed, d = design.fixed, design.n_dimensions
    centres = _boxes(generator, d) if fixed is None else _mirrored(fixed.n_boxes, d)
    n_negative = design.n_rows - design.n_positive
    train = _sample(generator, centres, design, design.n_positive, n_negative)
    return train, _sample(generator, centres, design, _TEST_POSITIVES, _TEST_NEGATIVES)


def _is_possible(design: BoxDesign) -> bool:
    fixed, most = design.fixed, 4 if design.n_dimensions == 2 else 8
    has_boxes = fixed is None or (fixed.n_boxes in range(2, most + 1, 2) and fixed.side <= 0.5)
    return has_boxes and 0 < design.n_positive < design.n_rows


def _mirrored(n_boxes: int, n_dimensions: int) -> NDArray[np.float64]:
    """Return the centres of pairs of boxes, each the other's mirror image, one row each."""
    directions = _DIRECTIONS[: n_boxes // 2, :n_dimensions]
    return 0.5 + _OFF_CENTRE * np.vstack([directions, -directions])


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
    generator: np.random.Generator,
    centres: NDArray,
    design: BoxDesign,
    n_positive: int,
    n_negative: int,
) -> BoxSample:
    """Return positives of the boxes, then negatives from outside their cores."""
    n_dimensions, side = design.n_dimensions, design.side
    of_box = centres[generator.integers(len(centres), size=n_positive)]
    positives = of_box + generator.uniform(-side / 2, side / 2, of_box.shape)
    negatives = np.empty((0, n_dimensions))
    while len(negatives) < n_negative:
        anywhere = generator.random((n_negative, n_dimensions))
        outside = ~_is_inside(anywhere, centres, design.core_side)
        negatives = np.vstack([negatives, anywhere[outside]])[:n_negative]
    rows = np.vstack([positives, negatives]).astype(np.float32)
    features = pa.table({f"x{place + 1}": column for place, column in enumerate(rows.T)})
    return BoxSample(features, np.arange(len(rows)) < n_positive)


def _is_inside(points: NDArray, centres: NDArray, side: float) -> NDArray[np.bool_]:
    distance = np.abs(points[:, None] - centres[None]).max(axis=2)
    return (distance < side / 2).any(axis=1)

"""Points in a box, to measure the volume of what a detector calls ordinary.

Uniform points are enough up to about five columns. In ten, the region of ordinary rows may fill a
millionth of the box and uniform points never fall in it; there most points are drawn near rows
instead, and each carries a weight that corrects for this. The weights are exact wherever the
points fall; how precise a volume is depends on how well the points cover it. A detector that calls
places ordinary where no row is near is better measured with uniform points.

Columns are numbers: categories have no volume, so a box with them is refused, and points have no
missing values. A column without width keeps its value in all points.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr, ndtri

from toprank.data import checks
from toprank.rankers.anomaly.box import Box

_EVEN_SHARE = 0.25  # bounds every weight by 4
_MAX_CENTERS = 500
_N_NEIGHBORS = 25
_LEAST_SPREAD = 0.001  # of the box, for rows that share one value
_BLOCK = 256  # points at a time, whose distances to all centres stay in the cache

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class VolumePoints(NamedTuple):
    """Points, and how much more of the box each represents than a uniform point.

    A sum of weights divided by the number of points estimates a volume as a share of the box.
    """

    points: Matrix
    weight: Vector


def uniform_points(box: Box, n_points: int, generator: np.random.Generator) -> Matrix:
    """Return points drawn uniformly from the box, one per row.

    >>> box = Box(np.array([0.0, 5.0]), np.array([1.0, 5.0]))
    >>> uniform_points(box, 3, np.random.default_rng(0)).round(2).tolist()
    [[0.64, 5.0], [0.04, 5.0], [0.81, 5.0]]
    """
    _check_bounds(box)
    n_points = checks.whole_number(n_points, "n_points", 1)
    return _in_box(generator.random((n_points, box.n_columns)), box)


def importance_points(
    box: Box, features: ArrayLike, n_points: int, generator: np.random.Generator
) -> VolumePoints:
    """Return points drawn mostly near rows, with the weights that compensate for it.

    A quarter is uniform over the box. The others are normal draws around up to 500 of the rows,
    some with independent and some with correlated columns, as wide as the neighbouring rows are
    spread, narrower and wider. A weight is the uniform density divided by that of the whole
    mixture: exact, and at most 4. A draw outside the box is put on its border and has weight 0.

    >>> features = np.random.default_rng(0).normal(size=(100, 10))
    >>> box = Box(np.full(10, -8.0), np.full(10, 8.0))
    >>> points, weight = importance_points(box, features, 5000, np.random.default_rng(1))
    >>> in_ball = np.linalg.norm(points, axis=1) < 4
    >>> print(f"{weight[in_ball].sum() / 5000:.1e}, exactly {2.5502 / 4**10:.1e}")
    2.4e-06, exactly 2.4e-06
    """
    _check_bounds(box)
    n_points = checks.whole_number(n_points, "n_points", 1)
    rows = _rows_inside(features, box)
    is_wide = box.high > box.low
    kernels = _kernels(_some_rows(rows[:, is_wide], generator))
    drawn = _drawn(kernels, n_points, int(is_wide.sum()), generator)
    is_inside = ((drawn >= 0) & (drawn <= 1)).all(axis=1)
    points = np.full((n_points, box.n_columns), 0.5)
    points[:, is_wide] = drawn.clip(0, 1)
    return VolumePoints(_in_box(points, box), np.where(is_inside, _weight(kernels, drawn), 0.0))


class _Kernels(Protocol):
    """One normal density around each centre, in the unit cube."""

    @property
    def centers(self) -> Matrix: ...

    def drawn(self, which: NDArray[np.intp], generator: np.random.Generator) -> Matrix:
        """Return a point around each of these centres."""
        ...

    def log_densities(self, points: Matrix) -> Matrix:
        """Return the log density of each point, a row, around each centre."""
        ...


class _Upright(NamedTuple):
    """Independent columns, each cut off at the cube."""

    centers: Matrix
    spread: Matrix  # of each centre in each column

    def drawn(self, which, generator):
        center, spread = self.centers[which], self.spread[which]
        below, above = ndtr(-center / spread), ndtr((1 - center) / spread)
        between = below + generator.random(center.shape) * (above - below)
        # The clip is for rounding at the ends.
        return (center + spread * ndtri(between)).clip(0, 1)

    def log_densities(self, points):
        inside = ndtr((1 - self.centers) / self.spread) - ndtr(-self.centers / self.spread)
        log_height = -np.log(np.sqrt(2 * np.pi) * self.spread * inside).sum(axis=1)
        distance = _squared_distance(points, self.centers, 1 / self.spread**2)
        return log_height - distance / 2


class _Slanted(NamedTuple):
    """Correlated columns, in the same way around each centre; not cut off."""

    centers: Matrix
    factor: Matrix  # lower triangle; times its transpose it is the covariance

    def drawn(self, which, generator):
        center = self.centers[which]
        return center + generator.standard_normal(center.shape) @ self.factor.T

    def log_densities(self, points):
        straight, centers = (
            solve_triangular(self.factor, each.T, lower=True).T for each in (points, self.centers)
        )
        distance = _squared_distance(straight, centers, np.ones_like(centers))
        log_height = -np.log(np.sqrt(2 * np.pi) * np.diag(self.factor)).sum()
        return log_height - distance / 2


def _kernels(centers: Matrix) -> Sequence[_Kernels]:
    """Return kernels narrower, as wide and wider than the neighbourhood of each centre."""
    nearby = _to_neighbors(centers)
    spread = np.sqrt((nearby**2).mean(axis=1)).clip(_LEAST_SPREAD)
    local = _factor(nearby.reshape(-1, centers.shape[1]))
    overall = _factor(centers - centers.mean(axis=0))
    return [
        *(_Upright(centers, width * spread) for width in (0.5, 1, 2)),
        *(_Slanted(centers, factor) for factor in (local / 2, local, overall)),
    ]


def _drawn(
    kernels: Sequence[_Kernels], n_points: int, n_columns: int, generator: np.random.Generator
) -> Matrix:
    """Return points of the mixture, some of them outside the unit cube."""
    points = generator.random((n_points, n_columns))
    # Number 0 is the uniform density; the kernels have equal shares of the rest.
    is_near = generator.random(n_points) >= _EVEN_SHARE
    number = np.where(is_near, generator.integers(1, len(kernels) + 1, size=n_points), 0)
    for i, kernel in enumerate(kernels, start=1):
        chosen = number == i
        which = generator.integers(len(kernel.centers), size=np.count_nonzero(chosen))
        points[chosen] = kernel.drawn(which, generator)
    return points


def _weight(kernels: Sequence[_Kernels], points: Matrix) -> Vector:
    """Return 1 / density of each point: the uniform density in the unit cube is 1."""
    blocks = [points[start : start + _BLOCK] for start in range(0, len(points), _BLOCK)]
    near = [
        np.concatenate([_log_mean(kernel.log_densities(block)) for block in blocks])
        for kernel in kernels
    ]
    log_share = np.log((1 - _EVEN_SHARE) / len(kernels))
    return np.exp(-np.logaddexp(np.logaddexp.reduce(near) + log_share, np.log(_EVEN_SHARE)))


def _log_mean(logs: Matrix) -> Vector:
    """Return the log of each row's mean, without overflow."""
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]).mean(axis=1))


def _check_bounds(box: Box) -> None:
    is_endless = ~np.isfinite(box.high - box.low)
    if is_endless.any():
        column = int(np.flatnonzero(is_endless)[0])
        raise ValueError(
            f"box must have finite bounds; those of column {column} are {box.low[column]:g} and "
            f"{box.high[column]:g}. Leave out categories, whose volume cannot be measured."
        )


def _rows_inside(features: ArrayLike, box: Box) -> Matrix:
    """Return the rows in the box, which becomes the unit cube."""
    rows = np.asarray(features, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != box.n_columns:
        raise ValueError(
            f"features must have the {box.n_columns} columns of the box; got shape {rows.shape}."
        )
    n_missing = np.count_nonzero(np.isnan(rows).any(axis=1))
    if n_missing:
        raise ValueError(
            f"features must contain no missing values; got some in {n_missing} of {len(rows)} "
            "rows. Fill them in, or leave these rows out."
        )
    inside = rows[((rows >= box.low) & (rows <= box.high)).all(axis=1)]
    if not len(inside):
        raise ValueError(
            f"features must contain at least one row inside the box; got 0 of {len(rows)}."
        )
    return (inside - box.low) / box.width


def _some_rows(rows: Matrix, generator: np.random.Generator) -> Matrix:
    if len(rows) <= _MAX_CENTERS:
        return rows
    return rows[generator.choice(len(rows), _MAX_CENTERS, replace=False, shuffle=False)]


def _to_neighbors(centers: Matrix) -> NDArray[np.float64]:
    """Return the vector from each centre to each of its nearest: [centre, neighbour, column]."""
    if len(centers) == 1:
        return np.zeros((1, 1, centers.shape[1]))
    alike = centers / centers.std(axis=0).clip(_LEAST_SPREAD)
    distance = _squared_distance(alike, alike, np.ones_like(alike))
    np.fill_diagonal(distance, np.inf)
    n_near = min(_N_NEIGHBORS, len(centers) - 1)
    near = np.argpartition(distance, n_near - 1, axis=1)[:, :n_near]
    return centers[near] - centers[:, None, :]


def _factor(ways: Matrix) -> Matrix:
    """Return the lower triangle whose square is the mean square of these vectors."""
    square = ways.T @ ways / len(ways)
    return cholesky(square + _LEAST_SPREAD**2 * np.eye(len(square)), lower=True)


def _squared_distance(points: Matrix, centers: Matrix, scale: Matrix) -> Matrix:
    """Return the squared distances to all centres, each with its own scale per column."""
    # Multiplied out: two matrix products are enough.
    squares = points**2 @ scale.T - 2 * points @ (centers * scale).T
    return np.maximum(squares + (centers**2 * scale).sum(axis=1), 0.0)


def _in_box(points: Matrix, box: Box) -> Matrix:
    """Return points of the unit cube at their places in the box."""
    return np.where(box.high > box.low, box.low + points * box.width, box.low)
